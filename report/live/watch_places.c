/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each sample is placed at a site once, by the numbers of its thread, class and stack.  Names of
 * methods follow the stacks that mention them by some milliseconds, so a sample whose names are
 * not all there has to wait.
 */
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/symbols/java_names.h"
#include "report/symbols/mapped_names.h"
#include "report/live/watch_work.h"

/* Names that are missing for longer will not come: the library's tables are full, say. */
#define NAMES_WAIT_NS 1500000000u

static bool
are_frames_named(const struct th_recording *recording, const struct th_words *frames)
{
	for (uint32_t i = 0; i < frames->count; i++) {
		uint64_t word = frames->words[i];

		if (th_frame_kind(word) != TH_FRAME_JAVA)
			continue;
		uint32_t method = th_id_map_find(
			&recording->methods_ids, th_frame_method(word));
		if (method == TH_ID_MAP_NONE || !recording->methods[method].method)
			return false;
	}
	return true;
}

/* Whether it is known who reserved the place of a mapped sample, if anybody did. */
static bool
is_place_known(const struct th_recording *recording, const struct th_sample *sample)
{
	uint32_t place = sample->class >> TH_MAPPED_PLACE_SHIFT;

	return !place || recording->stacks[recording->reservations[place - 1].stack].stack;
}

/* Whether everything that the log will say about a sample's place is there, or will not come. */
static bool
is_settled(const struct th_watch *watch, enum th_heap heap, const struct th_sample *sample)
{
	const struct th_recording *recording = watch->recording;
	const struct th_decoded_stack *stack = &recording->stacks[sample->stack];

	if (watch->state != TH_WATCH_RUNNING || watch->now > sample->time + NAMES_WAIT_NS)
		return true;
	if (heap == TH_HEAP_JAVA && !recording->classes[sample->class].class)
		return false;
	if (heap == TH_HEAP_MAPPED && !is_place_known(recording, sample))
		return false;
	return stack->stack && are_frames_named(recording, &stack->frames);
}

/* The class of an object, what a mapping is for; 0 = none. */
static uint32_t
name_class(struct th_watch *watch, enum th_heap heap, const struct th_sample *sample)
{
	if (heap == TH_HEAP_MAPPED)
		return th_mapped_names_label(watch->frames, watch->recording, sample);
	if (heap == TH_HEAP_NATIVE)
		return 0;
	const struct th_decoded_class *class = &watch->recording->classes[sample->class];

	if (!class->class)
		return 0;
	char *name = th_java_class_name(class->signature);
	uint32_t number = th_frames_intern(watch->frames, name);
	free(name);
	return number;
}

static uint32_t
label_thread(struct th_watch *watch, uint32_t name_index)
{
	char *name = th_text_clean(watch->recording->thread_names[name_index].text);
	uint32_t label = th_frames_special_function(
		watch->frames, name[0] ? name : "[unknown thread]", "", TH_KIND_GROUP);

	free(name);
	return label;
}

/* What the VM maps for itself, and what malloc gives out, is one site by what it is for. */
static bool
find_business(struct th_watch *watch, struct th_watch_site *site)
{
	const char *business = site->heap == TH_HEAP_MAPPED
				       ? th_mapped_names_business(th_frames_string(
						 watch->frames, site->class_name))
				       : NULL;

	if (!business)
		return false;
	site->class_name = 0;
	site->place = (struct th_site_place){
		th_frames_special_function(watch->frames, business, "", TH_KIND_GROUP),
		TH_SITE_NO_FUNCTION};
	return true;
}

static struct th_site_place
find_place(struct th_watch *watch, enum th_heap heap, const struct th_sample *sample)
{
	uint32_t number = th_paths_resolve(watch->paths, sample->stack, heap);
	struct th_path path = th_paths_get(watch->paths, number);

	if (watch->work->traits[th_recording_thread(watch->recording, sample)] == TH_TRAIT_VM)
		return (struct th_site_place){
			watch->work->internal_group, label_thread(watch, sample->name)};
	return th_sites_place(watch->frames, &path);
}

/* The number of the site that samples with these numbers are at. */
static uint32_t
find_site(struct th_watch *watch, enum th_heap heap, const struct th_sample *sample)
{
	struct th_watch_work *work = watch->work;
	struct th_watch_site site = {
		.heap = heap,
		.class_name = name_class(watch, heap, sample),
	};
	bool added;

	if (!find_business(watch, &site))
		site.place = find_place(watch, heap, sample);
	uint64_t place = th_id_map_intern(&work->place_ids,
		(uint64_t)site.place.function << 32 | site.place.caller, &added);
	uint64_t side = place << 2 | heap;
	uint32_t number = th_id_map_intern(
		&work->site_ids, side << 32 | site.class_name, &added);

	if (added)
		th_array_append(watch, sites, site);
	return number;
}

uint32_t
th_watch_site_of(struct th_watch *watch, enum th_heap heap, const struct th_sample *sample)
{
	struct th_watch_work *work = watch->work;
	bool added;
	uint64_t actor = th_id_map_intern(
		&work->actor_ids, (uint64_t)sample->name << 32 | sample->class, &added);
	uint64_t key = actor << 34 | (uint64_t)sample->stack << 2 | heap;

	if (th_id_map_find(&work->raw_ids, key) == TH_ID_MAP_NONE) {
		if (!is_settled(watch, heap, sample))
			return TH_WATCH_NO_SITE;
		uint32_t site = find_site(watch, heap, sample);

		th_array_append(work, raw_sites, site);
	}
	return work->raw_sites[th_id_map_intern(&work->raw_ids, key, &added)];
}
