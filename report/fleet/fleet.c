/* SPDX-License-Identifier: Apache-2.0 */
#include "report/fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/leaks/lines.h"
#include "report/log/reader.h"
#include "report/log/recording_labels.h"
#include "report/profile/marks.h"
#include "report/symbols/symbols.h"

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
	char *directory = slash ? th_format_new("%.*s", (int)(slash - path), path) : NULL;

	if (directory)
		th_labels_set(labels, "log.directory", th_text_base_name(directory));
	free(directory);
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

/* One line of it. */
struct entry {
	enum th_heap heap;
	uint32_t prefix;     /* path prefix by which the line is recognized */
	uint32_t group;      /* a group of stacks, function number, instead; 0 = none */
	uint32_t place;      /* site to show */
	uint32_t class_name; /* string of the keys; 0 = none */
	double value;
	double live;
	double low; /* of the growth of a leak */
	double high;
	enum th_verdict verdict;
};

static uint32_t
make_title(struct addition *addition, const struct entry *entry)
{
	const struct th_leak_sites *places = addition->places;
	struct th_line line;

	th_line_begin(&line);
	if (entry->group)
		fputs(th_frames_function_name(places->profile->frames, entry->group),
			line.stream);
	else
		addition->fleet->title(line.stream, places, &places->items[entry->place]);
	char *text = th_line_end(&line);
	uint32_t title = th_strings_intern(&addition->fleet->keys.strings, text);

	free(text);
	return title;
}

static struct th_fleet_line *
find_line(struct addition *addition, const struct entry *entry)
{
	struct th_fleet *fleet = addition->fleet;
	struct th_fleet_line line = {
		.heap = entry->heap,
		.key = entry->group
			       ? th_stack_names_find_function(&addition->names, entry->group)
			       : th_stack_names_find(&addition->names, entry->prefix),
		.class_name = entry->class_name,
		.shown = -INFINITY,
		.is_internal = addition->places->items[entry->place].internal,
		.first = TH_NO_CELL,
		.since = UINT32_MAX,
	};
	bool added;
	uint32_t number = th_id_map_intern(&fleet->line_ids,
		(uint64_t)line.key << 32 | (uint64_t)line.class_name << 2 | line.heap, &added);

	if (added)
		th_array_append(fleet, lines, line);
	return &fleet->lines[number];
}

static struct th_fleet_cell *
find_cell(struct th_fleet *fleet, struct th_fleet_line *line, uint32_t group)
{
	struct th_fleet_cell cell = {.group = group, .next = line->first, .most = -INFINITY};

	for (uint32_t i = line->first; i != TH_NO_CELL; i = fleet->cells[i].next) {
		if (fleet->cells[i].group == group)
			return &fleet->cells[i];
	}
	line->first = (uint32_t)fleet->cells_count;
	th_array_append(fleet, cells, cell);
	return &fleet->cells[line->first];
}

static void
add_entry(struct addition *addition, const struct entry *entry)
{
	struct th_fleet *fleet = addition->fleet;
	struct th_fleet_line *line = find_line(addition, entry);
	struct th_fleet_cell *cell = find_cell(fleet, line, addition->group);

	if (entry->value > line->shown) {
		line->shown = entry->value;
		line->title = make_title(addition, entry);
		line->stack = th_stack_names_find(
			&addition->names, addition->places->items[entry->place].way);
	}
	th_process_sums_add(&cell->value, entry->value);
	th_process_sums_add(&cell->live, entry->live);
	cell->processes++;
	cell->growing += entry->value > 0;
	if (entry->verdict == TH_VERDICT_LEAK) {
		cell->leaks++;
		cell->leaking.estimate += entry->value;
		cell->leaking.low += entry->low;
		cell->leaking.high += entry->high;
	}
	cell->unclear += entry->verdict == TH_VERDICT_UNCLEAR;
	if (entry->value > cell->most) {
		cell->most = entry->value;
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
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		of->counted[heap] += th_profile_has_heap(leaks.profile, (enum th_heap)heap) &&
				     !isinf(leaks.growth_limit[heap]);
	for (size_t i = 0; i < lines.items_count; i++) {
		const struct th_leak_line *line = &lines.items[i];

		if (isinf(leaks.growth_limit[line->heap]) || (!line->growth && !line->live))
			continue;
		add_entry(&addition, &(struct entry){.heap = line->heap,
					     .prefix = line->prefix,
					     .group = line->group,
					     .place = line->place,
					     .value = line->growth,
					     .live = line->live,
					     .low = line->low,
					     .high = line->high,
					     .verdict = line->verdict});
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
		add_entry(addition, &(struct entry){.heap = place->heap,
					    .prefix = place->way,
					    .place = i,
					    .class_name = th_strings_intern(
						    &addition->fleet->keys.strings, class),
					    .value = values[i],
					    .verdict = TH_VERDICT_PLATEAU});
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
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!th_profile_has_heap(profile, (enum th_heap)heap))
			continue;
		of->counted[heap]++;
		th_process_sums_add(&of->totals[heap],
			th_profile_whole(profile, (enum th_heap)heap).estimate);
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
	error = th_marks_resolve(&options);
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
	return NULL;
}
