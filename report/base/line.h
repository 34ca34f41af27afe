/* SPDX-License-Identifier: Apache-2.0 */
/* A text that is printed into memory first, because its width decides how it is shown. */
#ifndef TH_REPORT_BASE_LINE_H
#define TH_REPORT_BASE_LINE_H

#include <stdio.h>

struct th_line {
	FILE *stream; /* to print to */
	char *text;
	size_t length;
};

void th_line_begin(struct th_line *line);

/* Ends the text and prints it to `file`, cut to `columns` columns in the middle. */
void th_line_cut(struct th_line *line, FILE *file, int columns);

/* Ends the text and returns it; the caller frees it. */
char *th_line_end(struct th_line *line);

#endif
