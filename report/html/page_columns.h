/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoding of the page's data: JSON in ASCII without "<", ">" and "&", so that any name is safe
 * inside a script element.
 *
 * Long columns are base64 strings, half as long as decimal numbers and several times as fast to
 * read.  They contain either 32-bit floats in little-endian order, or integers.  Each integer
 * is stored as its difference to the one before, with the sign in the lowest bit, seven bits
 * per byte, lowest first; the eighth bit is set if more bytes follow.
 */
#ifndef TH_REPORT_HTML_PAGE_COLUMNS_H
#define TH_REPORT_HTML_PAGE_COLUMNS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prints `before` and a value, and drops the caller's reference. */
void th_page_print_json(FILE *file, const char *before, json_t *json);

/* Bytes that are encoded at a time: a multiple of three. */
#define TH_PAGE_COLUMN_BYTES 3072

/* A column being written. */
struct th_page_column {
	FILE *file;
	uint64_t last; /* the last integer added */
	size_t held;   /* number of bytes that wait to be encoded */
	uint8_t bytes[TH_PAGE_COLUMN_BYTES];
};

/* Prints `before`, the name and the opening of the column. */
void th_page_column_begin(
	struct th_page_column *column, FILE *file, const char *before, const char *name);

/* A column contains either integers or floats. */
void th_page_column_add_integer(struct th_page_column *column, int64_t value);

/* Values too large for a float are written as the largest float. */
void th_page_column_add_float(struct th_page_column *column, double value);

void th_page_column_end(struct th_page_column *column);

/* A column of `expression` for each index `i` below `count`. */
#define th_page_integers(file, before, name, i, count, expression) \
	TH_PAGE_COLUMN(integer, file, before, name, i, count, expression)
#define th_page_floats(file, before, name, i, count, expression) \
	TH_PAGE_COLUMN(float, file, before, name, i, count, expression)
#define TH_PAGE_COLUMN(type, file, before, name, i, count, expression)     \
	do {                                                               \
		struct th_page_column column_;                             \
		th_page_column_begin(&column_, file, before, name);        \
		for (size_t i = 0; i < (count); i++)                       \
			th_page_column_add_##type(&column_, (expression)); \
		th_page_column_end(&column_);                              \
	} while (0)

#endif
