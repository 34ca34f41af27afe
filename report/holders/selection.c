/* SPDX-License-Identifier: Apache-2.0 */
#include "report/holders/selection.h"

#include <stdlib.h>

#include "report/base/allocate.h"

static void
add(struct th_selection *selection, const struct th_leaks *leaks,
	const struct th_holders_of *of, bool has_stacks)
{
	const struct th_recording *recording = leaks->profile->recording;
	const struct th_samples *samples = &recording->samples[TH_HEAP_JAVA];
	struct th_id_map pairs = {0};
	bool added;

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		uint32_t stack = has_stacks ? sample->stack : 0;

		if (!th_holders_selects(leaks, of, i))
			continue;
		th_id_map_intern(&pairs, th_holder_selected(stack, sample->class), &added);
		if (added)
			th_array_append(selection, items,
				th_holder_selected(
					has_stacks ? (uint32_t)th_id_map_word(
							     &recording->stacks_ids, stack)
						   : 0,
					(uint32_t)th_id_map_word(
						&recording->classes_ids, sample->class)));
	}
	th_id_map_deinit(&pairs);
}

void
th_selection_deinit(struct th_selection *selection)
{
	free(selection->items);
	*selection = (struct th_selection){.items = NULL};
}

static void
select_objects(struct th_selection *selection, const struct th_leaks *leaks,
	const struct th_holders_of *of, bool has_stacks)
{
	*selection = (struct th_selection){.items = NULL};
	add(selection, leaks, of, has_stacks);
	if (has_stacks && selection->items_count > TH_HOLDERS_SELECTED_MAX) {
		th_selection_deinit(selection);
		add(selection, leaks, of, false);
	}
	if (selection->items_count > TH_HOLDERS_SELECTED_MAX)
		selection->items_count = TH_HOLDERS_SELECTED_MAX;
}

void
th_selection_of_class(
	struct th_selection *selection, const struct th_leaks *leaks, const char *name)
{
	const struct th_holders_of of = {
		.class_name = th_frames_find_string(leaks->profile->frames, name)};

	*selection = (struct th_selection){.items = NULL};
	if (of.class_name && of.class_name != TH_NO_STRING)
		select_objects(selection, leaks, &of, false);
}

void
th_selection_of_finding(
	struct th_selection *selection, const struct th_leaks *leaks, uint64_t finding)
{
	*selection = (struct th_selection){.items = NULL};
	if (!finding || finding > leaks->findings_count)
		return;
	const struct th_listed *listed = &leaks->findings[finding - 1];
	struct th_finding measured = th_leaks_measured(leaks, listed);
	bool *places = th_holders_places(leaks, listed, &measured);
	const struct th_holders_of of = {.places = places};
	select_objects(selection, leaks, &of, true);
	free(places);
}
