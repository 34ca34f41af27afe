/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/terminal.h"
#include "unify/shared/clock.h"

/* Shorter operations show no progress. */
#define FIRST_NS TH_NS_PER_S
#define STEP_NS (TH_NS_PER_S / 10)
#define BAR_COLUMNS 30
/*
 * Widths of a line with and without a bar: a line must not reach the last column, or it would
 * wrap.
 */
#define LINE_COLUMNS (24 + 2 + BAR_COLUMNS + 2 + 5)
#define NUMBER_COLUMNS (24 + 1 + 5)

static struct {
	bool is_known;    /* whether the terminal has been checked */
	bool is_terminal; /* on stderr, can clear a line and is wide enough for one */
	bool has_bar;     /* wide enough for the bar */
	bool is_shown;
	uint64_t next; /* CLOCK_MONOTONIC ns: time of the next update */
} line;

static void
find_terminal(uint64_t now)
{
	const char *term = getenv("TERM");
	int columns = th_terminal_columns(stderr);

	line.is_known = true;
	line.is_terminal = columns > NUMBER_COLUMNS && term && term[0] &&
			   strcmp(term, "dumb") != 0;
	line.has_bar = columns > LINE_COLUMNS;
	line.next = now + FIRST_NS;
}

void
th_progress(const char *what, uint64_t done, uint64_t all)
{
	static const char bar[] = "##############################";
	uint64_t now = th_clock_now();

	if (!line.is_known)
		find_terminal(now);
	if (!line.is_terminal || now < line.next || !all)
		return;
	double part = done < all ? (double)done / (double)all : 1;
	if (line.has_bar)
		fprintf(stderr, "\r%-24s [%-*.*s] %3.0f %%", what, BAR_COLUMNS,
			(int)(part * BAR_COLUMNS), bar, part * 100);
	else
		fprintf(stderr, "\r%-24s %3.0f %%", what, part * 100);
	line.is_shown = true;
	line.next = now + STEP_NS;
}

void
th_progress_disable(void)
{
	th_progress_clear();
	line.is_known = true;
	line.is_terminal = false;
}

void
th_progress_clear(void)
{
	if (line.is_shown)
		fputs("\r\033[K", stderr);
	line.is_shown = false;
}
