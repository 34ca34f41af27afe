/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of a diff are keyed by heap, class and stack (stack_keys.h), so that sites of two
 * recordings meet in one entry; samples are then summed up by entry and side.
 */
#include "report/profile/diff.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "report/profile/stack_keys.h"

/* The samples of one stack. */
struct entry {
	uint32_t places[2];            /* by side; TH_NO_PLACE */
	struct th_estimator values[2]; /* by side */
	struct th_estimator came;      /* on the new side only */
	struct th_estimator went;
};

struct work {
	struct th_diff *diff;
	enum th_measure measure;
	struct th_stack_keys keys;
	struct th_stack_names names[2];  /* by side */
	struct th_id_map ids;            /* stack << 32 | class << 2 | heap */
	TH_ARRAY(struct entry, entries); /* by number in `ids` */
	uint32_t *entry_of[2];           /* by site of the side */
	struct entry totals[TH_HEAPS];
};

const char *const th_sampling_change_names[] = {
	[TH_CHANGE_NONE] = "same",
	[TH_CHANGE_GREW] = "grew",
	[TH_CHANGE_SHRANK] = "shrank",
	[TH_CHANGE_NEW] = "new",
	[TH_CHANGE_GONE] = "gone",
};

/* Keys */

static uint32_t
find_entry(struct work *work, uint32_t side, uint32_t number)
{
	const struct th_leak_sites *places = work->diff->sides[side];
	const struct th_leak_site *place = &places->items[number];
	uint32_t stack = th_stack_names_find(&work->names[side], place->way);
	uint32_t class = th_strings_intern(&work->keys.strings,
		th_frames_string(places->profile->frames, place->class_name));
	uint32_t found = th_id_map_enter(&work->ids,
		(uint64_t)stack << 32 | (uint64_t) class << 2 | place->heap, work, entries,
		((struct entry){.places = {TH_NO_PLACE, TH_NO_PLACE}}));

	work->entries[found].places[side] = number;
	return found;
}

static void
find_entries(struct work *work)
{
	for (uint32_t side = 0; side < 2; side++) {
		const struct th_leak_sites *places = work->diff->sides[side];

		work->entry_of[side] = th_allocate(places->items_count, sizeof(uint32_t));
		th_stack_names_init(&work->names[side], &work->keys, &places->ways);
		for (uint32_t i = 0; i < places->items_count; i++)
			work->entry_of[side][i] = find_entry(work, side, i);
	}
}

/* Sums */

/* Whether a sample counts on a side. */
static bool
is_counted(const struct th_profile *profile, enum th_measure measure, enum th_heap heap,
	size_t index)
{
	return profile->recording->samples[heap].items[index].time <= profile->at.time &&
	       th_profile_counts(profile, measure, heap, index);
}

/* Adds a sample of a side to its stack and to its heap's total. */
static void
add(struct work *work, uint32_t side, enum th_heap heap, size_t index, bool is_on_other_side)
{
	const struct th_leak_sites *of = work->diff->sides[side];
	uint32_t place = th_leak_sites_of(of, heap, index);

	if (place == TH_NO_PLACE)
		return;
	struct th_estimator sum = {0};
	th_profile_add(of->profile, work->measure, heap, index, &sum);
	struct entry *entries[] = {
		&work->entries[work->entry_of[side][place]], &work->totals[heap]};
	for (int i = 0; i < 2; i++) {
		th_estimator_merge(&entries[i]->values[side], &sum);
		if (!is_on_other_side)
			th_estimator_merge(side ? &entries[i]->came : &entries[i]->went, &sum);
	}
}

static void
add_heap(struct work *work, uint32_t side, enum th_heap heap)
{
	const struct th_profile *profile = work->diff->sides[side]->profile;
	const struct th_profile *other = work->diff->sides[!side]->profile;
	const struct th_samples *samples = &profile->recording->samples[heap];

	for (size_t i = 0; i < samples->items_count; i++) {
		if (is_counted(profile, work->measure, heap, i))
			add(work, side, heap, i,
				work->diff->is_one_recording &&
					is_counted(other, work->measure, heap, i));
	}
}

/* Differences */

static enum th_sampling_change
kind_of(const struct th_difference *difference)
{
	if (difference->change.estimate == 0)
		return TH_CHANGE_NONE;
	if (!difference->old_value.samples)
		return TH_CHANGE_NEW;
	if (!difference->new_value.samples)
		return TH_CHANGE_GONE;
	return difference->change.estimate < 0 ? TH_CHANGE_SHRANK : TH_CHANGE_GREW;
}

static struct th_difference
compare(const struct work *work, enum th_heap heap, const struct entry *entry)
{
	const struct th_profile *old_profile = work->diff->sides[0]->profile;
	const struct th_profile *new_profile = work->diff->sides[1]->profile;
	struct th_estimate came = th_profile_value(new_profile, heap, &entry->came);
	struct th_estimate went = th_profile_value(old_profile, heap, &entry->went);
	uint32_t side = entry->places[1] == TH_NO_PLACE ? 0 : 1;
	struct th_difference difference = {
		.heap = heap,
		.side = side,
		.place = entry->places[side],
		.old_value = th_profile_value(old_profile, heap, &entry->values[0]),
		.new_value = th_profile_value(new_profile, heap, &entry->values[1]),
		.change = th_estimate_difference(&came, &went),
	};

	difference.kind = kind_of(&difference);
	difference.may_be_chance = difference.change.low <= 0 && difference.change.high >= 0;
	return difference;
}

static void
add_items(struct work *work)
{
	for (size_t i = 0; i < work->entries_count; i++) {
		const struct entry *entry = &work->entries[i];
		uint32_t side = entry->places[1] == TH_NO_PLACE ? 0 : 1;
		enum th_heap heap = work->diff->sides[side]->items[entry->places[side]].heap;

		if (!entry->values[0].samples && !entry->values[1].samples)
			continue;
		struct th_difference difference = compare(work, heap, entry);
		th_array_append(work->diff, items, difference);
	}
}

TH_COMPARE(compare_items, struct th_difference,
	th_order(left->may_be_chance, right->may_be_chance)
		?: th_order(fabs(right->change.estimate), fabs(left->change.estimate))
		?: th_order(left->place, right->place))

void
th_diff_init(struct th_diff *diff, const struct th_leak_sites *old_side,
	const struct th_leak_sites *new_side)
{
	struct work work = {.diff = diff};

	*diff = (struct th_diff){
		.sides = {old_side, new_side},
		.is_one_recording = old_side->profile->recording ==
				    new_side->profile->recording,
	};
	work.measure = th_values[new_side->profile->options->value].measure;
	th_stack_keys_init(&work.keys);
	find_entries(&work);
	th_stack_names_deinit(&work.names[0]);
	th_stack_names_deinit(&work.names[1]);
	th_stack_keys_deinit(&work.keys);
	th_id_map_deinit(&work.ids);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		work.totals[heap] = (struct entry){.places = {TH_NO_PLACE, TH_NO_PLACE}};
		add_heap(&work, 0, (enum th_heap)heap);
		add_heap(&work, 1, (enum th_heap)heap);
		diff->totals[heap] = compare(&work, (enum th_heap)heap, &work.totals[heap]);
	}
	add_items(&work);
	th_sort(diff->items, diff->items_count, compare_items);
	free(work.entries);
	free(work.entry_of[0]);
	free(work.entry_of[1]);
}

void
th_diff_deinit(struct th_diff *diff)
{
	free(diff->items);
}
