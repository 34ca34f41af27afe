/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff, as text and as JSON. The totals and rows are computed by report/profile/diff.c and
 * arrive sorted, with changes that are not significant last.  Paths of a row are printed from
 * the side that has it.
 */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/profile/sites.h"
#include "report/views/json_parts.h"
#include "report/profile/values.h"

/* Columns of figures in front of a site, with and without the confidence interval. */
#define FIGURE_COLUMNS 64
#define BARE_FIGURE_COLUMNS 41
/* If sites have fewer columns than the first, intervals are left out; they never have fewer than
 * the second. */
#define FAIR_SITE_COLUMNS 40
#define LEAST_SITE_COLUMNS 20

static enum th_view_value
value_of(const struct th_diff *diff)
{
	return diff->sides[1].profile->options->value;
}

/* Text */

static void
print_side(FILE *file, const char *label, const struct th_profile *profile)
{
	bool is_before = th_profile_is_before_teardown(profile);

	th_print(file, "{}  {} at {t} s{}{}\n", label, profile->options->log,
		th_profile_seconds(profile, profile->at.time), is_before ? ", before " : "",
		is_before ? th_teardown_reason(&profile->teardown) : "");
}

struct th_number
th_view_signed_number(double value, enum th_unit unit)
{
	struct th_number number;

	snprintf(number.text, sizeof(number.text), "%c%.46s", value < 0 ? '-' : '+',
		th_format_number(fabs(value), unit).text);
	return number;
}

/* Whether the terminal has columns for confidence intervals. */
static bool
has_intervals(FILE *file)
{
	return th_terminal_room(file, FIGURE_COLUMNS, 0) >= FAIR_SITE_COLUMNS;
}

static void
print_figures(FILE *file, const struct th_diff *diff, const struct th_difference *difference)
{
	enum th_unit unit = th_value_counts_objects(value_of(diff)) ? TH_UNIT_OBJECTS
								    : TH_UNIT_BYTES;

	th_print(file, "{9}  {9}  {10}{} ",
		th_format_number(difference->old_value.estimate, unit).text,
		th_format_number(difference->new_value.estimate, unit).text,
		th_view_signed_number(difference->change.estimate, unit).text,
		difference->may_be_chance && !has_intervals(file) ? "~" : " ");
	if (has_intervals(file))
		th_print(file, "{-22} ", th_estimate_interval(&difference->change, unit).text);
}

static void
print_total(FILE *file, const struct th_diff *diff, enum th_heap heap)
{
	if (!th_profile_has_heap(diff->sides[0].profile, heap) &&
		!th_profile_has_heap(diff->sides[1].profile, heap))
		return;
	print_figures(file, diff, &diff->totals[heap]);
	th_print(file, "{}{}\n", th_heap_title(heap),
		has_intervals(file) && diff->totals[heap].may_be_chance ? ", not significant"
									: "");
}

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
print_item(FILE *file, const struct th_diff *diff, const struct th_difference *difference)
{
	const struct th_side *side = &diff->sides[difference->side];
	bool is_wide = has_intervals(file);
	const char *remark = is_wide && difference->may_be_chance ? " (not significant)" : "";
	int used = (is_wide ? FIGURE_COLUMNS : BARE_FIGURE_COLUMNS) + (int)strlen(remark);

	print_figures(file, diff, difference);
	th_print(file, "{-7}", th_sampling_change_name(difference->kind));
	th_format_cut(file,
		th_view_diff_site(side->places, &side->places->items[difference->place]),
		th_terminal_room(file, used, LEAST_SITE_COLUMNS));
	th_print(file, "{}\n", remark);
}

static void
print_items(FILE *file, const struct th_diff *diff)
{
	uint64_t top = diff->sides[1].profile->options->top;
	uint64_t certain = 0;

	for (size_t i = 0; i < diff->items_count; i++) {
		certain += !diff->items[i].may_be_chance;
		if (i < top)
			print_item(file, diff, &diff->items[i]);
	}
	if (diff->items_count > top)
		th_print(file, "and {c} more (--top)\n", diff->items_count - top);
	th_print(file, "\n{c} of {c} {} changed significantly{}\n", certain, diff->items_count,
		diff->sides[1].profile->options->group_by ? "groups" : "stacks",
		has_intervals(file) ? "" : "; the others are marked with ~");
}

void
th_view_diff(FILE *file, const struct th_diff *diff)
{
	const char *heading = th_value_heading(value_of(diff));

	print_side(file, "old", diff->sides[0].profile);
	print_side(file, "new", diff->sides[1].profile);
	th_view_filters(file, diff->sides[1].profile->options);
	th_print(file, "\n{#}{9}  {9}  {10}  {}{}{/}\n", TH_STYLE_HEADING, "old", "new",
		"change", has_intervals(file) ? "95 % CI                " : "", heading);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_total(file, diff, heap);
	fputc('\n', file);
	print_items(file, diff);
}

/* JSON */

static json_t *
difference_json(const struct th_difference *difference)
{
	return th_json("heap old new change kind may_be_chance", th_heap_word(difference->heap),
		&difference->old_value, &difference->new_value, &difference->change,
		th_sampling_change_name(difference->kind), (bool)difference->may_be_chance);
}

/* Root first, without line numbers, which may differ between the two sides. */
static json_t *
frames_json(const struct th_side *side, const struct th_leak_site *place)
{
	struct th_path_prefix_cursor step = th_path_prefixes_last(
		&side->places->ways, place->way);
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
	const struct th_side *side = &diff->sides[difference->side];
	const struct th_leak_site *place = &side->places->items[difference->place];

	return th_json_set(difference_json(difference), "class? frames",
		th_frames_string(side->profile->frames, place->class_name),
		frames_json(side, place));
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
	const struct th_profile *old_profile = diff->sides[0].profile;
	const struct th_profile *new_profile = diff->sides[1].profile;

	fprintf(file, "{\"twinheap\": 1,\n \"value\": \"%s\"", th_value_name(value_of(diff)));
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
