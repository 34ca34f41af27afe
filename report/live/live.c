/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the log again and again, prints the views of the commands into lines, and handles keys. */
#include "report/live/live.h"

#include <fcntl.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/heap_names.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/control/running.h"
#include "report/leaks/leaks.h"
#include "report/profile/values.h"
#include "report/symbols/symbols.h"
#include "report/views/view.h"
#include "unify/shared/clock.h"
#include "unify/shared/heaps.h"

/* An update may take at most 1/SHARE of the time. */
#define SHARE 10
/* The analysis of leaks takes longer than other views. */
#define JUDGE_NS (10 * (uint64_t)TH_NS_PER_S)
/* Rates are those of this time, and shown once it is so long. */
#define RATE_NS (60 * (uint64_t)TH_NS_PER_S)
#define LEAST_RATE_NS (5 * (uint64_t)TH_NS_PER_S)
/* Age from which figures are marked as old. */
#define OLD_S 2
/* Lines of a view unless all are wanted; of the tree as many as `tree` prints. */
#define TOP 10
#define TREE_TOP 20

#define FAR (1 << 30)

static const char help[] =
	"q            quit; also Ctrl-C\n"
	"1, 2, 3      summary, leaks, tree; also left and right\n"
	"arrows, j k  scroll; also Page Up and Down, Home, End\n"
	"s, < >       by live bytes or objects, allocated bytes or objects, temporary bytes\n"
	"a            all sites, findings and branches, or the largest\n"
	"Tab          all heaps, Java, native, mapped\n"
	"p, z         freeze the display; the process keeps running\n"
	"h, ?         this help; any key leaves it\n"
	"\n"
	"Growth is the change of live bytes since this view of the process was opened, in the\n"
	"last minute at most.\n"
	"Figures are unbiased estimates; intervals are 95 % confidence intervals.\n";

/* In the order of the keys; touched bytes exist only in snapshots of resident memory. */
static const enum th_view_value values[] = {TH_VALUE_LIVE_BYTES, TH_VALUE_LIVE_OBJECTS,
	TH_VALUE_ALLOC_BYTES, TH_VALUE_ALLOC_OBJECTS, TH_VALUE_TEMPORARY_BYTES};
#define VALUE_COUNT ((int)(sizeof(values) / sizeof(values[0])))

const char *const th_live_view_names[TH_LIVE_VIEWS] = {"summary", "leaks", "tree"};

/* Lines around the views */

/* The command without the directory of its program. */
const char *
th_live_title(const struct th_live *live)
{
	const char *command = th_text_printable(live->recording->process.command);
	size_t program = strcspn(command, " ");

	while (program && command[program - 1] != '/')
		program--;
	return th_text_format(
		"twinheap live  %s", command[0] ? command + program : "[unknown command]");
}

const char *
th_live_state(const struct th_live *live)
{
	double age = (double)(live->now - live->recording->start) / 1e9;
	double old = (double)(live->now - live->as_of) / 1e9;
	bool is_old = live->state == TH_LIVE_RUNNING && old > OLD_S;

	return th_printed("pid {} {} {s}{}", live->recording->process.pid,
		live->state == TH_LIVE_RUNNING ? "running" : "ended after", age,
		is_old ? th_printed(", figures of the first {s}", age - old) : "");
}

const char *
th_live_end(const struct th_live *live)
{
	if (live->state == TH_LIVE_RUNNING)
		return NULL;
	return th_text_format("The process has ended%s. These are its last figures.",
		live->state == TH_LIVE_GONE ? " without closing its log: killed?" : "");
}

const char *
th_live_rates(const struct th_live *live, enum th_heap heap)
{
	const struct th_live_point *first = &live->points[0];
	const struct th_live_point *last = &live->points[live->points_count - 1];
	double seconds = (double)(last->time - first->time) / 1e9;

	if (!heap)
		return th_printed("{-12} {9} {13} {14}", "", "live", "growth", "allocated");
	if (!live->profile->heaps[heap].is_recorded)
		return th_printed("{-12} not recorded", th_heap_title(heap));
	if (last->time < first->time + LEAST_RATE_NS)
		return th_printed("{-12} {9b} {13} {14}", th_heap_title(heap), last->live[heap],
			"-", "-");
	double growth = (last->live[heap] - first->live[heap]) / seconds;
	return th_printed("{-12} {9b} {11}/s {12b}/s", th_heap_title(heap), last->live[heap],
		th_view_signed_number(growth, TH_UNIT_BYTES).text,
		(last->allocated[heap] - first->allocated[heap]) / seconds);
}

const char *
th_live_keys(const struct th_live *live)
{
	if (live->is_help)
		return "any key: back";
	return th_text_format(
		"q quit  s %s  Tab heap  a all  h help", th_values[live->options.value].name);
}

/* Views */

