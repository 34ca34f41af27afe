/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the tool has come, for people who wait at a terminal: one line on stderr from the
 * second second on, gone when something else is printed.  Nothing elsewhere.
 */
#ifndef TH_REPORT_BASE_PROGRESS_H
#define TH_REPORT_BASE_PROGRESS_H

#include <stdint.h>

/*
 * `done` of `all` of what is done now ("reading the log").  Looks at the clock: not for every
 * item, see th_progress_often().
 */
void th_progress(const char *what, uint64_t done, uint64_t all);

/* Clears the line, if there is one: before anything else is printed. */
void th_progress_clear(void);

/* As th_progress() for one call in some thousands. */
static inline void
th_progress_often(const char *what, uint64_t done, uint64_t all)
{
	if (!(done & 0xfff))
		th_progress(what, done, all);
}

#endif
