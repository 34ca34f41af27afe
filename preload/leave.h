/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the user or the root directory: setuid and similar, chroot. */
#ifndef TH_PRELOAD_LEAVE_H
#define TH_PRELOAD_LEAVE_H

/* Looks up the next definitions.  Once, in the constructor, after th_next_init(). */
void th_leave_init(void);

#endif
