/* SPDX-License-Identifier: Apache-2.0 */
/* The list of loaded objects, which the loader protects by a lock. */
#ifndef TH_UNIFY_LOG_LOADER_H
#define TH_UNIFY_LOG_LOADER_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * dl_iterate_phdr(3), which takes the loader's lock: no object is unloaded meanwhile, so `visit`
 * must be quick.  Not while a thread forks: glibc does not reset this lock in the child, which
 * would wait for it forever.  Waits for the end of a fork, up to 0.1 s; false: not visited.  Not
 * on the malloc path. [agent-thread]
 */
bool
th_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *data), void *data);

/*
 * Around a fork, on the forking thread: waits for visits in progress, which take microseconds,
 * for at most 0.2 s.  After it in the parent and in the child. [any]
 */
void th_loader_before_fork(void);
void th_loader_after_fork(void);
void th_loader_reset(void);

#endif
