/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sites of a watched recording as a table that can be sorted, filtered and navigated; and
 * curves in one line of text.
 */
#ifndef TH_REPORT_LIVE_WATCH_TABLE_H
#define TH_REPORT_LIVE_WATCH_TABLE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/live/watch.h"

enum th_watch_order {
	TH_WATCH_BY_LIVE,
	TH_WATCH_BY_GROWTH,
	TH_WATCH_BY_ALLOCATED,
	TH_WATCH_BY_RATE,
	TH_WATCH_ORDERS,
};

struct th_watch_row {
	uint32_t site;
	double key;
};

struct th_watch_table {
	enum th_watch_order order;
	bool is_reversed;
	unsigned heaps; /* bits 1 << enum th_heap */
	bool is_filtered;
	regex_t filter;
	TH_ARRAY(struct th_watch_row, rows); /* in sort order, largest first */
	TH_ARRAY(char *, names);             /* by site; NULL: not built yet */
	uint32_t selected;                   /* site number; UINT32_MAX: the first row */
};

void th_watch_table_init(struct th_watch_table *table);
void th_watch_table_deinit(struct th_watch_table *table);

/*
 * Shows sites whose name matches, ignoring case; "" or NULL: all.  False if `expression` is
 * invalid.
 */
bool th_watch_table_filter(struct th_watch_table *table, const char *expression);

/* Sorts again; the selection stays on its site. */
void th_watch_table_update(struct th_watch_table *table, const struct th_watch *watch);

/* Moves the selection, within the table. */
void th_watch_table_move(struct th_watch_table *table, long rows);

/* The row of the selection; 0 if it is not shown. */
size_t th_watch_table_position(const struct th_watch_table *table);

/* For example "byte[] in app.Codec.decode < ..."; owned by the table. */
const char *
th_watch_table_name(struct th_watch_table *table, const struct th_watch *watch, uint32_t site);

/* Name of a sort order: "live", "growth"... */
const char *th_watch_order_name(enum th_watch_order order);

/*
 * Draws a curve in `columns` characters, oldest value first, scaled from 0 to its maximum, in
 * eighths of a character or in ASCII.  `ret` has room for 3 bytes per column and a NUL.
 */
void th_watch_sparkline(const double *values, int count, int columns, bool ascii, char *ret);

#endif
