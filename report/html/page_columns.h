/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the data of the page is written: JSON in ASCII without "<", ">" and "&", so that it can
 * stand in a script element whatever names it holds.
 *
 * Long columns are strings in base64, which the page reads several times as fast as numbers in
 * decimal, and which are half as long.  In them stand either 32-bit floats, lowest byte first, or
 * integers, each as its difference to the one before, with the sign in the lowest bit, seven bits
 * to a byte, the lowest first, and the eighth set where more follow.
 */
#ifndef TH_REPORT_HTML_PAGE_COLUMNS_H
#define TH_REPORT_HTML_PAGE_COLUMNS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prints a value, whose reference it takes. */
void th_page_print_json(FILE *file, json_t *json);

/*
 * A list is begun by `before` and its name; each of its values comes with its separator, by its
 * index; the caller prints "]" behind them.
 */
void th_page_begin_list(FILE *file, const char *before, const char *name);

/* With nine digits: a thousand times finer than any error bar. */
void th_page_print_number(FILE *file, size_t index, double value);

/* A column on its way to the file. */
struct th_page_column {
	FILE *file;
	uint64_t last;  /* integer */
	uint32_t group; /* bytes that wait for a group of three */
	unsigned held;  /* how many these are */
};

/* Prints `before`, the name and what stands before the first value. */
void th_page_column_begin(
	struct th_page_column *column, FILE *file, const char *before, const char *name);

/* A column has values of one kind only. */
void th_page_column_add_integer(struct th_page_column *column, int64_t value);

/* What is too large for a float is the largest of them. */
void th_page_column_add_float(struct th_page_column *column, double value);

void th_page_column_end(struct th_page_column *column);

#endif
