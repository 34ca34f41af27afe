/* SPDX-License-Identifier: Apache-2.0 */
/* pthread_create, vfork and clone, interposed. */
#ifndef TH_PRELOAD_THREADS_H
#define TH_PRELOAD_THREADS_H

/* In a forked child: forgets starts in progress, which are the parent's. */
void th_threads_reset(void);

/*
 * Looks up the next vfork, so that no call waits for the loader: it may come from a signal handler, or
 * from a forked child.  After th_next_init().
 */
void th_threads_init(void);

#endif
