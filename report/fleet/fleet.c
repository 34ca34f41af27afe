/* SPDX-License-Identifier: Apache-2.0 */
#include "report/fleet/fleet.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/base/sort.h"
#include "report/log/reader.h"
#include "report/log/recording.h"
#include "report/statistics/distribution.h"
#include "report/symbols/symbols.h"

/* 95 % intervals. */
#define MISS 0.05
/* The part of a line's processes that find a leak by themselves if all leak, at least. */
#define SHOWN_BY 0.05

void
th_fleet_init(struct th_fleet *fleet, const struct th_options *options, bool is_growth,
	th_fleet_title *title)
{
	*fleet = (struct th_fleet){
		.options = options,
		.title = title,
		.is_growth = is_growth,
		.old_group = UINT32_MAX,
		.new_group = UINT32_MAX,
	};
	th_stack_keys_init(&fleet->keys);
}

void
th_fleet_deinit(struct th_fleet *fleet)
{
	for (size_t i = 0; i < fleet->groups_count; i++)
		free(fleet->groups[i].name);
	for (size_t i = 0; i < fleet->logs_count; i++)
		free(fleet->logs[i]);
	th_symbols_destroy(fleet->symbols);
	th_stack_keys_deinit(&fleet->keys);
	th_id_map_deinit(&fleet->line_ids);
	th_id_map_deinit(&fleet->processes);
	free(fleet->groups);
	free(fleet->logs);
	free(fleet->lines);
	free(fleet->cells);
}

/* Groups */

const char *
th_fleet_label(const struct th_labels *labels, const char *key)
{
	static const struct {
		const char *before;
		const char *after;
	} forms[] = {
		{"", ""}, {"service.", ""}, {"", ".name"}, {"k8s.", ".name"}, {"log.", ""}};
	const char *value = NULL;
	char name[256];

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && !value; i++) {
		snprintf(name, sizeof(name), "%s%s%s", forms[i].before, key, forms[i].after);
		value = th_labels_get(labels, name);
	}
	return value;
}

/* The directory of a log: a label of logs that have none. */
static void
set_directory(struct th_labels *labels, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		th_labels_set(labels, "log.directory",
			th_text_base_name(th_text_format("%.*s", (int)(slash - path), path)));
}

static uint32_t
find_group(struct th_fleet *fleet, const char *name)
{
	struct th_fleet_group group = {.start = UINT64_MAX};

	for (uint32_t i = 0; i < fleet->groups_count; i++) {
		if (!strcmp(fleet->groups[i].name, name))
			return i;
	}
	group.name = th_format_new("%s", name);
	th_array_append(fleet, groups, group);
	return (uint32_t)fleet->groups_count - 1;
}

static uint32_t
group_of(struct th_fleet *fleet, const struct th_recording *recording, const char *path)
{
	struct th_labels labels = {0};
	const char *value;
	uint32_t group;

	th_recording_labels(recording, &labels);
	set_directory(&labels, path);
	th_recording_given_labels(recording, &labels);
	value = fleet->options->by ? th_fleet_label(&labels, fleet->options->by) : NULL;
	group = find_group(fleet, value ? value : "");
	th_labels_deinit(&labels);
	return group;
}

/* Lines */

/* What one recording adds. */
struct addition {
	struct th_fleet *fleet;
	struct th_stack_names names;
	const struct th_leak_sites *places;
	uint32_t group;
	uint32_t log;
};

static uint32_t
make_title(struct addition *addition, const struct th_leak_line *entry)
{
	const struct th_leak_sites *places = addition->places;
	const char *title =
		entry->group ? th_frames_function_name(places->profile->frames, entry->group)
			     : addition->fleet->title(places, &places->items[entry->place]);

	return th_strings_intern(&addition->fleet->keys.strings, title);
}

/* `class_name`: string of the keys; 0 = none. */
static struct th_fleet_line *
find_line(struct addition *addition, const struct th_leak_line *entry, uint32_t class_name)
{
	struct th_fleet *fleet = addition->fleet;
	struct th_fleet_line line = {
		.heap = entry->heap,
		.key = entry->group
			       ? th_stack_names_find_function(&addition->names, entry->group)
			       : th_stack_names_find(&addition->names, entry->prefix),
		.class_name = class_name,
		.shown = -INFINITY,
		.is_internal = addition->places->items[entry->place].internal,
		.first = TH_NO_CELL,
		.since = UINT32_MAX,
	};
	uint32_t number = th_id_map_enter(&fleet->line_ids,
		(uint64_t)line.key << 32 | (uint64_t)line.class_name << 2 | line.heap, fleet,
		lines, line);

	return &fleet->lines[number];
}

