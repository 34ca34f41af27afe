/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving a user or a root: setuid and its like, chroot. */
#ifndef TH_PRELOAD_LEAVE_H
#define TH_PRELOAD_LEAVE_H

/* Looks the next definitions up.  Once, in the constructor, after th_next_init(). */
void th_leave_init(void);

#endif
