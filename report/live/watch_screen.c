/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the live view with ncurses.  Each refresh draws every line; ncurses sends what changed.
 * Lines are formatted as text and cut to the screen's width.
 */
#include "report/live/watch_screen.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/progress.h"
#include "report/base/terminal.h"
#include "report/live/watch_lines.h"

/* Lines above and below the list. */
#define HEAD_LINES 10
#define CHART_LINES 5
/* Time to wait for the rest of an escape sequence, in milliseconds. */
#define ESCAPE_MS 25

/* Color pairs. */
enum { PAIR_JAVA = 1, PAIR_NATIVE, PAIR_MAPPED, PAIR_VM, PAIR_GROUP, PAIR_WARNING, PAIR_COUNT };

static const short pairs[TH_HEAPS] = {
	[TH_HEAP_JAVA] = PAIR_JAVA,
	[TH_HEAP_NATIVE] = PAIR_NATIVE,
	[TH_HEAP_MAPPED] = PAIR_MAPPED,
};

static SCREEN *screen;
static bool is_ascii;

/* The terminal */

/* Whether a terminal type can position the cursor; nothing has been sent to it yet. */
static bool
is_capable(const char *term)
{
	return term && term[0] && strcmp(term, "dumb") != 0 && strcmp(term, "unknown") != 0;
}

static void
begin_colors(void)
{
	static const short colors[PAIR_COUNT] = {
		[PAIR_JAVA] = COLOR_BLUE,
		[PAIR_NATIVE] = COLOR_YELLOW,
		[PAIR_MAPPED] = COLOR_GREEN,
		[PAIR_VM] = COLOR_CYAN,
		[PAIR_GROUP] = COLOR_MAGENTA,
		[PAIR_WARNING] = COLOR_RED,
	};

	if (!th_terminal_has_colors(stdout) || !has_colors())
		return;
	start_color();
	use_default_colors();
	for (short i = 1; i < PAIR_COUNT; i++)
		init_pair(i, colors[i], -1);
}

struct th_error *
th_watch_screen_begin(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return th_error_create(TH_ERROR_USAGE,
			"live: requires a terminal; use summary or tree for files and pipes");
	setlocale(LC_CTYPE, "");
	is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	screen = is_capable(term) ? newterm(NULL, stdout, stdin) : NULL;
	if (!screen)
		return th_error_create(TH_ERROR_USAGE,
			"live: a terminal of type '%s' cannot position the cursor; use summary "
			"or tree",
			term ? term : "");
	atexit(th_watch_screen_end);
	th_progress_disable();
	begin_colors();
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	return NULL;
}

void
th_watch_screen_end(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

/* Keys */

static int
translate(int key)
{
	static const struct {
		int curses;
		int key;
	} keys[] = {
		{KEY_UP, TH_WATCH_KEY_UP},
		{KEY_DOWN, TH_WATCH_KEY_DOWN},
		{KEY_LEFT, TH_WATCH_KEY_LEFT},
		{KEY_RIGHT, TH_WATCH_KEY_RIGHT},
		{KEY_PPAGE, TH_WATCH_KEY_PAGE_UP},
		{KEY_NPAGE, TH_WATCH_KEY_PAGE_DOWN},
		{KEY_HOME, TH_WATCH_KEY_HOME},
		{KEY_END, TH_WATCH_KEY_END},
		{KEY_ENTER, TH_WATCH_KEY_ENTER},
		{'\r', TH_WATCH_KEY_ENTER},
		{'\n', TH_WATCH_KEY_ENTER},
		{KEY_BACKSPACE, TH_WATCH_KEY_BACKSPACE},
		{'\b', TH_WATCH_KEY_BACKSPACE},
		{0x7f, TH_WATCH_KEY_BACKSPACE},
		{0x1b, TH_WATCH_KEY_ESCAPE},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].curses == key)
			return keys[i].key;
	}
	return key < 0x100 ? key : 0;
}

bool
th_watch_screen_is_gone(void)
{
	struct pollfd input = {.fd = STDIN_FILENO};

	return poll(&input, 1, 0) > 0 && input.revents & (POLLHUP | POLLERR | POLLNVAL);
}

int
th_watch_screen_key(int milliseconds)
{
	timeout(milliseconds);
	int key = getch();

	return key == ERR ? -1 : translate(key);
}

/* Lines */