static struct th_fleet_cell *
find_cell(struct th_fleet *fleet, struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *known = th_fleet_cell(fleet, line, group);
	struct th_fleet_cell cell = {.group = group, .next = line->first, .most = -INFINITY};

	if (known)
		return &fleet->cells[known - fleet->cells];
	line->first = (uint32_t)fleet->cells_count;
	th_array_append(fleet, cells, cell);
	return &fleet->cells[line->first];
}

/* A line of the recording; of values, `growth` is the value. */
static void
add_entry(struct addition *addition, const struct th_leak_line *entry, uint32_t class_name)
{
	struct th_fleet *fleet = addition->fleet;
	struct th_fleet_line *line = find_line(addition, entry, class_name);
	struct th_fleet_cell *cell = find_cell(fleet, line, addition->group);

	if (entry->growth > line->shown) {
		line->shown = entry->growth;
		line->title = make_title(addition, entry);
		line->stack = th_stack_names_find(
			&addition->names, addition->places->items[entry->place].way);
	}
	th_process_sums_add(&cell->value, entry->growth);
	th_process_sums_add(&cell->live, entry->live);
	cell->processes++;
	cell->growing += entry->growth > 0;
	if (entry->verdict == TH_VERDICT_LEAK) {
		cell->leaks++;
		cell->leaking.estimate += entry->growth;
		cell->leaking.low += entry->low;
		cell->leaking.high += entry->high;
	}
	cell->unclear += entry->verdict == TH_VERDICT_UNCLEAR;
	if (entry->growth > cell->most) {
		cell->most = entry->growth;
		cell->most_log = addition->log;
	}
}

static void
addition_init(struct addition *addition, struct th_fleet *fleet,
	const struct th_leak_sites *places, uint32_t group)
{
	*addition = (struct addition){.fleet = fleet,
		.places = places,
		.group = group,
		.log = (uint32_t)fleet->logs_count - 1};
	th_stack_names_init(&addition->names, &fleet->keys, &places->ways);
}

/* Growth */

static void
add_growth(struct th_fleet *fleet, const struct th_profile *profile, uint32_t group)
{
	struct th_fleet_group *of = &fleet->groups[group];
	struct addition addition;
	struct th_leak_lines lines;
	struct th_leaks leaks;

	th_leaks_init(&leaks, profile);
	th_leak_lines_init(&lines, &leaks);
	addition_init(&addition, fleet, &leaks.places, group);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		of->counted[heap] += th_profile_has_heap(leaks.profile, heap) &&
				     !isinf(leaks.growth_limit[heap]);
	for (size_t i = 0; i < lines.items_count; i++) {
		const struct th_leak_line *line = &lines.items[i];

		if (!isinf(leaks.growth_limit[line->heap]) && (line->growth || line->live))
			add_entry(&addition, line, 0);
	}
	of->of_counts += leaks.tallies.leaks_count || th_leaks_of_vm(&leaks);
	th_stack_names_deinit(&addition.names);
	th_leak_lines_deinit(&lines);
	th_leaks_deinit(&leaks);
}

/* Values */

static void
add_sites(struct addition *addition, const struct th_profile *profile, const double *values)
{
	const struct th_leak_sites *places = addition->places;

	for (uint32_t i = 0; i < places->items_count; i++) {
		const struct th_leak_site *place = &places->items[i];
		const char *class = th_frames_string(profile->frames, place->class_name);

		if (!values[i])
			continue;
		add_entry(addition,
			&(struct th_leak_line){.heap = place->heap,
				.prefix = place->way,
				.place = i,
				.growth = values[i],
				.verdict = TH_VERDICT_PLATEAU},
			th_strings_intern(&addition->fleet->keys.strings, class));
	}
}

