/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of several recordings, as text and as JSON: diff of two snapshots, leaks over many recordings,
 * and diff of two groups of these.  Figures of many recordings are means over the processes of a group,
 * with the interval over processes; rates are by the hour.  The rows of a diff arrive sorted.
 */
#include "report/views/parts.h"
#include "report/views/view.h"

#include <math.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/terminal.h"
#include "report/profile/sites.h"

#define SECONDS_PER_HOUR 3600
/* Frames of a stack printed, from the allocation towards the root. */
#define STEPS_SHOWN 8
/* Columns of the names of groups. */
#define NAME_COLUMNS_MIN 12
#define NAME_COLUMNS_MAX 28
/* Columns of the table of groups without names, with intervals. */
#define GROUP_COLUMNS 79
/* Columns of a row of a diff in front of its site never leave fewer than these. */
#define LEAST_SITE_COLUMNS 20
/* Columns of a line of a stack before its text. */
#define STACK_COLUMN 16

/* Tables of changes */

struct th_number
th_view_signed_number(double value, enum th_unit unit)
{
	struct th_number number;

	snprintf(number.text, sizeof(number.text), "%c%.46s", value < 0 ? '-' : '+',
		th_format_number(fabs(value), unit).text);
	return number;
}

struct table {
	FILE *file;
	const struct th_options *options;
	bool has_intervals; /* there are columns for them */
	int kind_columns;   /* of the kind of a change; negative, since it is left-aligned */
	int columns;        /* in front of a site */
	uint64_t rows, significant;
};

/* Prints the heading; `of` behind the value's name. */
static struct table
table_begin(FILE *file, const struct th_options *options, bool has_kinds, const char *of)
{
	/* If sites have fewer columns than that, intervals are left out. */
	bool is_wide = th_terminal_room(file, has_kinds ? 64 : 57, 0) >= (has_kinds ? 40 : 45);

	th_print(file, "\n{#}{9}  {9}  {10}  {*}{}{}{/}\n", TH_STYLE_HEADING, "old", "new",
		"change", is_wide ? -23 : 0, is_wide ? "95 % CI" : "",
		th_values[options->value].heading, of);
	return (struct table){
		.file = file,
		.options = options,
		.has_intervals = is_wide,
		.kind_columns = has_kinds ? -7 : 0,
		.columns = (is_wide            ? 57
				   : has_kinds ? 34
					       : 35) +
			   (has_kinds ? 7 : 0),
	};
}

static void
print_figures(
	const struct table *table, const struct th_difference *change, const char *interval)
{
	enum th_unit unit = th_values[table->options->value].unit;

	th_print(table->file, "{9}  {9}  {10}{} ",
		th_format_number(change->old_value.estimate, unit).text,
		th_format_number(change->new_value.estimate, unit).text,
		th_view_signed_number(change->change.estimate, unit).text,
		change->may_be_chance && !table->has_intervals ? "~" : " ");
	if (table->has_intervals)
		th_print(table->file, "{-22} ", interval);
}

static void
print_total(const struct table *table, const struct th_difference *change, const char *interval)
{
	print_figures(table, change, interval);
	th_print(table->file, "{}{}\n", th_heap_title(change->heap),
		table->has_intervals && change->may_be_chance ? ", not significant" : "");
}

/* Counts a row; false: it is beyond --top. */
static bool
is_shown(struct table *table, const struct th_difference *change)
{
	table->significant += !change->may_be_chance;
	return table->rows++ < table->options->top;
}

static void
print_row(const struct table *table, const struct th_difference *change, const char *interval,
	const char *site)
{
	const char *remark = table->has_intervals && change->may_be_chance
				     ? " (not significant)"
				     : "";

	print_figures(table, change, interval);
	th_print(table->file, "{*}", table->kind_columns,
		table->kind_columns ? th_sampling_change_names[change->kind] : "");
	th_format_cut(table->file, site,
		th_terminal_room(
			table->file, table->columns + (int)strlen(remark), LEAST_SITE_COLUMNS));
	th_print(table->file, "{}\n", remark);
}

static void
table_end(const struct table *table)
{
	if (table->rows > table->options->top)
		th_print(table->file, "and {c} more (--top)\n",
			table->rows - table->options->top);
	th_print(table->file, "\n{c} of {c} {} changed significantly{}\n", table->significant,
		table->rows, table->options->group_by ? "groups" : "stacks",
		table->has_intervals ? "" : "; the others are marked with ~");
}

/* Two snapshots */

