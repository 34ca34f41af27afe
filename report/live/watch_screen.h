/* SPDX-License-Identifier: Apache-2.0 */
/* The live view on a terminal.  The terminal's state is restored however the program ends. */
#ifndef TH_REPORT_LIVE_WATCH_SCREEN_H
#define TH_REPORT_LIVE_WATCH_SCREEN_H

#include "report/base/error.h"
#include "report/live/watch_view.h"

/* Takes over the terminal; fails without one that can position the cursor. */
struct th_error *th_watch_screen_begin(void);

/* Restores the terminal; may be called several times. */
void th_watch_screen_end(void);

/* Draws the whole view. */
void th_watch_screen_draw(struct th_watch_view *view);

/* Whether the terminal was closed. */
bool th_watch_screen_is_gone(void);

/* Waits up to `milliseconds` for a key and returns it for th_watch_view_key(); -1 on timeout. */
int th_watch_screen_key(int milliseconds);

#endif
