/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities of an output stream: colors on a terminal, unless the variable NO_COLOR is not
 * empty or TERM is "dumb"; plain text in a file or a pipe.
 */
#ifndef TH_REPORT_BASE_TERMINAL_H
#define TH_REPORT_BASE_TERMINAL_H

#include <stdio.h>

enum th_style {
	TH_STYLE_PLAIN, /* ends any other */
	TH_STYLE_HEADING,
	TH_STYLE_LARGE, /* an important figure */
	TH_STYLE_WARNING,
	TH_STYLE_JAVA,
	TH_STYLE_NATIVE,
	TH_STYLE_VM,
	TH_STYLE_GROUP,
};

/* The escape sequence that starts a style, "" without colors. */
const char *th_terminal_code(FILE *file, enum th_style style);

/* Columns of the terminal; 0 = not a terminal, or unknown. */
int th_terminal_columns(FILE *file);

#endif
