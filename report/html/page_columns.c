/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the data of the page: escaped JSON, and columns of integers or floats in base64.
 */
#include "report/html/page.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/views/parts.h"

/* JSON */

/* Escapes letters that could end a script element, in JSON notation. */
static void
print_escaped(FILE *file, const char *text)
{
	for (;;) {
		size_t length = strcspn(text, "<>&");

		fwrite(text, 1, length, file);
		if (!text[length])
			return;
		fprintf(file, "\\u%04x", (unsigned char)text[length]);
		text += length + 1;
	}
}

void
th_page_print_json(FILE *file, const char *before, json_t *json)
{
	char *text = th_json_dump(json, JSON_ENSURE_ASCII);

	fputs(before, file);
	print_escaped(file, text);
	free(text);
}

/* Columns */

/* Base64. */
static void
print_bytes(FILE *file, const uint8_t *bytes, size_t count)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < count; i += 3) {
		size_t left = count - i;
		uint32_t group = (uint32_t)bytes[i] << 16;

		group |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
		group |= left > 2 ? bytes[i + 2] : 0;
		putc_unlocked(alphabet[group >> 18], file);
		putc_unlocked(alphabet[group >> 12 & 63], file);
		putc_unlocked(left > 1 ? alphabet[group >> 6 & 63] : '=', file);
		putc_unlocked(left > 2 ? alphabet[group & 63] : '=', file);
	}
}

void
th_page_column_begin(struct th_page_column *column, FILE *file, const char *before,
	const char *name, const char *type)
{
	fprintf(file, "%s\"%s\":{\"%ss\":\"", before, name, type);
	*column = (struct th_page_column){.file = file};
}

void
th_page_column_add_integer(struct th_page_column *column, int64_t value)
{
	uint64_t difference = (uint64_t)value - column->last;
	uint64_t rest = difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);

	column->last = (uint64_t)value;
	th_bytes_varint(&column->bytes, rest);
}

void
th_page_column_add_float(struct th_page_column *column, double value)
{
	float narrow = (float)fmin(fmax(value, -FLT_MAX), FLT_MAX);

	th_bytes_add(&column->bytes, &narrow, sizeof(narrow));
}

void
th_page_column_end(struct th_page_column *column)
{
	print_bytes(column->file, column->bytes.items, column->bytes.items_count);
	free(column->bytes.items);
	fputs("\"}", column->file);
}
