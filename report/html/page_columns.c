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

/* Encodes the bytes that wait; only the last group of a column may have less than three. */
static void
print_bytes(struct th_page_column *column)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[TH_PAGE_COLUMN_BYTES / 3 * 4];
	size_t length = 0;

	for (size_t i = 0; i < column->held; i += 3) {
		size_t left = column->held - i;
		uint32_t group = (uint32_t)column->bytes[i] << 16;

		group |= left > 1 ? (uint32_t)column->bytes[i + 1] << 8 : 0;
		group |= left > 2 ? column->bytes[i + 2] : 0;
		text[length++] = alphabet[group >> 18];
		text[length++] = alphabet[group >> 12 & 63];
		text[length++] = left > 1 ? alphabet[group >> 6 & 63] : '=';
		text[length++] = left > 2 ? alphabet[group & 63] : '=';
	}
	fwrite_unlocked(text, 1, length, column->file);
	column->held = 0;
}

static void
add_byte(struct th_page_column *column, unsigned byte)
{
	if (column->held == sizeof(column->bytes))
		print_bytes(column);
	column->bytes[column->held++] = (uint8_t)byte;
}

void
th_page_column_begin(struct th_page_column *column, FILE *file, const char *before,
	const char *name, const char *type)
{
	fprintf(file, "%s\"%s\":{\"%ss\":\"", before, name, type);
	column->file = file;
	column->last = 0;
	column->held = 0;
}

void
th_page_column_add_integer(struct th_page_column *column, int64_t value)
{
	uint64_t difference = (uint64_t)value - column->last;
	uint64_t rest = difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);

	column->last = (uint64_t)value;
	for (; rest >> 7; rest >>= 7)
		add_byte(column, (rest & 127) | 128);
	add_byte(column, (unsigned)rest);
}

void
th_page_column_add_float(struct th_page_column *column, double value)
{
	float narrow = (float)fmin(fmax(value, -FLT_MAX), FLT_MAX);
	uint32_t word;

	memcpy(&word, &narrow, sizeof(word));
	for (int i = 0; i < 4; i++)
		add_byte(column, word >> 8 * i & 255);
}

void
th_page_column_end(struct th_page_column *column)
{
	print_bytes(column);
	fputs("\"}", column->file);
}
