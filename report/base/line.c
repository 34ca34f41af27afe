/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/line.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

static _Thread_local struct {
	TH_ARRAY(char *, items);
} texts;

void
th_line_begin(struct th_line *line)
{
	*line = (struct th_line){0};
	line->stream = open_memstream(&line->text, &line->length);
	if (!line->stream)
		th_out_of_memory();
}

char *
th_line_end(struct th_line *line)
{
	if (fclose(line->stream))
		th_out_of_memory();
	return line->text;
}

static const char *
keep(char *text)
{
	th_array_append(&texts, items, text);
	return text;
}

const char *
th_line_text(struct th_line *line)
{
	return keep(th_line_end(line));
}

const char *
th_text_format(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *text = th_format_new_va(format, arguments);
	va_end(arguments);
	return keep(text);
}

const char *
th_text_printable(struct th_text text)
{
	return keep(th_text_clean(text));
}

void
th_texts_free(void)
{
	for (size_t i = 0; i < texts.items_count; i++)
		free(texts.items[i]);
	free(texts.items);
	memset(&texts, 0, sizeof(texts));
}
