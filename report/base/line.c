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

const char *
th_line_text(struct th_line *line)
{
	th_array_append(&texts, items, th_line_end(line));
	return line->text;
}

void
th_texts_free(void)
{
	for (size_t i = 0; i < texts.items_count; i++)
		free(texts.items[i]);
	free(texts.items);
	memset(&texts, 0, sizeof(texts));
}
