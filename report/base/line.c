/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/line.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/format.h"

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

void
th_line_cut(struct th_line *line, FILE *file, int columns)
{
	char *text = th_line_end(line);

	th_format_cut(file, text, columns);
	free(text);
}
