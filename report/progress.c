/* SPDX-License-Identifier: Apache-2.0 */
#include "report/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Nobody wants to see a bar that is gone before it is read. */
#define FIRST_NS 1000000000u
#define STEP_NS 100000000u
#define BAR_COLUMNS 30

static struct {
	bool is_known;    /* whether there is a terminal */
	bool is_terminal; /* on stderr, that can clear a line */
	bool is_shown;
	uint64_t next; /* CLOCK_MONOTONIC ns: not before */
} line;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void
find_terminal(uint64_t now)
{
	const char *term = getenv("TERM");

	line.is_known = true;
	line.is_terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	line.next = now + FIRST_NS;
}

void
th_progress(const char *what, uint64_t done, uint64_t all)
{
	static const char bar[] = "##############################";
	uint64_t now = now_ns();

	if (!line.is_known)
		find_terminal(now);
	if (!line.is_terminal || now < line.next || !all)
		return;
	double part = done < all ? (double)done / (double)all : 1;
	fprintf(stderr, "\r%-24s [%-*.*s] %3.0f %%", what, BAR_COLUMNS,
		(int)(part * BAR_COLUMNS), bar, part * 100);
	line.is_shown = true;
	line.next = now + STEP_NS;
}

void
th_progress_clear(void)
{
	if (line.is_shown)
		fputs("\r\033[K", stderr);
	line.is_shown = false;
}