static void
print_summary(FILE *file, struct th_live *live)
{
	struct th_health health;

	th_health_init(&health, live->recording);
	th_health_add_profile(&health, live->profile);
	th_view_summary(file, live->profile, &health, live->options.program);
	th_health_deinit(&health);
}

/* Looks for leaks, prints them if `file` is not NULL, and keeps the headline. */
static void
judge(FILE *file, struct th_live *live)
{
	struct th_leaks leaks;

	th_leaks_init(&leaks, live->profile);
	if (file)
		th_view_leaks(file, &leaks);
	if (!th_options_filter_stacks(&live->options)) {
		free(live->headline);
		live->headline = leaks.outcome.verdict == TH_OUTCOME_FOUND
					 ? th_format_new("%s", th_outcome_headline(&leaks))
					 : NULL;
	}
	live->judged_due = live->now + JUDGE_NS;
	th_leaks_deinit(&leaks);
}

static void
print_view(FILE *file, struct th_live *live)
{
	live->options.top = live->options.lists_all      ? UINT64_MAX
			    : live->view == TH_LIVE_TREE ? TREE_TOP
							 : TOP;
	live->options.min_share = live->options.lists_all ? 0 : 1;
	if (live->is_help)
		fputs(help, file);
	else if (!live->profile->rows_count && th_options_filter_stacks(&live->options))
		fputs("no samples match\n", file);
	else if (live->view == TH_LIVE_LEAKS)
		judge(file, live);
	else if (live->view == TH_LIVE_TREE)
		th_view_tree(file, live->profile);
	else
		print_summary(file, live);
}

static void
forget_lines(struct th_live *live)
{
	for (size_t i = 0; i < live->lines_count; i++)
		free(live->lines[i]);
	live->lines_count = 0;
}

/* The last lines fill the screen. */
static void
scroll_to(struct th_live *live, long first)
{
	long last = (long)live->lines_count - (live->rows ? live->rows : 1);

	live->first = first < 0 || last < 0 ? 0 : first > last ? (size_t)last : (size_t)first;
}

void
th_live_print(struct th_live *live)
{
	struct th_line all;

	th_line_begin(&all);
	bool is_narrow = live->columns && live->columns < TH_TERMINAL_LEAST_FITTED;
	FILE *file = th_terminal_fit(
		all.stream, is_narrow ? TH_TERMINAL_LEAST_FITTED : live->columns);
	print_view(file, live);
	th_terminal_fitted(file);
	char *text = th_line_end(&all);
	forget_lines(live);
	for (char *from = text; *from;) {
		size_t length = strcspn(from, "\n");
		char *line = th_format_new("%.*s", (int)length, from);

		th_array_append(live, lines, line);
		from += length + (from[length] == '\n');
	}
	free(text);
	scroll_to(live, (long)live->first);
	if (live->now >= live->judged_due && !th_options_filter_stacks(&live->options))
		judge(NULL, live);
	th_texts_free();
}

/* Updates */

/* The current time. The clocks differ if the recorded process is in another time namespace. */
static uint64_t
present(const struct th_live *live)
{
	uint64_t now = live->world->now();

	return live->state == TH_LIVE_RUNNING && now > live->recording->end
		       ? now
		       : live->recording->end;
}

/* Adds the present values, and drops those that are too old. */
static void
add_point(struct th_live *live)
{
	struct th_live_point point = {.time = live->as_of};
	size_t old = 0;

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!th_profile_has_heap(live->profile, heap))
			continue;
		point.live[heap] = th_profile_live(live->profile, heap).estimate;
		point.allocated[heap] = th_profile_total(live->profile, heap).estimate;
	}
	while (old < live->points_count && live->points[old].time + RATE_NS < point.time)
		old++;
	live->points_count -= old;
	if (live->points_count)
		memmove(live->points, live->points + old, live->points_count * sizeof(point));
	th_array_append(live, points, point);
}

/* Sums up what the options select. */
static void
sum_up(struct th_live *live)
{
	th_profile_destroy(live->profile);
	live->profile = th_profile_create(live->recording, &live->options, NULL, NULL);
	/* What the process freed at its end does not count. */
	if (live->state != TH_LIVE_RUNNING)
		live->as_of = live->profile->at.time;
	add_point(live);
	th_live_print(live);
}

/* Replaces the recording by the one that the log at `path` has now. */
static struct th_error *
load(struct th_live *live, const char *path)
{
	struct th_recording *recording;
	struct th_error *error = th_recording_load(path, &recording);

	if (error)
		return error;
	th_profile_destroy(live->profile);
	live->profile = NULL;
	th_recording_destroy(live->recording);
	live->recording = recording;
	live->header = *th_reader_header(recording->reader);
	if (live->options.no_command)
		th_recording_hide_command(recording);
	live->options.symbols = live->symbols = th_symbols_reuse(live->symbols);
	return NULL;
}

