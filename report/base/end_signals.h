/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end a command which runs until it is told to end. */
#ifndef TH_REPORT_BASE_END_SIGNALS_H
#define TH_REPORT_BASE_END_SIGNALS_H

#include <stdbool.h>

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT only make th_end_signals_came() true, and SIGBUS,
 * raised by a log that was truncated while it is mapped, calls `restore` (NULL: nothing), writes
 * `message` to stderr and ends the process with status 3.  `message` stays the caller's and must
 * remain valid; `restore` must be async-signal-safe.
 */
void th_end_signals_catch(const char *message, void (*restore)(void));

bool th_end_signals_came(void);

#endif
