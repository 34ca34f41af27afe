/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities of an output stream: colors on a terminal, unless the variable NO_COLOR is not
 * empty or TERM is "dumb"; plain text in a file or a pipe. --color overrides this.
 */
#ifndef TH_REPORT_BASE_TERMINAL_H
#define TH_REPORT_BASE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum th_style {
	TH_STYLE_PLAIN, /* ends any other */
	TH_STYLE_HEADING,
	TH_STYLE_LARGE, /* an important figure */
	TH_STYLE_WARNING,
	TH_STYLE_DOUBT, /* neither bad nor good */
	TH_STYLE_GOOD,
	TH_STYLE_JAVA,
	TH_STYLE_NATIVE,
	TH_STYLE_VM,
	TH_STYLE_GROUP,
};

/* The argument of --color. */
enum th_colors { TH_COLORS_AUTO, TH_COLORS_ALWAYS, TH_COLORS_NEVER };

/* For all streams; before anything is printed. */
void th_terminal_set_colors(enum th_colors colors);

bool th_terminal_has_colors(FILE *file);

/* The escape sequence that starts a style, "" without colors. */
const char *th_terminal_code(FILE *file, enum th_style style);

/* Columns of the terminal; 0 = not a terminal, or unknown. */
int th_terminal_columns(FILE *file);

/* Columns of a line after the first `used` ones, but not less than `least`; without a terminal
 * there is no limit. */
int th_terminal_room(FILE *file, int used, int least);

/* A terminal with fewer columns wraps its lines itself. */
#define TH_TERMINAL_LEAST_FITTED 40

/*
 * A stream that prints to `file` and wraps lines that are longer than `columns` between words,
 * with a hanging indent; words that are longer are cut in the middle. A line that ends in a path is
 * left whole, so that it can be copied. `file` itself if there are too few columns, or none: no
 * terminal. One at a time; to be ended with th_terminal_fitted().
 */
FILE *th_terminal_fit(FILE *file, int columns);

/* Ends a stream of th_terminal_fit(); the one that it prints to. Any other one is left alone. */
FILE *th_terminal_fitted(FILE *file);

#endif