/* Prints text in columns `from` to `to` of a line; longer text is cut. */
static void
put(int line, int from, int to, const char *text)
{
	char *cut = NULL;
	size_t length;

	if (line < 0 || line >= LINES || from >= to)
		return;
	FILE *memory = open_memstream(&cut, &length);
	if (!memory)
		th_out_of_memory();
	th_format_cut(memory, text, to - from);
	if (fclose(memory))
		th_out_of_memory();
	mvaddstr(line, from, cut);
	free(cut);
}

static void
put_styled(int line, int from, int to, attr_t style, const char *text)
{
	attron(style);
	put(line, from, to, text);
	attroff(style);
}

/* Prints a full-width line in one style. */
static void
put_bar(int line, attr_t style, const char *left, const char *right)
{
	int columns = th_format_columns(right);

	if (line < 0 || line >= LINES)
		return;
	attron(style);
	mvhline(line, 0, ' ', COLS);
	if (columns + 2 < COLS)
		put(line, COLS - columns - 1, COLS, right);
	put(line, 1, columns + 4 < COLS ? COLS - columns - 3 : COLS, left);
	attroff(style);
}

static void
take_line(int line, char *text, attr_t style)
{
	put_styled(line, 1, COLS - 1, style, text);
	free(text);
}

static attr_t
style_of(enum th_function_kind kind)
{
	switch (kind) {
	case TH_KIND_JAVA:
		return COLOR_PAIR(PAIR_JAVA);
	case TH_KIND_NATIVE:
		return COLOR_PAIR(PAIR_NATIVE);
	case TH_KIND_VM:
		return COLOR_PAIR(PAIR_VM);
	default:
		return COLOR_PAIR(PAIR_GROUP);
	}
}

/* Head */

static void
draw_head(const struct th_watch_view *view)
{
	char *title = th_watch_line_title(view->watch);
	char *state = th_watch_line_state(view);
	char *losses = th_watch_line_losses(view->watch);

	put_bar(0, A_REVERSE, title, state);
	take_line(1, th_watch_line_sampling(view->watch), 0);
	if (losses)
		take_line(2, losses, COLOR_PAIR(PAIR_WARNING) | A_BOLD);
	else
		take_line(2, th_watch_line_collections(view->watch), 0);
	if (view->page == TH_WATCH_TABLE)
		take_line(3, th_watch_line_mapped(view->watch), 0);
	free(title);
	free(state);
}

static void
draw_totals(const struct th_watch_view *view)
{
	take_line(4, th_watch_line_totals_heading(COLS - 2), A_BOLD);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		int line = 4 + heap;

		take_line(line,
			th_watch_line_total(
				view->watch, (enum th_heap)heap, COLS - 2, is_ascii),
			0);
		mvchgat(line, 1, 11, A_NORMAL, pairs[heap], NULL);
	}
}

/* The table */

static void
draw_row(struct th_watch_view *view, int line, uint32_t site, bool is_selected)
{
	const struct th_watch *watch = view->watch;
	const struct th_function *function = th_frames_function(
		watch->profile->frames, watch->sites[site].place.function);
	char *figures = th_watch_line_figures(watch, site, COLS - 2, is_ascii);
	int columns = th_format_columns(figures);
	attr_t style = is_selected ? A_REVERSE : 0;

	if (is_selected)
		put_bar(line, A_REVERSE, "", "");
	put_styled(line, 1, COLS, style, figures);
	if (watch->sites[site].is_leak)
		put_styled(line, 2, 3, style | COLOR_PAIR(PAIR_WARNING) | A_BOLD, "!");
	put_styled(line, 1 + columns, COLS - 1, style | style_of(function->kind),
		th_watch_table_name(&view->table, watch, site));
	free(figures);
}

static void
draw_table(struct th_watch_view *view)
{
	const struct th_watch_table *table = &view->table;
	size_t position = th_watch_table_position(table);

	view->rows = LINES - HEAD_LINES - 1 > 1 ? LINES - HEAD_LINES - 1 : 1;
	size_t first = position - position % (size_t)view->rows;
	if (view->watch->findings.headline)
		put_styled(HEAD_LINES - 2, 1, COLS - 1, COLOR_PAIR(PAIR_WARNING) | A_BOLD,
			view->watch->findings.headline);
	take_line(HEAD_LINES - 1, th_watch_line_table_heading(view, COLS - 2), A_BOLD);
	for (int i = 0; i < view->rows && first + (size_t)i < table->rows_count; i++)
		draw_row(view, HEAD_LINES + i, table->rows[first + (size_t)i].site,
			first + (size_t)i == position);
	if (!table->rows_count)
		put(HEAD_LINES + 1, 3, COLS - 1,
			table->is_filtered ? "no site matches the filter"
					   : "no samples so far");
}

