/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of the user or the root directory: setuid and similar, chroot.  The start of the process's
 * end: main returns, or exit() or quick_exit() is called.  Handlers of atexit() and destructors run
 * after that.
 */
#ifndef TH_PRELOAD_LEAVE_H
#define TH_PRELOAD_LEAVE_H

/*
 * Registers for the return of main.  Once, in the constructor, if the process may be recorded;
 * calls libc's malloc.
 */
void th_leave_watch_main(void);

#endif