/* The allocating function and the application line that called it. */
const char *
th_view_diff_site(const struct th_leak_sites *places, const struct th_leak_site *place)
{
	struct th_site_place site = {
		places->ways.items[place->way].function, TH_SITE_NO_FUNCTION};

	if (place->creator && place->creator != place->way)
		site.caller = places->ways.items[place->creator].function;
	return th_sites_text(places->profile->frames, place->class_name, site);
}

static void
print_snapshot(FILE *file, const char *label, const struct th_profile *profile)
{
	bool is_before = th_profile_is_before_teardown(profile);

	th_print(file, "{}  {} at {t} s{}{}\n", label, profile->options->log,
		th_profile_seconds(profile, profile->at.time), is_before ? ", before " : "",
		is_before ? th_teardown_reason(&profile->teardown) : "");
}

void
th_view_diff(FILE *file, const struct th_diff *diff)
{
	const struct th_options *options = diff->sides[1]->profile->options;
	enum th_unit unit = th_values[options->value].unit;

	print_snapshot(file, "old", diff->sides[0]->profile);
	print_snapshot(file, "new", diff->sides[1]->profile);
	th_view_filters(file, options);
	struct table table = table_begin(file, options, true, "");
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_difference *total = &diff->totals[heap];

		if (th_profile_has_heap(diff->sides[0]->profile, heap) ||
			th_profile_has_heap(diff->sides[1]->profile, heap))
			print_total(
				&table, total, th_estimate_interval(&total->change, unit).text);
	}
	fputc('\n', file);
	for (size_t i = 0; i < diff->items_count; i++) {
		const struct th_difference *item = &diff->items[i];
		const struct th_leak_sites *places = diff->sides[item->side];

		if (is_shown(&table, item))
			print_row(&table, item, th_estimate_interval(&item->change, unit).text,
				th_view_diff_site(places, &places->items[item->place]));
	}
	table_end(&table);
}

static json_t *
difference_json(const struct th_difference *difference)
{
	return th_json("heap old new change kind may_be_chance", th_heap_word(difference->heap),
		&difference->old_value, &difference->new_value, &difference->change,
		th_sampling_change_names[difference->kind], (bool)difference->may_be_chance);
}

/* Root first, without line numbers, which may differ between the two sides. */
static json_t *
functions_json(const struct th_leak_sites *side, const struct th_leak_site *place)
{
	struct th_path_prefix_cursor step = th_path_prefixes_last(&side->ways, place->way);
	json_t *list = json_array();
	uint32_t function;

	while (th_path_prefixes_step(&step, &function))
		json_array_insert_new(
			list, 0, th_json_function(side->profile->frames, function, "", 0));
	return list;
}

static json_t *
item_json(const struct th_diff *diff, const struct th_difference *difference)
{
	const struct th_leak_sites *side = diff->sides[difference->side];
	const struct th_leak_site *place = &side->items[difference->place];

	return th_json_set(difference_json(difference), "class? frames",
		th_frames_string(side->profile->frames, place->class_name),
		functions_json(side, place));
}

static json_t *
side_json(const struct th_profile *profile)
{
	return th_json_set(th_json_moment(profile), "log recorded", profile->options->log,
		th_json_recorded(profile->recording));
}

void
th_view_diff_json(FILE *file, const struct th_diff *diff)
{
	const struct th_profile *old_profile = diff->sides[0]->profile;
	const struct th_profile *new_profile = diff->sides[1]->profile;

	fprintf(file, "{\"twinheap\": 1,\n \"value\": \"%s\"",
		th_values[new_profile->options->value].name);
	th_json_write(file, ",\n \"old\": ", side_json(old_profile), 0);
	th_json_write(file, ",\n \"new\": ", side_json(new_profile), 0);
	th_json_write(file, ",\n \"filters\": ", th_json_filters(new_profile->options), 0);
	th_json_write(file, ",\n \"totals\": ",
		th_json_map(total, diff->totals + TH_HEAP_JAVA, TH_HEAPS - TH_HEAP_JAVA,
			difference_json(total)),
		0);
	fputs(",\n \"differences\": [", file);
	for (size_t i = 0; i < diff->items_count; i++)
		th_json_write(file, i ? ",\n  " : "\n  ", item_json(diff, &diff->items[i]), 0);
	fputs("]}\n", file);
}

/* Many recordings */

static const char *
group_name(const struct th_fleet *fleet, uint32_t group)
{
	const char *name = fleet->groups[group].name;

	if (name[0])
		return name;
	return fleet->options->by ? "(none)" : "all";
}

