/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks and diff over many recordings, as text. Figures are means over the processes of a group,
 * with the interval over processes; rates are by the hour.
 */
#include "report/views/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/base/line.h"
#include "report/base/terminal.h"

#define SECONDS_PER_HOUR 3600
/* Frames of a stack printed, from the allocation towards the root. */
#define STEPS_SHOWN 8
/* Columns of the names of groups. */
#define NAME_COLUMNS_MIN 12
#define NAME_COLUMNS_MAX 28
/* Columns of the table of groups without names, with intervals. */
#define GROUP_COLUMNS 79
/* Columns of figures in front of a line of a diff, with and without intervals. */
#define FIGURE_COLUMNS 57
#define BARE_FIGURE_COLUMNS 35
/* If lines of a diff have fewer columns than the first, intervals are left out; they never have
 * fewer than the second. */
#define FAIR_SITE_COLUMNS 45
#define LEAST_SITE_COLUMNS 20
/* Columns of a line of a stack before its text. */
#define STACK_COLUMN 16

/* Names */

static const char *
group_name(const struct th_fleet *fleet, uint32_t group)
{
	const char *name = fleet->groups[group].name;

	if (name[0])
		return name;
	return fleet->options->by ? "(none)" : "all";
}

/* "version 2.4.1" */
static void
print_group(FILE *file, const struct th_fleet *fleet, uint32_t group)
{
	if (fleet->options->by)
		fprintf(file, "%s ", fleet->options->by);
	th_text_print(file, group_name(fleet, group));
}

static const char *
plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

/* Figures */

static struct th_number
rate(double value)
{
	return th_format_number(value * SECONDS_PER_HOUR, TH_UNIT_BYTES);
}

/* "2.91 .. 3.13 MiB"; of a single process there is no interval. */
static struct th_number
interval_text(const struct th_estimate *mean, double factor, enum th_unit unit)
{
	struct th_number text = {"one process"};

	return isinf(mean->low)
		       ? text
		       : th_format_interval(mean->low * factor, mean->high * factor, unit);
}

static struct th_number
rate_interval(const struct th_estimate *mean)
{
	return interval_text(mean, SECONDS_PER_HOUR, TH_UNIT_BYTES);
}

static uint32_t
last_group(const struct th_fleet *fleet)
{
	return (uint32_t)fleet->groups_count - 1;
}

/* The cell that the first line of a finding is about: of the last group that leaks. */
static const struct th_fleet_cell *
cell_shown(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	for (uint32_t group = last_group(fleet) + 1; group-- > 0;) {
		const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);

		if (cell && cell->verdict == line->verdict)
			return cell;
	}
	return NULL;
}

static double
total_growth(const struct th_fleet *fleet)
{
	double growth = 0;

	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_cell *cell = th_fleet_cell(
			fleet, &fleet->lines[i], last_group(fleet));

		if (cell && cell->verdict == TH_VERDICT_LEAK)
			growth += cell->value.mean;
	}
	return growth;
}

static size_t
count_verdict(const struct th_fleet *fleet, enum th_verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < fleet->lines_count; i++)
		count += fleet->lines[i].verdict == verdict;
	return count;
}

/* The head */

static void
print_logs(FILE *file, const struct th_fleet *fleet)
{
	uint64_t processes = 0;
	double seconds = 0;

	for (size_t i = 0; i < fleet->groups_count; i++) {
		processes += fleet->groups[i].processes;
		seconds += fleet->groups[i].seconds;
	}
	fprintf(file, "%s %s, recorded for %s on average", th_format_count(processes).text,
		plural(processes, "process", "processes"),
		th_format_seconds(seconds / (double)processes).text);
	if (fleet->unreadable)
		fprintf(file, "; %u %s not read", fleet->unreadable,
			plural(fleet->unreadable, "log", "logs"));
	if (fleet->damaged)
		fprintf(file, "; %u damaged or cut off", fleet->damaged);
	if (fleet->repeated)
		fprintf(file, "; %u %s left out: the same process", fleet->repeated,
			plural(fleet->repeated, "log", "logs"));
	fputc('\n', file);
}

