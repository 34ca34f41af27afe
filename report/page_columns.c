/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_parts.h"

/* Letters that could end a script element, as JSON may also write them. */
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
th_page_print_json(FILE *file, json_t *json)
{
	char *text = th_json_dump(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	print_escaped(file, text);
	free(text);
}

void
th_page_begin_column(FILE *file, const char *before, const char *name)
{
	fprintf(file, "%s\"%s\":[", before, name);
}

static void
print_separator(FILE *file, size_t index)
{
	if (index)
		putc_unlocked(',', file);
}

/* Digits of `value`, at least `least` of them. */
static void
print_digits(FILE *file, uint64_t value, int least)
{
	char text[24];
	char *at = text + sizeof(text);

	for (; value || least > 0; value /= 10, least--)
		*--at = (char)('0' + value % 10);
	fwrite_unlocked(at, 1, (size_t)(text + sizeof(text) - at), file);
}

void
th_page_print_integer(FILE *file, size_t index, int64_t value)
{
	print_separator(file, index);
	if (value < 0)
		putc_unlocked('-', file);
	print_digits(file, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
}

/* With nine digits or more before the point there are none behind it; with fewer, the rest. */
void
th_page_print_number(FILE *file, size_t index, double value)
{
	uint64_t scale = 1;
	int places = 0;

	if (!(value >= 1e-3 && value < 1e18)) {
		print_separator(file, index);
		fprintf(file, "%.9g", value);
		return;
	}
	while (value * (double)scale < 1e8 && places < 11 && value != floor(value)) {
		scale *= 10;
		places++;
		if (value * (double)scale == floor(value * (double)scale))
			break;
	}
	uint64_t whole = (uint64_t)llround(value * (double)scale);
	print_separator(file, index);
	print_digits(file, whole / scale, 1);
	if (!places)
		return;
	putc_unlocked('.', file);
	print_digits(file, whole % scale, places);
}
