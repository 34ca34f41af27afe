/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sites of a watched recording as a table that somebody sorts, filters and moves through; and
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
	unsigned heaps; /* bits 1 << enum th_heap */
	bool is_filtered;
	regex_t filter;
	TH_ARRAY(struct th_watch_row, rows); /* largest first */
	TH_ARRAY(char *, names);             /* by site, NULL = not made yet */
	uint32_t selected;                   /* site; UINT32_MAX: the first row */
};

void th_watch_table_init(struct th_watch_table *table);
void th_watch_table_deinit(struct th_watch_table *table);

/* Shows sites whose name matches, without regard to case; "" or NULL: all.  False: it is none. */
bool th_watch_table_filter(struct th_watch_table *table, const char *expression);

/* Sorts anew; the selection stays with its site. */
void th_watch_table_update(struct th_watch_table *table, const struct th_watch *watch);

/* Moves the selection, as far as there are rows. */
void th_watch_table_move(struct th_watch_table *table, long rows);

/* The row of the selection; 0 where it is not shown. */
size_t th_watch_table_position(const struct th_watch_table *table);

/* "byte[] in app.Codec.decode < ...", the table's. */
const char *
th_watch_table_name(struct th_watch_table *table, const struct th_watch *watch, uint32_t site);

/* What sites are sorted by: "live", "growth"... */
const char *th_watch_order_name(enum th_watch_order order);

/*
 * A curve in `columns` characters, oldest first, from 0 to its largest value: in eighths of a
 * character, or in ASCII.  `ret` has room for 3 bytes a column and a NUL.
 */
void th_watch_sparkline(const double *values, int count, int columns, bool ascii, char *ret);

#endif