static uint64_t
count_judged(const struct th_fleet *fleet)
{
	uint64_t count = 0;

	for (size_t i = 0; i < fleet->groups_count; i++) {
		for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
			count += fleet->groups[i].counted[heap];
	}
	return count;
}

static void
print_headline(FILE *file, const struct th_fleet *fleet)
{
	size_t leaks = count_verdict(fleet, TH_VERDICT_LEAK);
	enum th_style style = leaks ? TH_STYLE_WARNING : TH_STYLE_GOOD;

	if (!leaks && !count_judged(fleet))
		style = TH_STYLE_DOUBT;
	fputs(th_terminal_code(file, style), file);
	if (leaks) {
		fprintf(file, "%s %s, %s/h per process", th_format_count(leaks).text,
			plural(leaks, "leak", "leaks"), rate(total_growth(fleet)).text);
		if (fleet->groups_count > 1)
			fputs(" in ", file);
		if (fleet->groups_count > 1)
			print_group(file, fleet, last_group(fleet));
	} else if (count_judged(fleet)) {
		fputs("no line leaks significantly over all processes", file);
	} else {
		fputs("inconclusive: no recording was long enough", file);
	}
	fprintf(file, "%s\n", th_terminal_code(file, TH_STYLE_PLAIN));
}

/* Leaks */

static void
print_sentence(FILE *file, const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const struct th_fleet_cell *cell = cell_shown(fleet, line);
	bool is_leak = line->verdict == TH_VERDICT_LEAK;

	fputs("         ", file);
	if (line->since != UINT32_MAX) {
		fputs("since ", file);
		print_group(file, fleet, line->since);
		fputs(" ", file);
	} else if (cell->group != last_group(fleet)) {
		fputs("only up to ", file);
		print_group(file, fleet, cell->group);
		fputs(" ", file);
	}
	if (is_leak && cell->mean.samples < cell->value.count)
		fprintf(file, "%" PRIu64 " of %" PRIu64 " processes %s %s/h%s (%s)\n",
			cell->mean.samples, cell->value.count,
			cell->mean.samples == 1 ? "leaks" : "leak",
			rate(cell->mean.estimate).text, cell->mean.samples == 1 ? "" : " each",
			rate_interval(&cell->mean).text);
	else
		fprintf(file, "each process %s %s/h (%s), %u of %" PRIu64 " %s\n",
			is_leak ? "leaks" : "grows by", rate(cell->mean.estimate).text,
			rate_interval(&cell->mean).text, cell->growing, cell->mean.samples,
			plural(cell->mean.samples, "process", "processes"));
}

static int
name_columns(const struct th_fleet *fleet)
{
	int columns = NAME_COLUMNS_MIN;

	for (uint32_t i = 0; i < fleet->groups_count; i++) {
		int of = th_format_columns(group_name(fleet, i));

		columns = of > columns ? of : columns;
	}
	return columns < NAME_COLUMNS_MAX ? columns : NAME_COLUMNS_MAX;
}

/* Whether the terminal has columns for the intervals of groups. */
static bool
has_group_intervals(FILE *file, const struct th_fleet *fleet)
{
	return th_terminal_room(file, GROUP_COLUMNS + name_columns(fleet), 0) > 0;
}

static void
print_cell(FILE *file, const struct th_fleet *fleet, const struct th_fleet_line *line,
	uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);
	uint32_t counted = fleet->groups[group].counted[line->heap];
	char grows[32];

	fputs("         ", file);
	fprintf(file, "%-*.*s  ", name_columns(fleet), NAME_COLUMNS_MAX,
		group_name(fleet, group));
	snprintf(grows, sizeof(grows), "%u of %u", cell ? cell->growing : 0, counted);
	fprintf(file, "%12s  %5u  %10s  ", grows, cell ? cell->leaks : 0,
		cell ? rate(cell->mean.estimate).text : "-");
	if (has_group_intervals(file, fleet))
		fprintf(file, "%-24s  ", cell ? rate_interval(&cell->mean).text : "");
	fprintf(file, "%9s\n",
		cell ? th_format_number(cell->average.estimate, TH_UNIT_BYTES).text : "-");
}

