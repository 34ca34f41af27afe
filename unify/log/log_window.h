/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the log's file that are mapped: window `n` holds TH_LOG_WINDOW_BYTES from offset n *
 * TH_LOG_WINDOW_BYTES on, and the first TH_LOG_WINDOW_OVERLAP of the next window, so that every
 * record is contiguous.
 *
 * One window is in use at a time, and one or two are mapped.  If the whole log were mapped at its
 * maximum size, mlockall(), which counts address space, would fail or lock all of it.
 */
#ifndef TH_UNIFY_LOG_LOG_WINDOW_H
#define TH_UNIFY_LOG_LOG_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/base/observed.h"

#define TH_LOG_WINDOW_BYTES (1u << 20)
/* No record that is written is longer. */
#define TH_LOG_WINDOW_OVERLAP (256u << 10)

struct th_log_window;

/* Maps a part of the log's file, read and write; MAP_FAILED if it is out of reach. [in-malloc] */
typedef void *th_log_window_map(uint64_t offset, size_t bytes);

/*
 * Maps the first window of a file; `map` is asked for later ones where the kernel cannot make one
 * mapping from another, as under emulators.  False: errno says why.  Once, and again after detaching.
 */
bool th_log_windows_init(int descriptor, th_log_window_map *map);

/*
 * The window in which `offset` lies, which stays mapped until the caller leaves it; NULL: it is not
 * mapped. [in-malloc]
 */
struct th_log_window *th_log_window_enter(uint64_t offset);
void th_log_window_leave(struct th_log_window *window);

/* Where `offset` lies in a window that was entered. [in-malloc] */
char *th_log_window_at(const struct th_log_window *window, uint64_t offset);

enum th_log_window_result {
	TH_LOG_WINDOW_OPEN,
	TH_LOG_WINDOW_STALE, /* too far from the windows that are there: `offset` is an old one */
	TH_LOG_WINDOW_BUSY, /* the thread that maps it does not run */
	TH_LOG_WINDOW_FAILED,
};

/*
 * Maps the window in which `offset` lies, if it is not, from the one before it: that takes no
 * descriptor, which the program may have closed.  Then unmaps windows without users that lie before
 * `used`, where the next record goes. [in-malloc]
 */
enum th_log_window_result th_log_window_open(uint64_t offset, uint64_t used);

/* Calls `visit` with each window that is mapped. [any] */
void
th_log_windows_each(void (*visit)(const void *start, size_t bytes, void *data), void *data);

/*
 * In a forked child: unmaps all.  One that has users, perhaps this thread further up its stack,
 * becomes private zeros.
 */
void th_log_windows_detach(void);

/* In the tool: th_log_windows_each() visits those of the observed process. */
struct th_observed_part th_log_windows_part(void);
bool th_log_windows_observe(const void *part);

#endif