/* The stacks of a site */

static void
draw_chart(const struct th_watch_view *view, int line)
{
	const struct th_watch_site *site = &view->watch->sites[view->site];
	int columns = COLS - 2 < TH_WATCH_SECONDS ? COLS - 2 : TH_WATCH_SECONDS;
	double curve[TH_WATCH_SECONDS];

	th_watch_live_curve(view->watch, site, curve);
	for (int i = 0; i < CHART_LINES; i++) {
		char *text = th_watch_line_chart(
			curve + TH_WATCH_SECONDS - columns, columns, CHART_LINES, i, is_ascii);

		put_styled(line + i, 1, COLS - 1, COLOR_PAIR(pairs[site->heap]), text);
		free(text);
	}
	take_line(line + CHART_LINES, th_watch_line_axis(view->watch, site, columns), A_DIM);
}

static void
draw_frames(struct th_watch_view *view, int line, const struct th_path *path)
{
	const struct th_frames *frames = view->watch->profile->frames;

	if (view->scroll >= (long)path->count)
		view->scroll = (long)path->count - 1;
	view->rows = LINES - line - 1 > 1 ? LINES - line - 1 : 1;
	for (int i = 0; i < view->rows && view->scroll + i < (long)path->count; i++) {
		uint32_t number = path->frames[path->count - 1 - (uint32_t)(view->scroll + i)];

		take_line(line + i, th_watch_line_frame(frames, number, view->scroll + i == 0),
			style_of(th_frames_get(frames, number)->kind));
	}
}

static void
draw_stacks(struct th_watch_view *view)
{
	const struct th_watch *watch = view->watch;
	size_t index = th_watch_view_stack(view);
	int line = 3;

	put_styled(line++, 1, COLS - 1, A_BOLD,
		th_watch_table_name(&view->table, watch, view->site));
	take_line(line++, th_watch_line_live(watch, view->site), 0);
	take_line(line++, th_watch_line_allocated(watch, view->site), 0);
	/* The chart is drawn only if there is room for stacks below it. */
	if (LINES >= 24) {
		draw_chart(view, line + 1);
		line += CHART_LINES + 2;
	}
	if (!view->stacks.items_count)
		return;
	const struct th_watch_stack *stack = &view->stacks.items[index];
	struct th_path path = th_paths_get(watch->profile->paths, stack->path);
	take_line(line + 1, th_watch_line_stack(view, index), A_BOLD);
	draw_frames(view, line + 2, &path);
}

/* Help */

static void
draw_help(void)
{
	static const char *const lines[] = {
		"q            quit",
		"p, z         freeze the display; the process keeps running",
		"s, < >       sort by live bytes, growth, allocated bytes, allocation rate",
		"R            reverse the order",
		"/, o         filter sites by a regular expression; Esc clears the filter",
		"Tab          all heaps, Java, native, mapped",
		"arrows, j k  select a site; also Page Up and Down, Home, End",
		"Enter        stacks of the site: left and right select one, up and down "
		"scroll",
		"Esc          back",
		"h, ?         this help",
		"",
		"live         bytes allocated and not yet freed or collected",
		"growth       change of live bytes per second over the last minute, without "
		"the start",
		"allocated    bytes since the start; rate: bytes per second, over the last 10 "
		"s",
		"!            a leak, as `leaks` finds it; looked for every ten seconds",
		"J, N, M      Java heap, native heap, memory that libraries map themselves",
		"",
		"Figures are unbiased estimates; intervals are 95 % confidence intervals.",
		"Curves show the last minute, each scaled from 0 to its own maximum.",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		put((int)i + 4, 3, COLS - 1, lines[i]);
}

/* All */

static void
draw_foot(const struct th_watch_view *view)
{
	char *keys = th_watch_line_keys(view);

	put_bar(LINES - 1, A_REVERSE, keys, "");
	free(keys);
}

void
th_watch_screen_draw(struct th_watch_view *view)
{
	erase();
	draw_head(view);
	if (view->page == TH_WATCH_HELP) {
		draw_help();
	} else if (view->page == TH_WATCH_STACKS) {
		draw_stacks(view);
	} else {
		draw_totals(view);
		draw_table(view);
	}
	draw_foot(view);
	refresh();
}
