/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/line.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

/*
 * Texts are in blocks: as pieces of memory of their own they would lie between the buffers of the
 * streams, which are larger, and keep them from being used again.
 */
#define BLOCK_BYTES (1 << 16)

struct block {
	struct block *older;
	size_t used, size;
	char bytes[];
};

static _Thread_local struct block *newest;

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
	size_t length = strlen(text) + 1;

	if (!newest || newest->size - newest->used < length) {
		size_t size = length > BLOCK_BYTES ? length : BLOCK_BYTES;
		struct block *block = th_allocate(1, sizeof(*block) + size);

		block->older = newest;
		block->size = size;
		newest = block;
	}
	char *kept = memcpy(newest->bytes + newest->used, text, length);
	newest->used += length;
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
	while (newest) {
		struct block *older = newest->older;

		free(newest);
		newest = older;
	}
}
