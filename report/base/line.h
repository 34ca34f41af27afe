/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that is printed into memory first.  Texts of the output have no owner: they live until
 * th_texts_free(), which is called after each log of many, and each update of a command that goes on.
 */
#ifndef TH_REPORT_BASE_LINE_H
#define TH_REPORT_BASE_LINE_H

#include <stdio.h>

#include "report/base/log_text.h"

struct th_line {
	FILE *stream; /* to print to */
	char *text;
	size_t length;
};

void th_line_begin(struct th_line *line);

/* Ends the text and returns it; the caller frees it. */
char *th_line_end(struct th_line *line);

/* Ends the text and returns it as one of the output. */
const char *th_line_text(struct th_line *line);

/* Printed, or cleaned by th_text_clean(). */
const char *th_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *th_text_printable(struct th_text text);

/* Frees the texts of this thread. */
void th_texts_free(void);

#endif
