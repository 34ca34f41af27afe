/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of the tool on a terminal: one line on stderr from the second second on, cleared
 * when something else is printed. Nothing if stderr is not a terminal.
 */
#ifndef TH_REPORT_BASE_PROGRESS_H
#define TH_REPORT_BASE_PROGRESS_H

#include <stdint.h>

/*
 * `done` of `all` units of the current work ("reading the log"). Reads the clock: for calls per
 * item use th_progress_often().
 */
void th_progress(const char *what, uint64_t done, uint64_t all);

/* Clears the line, if there is one; call before anything else is printed. */
void th_progress_clear(void);

/* Disables progress from now on. */
void th_progress_disable(void);

/* As th_progress(), but only one call in 4,096 of a source file has an effect. */
static inline void
th_progress_often(const char *what, uint64_t done, uint64_t all)
{
	static uint32_t calls;

	if (!(++calls & 0xfff))
		th_progress(what, done, all);
}

#endif