static void
print_groups(FILE *file, const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const char *by = fleet->options->by ? fleet->options->by : "";

	fprintf(file, "         %s%-*.*s  %12s  %5s  %10s  ",
		th_terminal_code(file, TH_STYLE_HEADING), name_columns(fleet), NAME_COLUMNS_MAX,
		by, "grows", "alone", "growth/h");
	if (has_group_intervals(file, fleet))
		fprintf(file, "%-24s  ", "95 % CI");
	fprintf(file, "%9s%s\n", "live", th_terminal_code(file, TH_STYLE_PLAIN));
	for (uint32_t group = 0; group < fleet->groups_count; group++)
		print_cell(file, fleet, line, group);
}

static void
print_stack(FILE *file, const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const struct th_stack_keys *keys = &fleet->keys;
	uint32_t step = line->stack;
	uint32_t left = 0;

	for (int i = 0; i < STEPS_SHOWN && step; i++, step = keys->items[step].parent) {
		struct th_line text;

		fputs(i ? "              < " : "         by     ", file);
		th_line_begin(&text);
		fputs(th_stack_keys_name(keys, step), text.stream);
		th_line_cut(&text, file, th_terminal_room(file, STACK_COLUMN, STACK_COLUMN));
		fputc('\n', file);
	}
	for (; step; step = keys->items[step].parent)
		left++;
	if (left)
		fprintf(file, "              < %u more\n", left);
}

static void
print_finding(FILE *file, const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const struct th_fleet_cell *cell = cell_shown(fleet, line);

	fputc('\n', file);
	th_view_verdict(file, line->verdict, TH_REASON_GROWS);
	fprintf(file, "%s, %s\n", th_heap_adjective(line->heap),
		th_strings_get(&fleet->keys.strings, line->title));
	print_sentence(file, fleet, line);
	if (fleet->groups_count > 1)
		print_groups(file, fleet, line);
	else
		fprintf(file, "         alone  a leak in %u of them by its own recording\n",
			cell->leaks);
	fprintf(file, "         most   %s/h in ", rate(cell->most).text);
	th_text_print(file, fleet->logs[cell->most_log]);
	fputc('\n', file);
	if (!fleet->options->group_by)
		print_stack(file, fleet, line);
}

static void
print_verdict(FILE *file, const struct th_fleet *fleet, enum th_verdict verdict)
{
	size_t count = count_verdict(fleet, verdict);
	uint64_t shown = 0;

	for (size_t i = 0; i < fleet->lines_count && shown < fleet->options->top; i++) {
		if (fleet->lines[i].verdict != verdict)
			continue;
		print_finding(file, fleet, &fleet->lines[i]);
		shown++;
	}
	if (shown < count)
		fprintf(file, "\nand %s more with verdict %s\n",
			th_format_count(count - shown).text, th_verdict_name(verdict));
}

/* Threads, class loaders and references are judged for each process alone. */
static void
print_counts(FILE *file, const struct th_fleet *fleet)
{
	uint64_t count = 0;

	for (size_t i = 0; i < fleet->groups_count; i++)
		count += fleet->groups[i].of_counts;
	if (count)
		fprintf(file,
			"%s %s threads, class loaders or references: twinheap leaks LOG\n",
			th_format_count(count).text,
			plural(count, "process leaks", "processes leak"));
}

void
th_view_fleet_leaks(FILE *file, const struct th_fleet *fleet)
{
	print_headline(file, fleet);
	print_logs(file, fleet);
	th_view_filters(file, fleet->options);
	print_counts(file, fleet);
	print_verdict(file, fleet, TH_VERDICT_LEAK);
	print_verdict(file, fleet, TH_VERDICT_UNCLEAR);
}

/* Changes */

static enum th_unit
unit_of(const struct th_fleet *fleet)
{
	return th_value_counts_objects(fleet->options->value) ? TH_UNIT_OBJECTS : TH_UNIT_BYTES;
}

static bool
is_significant(const struct th_estimate *change)
{
	return change->low > 0 || change->high < 0;
}

/* Whether the terminal has columns for the intervals of changes. */
static bool
has_intervals(FILE *file)
{
	return th_terminal_room(file, FIGURE_COLUMNS, 0) >= FAIR_SITE_COLUMNS;
}

