/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of the view of a watched recording, as text.  Each is in memory that the caller
 * frees.
 */
#ifndef TH_REPORT_LIVE_WATCH_LINES_H
#define TH_REPORT_LIVE_WATCH_LINES_H

#include "report/live/watch_view.h"

/* The command; its process, how it is, and for how long it was recorded. */
char *th_watch_line_title(const struct th_watch *watch);
char *th_watch_line_state(const struct th_watch_view *view);

/* The VM, the interval, samples. */
char *th_watch_line_sampling(const struct th_watch *watch);

/* Collections and the heap in use. */
char *th_watch_line_collections(const struct th_watch *watch);

/* What the library counted of mapped memory, no estimate; "" without. */
char *th_watch_line_mapped(const struct th_watch *watch);

/* What the recording lost; NULL: nothing. */
char *th_watch_line_losses(const struct th_watch *watch);

/* Totals of a heap, for so many columns. */
char *th_watch_line_totals_heading(int columns);
char *
th_watch_line_total(const struct th_watch *watch, enum th_heap heap, int columns, bool ascii);

/* The table: its heading, and the figures of a site, which its name follows. */
char *th_watch_line_table_heading(const struct th_watch_view *view, int columns);
char *
th_watch_line_figures(const struct th_watch *watch, uint32_t site, int columns, bool ascii);

/* A site by itself. */
char *th_watch_line_live(const struct th_watch *watch, uint32_t site);
char *th_watch_line_allocated(const struct th_watch *watch, uint32_t site);

/* Line `line` from above of a chart of so many lines, and what stands below it. */
char *th_watch_line_chart(const double *curve, int columns, int lines, int line, bool ascii);
char *
th_watch_line_axis(const struct th_watch *watch, const struct th_watch_site *site, int columns);

/* A stack of the site, and one of its frames. */
char *th_watch_line_stack(const struct th_watch_view *view, size_t index);
char *th_watch_line_frame(const struct th_frames *frames, uint32_t frame, bool is_leaf);

/* The keys that do something now, or the filter that is being typed. */
char *th_watch_line_keys(const struct th_watch_view *view);

#endif
