/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the data of the page is written: JSON in ASCII without "<", ">" and "&", so that it can
 * stand in a script element whatever names it holds. [offline]
 */
#ifndef TH_REPORT_PAGE_COLUMNS_H
#define TH_REPORT_PAGE_COLUMNS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prints a value, whose reference it takes. */
void th_page_print_json(FILE *file, json_t *json);

/*
 * A column is begun by `before` and its name; each of its values comes with its separator, by
 * its index; the caller prints "]" behind them.
 */
void th_page_begin_column(FILE *file, const char *before, const char *name);
void th_page_print_integer(FILE *file, size_t index, int64_t value);

/* With nine digits: a thousand times finer than any error bar. */
void th_page_print_number(FILE *file, size_t index, double value);

#endif
