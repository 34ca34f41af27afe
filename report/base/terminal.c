/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/terminal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Colors of the terminal's own palette, which the user can make readable. */
static const char *const codes[] = {
	[TH_STYLE_PLAIN] = "\033[0m",
	[TH_STYLE_HEADING] = "\033[1m",
	[TH_STYLE_LARGE] = "\033[1m",
	[TH_STYLE_WARNING] = "\033[1;31m",
	[TH_STYLE_JAVA] = "\033[34m",
	[TH_STYLE_NATIVE] = "\033[33m",
	[TH_STYLE_VM] = "\033[2m",
	[TH_STYLE_GROUP] = "\033[35m",
};

static bool
is_terminal(FILE *file)
{
	int descriptor = fileno(file); /* -1: a stream in memory */

	return descriptor >= 0 && isatty(descriptor);
}

static bool
has_colours(FILE *file)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return is_terminal(file) && !(no_color && no_color[0]) && term &&
	       strcmp(term, "dumb") != 0;
}

const char *
th_terminal_code(FILE *file, enum th_style style)
{
	/* Cached: the check costs a system call, and views print one stream. */
	static FILE *known;
	static bool is_coloured;

	if (file != known)
		is_coloured = has_colours(file);
	known = file;
	return is_coloured ? codes[style] : "";
}

int
th_terminal_columns(FILE *file)
{
	struct winsize size;

	if (!is_terminal(file) || ioctl(fileno(file), TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}