/* "version 2.4.1" */
static const char *
group_text(const struct th_fleet *fleet, uint32_t group)
{
	return th_printed("{}{}{}", fleet->options->by ? fleet->options->by : "",
		fleet->options->by ? " " : "", th_text_of(group_name(fleet, group)));
}

/* Figures */

static const char *
rate(double value)
{
	return th_printed("{b}", value * SECONDS_PER_HOUR);
}

/* "2.91 .. 3.13 MiB"; of a single process there is no interval. */
static const char *
interval_text(const struct th_estimate *mean, double factor, enum th_unit unit)
{
	return isinf(mean->low) ? "one process"
				: th_printed("{}", th_format_interval(mean->low * factor,
							   mean->high * factor, unit)
							   .text);
}

static const char *
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
	th_print(file, "{c process/processes}, recorded for {s} on average", processes,
		seconds / (double)processes);
	if (fleet->unreadable)
		th_print(file, "; { log} not read", fleet->unreadable);
	if (fleet->damaged)
		th_print(file, "; {} damaged or cut off", fleet->damaged);
	if (fleet->repeated)
		th_print(file, "; { log} left out: the same process", fleet->repeated);
	fputc('\n', file);
}

static uint64_t
count_judged(const struct th_fleet *fleet)
{
	uint64_t count = 0;

	for (size_t i = 0; i < fleet->groups_count; i++)
		for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
			count += fleet->groups[i].counted[heap];
	return count;
}

/* Lines that leak in some processes by their own recordings, and not over all. */
static size_t
count_alone(const struct th_fleet *fleet)
{
	size_t count = 0;

	for (size_t i = 0; i < fleet->lines_count; i++)
		count += fleet->lines[i].verdict != TH_VERDICT_LEAK &&
			 cell_shown(fleet, &fleet->lines[i])->leaks;
	return count;
}

static void
print_headline(FILE *file, const struct th_fleet *fleet)
{
	size_t leaks = count_verdict(fleet, TH_VERDICT_LEAK);
	size_t alone = count_alone(fleet);
	bool is_of_group = fleet->groups_count > 1;

	if (leaks)
		th_print(file, "{#}{c leak}, {}/h per process{}{}{/}\n", TH_STYLE_WARNING,
			leaks, rate(total_growth(fleet)), is_of_group ? " in " : "",
			is_of_group ? group_text(fleet, last_group(fleet)) : "");
	else if (count_judged(fleet))
		th_print(file, "{#}no line leaks significantly over all processes{}{/}\n",
			alone ? TH_STYLE_DOUBT : TH_STYLE_GOOD,
			alone ? th_printed("; {c line leaks/lines leak} in single ones", alone)
			      : "");
	else
		th_print(file, "{#}inconclusive: no recording was long enough{/}\n",
			TH_STYLE_DOUBT);
}

/* Leaks */

/* The groups that a finding is restricted to. */
static const char *
since_text(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	uint32_t shown = cell_shown(fleet, line)->group;

	if (line->since != UINT32_MAX)
		return th_printed("since {} ", group_text(fleet, line->since));
	return shown == last_group(fleet)
		       ? ""
		       : th_printed("only up to {} ", group_text(fleet, shown));
}

static void
print_sentence(FILE *file, const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const struct th_fleet_cell *cell = cell_shown(fleet, line);
	bool is_leak = line->verdict == TH_VERDICT_LEAK;
	bool is_one = cell->mean.samples == 1;

	th_print(file, "         {}", since_text(fleet, line));
	if (is_leak && cell->mean.samples < cell->value.count)
		th_print(file, "{} of {} processes {} {}/h{} ({})\n", cell->mean.samples,
			cell->value.count, is_one ? "leaks" : "leak", rate(cell->mean.estimate),
			is_one ? "" : " each", rate_interval(&cell->mean));
	else
		th_print(file, "each process {} {}/h ({}), {} of { process/processes}\n",
			is_leak ? "leaks" : "grows by", rate(cell->mean.estimate),
			rate_interval(&cell->mean), cell->growing, cell->mean.samples);
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

	fprintf(file, "         %-*.*s  %12s  %5u  %10s  ", name_columns(fleet),
		NAME_COLUMNS_MAX, group_name(fleet, group),
		th_printed("{} of {}", cell ? cell->growing : 0, counted),
		cell ? cell->leaks : 0, cell ? rate(cell->mean.estimate) : "-");
	if (has_group_intervals(file, fleet))
		th_print(file, "{-24}  ", cell ? rate_interval(&cell->mean) : "");
	th_print(file, "{9}\n", cell ? th_printed("{b}", &cell->average) : "-");
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

	for (int i = 0; i < STEPS_SHOWN && step; i++, step = keys->items[step].parent)
		th_print_cut(file, i ? "              < " : "         by     ", STACK_COLUMN,
			th_printed("{}", th_stack_keys_name(keys, step)));
	for (; step; step = keys->items[step].parent)
		left++;
	if (left)
		th_print(file, "              < {} more\n", left);
}

