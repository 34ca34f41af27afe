/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of the process's end: main returns, or exit() or quick_exit() is called.  Handlers
 * of atexit() and destructors run after that.
 */
#ifndef TH_PRELOAD_EXIT_H
#define TH_PRELOAD_EXIT_H

/* Looks up the next definitions.  Once, in the constructor, after th_next_init(). */
void th_exit_init(void);

/*
 * Registers for the return of main.  Once, in the constructor, if the process may be recorded;
 * calls libc's malloc.
 */
void th_exit_watch_main(void);

#endif