static void
add_values(struct th_fleet *fleet, const struct th_profile *profile, uint32_t group)
{
	struct th_fleet_group *of = &fleet->groups[group];
	struct th_leak_sites places;
	struct addition addition;

	th_leak_sites_init(&places, profile);
	addition_init(&addition, fleet, &places, group);
	double *values = th_allocate(places.items_count + 1, sizeof(*values));
	for (size_t i = 0; i < profile->rows_count; i++)
		values[places.of_row[i]] += th_profile_point(
			profile, th_profile_sum(profile, &profile->rows[i]));
	add_sites(&addition, profile, values);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!th_profile_has_heap(profile, heap))
			continue;
		of->counted[heap]++;
		th_process_sums_add(
			&of->totals[heap], th_profile_whole(profile, heap).estimate);
	}
	free(values);
	th_stack_names_deinit(&addition.names);
	th_leak_sites_deinit(&places);
}

/* Recordings */

/* Whether the process was not read before: as a log and as a bundle, or twice. */
static bool
is_new(struct th_fleet *fleet, const struct th_recording *recording)
{
	const struct th_log_header *header = th_reader_header(recording->reader);
	uint64_t identity = header->start_realtime ^ header->process_space ^
			    (uint64_t)header->pid << 40;
	bool added;

	th_id_map_intern(&fleet->processes, identity, &added);
	return added;
}

static void
add_recording(struct th_fleet *fleet, const struct th_recording *recording, const char *path,
	const char *name, const struct th_options *options)
{
	uint32_t group = name ? find_group(fleet, name) : group_of(fleet, recording, path);
	struct th_fleet_group *of = &fleet->groups[group];
	uint64_t start = th_reader_header(recording->reader)->start_realtime;
	struct th_profile *profile = th_profile_create(recording, options, NULL, NULL);

	th_array_append(fleet, logs, th_format_new("%s", path));
	of->processes++;
	of->seconds += th_recording_duration(recording);
	if (start < of->start)
		of->start = start;
	fleet->damaged += recording->damaged || recording->undecodable ||
			  th_recording_missing_bytes(recording);
	(fleet->is_growth ? add_growth : add_values)(fleet, profile, group);
	th_profile_destroy(profile);
}

struct th_error *
th_fleet_add(struct th_fleet *fleet, const char *path, const char *group)
{
	struct th_options options = *fleet->options;
	struct th_recording *recording;
	struct th_error *error;

	options.log = path;
	options.input = (char *)path;
	options.symbols = fleet->symbols = th_symbols_reuse(fleet->symbols);
	error = th_options_resolve_marks(&options);
	if (!error)
		error = th_recording_load(path, &recording);
	if (error) {
		fleet->unreadable++;
		return error;
	}
	if (is_new(fleet, recording))
		add_recording(fleet, recording, path, group, &options);
	else
		fleet->repeated++;
	th_recording_destroy(recording);
	th_texts_free();
	return NULL;
}

/* Order of groups */

int
th_fleet_compare_versions(const char *a, const char *b)
{
	size_t a_length, b_length;
	int order;

	a += *a == 'v';
	b += *b == 'v';
	a_length = strcspn(a, "-");
	b_length = strcspn(b, "-");
	order = strverscmp(th_text_format("%.*s", (int)a_length, a),
		th_text_format("%.*s", (int)b_length, b));
	if (order)
		return order;
	/* "2.4.1-rc1" is before "2.4.1". */
	if (!a[a_length] || !b[b_length])
		return !a[a_length] - !b[b_length];
	return strverscmp(a + a_length, b + b_length);
}

static bool
is_version(const char *name)
{
	return isdigit((unsigned char)name[*name == 'v']);
}

TH_COMPARE_WITH(compare_groups, struct th_fleet_group, const bool, has_versions,
	th_order(*left->name != 0, *right->name != 0)
		?: (*has_versions ? th_fleet_compare_versions(left->name, right->name)
				  : th_order(left->start, right->start)))

/* Sorts the groups, and renumbers them in the cells. */
static void
sort_groups(struct th_fleet *fleet)
{
	size_t count = fleet->groups_count;
	uint32_t *numbers = th_allocate(count + 1, sizeof(*numbers));
	bool has_versions = true;

	for (uint32_t i = 0; i < count; i++) {
		fleet->groups[i].number = i;
		has_versions &= !*fleet->groups[i].name || is_version(fleet->groups[i].name);
	}
	th_sort_with(fleet->groups, count, compare_groups, &has_versions);
	for (uint32_t i = 0; i < count; i++)
		numbers[fleet->groups[i].number] = i;
	for (size_t i = 0; i < fleet->cells_count; i++)
		fleet->cells[i].group = numbers[fleet->cells[i].group];
	free(numbers);
}