static void
print_finding(FILE *file, const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const struct th_fleet_cell *cell = cell_shown(fleet, line);

	fputc('\n', file);
	th_view_verdict(file, line->verdict, TH_REASON_GROWS);
	th_print(file, "{}, {}\n", th_heap_adjective(line->heap),
		th_strings_get(&fleet->keys.strings, line->title));
	print_sentence(file, fleet, line);
	if (fleet->groups_count > 1)
		print_groups(file, fleet, line);
	else
		fprintf(file, "         alone  a leak in %u of them by its own recording\n",
			cell->leaks);
	th_print(file, "         most   {}/h in {}\n", rate(cell->most),
		th_text_of(fleet->logs[cell->most_log]));
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
		th_print(file, "\nand {c} more with verdict {}\n", count - shown,
			th_verdict_names[verdict]);
}

/* Threads, class loaders and references are judged for each process alone. */
static void
print_counts(FILE *file, const struct th_fleet *fleet)
{
	uint64_t count = 0;

	for (size_t i = 0; i < fleet->groups_count; i++)
		count += fleet->groups[i].of_counts;
	if (count)
		th_print(file,
			"{c process leaks/processes leak} threads, class loaders or "
			"references: twinheap leaks LOG\n",
			count);
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

/* Two groups */

static bool
is_chance(const struct th_estimate *change)
{
	return !(change->low > 0) && !(change->high < 0);
}

static struct th_estimate
estimate_in(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);
	uint64_t counted = fleet->groups[group].counted[line->heap];

	return cell ? cell->mean : (struct th_estimate){.samples = counted};
}

/* Whether a line is in one of the two groups that are compared. */
static bool
is_compared(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	return th_fleet_cell(fleet, line, fleet->old_group) ||
	       th_fleet_cell(fleet, line, fleet->new_group);
}

static struct th_difference
line_change(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	return (struct th_difference){
		.heap = line->heap,
		.old_value = estimate_in(fleet, line, fleet->old_group),
		.new_value = estimate_in(fleet, line, fleet->new_group),
		.change = line->change,
		.may_be_chance = is_chance(&line->change),
	};
}

static struct th_difference
total_change(const struct th_fleet *fleet, enum th_heap heap)
{
	const struct th_process_sums *old_sum = &fleet->groups[fleet->old_group].totals[heap];
	const struct th_process_sums *new_sum = &fleet->groups[fleet->new_group].totals[heap];
	struct th_difference total = {
		.heap = heap,
		.old_value = th_process_mean(old_sum, 0.05),
		.new_value = th_process_mean(new_sum, 0.05),
		.change = th_process_difference(old_sum, new_sum, 0.05),
	};

	total.may_be_chance = is_chance(&total.change);
	return total;
}

static void
print_side(FILE *file, const char *label, const struct th_fleet *fleet, uint32_t group)
{
	th_print(file, "{}  {}: { process/processes}\n", label, group_text(fleet, group),
		fleet->groups[group].processes);
}

void
th_view_fleet_diff(FILE *file, const struct th_fleet *fleet)
{
	const struct th_fleet_group *old_group = &fleet->groups[fleet->old_group];
	const struct th_fleet_group *new_group = &fleet->groups[fleet->new_group];
	enum th_unit unit = th_values[fleet->options->value].unit;

	print_side(file, "old", fleet, fleet->old_group);
	print_side(file, "new", fleet, fleet->new_group);
	print_logs(file, fleet);
	th_view_filters(file, fleet->options);
	struct table table = table_begin(file, fleet->options, false, " per process");
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		struct th_difference total = total_change(fleet, heap);

		if (old_group->counted[heap] || new_group->counted[heap])
			print_total(&table, &total, interval_text(&total.change, 1, unit));
	}
	fputc('\n', file);
	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_line *line = &fleet->lines[i];
		const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, fleet->new_group);
		struct th_difference change = line_change(fleet, line);

		if (is_compared(fleet, line) && is_shown(&table, &change))
			print_row(&table, &change, interval_text(&change.change, 1, unit),
				th_printed("{}, in {} of {}",
					th_strings_get(&fleet->keys.strings, line->title),
					cell ? cell->processes : 0,
					new_group->counted[line->heap]));
	}
	table_end(&table);
}

