/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of sites of the live view: which sites are shown (heaps, filter), their order, and
 * the selection, which follows its site when the order changes; and curves as one line of text.
 */
#include "report/live/watch_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "unify/shared/heaps.h"

#define NOTHING UINT32_MAX

void
th_watch_table_init(struct th_watch_table *table)
{
	*table = (struct th_watch_table){.heaps = TH_HEAPS_ALL, .selected = NOTHING};
}

void
th_watch_table_deinit(struct th_watch_table *table)
{
	if (table->is_filtered)
		regfree(&table->filter);
	for (size_t i = 0; i < table->names_count; i++)
		free(table->names[i]);
	free(table->names);
	free(table->rows);
}

bool
th_watch_table_filter(struct th_watch_table *table, const char *expression)
{
	regex_t filter;

	if (expression && expression[0] &&
		regcomp(&filter, expression, REG_EXTENDED | REG_ICASE | REG_NOSUB))
		return false;
	if (table->is_filtered)
		regfree(&table->filter);
	table->is_filtered = expression && expression[0];
	if (table->is_filtered)
		table->filter = filter;
	return true;
}

/* Names */

static char *
make_name(const struct th_watch *watch, uint32_t number)
{
	const struct th_watch_site *site = &watch->sites[number];
	char *text = NULL;
	size_t length;
	FILE *memory = open_memstream(&text, &length);

	if (!memory)
		th_out_of_memory();
	th_sites_print(memory, watch->profile->frames, site->class_name, site->place);
	if (fclose(memory))
		th_out_of_memory();
	return text;
}

const char *
th_watch_table_name(struct th_watch_table *table, const struct th_watch *watch, uint32_t site)
{
	while (table->names_count <= site)
		th_array_append(table, names, NULL);
	if (!table->names[site])
		table->names[site] = make_name(watch, site);
	return table->names[site];
}

/* Rows */

static double
key_of(const struct th_watch *watch, const struct th_watch_site *site,
	enum th_watch_order order)
{
	switch (order) {
	case TH_WATCH_BY_GROWTH:
		return th_watch_growth(watch, site);
	case TH_WATCH_BY_ALLOCATED:
		return th_sums_point(&site->allocated.bytes);
	case TH_WATCH_BY_RATE:
		return th_watch_rate(watch, site);
	default:
		return th_sums_point(&site->live.bytes);
	}
}

static bool
is_shown(struct th_watch_table *table, const struct th_watch *watch, uint32_t site)
{
	if (!(table->heaps & 1u << watch->sites[site].heap) ||
		!watch->sites[site].allocated.samples)
		return false;
	return !table->is_filtered ||
	       !regexec(&table->filter, th_watch_table_name(table, watch, site), 0, NULL, 0);
}

static int
compare_rows(const void *a, const void *b)
{
	const struct th_watch_row *left = a;
	const struct th_watch_row *right = b;

	if (left->key != right->key)
		return left->key < right->key ? 1 : -1;
	return (left->site > right->site) - (left->site < right->site);
}

void
th_watch_table_update(struct th_watch_table *table, const struct th_watch *watch)
{
	table->rows_count = 0;
	for (uint32_t i = 0; i < watch->sites_count; i++) {
		double key = key_of(watch, &watch->sites[i], table->order);
		struct th_watch_row row = {i, table->is_reversed ? -key : key};

		if (is_shown(table, watch, i))
			th_array_append(table, rows, row);
	}
	if (table->rows_count)
		qsort(table->rows, table->rows_count, sizeof(*table->rows), compare_rows);
}

size_t
th_watch_table_position(const struct th_watch_table *table)
{
	for (size_t i = 0; i < table->rows_count; i++) {
		if (table->rows[i].site == table->selected)
			return i;
	}
	return 0;
}

void
th_watch_table_move(struct th_watch_table *table, long rows)
{
	long position = (long)th_watch_table_position(table);
	long last = (long)table->rows_count - 1;

	if (last < 0)
		return;
	if (rows > last || position + rows > last)
		position = last;
	else if (rows < -last || position + rows < 0)
		position = 0;
	else
		position += rows;
	/* On the first row, the selection stays on the first row until it is moved. */
	table->selected = position ? table->rows[position].site : NOTHING;
}

const char *
th_watch_order_name(enum th_watch_order order)
{
	static const char *const names[] = {
		[TH_WATCH_BY_LIVE] = "live",
		[TH_WATCH_BY_GROWTH] = "growth",
		[TH_WATCH_BY_ALLOCATED] = "allocated",
		[TH_WATCH_BY_RATE] = "rate",
	};

	return names[order];
}

/* Curves */

/* The largest value of a column; there may be more or fewer columns than values. */
static double
column_value(const double *values, int count, int columns, int column)
{
	int from = column * count / columns;
	int to = (column + 1) * count / columns;
	double largest = values[from];

	for (int i = from + 1; i < to; i++)
		largest = fmax(largest, values[i]);
	return largest;
}

void
th_watch_sparkline(const double *values, int count, int columns, bool ascii, char *ret)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const letters[] = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
	double largest = 0;

	for (int i = 0; i < count; i++)
		largest = fmax(largest, values[i]);
	ret[0] = '\0';
	for (int i = 0; i < columns; i++) {
		double value = column_value(values, count, columns, i);
		/* Non-zero values have at least one eighth. */
		int level = largest > 0 && value > 0 ? (int)ceil(value / largest * 8) : 0;

		ret = stpcpy(ret, ascii ? letters[level] : blocks[level]);
	}
}
