/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/line.h"

#include <obstack.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

/*
 * Texts are in blocks: as pieces of memory of their own they would lie between the buffers of the
 * streams, which are larger, and keep them from being used again.
 */
#define BLOCK_BYTES (1 << 16)

static _Thread_local struct obstack texts;

static void *
allocate_block(long bytes)
{
	return th_allocate(1, (size_t)bytes);
}

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

/* Frees the text. */
static const char *
keep(char *text)
{
	if (!texts.chunk)
		obstack_specify_allocation(&texts, BLOCK_BYTES, 1, allocate_block, free);
	const char *kept = obstack_copy(&texts, text, (int)strlen(text) + 1);
	free(text);
	return kept;
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
	if (texts.chunk)
		obstack_free(&texts, NULL);
	texts.chunk = NULL;
}
