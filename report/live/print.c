/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views of the live view are those of the commands, printed into memory as on a terminal; and
 * the lines above them.
 */
#include "report/live/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/base/id_map.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/leaks/leaks.h"
#include "report/leaks/outcome.h"
#include "report/profile/diff.h"
#include "report/profile/leak_sites.h"
#include "report/views/values.h"
#include "report/views/view.h"
#include "unify/shared/clock.h"

/* The analysis of leaks takes longer than other views. */
#define JUDGE_NS (10 * (uint64_t)TH_NS_PER_S)
/* Age from which figures are marked as old. */
#define OLD_S 2
/* Columns of the rates in front of their curves. */
#define RATE_COLUMNS 64
/* Lines of a view unless all are wanted; of the tree as many as `tree` prints. */
#define TOP 10
#define TREE_TOP 20

static const char help[] =
	"q            quit; also Ctrl-C\n"
	"1 to 5       sites, growth, leaks, tree, summary; also left and right\n"
	"arrows, j k  select a line; also Page Up and Down, Home, End\n"
	"Enter        stacks of the site or function in the selected line\n"
	"Esc          back; in a view: no filters\n"
	"s, < >       by live bytes or objects, allocated bytes or objects, temporary bytes\n"
	"a            all sites, findings and branches, or the largest\n"
	"Tab          all heaps, Java, native, mapped\n"
	"/, o         filter stacks: by functions that a regular expression matches\n"
	"c, t         the same by classes of objects, by threads\n"
	"w            rates and growth over the last 10, 60 or 600 s\n"
	"p, z         freeze the display; the process keeps running\n"
	"h, ?         this help; any key leaves it\n"
	"\n"
	"Growth is the change of live bytes, without the start of the program.\n"
	"Figures are unbiased estimates; intervals are 95 % confidence intervals.\n"
	"Curves show live bytes, from 0 to their own maximum.\n";

const char *
th_live_view_name(enum th_live_view view)
{
	static const char *const names[] = {
		[TH_LIVE_SITES] = "sites",
		[TH_LIVE_GROWTH] = "growth",
		[TH_LIVE_LEAKS] = "leaks",
		[TH_LIVE_TREE] = "tree",
		[TH_LIVE_SUMMARY] = "summary",
		[TH_LIVE_STACKS] = "stacks",
		[TH_LIVE_HELP] = "help",
	};

	return names[view];
}

/* Lines above the views */

/* The command without the directory of its program. */
char *
th_live_title(const struct th_live *live)
{
	char *command = th_text_clean(live->recording->process.command);
	size_t program = strcspn(command, " ");

	while (program && command[program - 1] != '/')
		program--;
	char *line = th_format_new(
		"twinheap live  %s", command[0] ? command + program : "[unknown command]");
	free(command);
	return line;
}

char *
th_live_state(const struct th_live *live)
{
	double age = (double)(live->now - live->recording->start) / 1e9;
	double old = (double)(live->now - live->as_of) / 1e9;
	bool is_old = live->state == TH_LIVE_RUNNING && old > OLD_S;

	return th_format_new("pid %u %s %s%s%s", live->recording->process.pid,
		live->state == TH_LIVE_RUNNING ? "running" : "ended after",
		th_format_seconds(age).text, is_old ? ", figures of the first " : "",
		is_old ? th_format_seconds(age - old).text : "");
}

char *
th_live_end(const struct th_live *live)
{
	if (live->state == TH_LIVE_RUNNING)
		return NULL;
	return th_format_new("The process has ended%s. These are its last figures.",
		live->state == TH_LIVE_GONE ? " without closing its log: killed?" : "");
}

/*
 * Draws a curve in at most `columns` characters, each the largest of its values, scaled from 0 to the
 * maximum, in eighths of a character or in ASCII. `ret` has room for 3 bytes per point and a NUL.
 */
static void
draw_curve(const double values[TH_LIVE_POINTS], int columns, bool is_ascii, char *ret)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const letters[] = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
	double largest = 0;

	if (columns > TH_LIVE_POINTS)
		columns = TH_LIVE_POINTS;
	for (int i = 0; i < TH_LIVE_POINTS; i++)
		largest = fmax(largest, values[i]);
	*ret = '\0';
	for (int column = 0, i = 0; column < columns; column++) {
		double value = 0;

		for (; i < (column + 1) * TH_LIVE_POINTS / columns; i++)
			value = fmax(value, values[i]);
		int level = largest > 0 ? (int)ceil(value / largest * 8) : 0;
		ret = stpcpy(ret, is_ascii ? letters[level] : blocks[level]);
	}
}

