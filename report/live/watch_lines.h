/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the lines of the live view as text.  The caller frees each line. */
#ifndef TH_REPORT_LIVE_WATCH_LINES_H
#define TH_REPORT_LIVE_WATCH_LINES_H

#include "report/live/watch_view.h"

/* The command; its process, its state, and the length of the recording. */
char *th_watch_line_title(const struct th_watch *watch);
char *th_watch_line_state(const struct th_watch_view *view);

/* The VM, the sampling interval, the number of samples. */
char *th_watch_line_sampling(const struct th_watch *watch);

/* Collections, and the Java heap in use. */
char *th_watch_line_collections(const struct th_watch *watch);

/* Exact counts of mapped memory; "" if the library did not count it. */
char *th_watch_line_mapped(const struct th_watch *watch);

/* What the recording lost; NULL if nothing. */
char *th_watch_line_losses(const struct th_watch *watch);

/* Totals of a heap; `columns` is the width of the screen. */
char *th_watch_line_totals_heading(int columns);
char *
th_watch_line_total(const struct th_watch *watch, enum th_heap heap, int columns, bool ascii);

/* The heading of the table, and the figures of a site, printed in front of its name. */
char *th_watch_line_table_heading(const struct th_watch_view *view, int columns);
char *
th_watch_line_figures(const struct th_watch *watch, uint32_t site, int columns, bool ascii);

/* Figures of one site. */
char *th_watch_line_live(const struct th_watch *watch, uint32_t site);
char *th_watch_line_allocated(const struct th_watch *watch, uint32_t site);

/* Line `line` from the top of a chart with `lines` lines, and its axis. */
char *th_watch_line_chart(const double *curve, int columns, int lines, int line, bool ascii);
char *
th_watch_line_axis(const struct th_watch *watch, const struct th_watch_site *site, int columns);

/* A stack of the selected site, and one of its frames. */
char *th_watch_line_stack(const struct th_watch_view *view, size_t index);
char *th_watch_line_frame(const struct th_frames *frames, uint32_t frame, bool is_leaf);

/* The keys available now, or the filter being typed. */
char *th_watch_line_keys(const struct th_watch_view *view);

#endif
