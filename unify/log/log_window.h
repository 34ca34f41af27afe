/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapped parts of the log file: window `n` holds TH_LOG_WINDOW_BYTES from offset n *
 * TH_LOG_WINDOW_BYTES on, and the first TH_LOG_WINDOW_OVERLAP of the next window, so that every
 * record is contiguous.
 *
 * One window is in use at a time, and one or two are mapped.  If the whole log were mapped at
 * its maximum size, mlockall(), which counts address space, would fail or lock all of it.
 */
#ifndef TH_UNIFY_LOG_LOG_WINDOW_H
#define TH_UNIFY_LOG_LOG_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TH_LOG_WINDOW_BYTES (1u << 20)
/* Maximum size of a written record. */
#define TH_LOG_WINDOW_OVERLAP (256u << 10)

struct th_log_window;

/*
 * Maps the window of a file that contains `offset`.  False: errno has the reason.  Called once, and again
 * after detaching or retiring.
 */
bool th_log_windows_init(int descriptor, uint64_t offset);

/*
 * The window that contains `offset`; it stays mapped until the caller leaves it.  NULL: not
 * mapped. [in-malloc]
 */
struct th_log_window *th_log_window_enter(uint64_t offset);
void th_log_window_leave(struct th_log_window *window);

/* The address of `offset` in a window that was entered. [in-malloc] */
char *th_log_window_at(const struct th_log_window *window, uint64_t offset);

/*
 * Maps the window that contains `offset`, if necessary, from the previous window: this needs no
 * descriptor, which the program may have closed.  Then unmaps windows without users that
 * precede `used`, the offset of the next record.  False, with the reason (th_log_file_refuse()): it is
 * not possible, the thread that maps it is not running, or `offset` is outdated. [in-malloc]
 */
bool th_log_window_open(uint64_t offset, uint64_t used);

/*
 * The lowest offset that a thread may still write to: the start of the first mapped window; 0:
 * none is mapped. [any]
 */
uint64_t th_log_windows_start(void);

/*
 * The log is complete: unmaps its windows.  False: a thread still writes to one, which stays mapped.
 * [any]
 */
bool th_log_windows_retire(void);

/*
 * In a forked child: unmaps all windows.  A window with users, perhaps this thread further up
 * its stack, becomes private zeros.
 */
void th_log_windows_detach(void);

#endif