/* Shows what was loaded in an update that began at a time of the clock. */
static void
show(struct th_live *live, bool is_gone, uint64_t begin)
{
	if (live->recording->is_complete)
		live->state = TH_LIVE_ENDED;
	else if (is_gone)
		live->state = TH_LIVE_GONE;
	live->now = live->as_of = present(live);
	if (live->state != TH_LIVE_RUNNING)
		live->judged_due = 0;
	sum_up(live);
	uint64_t end = live->world->now();
	live->due = end + SHARE * (end - begin);
}

void
th_live_update(struct th_live *live)
{
	uint64_t begin = live->world->now();
	struct th_log_header header;
	char path[64];

	if (live->state != TH_LIVE_RUNNING || live->is_paused)
		return;
	live->now = present(live);
	/* Before the log is read: nothing is added to it then. */
	bool is_gone = !live->world->is_alive(&live->header);
	if (begin < live->due && !is_gone)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", live->descriptor);
	if (is_gone || (th_running_read(live->descriptor, &header) &&
			       header.tail != live->header.tail))
		th_error_destroy(load(live, path));
	show(live, is_gone, begin);
}

/* Keys */

static void
turn_value(struct th_live *live, int step)
{
	int i = 0;

	while (values[i] != live->options.value)
		i++;
	live->options.value = values[(i + step + VALUE_COUNT) % VALUE_COUNT];
}

/* Cycles through: all heaps, then each recorded heap by itself. */
static void
turn_heaps(struct th_live *live)
{
	int heap = TH_HEAP_JAVA;

	while (heap < TH_HEAPS && live->options.heaps != 1u << heap)
		heap++;
	heap = heap < TH_HEAPS ? heap + 1 : TH_HEAP_JAVA;
	while (heap < TH_HEAPS && !live->profile->heaps[heap].is_recorded)
		heap++;
	live->options.heaps = heap < TH_HEAPS ? 1u << heap : TH_HEAPS_ALL;
}

/* Whether the key scrolls. */
static bool
scroll_by_key(struct th_live *live, int key)
{
	const struct {
		int key;
		long lines;
	} moves[] = {{KEY_UP, -1}, {'k', -1}, {KEY_DOWN, 1}, {'j', 1}, {KEY_PPAGE, -live->rows},
		{KEY_NPAGE, live->rows}, {' ', live->rows}, {KEY_HOME, -FAR}, {KEY_END, FAR}};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		if (moves[i].key != key)
			continue;
		scroll_to(live, (long)live->first + moves[i].lines);
		return true;
	}
	return false;
}

static void
choose_view(struct th_live *live, int view)
{
	live->view = (enum th_live_view)((view + TH_LIVE_VIEWS) % TH_LIVE_VIEWS);
	live->first = 0;
}

/* Keys that change what is shown of the selection; false: no such key. */
static bool
choose(struct th_live *live, int key)
{
	if (key == 's' || key == '>')
		turn_value(live, 1);
	else if (key == '<')
		turn_value(live, -1);
	else if (key == 'a')
		live->options.lists_all = !live->options.lists_all;
	else if (key >= '1' && key < '1' + TH_LIVE_VIEWS)
		choose_view(live, key - '1');
	else if (key == KEY_LEFT || key == KEY_RIGHT)
		choose_view(live, (int)live->view + (key == KEY_LEFT ? -1 : 1));
	else if (key == 'h' || key == '?')
		live->is_help = true;
	else
		return false;
	return true;
}

void
th_live_key(struct th_live *live, int key)
{
	if (key == 'q') {
		live->is_done = true;
	} else if (key == 'p' || key == 'z') {
		live->is_paused = !live->is_paused;
	} else if (live->is_help) {
		live->is_help = false;
		th_live_print(live);
	} else if (key == '\t') {
		turn_heaps(live);
		live->points_count = 0; /* of another selection */
		live->first = 0;
		sum_up(live);
	} else if (!scroll_by_key(live, key) && choose(live, key)) {
		th_live_print(live);
	}
}

/* Life */

struct th_error *
th_live_open(const char *path, const struct th_options *options,
	const struct th_live_world *world, struct th_live *live)
{
	static const struct th_live_world real_world = {th_running_is_alive, th_clock_now};

	*live = (struct th_live){
		.world = world ? world : &real_world,
		.options = *options,
		.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
	};
	live->options.value = TH_VALUE_LIVE_BYTES;
	uint64_t begin = live->world->now();
	bool is_gone = !th_running_read(live->descriptor, &live->header) ||
		       !live->world->is_alive(&live->header);
	struct th_error *error = load(live, path);
	if (error)
		th_live_close(live);
	else
		show(live, is_gone, begin);
	return error;
}

void
th_live_close(struct th_live *live)
{
	forget_lines(live);
	free(live->lines);
	free(live->points);
	free(live->headline);
	th_profile_destroy(live->profile);
	th_symbols_destroy(live->symbols);
	th_recording_destroy(live->recording);
	if (live->descriptor >= 0)
		close(live->descriptor);
}
