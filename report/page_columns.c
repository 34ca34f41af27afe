/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page_columns.h"

#include <inttypes.h>
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

void
th_page_print_integer(FILE *file, size_t index, int64_t value)
{
	fprintf(file, "%s%" PRId64, index ? "," : "", value);
}

void
th_page_print_number(FILE *file, size_t index, double value)
{
	fprintf(file, "%s%.9g", index ? "," : "", value);
}
