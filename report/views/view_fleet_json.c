/* SPDX-License-Identifier: Apache-2.0 */
/* leaks and diff over many recordings, as JSON. */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/heap_names.h"
#include "report/views/json_parts.h"

/* {"estimate", "ci95", "processes"}; without two processes the interval is null. */
static json_t *
mean_json(const struct th_estimate *mean)
{
	json_t *interval = isinf(mean->low) ? json_null()
					    : json_pack("[f, f]", mean->low, mean->high);

	return json_pack("{s:f, s:o, s:I}", "estimate", mean->estimate, "ci95", interval,
		"processes", (json_int_t)mean->samples);
}

static json_t *
heaps_json(const uint32_t *counts)
{
	json_t *json = json_object();

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		json_object_set_new(
			json, th_heap_word((enum th_heap)heap), json_integer(counts[heap]));
	return json;
}

static json_t *
text_json(const char *text)
{
	return th_json_log_text(th_text_of(text));
}

static json_t *
groups_json(const struct th_fleet *fleet)
{
	json_t *list = json_array();

	for (size_t i = 0; i < fleet->groups_count; i++) {
		const struct th_fleet_group *group = &fleet->groups[i];

		json_array_append_new(
			list, json_pack("{s:o, s:I, s:f, s:f, s:o, s:I}", "name",
				      text_json(group->name), "processes",
				      (json_int_t)group->processes, "seconds", group->seconds,
				      "start", (double)group->start / 1e9, "counted",
				      heaps_json(group->counted), "leaks_of_counts",
				      (json_int_t)group->of_counts));
	}
	return list;
}

/* The members that both reports begin with. */
static json_t *
head_json(const struct th_fleet *fleet)
{
	return json_pack("{s:i, s:o, s:o, s:{s:I, s:I, s:I, s:I}, s:o}", "twinheap", 1, "by",
		fleet->options->by ? json_string(fleet->options->by) : json_null(), "filters",
		th_json_filters(fleet->options), "logs", "read", (json_int_t)fleet->logs_count,
		"unreadable", (json_int_t)fleet->unreadable, "damaged",
		(json_int_t)fleet->damaged, "repeated", (json_int_t)fleet->repeated, "groups",
		groups_json(fleet));
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

static json_t *
group_json(const struct th_fleet *fleet, uint32_t group)
{
	return group == UINT32_MAX ? json_null() : text_json(fleet->groups[group].name);
}

static json_t *
cells_json(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	json_t *list = json_array();

	for (uint32_t group = 0; group < fleet->groups_count; group++) {
		const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);

		if (!cell)
			continue;
		json_array_append_new(list,
			json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:{s:f, s:o}}",
				"name", group_json(fleet, group), "verdict",
				th_verdict_name(cell->verdict), "processes",
				(json_int_t)cell->processes, "growing",
				(json_int_t)cell->growing, "leaks", (json_int_t)cell->leaks,
				"unclear", (json_int_t)cell->unclear, "growth_bytes_per_s",
				mean_json(&cell->mean), "live_bytes", mean_json(&cell->average),
				"most", "growth_bytes_per_s", cell->most, "log",
				text_json(fleet->logs[cell->most_log])));
	}
	return list;
}

static json_t *
finding_json(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "verdict",
		th_verdict_name(line->verdict), "heap", th_heap_word(line->heap), "line",
		th_strings_get(&fleet->keys.strings, line->title), "since",
		group_json(fleet, line->since), "frames", stack_json(fleet, line->stack),
		"groups", cells_json(fleet, line));
}

static void
print(FILE *file, json_t *json)
{
	char *text = th_json_dump(json, JSON_INDENT(1));

	fprintf(file, "%s\n", text);
	free(text);
}

void
th_view_fleet_leaks_json(FILE *file, const struct th_fleet *fleet)
{
	json_t *json = head_json(fleet);
	json_t *findings = json_array();

	for (size_t i = 0; i < fleet->lines_count; i++) {
		if (fleet->lines[i].verdict <= TH_VERDICT_UNCLEAR)
			json_array_append_new(findings, finding_json(fleet, &fleet->lines[i]));
	}
	json_object_set_new(json, "findings", findings);
	print(file, json);
}

/* Changes */

static json_t *
change_json(const struct th_estimate *old_value, const struct th_estimate *new_value,
	const struct th_estimate *change)
{
	return json_pack("{s:o, s:o, s:o, s:b}", "old", mean_json(old_value), "new",
		mean_json(new_value), "change", mean_json(change), "may_be_chance",
		change->low <= 0 && change->high >= 0);
}

static struct th_estimate
mean_in(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);
	uint64_t counted = fleet->groups[group].counted[line->heap];

	return cell ? cell->mean : (struct th_estimate){.samples = counted};
}

static json_t *
line_json(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	struct th_estimate old_value = mean_in(fleet, line, fleet->old_group);
	struct th_estimate new_value = mean_in(fleet, line, fleet->new_group);
	json_t *json = change_json(&old_value, &new_value, &line->change);

	json_object_set_new(json, "heap", json_string(th_heap_word(line->heap)));
	json_object_set_new(json, "class",
		th_json_text_or_null(th_strings_get(&fleet->keys.strings, line->class_name)));
	json_object_set_new(json, "frames", stack_json(fleet, line->stack));
	return json;
}

static json_t *
totals_json(const struct th_fleet *fleet)
{
	json_t *list = json_array();

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_process_sums *sums[] = {
			&fleet->groups[fleet->old_group].totals[heap],
			&fleet->groups[fleet->new_group].totals[heap]};
		struct th_estimate means[] = {
			th_process_mean(sums[0], 0.05), th_process_mean(sums[1], 0.05)};
		struct th_estimate change = th_process_difference(sums[0], sums[1], 0.05);
		json_t *json = change_json(&means[0], &means[1], &change);

		json_object_set_new(
			json, "heap", json_string(th_heap_word((enum th_heap)heap)));
		json_array_append_new(list, json);
	}
	return list;
}

void
th_view_fleet_diff_json(FILE *file, const struct th_fleet *fleet)
{
	json_t *json = head_json(fleet);
	json_t *differences = json_array();

	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_line *line = &fleet->lines[i];

		if (th_fleet_cell(fleet, line, fleet->old_group) ||
			th_fleet_cell(fleet, line, fleet->new_group))
			json_array_append_new(differences, line_json(fleet, line));
	}
	json_object_set_new(json, "value", json_string(th_value_name(fleet->options->value)));
	json_object_set_new(json, "old", group_json(fleet, fleet->old_group));
	json_object_set_new(json, "new", group_json(fleet, fleet->new_group));
	json_object_set_new(json, "totals", totals_json(fleet));
	json_object_set_new(json, "differences", differences);
	print(file, json);
}
