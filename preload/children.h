/* SPDX-License-Identifier: Apache-2.0 */
/* vfork and clone, interposed. */
#ifndef TH_PRELOAD_CHILDREN_H
#define TH_PRELOAD_CHILDREN_H

/*
 * Looks up the next vfork, so that no call waits for the loader: it may come from a signal handler, or
 * from a forked child.  After th_next_init().
 */
void th_children_init(void);

#endif