/* Verdicts */

/* P(X >= k) of n trials with probability p: independent false alarms of the processes. */
static double
chance_of_as_many(uint32_t k, uint32_t n, double p)
{
	return k ? th_distribution_misses(k, n - k, p, 1 - p, 1) : 1;
}

/*
 * Whether a line leaks in a group. Its mean growth is significant among all lines that were tested
 * (Bonferroni), most processes do not find that it has stopped growing or is freed again, and some
 * find a leak by themselves: only the times of survivors in one process tell a leak from a
 * structure that is filled in each process. Or more find a leak by themselves than by chance.
 */
static enum th_verdict
judge(const struct th_fleet_cell *cell, uint32_t counted, double tests)
{
	uint32_t settled = cell->processes - cell->leaks - cell->unclear;
	bool is_kept = cell->leaks + cell->unclear > settled;
	bool is_shown = cell->leaks && cell->leaks >= SHOWN_BY * cell->processes;
	double limit = th_process_mean(&cell->value, 2 * TH_ERROR_RATE / fmax(tests, 1)).low;

	if ((limit > 0 && is_kept && is_shown) ||
		(cell->leaks && chance_of_as_many(cell->leaks, counted,
					TH_SITE_SHARE * TH_ERROR_RATE) <= TH_ERROR_RATE))
		return TH_VERDICT_LEAK;
	return cell->leaks || (limit > 0 && is_kept) ? TH_VERDICT_UNCLEAR : TH_VERDICT_PLATEAU;
}

static void
measure_cells(struct th_fleet *fleet)
{
	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_line *line = &fleet->lines[i];

		for (uint32_t k = line->first; k != TH_NO_CELL; k = fleet->cells[k].next) {
			struct th_fleet_cell *cell = &fleet->cells[k];
			uint32_t counted = fleet->groups[cell->group].counted[line->heap];

			/* A heap that was not recorded has nothing at any line. */
			if (counted < cell->processes)
				counted = cell->processes;
			th_process_sums_add_zeros(&cell->value, counted - cell->processes);
			th_process_sums_add_zeros(&cell->live, counted - cell->processes);
			cell->mean = th_process_mean(&cell->value, MISS);
			cell->average = th_process_mean(&cell->live, MISS);
		}
	}
}

/* Number of lines of a heap in a group that grow: those that are tested. */
static double
count_tests(const struct th_fleet *fleet, enum th_heap heap, uint32_t group)
{
	double tests = 0;

	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_line *line = &fleet->lines[i];
		const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);

		tests += line->heap == heap && !line->is_internal && cell &&
			 cell->mean.estimate > 0;
	}
	return tests;
}

const struct th_fleet_cell *
th_fleet_cell(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	for (uint32_t i = line->first; i != TH_NO_CELL; i = fleet->cells[i].next) {
		if (fleet->cells[i].group == group)
			return &fleet->cells[i];
	}
	return NULL;
}

/* A line in a group of processes none of which has it: all are 0. */
static struct th_process_sums
sums_of(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);
	struct th_process_sums sums = {.count = fleet->groups[group].counted[line->heap]};

	return cell ? cell->value : sums;
}

static bool
leaks_in(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);

	return cell && cell->verdict == TH_VERDICT_LEAK;
}

/*
 * The first of the last groups in each of which the line leaks, if it grew significantly less in
 * the one before that; else UINT32_MAX.
 */
static uint32_t
find_since(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	uint32_t first = (uint32_t)fleet->groups_count;

	while (first && leaks_in(fleet, line, first - 1))
		first--;
	if (!first || first == fleet->groups_count)
		return UINT32_MAX;
	struct th_process_sums before = sums_of(fleet, line, first - 1);
	struct th_process_sums after = sums_of(fleet, line, first);
	return th_process_difference(&before, &after, MISS).low > 0 ? first : UINT32_MAX;
}

/* The interval of the sum contains that of each process. */
static struct th_estimate
mean_of_leaking(const struct th_fleet_cell *cell)
{
	return (struct th_estimate){
		.estimate = cell->leaking.estimate / cell->leaks,
		.low = cell->leaking.low / cell->leaks,
		.high = cell->leaking.high / cell->leaks,
		.samples = cell->leaks,
	};
}

