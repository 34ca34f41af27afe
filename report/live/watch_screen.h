/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of a watched recording on a terminal.  The terminal is what it was before, whichever
 * way the program ends.
 */
#ifndef TH_REPORT_LIVE_WATCH_SCREEN_H
#define TH_REPORT_LIVE_WATCH_SCREEN_H

#include "report/base/error.h"
#include "report/live/watch_view.h"

/* Takes over the terminal; an error when there is none that can place text. */
struct th_error *th_watch_screen_begin(void);

/* Gives it back; any number of times. */
void th_watch_screen_end(void);

/* Draws everything. */
void th_watch_screen_draw(struct th_watch_view *view);

/* Whether there is nobody any more to draw for: the terminal was closed. */
bool th_watch_screen_is_gone(void);

/* The next key, for th_watch_view_key(); -1: none came within so many milliseconds. */
int th_watch_screen_key(int milliseconds);

#endif