static void
print_figures(FILE *file, const struct th_fleet *fleet, double old_value, double new_value,
	const struct th_estimate *change)
{
	enum th_unit unit = unit_of(fleet);

	fprintf(file, "%9s  %9s  %10s%s ", th_format_number(old_value, unit).text,
		th_format_number(new_value, unit).text,
		th_view_signed_number(change->estimate, unit).text,
		is_significant(change) || has_intervals(file) ? " " : "~");
	if (has_intervals(file))
		fprintf(file, "%-22s ", interval_text(change, 1, unit).text);
}

static void
print_totals(FILE *file, const struct th_fleet *fleet)
{
	const struct th_fleet_group *old_group = &fleet->groups[fleet->old_group];
	const struct th_fleet_group *new_group = &fleet->groups[fleet->new_group];

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		struct th_estimate change = th_process_difference(
			&old_group->totals[heap], &new_group->totals[heap], 0.05);

		if (!old_group->counted[heap] && !new_group->counted[heap])
			continue;
		print_figures(file, fleet, old_group->totals[heap].mean,
			new_group->totals[heap].mean, &change);
		fprintf(file, "%s%s\n", th_heap_title((enum th_heap)heap),
			is_significant(&change) || !has_intervals(file) ? ""
									: ", not significant");
	}
}

static double
mean_in(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);

	return cell ? cell->mean.estimate : 0;
}

static void
print_change(FILE *file, const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, fleet->new_group);
	bool is_wide = has_intervals(file);
	const char *remark = is_wide && !is_significant(&line->change) ? " (not significant)"
								       : "";
	int used = is_wide ? FIGURE_COLUMNS : BARE_FIGURE_COLUMNS;
	struct th_line text;

	print_figures(file, fleet, mean_in(fleet, line, fleet->old_group),
		mean_in(fleet, line, fleet->new_group), &line->change);
	th_line_begin(&text);
	fprintf(text.stream, "%s, in %u of %u",
		th_strings_get(&fleet->keys.strings, line->title), cell ? cell->processes : 0,
		fleet->groups[fleet->new_group].counted[line->heap]);
	th_line_cut(&text, file,
		th_terminal_room(file, used + (int)strlen(remark), LEAST_SITE_COLUMNS));
	fprintf(file, "%s\n", remark);
}

/* Whether a line is in one of the two groups that are compared. */
static bool
is_compared(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	return th_fleet_cell(fleet, line, fleet->old_group) ||
	       th_fleet_cell(fleet, line, fleet->new_group);
}

static void
print_changes(FILE *file, const struct th_fleet *fleet)
{
	uint64_t all = 0, significant = 0;

	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_line *line = &fleet->lines[i];

		if (!is_compared(fleet, line))
			continue;
		if (all++ < fleet->options->top)
			print_change(file, fleet, line);
		significant += is_significant(&line->change);
	}
	if (all > fleet->options->top)
		fprintf(file, "and %s more (--top)\n",
			th_format_count(all - fleet->options->top).text);
	fprintf(file, "\n%s of %s %s changed significantly%s\n",
		th_format_count(significant).text, th_format_count(all).text,
		fleet->options->group_by ? "groups" : "stacks",
		has_intervals(file) ? "" : "; the others are marked with ~");
}

static void
print_side(FILE *file, const char *label, const struct th_fleet *fleet, uint32_t group)
{
	fprintf(file, "%s  ", label);
	print_group(file, fleet, group);
	fprintf(file, ": %u %s\n", fleet->groups[group].processes,
		plural(fleet->groups[group].processes, "process", "processes"));
}

void
th_view_fleet_diff(FILE *file, const struct th_fleet *fleet)
{
	print_side(file, "old", fleet, fleet->old_group);
	print_side(file, "new", fleet, fleet->new_group);
	print_logs(file, fleet);
	th_view_filters(file, fleet->options);
	fprintf(file, "\n%s%9s  %9s  %10s  %-*s%s per process%s\n",
		th_terminal_code(file, TH_STYLE_HEADING), "old", "new", "change",
		has_intervals(file) ? 23 : 0, has_intervals(file) ? "95 % CI" : "",
		th_value_heading(fleet->options->value),
		th_terminal_code(file, TH_STYLE_PLAIN));
	print_totals(file, fleet);
	fputc('\n', file);
	print_changes(file, fleet);
}
