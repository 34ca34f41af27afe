/* SPDX-License-Identifier: Apache-2.0 */
/* pthread_create and the functions that join or detach, interposed. */
#ifndef TH_PRELOAD_THREADS_H
#define TH_PRELOAD_THREADS_H

/* In a forked child: forgets starts in progress, which are the parent's. */
void th_threads_reset(void);

#endif
