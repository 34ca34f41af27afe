/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stream can show: colours on a terminal, unless the variable NO_COLOR holds something or
 * TERM says dumb; nothing but text in a file or a pipe.
 */
#ifndef TH_REPORT_BASE_TERMINAL_H
#define TH_REPORT_BASE_TERMINAL_H

#include <stdio.h>

enum th_style {
	TH_STYLE_PLAIN, /* ends any other */
	TH_STYLE_HEADING,
	TH_STYLE_LARGE, /* a figure that matters */
	TH_STYLE_WARNING,
	TH_STYLE_JAVA,
	TH_STYLE_NATIVE,
	TH_STYLE_VM,
	TH_STYLE_GROUP,
};

/* What to print before text of a style, "" where there are no colours. */
const char *th_terminal_code(FILE *file, enum th_style style);

/* Columns of the terminal, 0 = it is none, or does not say. */
int th_terminal_columns(FILE *file);

#endif