char *
th_live_rates(const struct th_live *live, enum th_heap heap, bool is_ascii)
{
	const struct th_live_rate *rate = &live->rates[heap];
	char curve[3 * TH_LIVE_POINTS + 1];

	if (!heap)
		return th_format_new("%-12s %9s %13s %14s %10s  last %u s", "", "live",
			"growth", "allocated", "samples/s", live->seconds);
	if (!live->profile->heaps[heap].is_recorded)
		return th_format_new("%-12s not recorded", th_heap_title(heap));
	struct th_estimate bytes = live->view == TH_LIVE_STACKS
					   ? th_profile_bytes(live->profile, heap,
						     TH_MEASURE_LIVE, &rate->live)
					   : th_profile_live(live->profile, heap);
	draw_curve(rate->curve, live->columns - RATE_COLUMNS, is_ascii, curve);
	return th_format_new("%-12s %9s %11s%s %12s%s %10.1f  %s", th_heap_title(heap),
		th_format_number(bytes.estimate, TH_UNIT_BYTES).text,
		live->grows_from ? th_view_signed_number(rate->growth, TH_UNIT_BYTES).text
				 : "-",
		live->grows_from ? "/s" : "  ",
		th_format_number(rate->allocated, TH_UNIT_BYTES).text, "/s", rate->samples,
		curve);
}

char *
th_live_keys(const struct th_live *live)
{
	static const char *const fields[] = {[TH_LIVE_FUNCTIONS] = "functions",
		[TH_LIVE_CLASSES] = "classes",
		[TH_LIVE_THREADS] = "threads"};

	if (live->is_typing)
		return th_format_new("%s: %s_%s", fields[live->field], live->typed,
			live->is_wrong ? "   invalid regular expression" : "");
	if (live->view == TH_LIVE_HELP)
		return th_format_new("any key: back");
	return th_format_new("q quit  s %s  w %u s  Tab heap  / filter  %s  a all  h help",
		th_value_name(live->options.value), live->seconds,
		live->view == TH_LIVE_STACKS ? "Esc back" : "Enter stacks");
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

/* What has changed since the start of growth, per second. */
static void
print_growth(FILE *file, struct th_live *live)
{
	struct th_options then = live->options;
	struct th_leak_sites old_places, places;
	struct th_diff diff;

	if (!live->grows_from) {
		fputs("growth is known 10 s after the start\n", file);
		return;
	}
	then.at = TH_AT_SECONDS;
	then.at_seconds = (double)(live->grows_from - live->recording->start) / 1e9;
	struct th_profile *old = th_profile_create_whole(live->profile, &then);
	th_leak_sites_init(&old_places, old);
	th_leak_sites_init(&places, live->profile);
	th_diff_init(&diff, &(struct th_side){old, &old_places},
		&(struct th_side){live->profile, &places});
	diff.seconds = (double)(live->as_of - live->grows_from) / 1e9;
	th_view_diff(file, &diff);
	th_diff_deinit(&diff);
	th_leak_sites_deinit(&places);
	th_leak_sites_deinit(&old_places);
	th_profile_destroy(old);
}

/* Stacks */

/* The rows of a stack, of all threads. */
struct stack {
	const struct th_row *row; /* the first */
	double value;
	struct th_estimator live;
	struct th_estimator allocated;
};

struct stacks {
	TH_ARRAY(struct stack, items);
};

static int
compare(const void *a, const void *b)
{
	const struct stack *left = a;
	const struct stack *right = b;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	return (left->row > right->row) - (left->row < right->row);
}

static void
collect(struct stacks *stacks, const struct th_live *live)
{
	const struct th_profile *profile = live->profile;
	struct th_id_map kinds = {0};
	struct th_id_map ids = {0};
	bool added;

	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];
		struct stack stack = {.row = row};

		if (!th_live_shows(live, row))
			continue;
		uint64_t kind = th_id_map_intern(
			&kinds, (uint64_t)row->class_name << 2 | row->heap, &added);
		uint32_t number = th_id_map_intern(&ids, kind << 32 | row->path, &added);
		if (added)
			th_array_append(stacks, items, stack);
		struct stack *found = &stacks->items[number];
		found->value += th_profile_point(profile, th_profile_sum(profile, row));
		th_estimator_merge(
			&found->live, th_profile_row_sum(profile, row, TH_MEASURE_LIVE));
		th_estimator_merge(
			&found->allocated, th_profile_row_sum(profile, row, TH_MEASURE_ALLOC));
	}
	th_id_map_deinit(&kinds);
	th_id_map_deinit(&ids);
	if (stacks->items_count)
		qsort(stacks->items, stacks->items_count, sizeof(*stacks->items), compare);
}

