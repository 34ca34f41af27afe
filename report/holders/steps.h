/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a walk as elements of paths. */
#ifndef TH_REPORT_HOLDERS_STEPS_H
#define TH_REPORT_HOLDERS_STEPS_H

#include "report/holders/holders.h"

/*
 * Writes the elements of the path that ends with a step, and the native stack of its root.  The
 * element of a thread local variable stands for the fields of java.lang.Thread that lead to it.
 */
void
th_holder_path_init(const struct th_held_samples *held, uint32_t step, struct th_holder *ret);
void th_holder_path_deinit(struct th_holder *holder);

/* A hash of the path, in which the numbers in names of threads do not count. */
uint64_t th_holder_path_hash(const struct th_holder *holder);

/* Replaces the numbers in names of threads by '*' where those of the other path differ. */
void th_holder_path_merge(struct th_holder *holder, const struct th_holder *other);

#endif