static void
judge_cells(struct th_fleet *fleet)
{
	for (uint32_t group = 0; group < fleet->groups_count; group++) {
		double tests[TH_HEAPS];

		for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
			tests[heap] = count_tests(fleet, heap, group);
		for (size_t i = 0; i < fleet->lines_count; i++) {
			struct th_fleet_line *line = &fleet->lines[i];
			struct th_fleet_cell *cell = (struct th_fleet_cell *)th_fleet_cell(
				fleet, line, group);

			if (!cell)
				continue;
			cell->verdict = line->is_internal
						? TH_VERDICT_PLATEAU
						: judge(cell, (uint32_t)cell->value.count,
							  tests[line->heap]);
			if (cell->verdict == TH_VERDICT_LEAK && cell->mean.low <= 0)
				cell->mean = mean_of_leaking(cell);
			if (cell->verdict < line->verdict)
				line->verdict = cell->verdict;
		}
	}
}

/* Lines */

/* What lines are sorted by: growth in the last group, or the size of the change. */
static double
rank(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const struct th_fleet_cell *cell;

	if (!fleet->is_growth)
		return fabs(line->change.estimate);
	cell = th_fleet_cell(fleet, line, (uint32_t)fleet->groups_count - 1);
	return cell ? cell->mean.estimate : 0;
}

static bool
is_significant(const struct th_fleet_line *line)
{
	return line->change.low > 0 || line->change.high < 0;
}

TH_COMPARE_WITH(compare_lines, struct th_fleet_line, const struct th_fleet, fleet,
	th_order(left->verdict, right->verdict)
		?: (fleet->is_growth ? 0
				     : th_order(is_significant(right), is_significant(left)))
		?: th_order(rank(fleet, right), rank(fleet, left))
		?: th_order(left->key, right->key))

/* The group of this name; the default is `number`. */
static struct th_error *
choose_group(const struct th_fleet *fleet, const char *option, const char *name,
	uint32_t number, uint32_t *ret)
{
	*ret = number;
	if (!name)
		return NULL;
	for (uint32_t i = 0; i < fleet->groups_count; i++) {
		if (!strcmp(fleet->groups[i].name, name)) {
			*ret = i;
			return NULL;
		}
	}
	return fleet->options->by
		       ? th_error_create(TH_ERROR_USAGE, "--%s %s: no recording has this %s",
				 option, name, fleet->options->by)
		       : th_error_create(TH_ERROR_UNREADABLE, "%s: no log could be read", name);
}

static struct th_error *
choose_groups(struct th_fleet *fleet)
{
	uint32_t last = (uint32_t)fleet->groups_count - 1;
	struct th_error *error;

	if (fleet->groups_count < 2 && !fleet->options->new_group)
		return NULL;
	error = choose_group(fleet, "new", fleet->options->new_group, last, &fleet->new_group);
	if (!error)
		error = choose_group(fleet, "old", fleet->options->old_group,
			fleet->new_group ? fleet->new_group - 1 : 1, &fleet->old_group);
	return error;
}

static void
compare_values(struct th_fleet *fleet)
{
	if (fleet->new_group == UINT32_MAX)
		return;
	for (size_t i = 0; i < fleet->lines_count; i++) {
		struct th_fleet_line *line = &fleet->lines[i];
		struct th_process_sums before = sums_of(fleet, line, fleet->old_group);
		struct th_process_sums after = sums_of(fleet, line, fleet->new_group);

		line->change = th_process_difference(&before, &after, MISS);
	}
}

struct th_error *
th_fleet_finish(struct th_fleet *fleet)
{
	struct th_error *error;

	sort_groups(fleet);
	error = choose_groups(fleet);
	if (error)
		return error;
	for (size_t i = 0; i < fleet->lines_count; i++)
		fleet->lines[i].verdict = TH_VERDICT_PLATEAU;
	measure_cells(fleet);
	if (fleet->is_growth)
		judge_cells(fleet);
	compare_values(fleet);
	for (size_t i = 0; fleet->is_growth && i < fleet->lines_count; i++)
		fleet->lines[i].since = find_since(fleet, &fleet->lines[i]);
	th_sort_with(fleet->lines, fleet->lines_count, compare_lines, fleet);
	return NULL;
}