/* Many recordings as JSON */

/* {"estimate", "ci95", "processes"}; without two processes the interval is null. */
static json_t *
mean_json(const struct th_estimate *mean)
{
	return th_json("estimate ci95 processes", mean->estimate,
		isinf(mean->low) ? NULL : th_json_list(mean->low, mean->high), mean->samples);
}

static json_t *
group_json(const struct th_fleet_group *group)
{
	json_t *counted = th_json_heaps(heap, group->counted[heap]);

	return th_json("name processes seconds start counted leaks_of_counts",
		th_text_of(group->name), group->processes, group->seconds,
		(double)group->start / 1e9, counted, group->of_counts);
}

/* The members that both reports begin with. */
static json_t *
head_json(const struct th_fleet *fleet)
{
	return th_json("twinheap by filters logs groups", 1, fleet->options->by,
		th_json_filters(fleet->options),
		th_json("read unreadable damaged repeated", fleet->logs_count,
			fleet->unreadable, fleet->damaged, fleet->repeated),
		th_json_map(group, fleet->groups, fleet->groups_count, group_json(group)));
}

/* The names of a stack's functions, root first. */
static json_t *
stack_json(const struct th_fleet *fleet, uint32_t stack)
{
	json_t *list = json_array();

	for (; stack; stack = fleet->keys.items[stack].parent)
		json_array_insert_new(
			list, 0, json_string(th_stack_keys_name(&fleet->keys, stack)));
	return list;
}

static struct th_text
name_of(const struct th_fleet *fleet, uint32_t group)
{
	return th_text_of(fleet->groups[group].name);
}

static json_t *
cell_json(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);

	if (!cell)
		return NULL;
	return th_json("name verdict processes growing leaks unclear growth_bytes_per_s "
		       "live_bytes most",
		name_of(fleet, group), th_verdict_names[cell->verdict], cell->processes,
		cell->growing, cell->leaks, cell->unclear, mean_json(&cell->mean),
		mean_json(&cell->average),
		th_json("growth_bytes_per_s log", cell->most,
			th_text_of(fleet->logs[cell->most_log])));
}

static json_t *
finding_json(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	json_t *json;

	if (line->verdict > TH_VERDICT_UNCLEAR)
		return NULL;
	json = th_json("verdict heap line since", th_verdict_names[line->verdict],
		th_heap_word(line->heap), th_strings_get(&fleet->keys.strings, line->title),
		(json_t *)NULL);
	if (line->since != UINT32_MAX)
		th_json_set(json, "since", name_of(fleet, line->since));
	return th_json_set(json, "frames groups", stack_json(fleet, line->stack),
		th_json_map(group, fleet->groups, fleet->groups_count,
			cell_json(fleet, line, (uint32_t)(group - fleet->groups))));
}

void
th_view_fleet_leaks_json(FILE *file, const struct th_fleet *fleet)
{
	th_json_print(file, th_json_set(head_json(fleet), "findings",
				    th_json_map(line, fleet->lines, fleet->lines_count,
					    finding_json(fleet, line))));
}

static json_t *
change_json(const struct th_difference *change)
{
	return th_json("old new change may_be_chance heap", mean_json(&change->old_value),
		mean_json(&change->new_value), mean_json(&change->change),
		(bool)change->may_be_chance, th_heap_word(change->heap));
}

static json_t *
line_json(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	struct th_difference change = line_change(fleet, line);

	if (!is_compared(fleet, line))
		return NULL;
	return th_json_set(change_json(&change), "class? frames",
		th_strings_get(&fleet->keys.strings, line->class_name),
		stack_json(fleet, line->stack));
}

static json_t *
total_json(const struct th_fleet *fleet, enum th_heap heap)
{
	struct th_difference total = total_change(fleet, heap);

	return change_json(&total);
}

void
th_view_fleet_diff_json(FILE *file, const struct th_fleet *fleet)
{
	json_t *totals = th_json_list(total_json(fleet, TH_HEAP_JAVA),
		total_json(fleet, TH_HEAP_NATIVE), total_json(fleet, TH_HEAP_MAPPED));

	th_json_print(file,
		th_json_set(head_json(fleet), "value old new totals differences",
			th_values[fleet->options->value].name, name_of(fleet, fleet->old_group),
			name_of(fleet, fleet->new_group), totals,
			th_json_map(line, fleet->lines, fleet->lines_count,
				line_json(fleet, line))));
}