/* Its figures, and its frames from the allocation towards the root. */
static void
print_stack(FILE *file, const struct th_profile *profile, const struct stack *stack)
{
	enum th_heap heap = stack->row->heap;
	struct th_path path = th_paths_get(profile->paths, stack->row->path);
	struct th_estimate live = th_profile_bytes(
		profile, heap, TH_MEASURE_LIVE, &stack->live);
	struct th_estimate allocated = th_profile_bytes(
		profile, heap, TH_MEASURE_ALLOC, &stack->allocated);

	th_print(file, "\n  live {e}, allocated {e}, {} samples\n", &live, &allocated,
		stack->allocated.samples);
	for (uint32_t i = path.count; i-- > 0;)
		th_print_cut(file, i + 1 == path.count ? "    " : "  < ", 4,
			th_printed("{}", th_frame_of(profile->frames, path.frames[i])));
	fputc('\n', file);
}

/* The stacks with most of the value of the options, one by one, with lines. */
static void
print_stacks(FILE *file, const struct th_live *live)
{
	const struct th_profile *profile = live->profile;
	uint64_t top = profile->options->top;
	struct stacks stacks = {0};

	th_view_filters(file, profile->options);
	collect(&stacks, live);
	for (size_t i = 0; i < stacks.items_count && i < top; i++) {
		const struct stack *stack = &stacks.items[i];
		const char *class_name = th_frames_string(
			profile->frames, stack->row->class_name);

		th_print(file, "{#}stack {} of {}: {}{}{}{/}", TH_STYLE_HEADING, i + 1,
			stacks.items_count, th_heap_title(stack->row->heap),
			class_name[0] ? ", " : "", class_name);
		print_stack(file, profile, stack);
	}
	if (!stacks.items_count)
		fputs("no samples match\n", file);
	else if (stacks.items_count > top)
		th_print(file, "and {c} more stacks\n", stacks.items_count - top);
	free(stacks.items);
}

/* Leaks */

/* The first warning about recording quality, such as samples that were lost. */
static char *
warning_of(const struct th_recording *recording)
{
	struct th_health health;
	char *text = NULL;

	th_health_init(&health, recording);
	for (size_t i = 0; i < health.lines_count && !text; i++) {
		if (health.lines[i].is_warning)
			text = th_format_new("warning: %s", health.lines[i].text);
	}
	th_health_deinit(&health);
	return text;
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
		struct th_outcome outcome = th_outcome_find(&leaks);

		free(live->headline);
		live->headline = outcome.verdict == TH_OUTCOME_FOUND
					 ? th_outcome_headline(&leaks, &outcome)
					 : NULL;
	}
	free(live->warning);
	live->warning = warning_of(live->recording);
	live->judged_due = live->now + JUDGE_NS;
	th_leaks_deinit(&leaks);
}

/* The document */

static void
print_view(FILE *file, struct th_live *live)
{
	live->options.top = live->options.lists_all      ? UINT64_MAX
			    : live->view == TH_LIVE_TREE ? TREE_TOP
							 : TOP;
	live->options.min_share = live->options.lists_all ? 0 : 1;
	switch (live->view) {
	case TH_LIVE_SITES:
		th_view_filters(file, &live->options);
		th_view_sites(file, live->profile);
		fputs(live->profile->rows_count ? "" : "no samples match\n", file);
		break;
	case TH_LIVE_GROWTH:
		print_growth(file, live);
		break;
	case TH_LIVE_LEAKS:
		judge(file, live);
		break;
	case TH_LIVE_TREE:
		th_view_tree(file, live->profile);
		break;
	case TH_LIVE_SUMMARY:
		print_summary(file, live);
		break;
	case TH_LIVE_STACKS:
		print_stacks(file, live);
		break;
	default:
		fputs(help, file);
	}
}

void
th_live_forget_lines(struct th_live *live)
{
	for (size_t i = 0; i < live->lines_count; i++)
		free(live->lines[i].text);
	live->lines_count = 0;
}

/* Removes the mark from the line and keeps its numbers. */
static void
take_mark(struct th_live_line *line)
{
	char *mark = strstr(line->text, "\033[?");

	if (!mark || sscanf(mark, TH_TERMINAL_MARK, &line->mark[TH_LIVE_FUNCTION],
			     &line->mark[TH_LIVE_CALLER],
			     &line->mark[TH_LIVE_CLASS]) != TH_LIVE_MARK)
		return;
	char *end = strchr(mark, 'm') + 1;
	memmove(mark, end, strlen(end) + 1);
	line->is_marked = true;
}

void
th_live_print(struct th_live *live)
{
	struct th_line all;

	th_line_begin(&all);
	FILE *file = live->columns ? th_terminal_fit_screen(all.stream, live->columns)
				   : all.stream;
	print_view(file, live);
	th_terminal_fitted(file);
	char *text = th_line_end(&all);
	th_live_forget_lines(live);
	for (char *from = text; *from;) {
		size_t length = strcspn(from, "\n");
		struct th_live_line line = {.text = th_format_new("%.*s", (int)length, from)};

		take_mark(&line);
		th_array_append(live, lines, line);
		from += length + (from[length] == '\n');
	}
	free(text);
	if (live->now >= live->judged_due)
		judge(NULL, live);
}
