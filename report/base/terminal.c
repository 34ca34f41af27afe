/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colors, widths, and the stream that fits lines to a terminal. That stream is in memory; at its
 * end the lines are printed to the terminal, wrapped between words if they are too long.
 */
#include "report/base/terminal.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/format.h"

/* Continuation lines are indented by this much more than the first one. */
#define HANGING 2

/* Colors of the terminal's own palette, which the user can make readable. */
static const char *const codes[] = {
	[TH_STYLE_PLAIN] = "\033[0m",
	[TH_STYLE_HEADING] = "\033[1m",
	[TH_STYLE_LARGE] = "\033[1m",
	[TH_STYLE_WARNING] = "\033[1;31m",
	[TH_STYLE_DOUBT] = "\033[1;33m",
	[TH_STYLE_GOOD] = "\033[1;32m",
	[TH_STYLE_JAVA] = "\033[34m",
	[TH_STYLE_NATIVE] = "\033[33m",
	[TH_STYLE_VM] = "\033[2m",
	[TH_STYLE_GROUP] = "\033[35m",
};

static enum th_colors wanted;

/* The fitted stream, one at a time. */
static struct {
	FILE *stream; /* NULL: none is open */
	FILE *target;
	int columns;
	char *text;
	size_t length;
} fitted;

static bool
is_terminal(FILE *file)
{
	if (fitted.stream && file == fitted.stream)
		return true;
	int descriptor = fileno(file); /* -1: a stream in memory */

	return descriptor >= 0 && isatty(descriptor);
}

bool
th_terminal_has_colors(FILE *file)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (wanted != TH_COLORS_AUTO)
		return wanted == TH_COLORS_ALWAYS;
	return is_terminal(file) && !(no_color && no_color[0]) && term &&
	       strcmp(term, "dumb") != 0;
}

void
th_terminal_set_colors(enum th_colors colors)
{
	wanted = colors;
}

/* Cached: the check costs a system call, and views print one stream. */
static FILE *known;

const char *
th_terminal_code(FILE *file, enum th_style style)
{
	static bool is_coloured;

	if (file != known)
		is_coloured = th_terminal_has_colors(file);
	known = file;
	return is_coloured ? codes[style] : "";
}

int
th_terminal_columns(FILE *file)
{
	struct winsize size;

	if (fitted.stream && file == fitted.stream)
		return fitted.columns;
	if (!is_terminal(file) || ioctl(fileno(file), TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

int
th_terminal_room(FILE *file, int used, int least)
{
	int columns = th_terminal_columns(file);

	if (!columns)
		return INT_MAX;
	return columns - used > least ? columns - used : least;
}

/* Fitting */

/* Columns of `length` bytes; escape sequences that end in 'm' have none. */
static int
columns_of(const char *text, size_t length)
{
	int columns = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\033') {
			while (i < length && text[i] != 'm')
				i++;
			continue;
		}
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	}
	return columns;
}

/* Whether a word is a path or the name of a log, which can be copied only as a whole. */
static bool
is_path(const char *word, size_t length)
{
	size_t start = word[0] == '\'';

	return (length > start && word[start] == '/') ||
	       (length >= 4 && !memcmp(word + length - 4, ".thl", 4));
}

/* Also of a command to copy. */
static bool
ends_in_path(const char *line)
{
	const char *blank = strrchr(line, ' ');
	const char *word = blank ? blank + 1 : line;

	return is_path(word, strlen(word));
}

/* Prints a word that is longer than a line; a path stays whole. */
static void
print_long(const char *word, size_t length, int room)
{
	if (is_path(word, length) || memchr(word, '\033', length)) {
		fwrite(word, 1, length, fitted.target);
		return;
	}
	char *text = th_format_new("%.*s", (int)length, word);
	th_format_cut(fitted.target, text, room);
	free(text);
}

/* The length of the blanks at `text` and of the escape sequences among them; counts the blanks. */
static size_t
span_blanks(const char *text, size_t *blanks_ret)
{
	size_t at = 0;

	*blanks_ret = 0;
	for (;;) {
		const char *end = text[at] == '\033' ? strchr(text + at, 'm') : NULL;

		if (text[at] == ' ')
			++*blanks_ret;
		else if (!end)
			return at;
		at = end ? (size_t)(end - text) + 1 : at + 1;
	}
}

/*
 * Continuation lines begin below the text after a label ("leak     text"), else further right
 * than the first one.
 */
static int
hanging_indent(const char *line)
{
	size_t start = strspn(line, " ");
	size_t end = start + strcspn(line + start, " ");
	size_t blanks;
	size_t gap = span_blanks(line + end, &blanks);
	int indent = columns_of(line, blanks > 1 ? end + gap : start) +
		     (blanks > 1 ? 0 : HANGING);

	return indent <= fitted.columns / 2 ? indent : HANGING;
}

/* Prints the line between words at most `columns` wide, with a hanging indent. */
static void
wrap(const char *line)
{
	int indent = hanging_indent(line);
	int used = 0;

	while (*line) {
		size_t blanks = strspn(line, " ");
		size_t length = strcspn(line + blanks, " ");
		int width = columns_of(line + blanks, length);

		if (used > indent && used + (int)blanks + width > fitted.columns) {
			fprintf(fitted.target, "\n%*s", indent, "");
			used = indent;
		} else {
			fprintf(fitted.target, "%*s", (int)blanks, "");
			used += (int)blanks;
		}
		if (used + width > fitted.columns)
			print_long(line + blanks, length, fitted.columns - used);
		else
			fwrite(line + blanks, 1, length, fitted.target);
		used += width;
		line += blanks + length;
	}
}

static void
print_line(const char *line)
{
	if (columns_of(line, strlen(line)) <= fitted.columns || ends_in_path(line))
		fputs(line, fitted.target);
	else
		wrap(line);
}

FILE *
th_terminal_fit(FILE *file, int columns)
{
	if (columns < TH_TERMINAL_LEAST_FITTED || fitted.stream)
		return file;
	fitted.target = file;
	fitted.columns = columns;
	fitted.stream = open_memstream(&fitted.text, &fitted.length);
	if (!fitted.stream)
		th_out_of_memory();
	/* An earlier stream may have had the same address. */
	known = NULL;
	return fitted.stream;
}

FILE *
th_terminal_fitted(FILE *file)
{
	FILE *target = fitted.target;

	if (file != fitted.stream)
		return file;
	if (fclose(file))
		th_out_of_memory();
	for (char *line = fitted.text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		bool is_ended = *end;

		*end = '\0';
		print_line(line);
		if (is_ended) {
			fputc('\n', target);
			end++;
		}
	}
	free(fitted.text);
	memset(&fitted, 0, sizeof(fitted));
	return target;
}
