/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the live view with ncurses: each refresh draws every line, ncurses sends what changed. Updates
 * come once per second; between updates, keys act on the last figures. The terminal's state is
 * restored however the program ends.
 */
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/end_signals.h"
#include "report/base/format.h"
#include "report/base/line.h"
#include "report/base/progress.h"
#include "report/base/terminal.h"
#include "report/control/running.h"
#include "report/live/live.h"
#include "report/symbols/debuginfod.h"
#include "unify/shared/clock.h"

#define REFRESH_NS TH_NS_PER_S
/* Seconds between two outputs without a terminal. */
#define PRINTED_EVERY 10
/* Screens with fewer lines show only the title above the view. */
#define LEAST_LINES 16
/* Time to wait for the rest of an escape sequence, in milliseconds. */
#define ESCAPE_MS 25
/* Color sequences: "31" is the first color, whose pair has the color's number. */
#define FIRST_COLOR 30

static SCREEN *screen;

/* The terminal */

/* Whether there is a terminal that can position the cursor; nothing has been sent to it yet. */
static bool
is_capable(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && term[0] &&
	       strcmp(term, "dumb") != 0 && strcmp(term, "unknown") != 0;
}

static void
begin_colors(void)
{
	if (!th_terminal_has_colors(stdout) || !has_colors())
		return;
	start_color();
	use_default_colors();
	for (short color = COLOR_RED; color <= COLOR_WHITE; color++)
		init_pair(color, color, -1);
}

static void
end(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

/* False: ncurses does not know the terminal. */
static bool
begin(void)
{
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	atexit(end);
	th_progress_disable();
	begin_colors();
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	return true;
}

static bool
is_gone(void)
{
	struct pollfd input = {.fd = STDIN_FILENO};

	return poll(&input, 1, 0) > 0 && input.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* Lines */

/* The attributes after the color sequence at `text`; sets its end. */
static attr_t
change_style(attr_t style, const char *text, const char **end_ret)
{
	const char *at = text + 1;

	do {
		long code = strtol(at + 1, (char **)&at, 10);

		if (!code)
			style = 0;
		else if (code > FIRST_COLOR)
			style |= (attr_t)COLOR_PAIR(code - FIRST_COLOR);
		else
			style |= code == 1 ? A_BOLD : A_DIM;
	} while (*at == ';');
	*end_ret = *at ? at + 1 : at;
	return style;
}

/* Draws text with color sequences over a whole line; what is beyond the screen is cut. */
static void
put_line(int line, attr_t base, const char *text)
{
	int column = 1;
	attr_t style = 0;

	if (line < 0 || line >= LINES)
		return;
	attrset(base);
	mvhline(line, 0, ' ', COLS);
	move(line, column);
	while (*text && column < COLS - 1) {
		if (*text == '\033') {
			style = change_style(style, text, &text);
			continue;
		}
		size_t length = 1;
		while (((unsigned char)text[length] & 0xc0) == 0x80)
			length++;
		attrset(base | style);
		addnstr(text, (int)length);
		text += length;
		column++;
	}
	attrset(0);
}

/* The same, and returns the next line; NULL: draws nothing. */
static int
take_line(int line, attr_t base, const char *text)
{
	if (text)
		put_line(line++, base, text);
	return line;
}

static int
draw_title(const struct th_live *live)
{
	const char *state = th_live_state(live);
	int column = COLS - 4 - th_format_columns(state) - (live->is_paused ? 8 : 0);

	take_line(0, A_REVERSE, th_live_title(live));
	attrset(A_REVERSE);
	if (column > 0)
		mvprintw(0, column, "  %s%s ", live->is_paused ? "PAUSED  " : "", state);
	return 1;
}

static int
draw_views(const struct th_live *live, int line)
{
	move(line, 1);
	for (enum th_live_view view = 0; view < TH_LIVE_VIEWS; view++) {
		attrset(live->view == view && !live->is_help ? A_REVERSE : 0);
		printw(" %u %s ", view + 1, th_live_view_names[view]);
		attrset(0);
		addstr("  ");
	}
	return line + 1;
}

/* What is shown above every view; returns the line below it. */
static int
draw_head(const struct th_live *live)
{
	attr_t alarm = A_BOLD | (attr_t)COLOR_PAIR(COLOR_RED);
	int line = draw_title(live);

	if (LINES < LEAST_LINES)
		return take_line(line, alarm, th_live_end(live));
	line = draw_views(live, line);
	line = take_line(line, A_BOLD, th_live_rates(live, 0));
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (live->options.heaps & 1u << heap)
			line = take_line(line, 0, th_live_rates(live, heap));
	}
	line = take_line(line, alarm, th_live_end(live));
	return take_line(line, alarm, live->headline) + 1;
}

static void
draw(struct th_live *live)
{
	if (live->columns != COLS - 2) {
		live->columns = COLS - 2;
		th_live_print(live);
	}
	erase();
	int line = draw_head(live);
	live->rows = LINES - 1 - line > 1 ? LINES - 1 - line : 1;
	for (size_t i = live->first; i < live->lines_count && line < LINES - 1; i++)
		put_line(line++, 0, live->lines[i]);
	take_line(LINES - 1, A_REVERSE, th_live_keys(live));
	refresh();
	th_texts_free();
}

static void
loop(struct th_live *live)
{
	uint64_t next = th_clock_now() + REFRESH_NS;

	while (!live->is_done && !th_end_signals_came() && !is_gone()) {
		draw(live);
		uint64_t now = th_clock_now();
		timeout(now < next ? (int)((next - now) / 1000000) + 1 : 0);
		int key = getch();

		if (key != ERR)
			th_live_key(live, key);
		if (th_clock_now() < next)
			continue;
		th_live_update(live);
		next = th_clock_now() + REFRESH_NS;
	}
}

/* Without a screen */

static void
print(const struct th_live *live)
{
	printf("%s\n\n", th_live_state(live));
	for (size_t i = 0; i < live->lines_count; i++)
		puts(live->lines[i]);
	putchar('\n');
}

static void
print_until_end(struct th_live *live)
{
	for (unsigned count = 0; !th_end_signals_came(); count++) {
		if (!(count % PRINTED_EVERY) || live->state != TH_LIVE_RUNNING)
			print(live);
		/* The reader may have closed the pipe, such as `head`. */
		if (fflush(stdout) || live->state != TH_LIVE_RUNNING)
			break;
		usleep(REFRESH_NS / 1000);
		th_live_update(live);
	}
}

struct th_error *
th_live_run(const struct th_options *options)
{
	struct th_live live;
	char *path;
	struct th_error *error = th_running_find(options->log, &path);

	if (error)
		return error;
	/* Downloads of debug information would block the screen. */
	th_debuginfod_disable();
	error = th_live_open(path, options, NULL, &live);
	free(path);
	if (error)
		return error;
	bool has_screen = is_capable() && begin();
	th_end_signals_catch(
		"twinheap: the log was truncated while it was read\n", has_screen ? end : NULL);
	(has_screen ? loop : print_until_end)(&live);
	end();
	th_live_close(&live);
	return NULL;
}
