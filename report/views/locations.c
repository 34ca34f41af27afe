/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/locations.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"

void
th_locations_init(struct th_locations *locations, const struct th_profile *profile,
	th_locations_add *add, void *data)
{
	*locations = (struct th_locations){
		.profile = profile,
		.add = add,
		.data = data,
		.internal_frame = th_frames_special(profile->frames,
			th_frames_function_name(profile->frames, profile->internal_group), "",
			TH_KIND_GROUP),
	};
}

void
th_locations_deinit(struct th_locations *locations)
{
	th_id_map_deinit(&locations->lists);
	free(locations->ids);
	free(locations->stack);
}

/* Location id of these frames; arguments as for th_locations_add. */
static uint64_t
location_id(struct th_locations *locations, const uint32_t *inner, size_t count)
{
	uint64_t number = 0;

	for (size_t i = 0; i < count; i++) {
		bool added;

		number = th_id_map_intern(
				 &locations->lists, number << 32 | *(inner - i), &added) +
			 1;
		if (added)
			th_array_append(locations, ids, 0);
	}
	if (!locations->ids[number - 1]) {
		locations->ids[number - 1] = ++locations->count;
		locations->add(locations->data, locations->count, inner, count);
	}
	return locations->ids[number - 1];
}

/* Number of frames at the end of the path's first `end` frames that form one location. */
static size_t
location_frames(const struct th_locations *locations, const uint32_t *path, size_t end)
{
	const struct th_frames *frames = locations->profile->frames;
	size_t count = 1;

	while (count < end) {
		const struct th_frame *inner = th_frames_get(frames, path[end - count]);
		const struct th_frame *outer = th_frames_get(frames, path[end - count - 1]);

		/* The frame around an inlined one may be missing from a filtered path. */
		if (!inner->is_inlined ||
			th_frames_function(frames, inner->function)->module !=
				th_frames_function(frames, outer->function)->module)
			break;
		count++;
	}
	return count;
}

void
th_locations_find(struct th_locations *locations, const struct th_row *row)
{
	struct th_path path = th_paths_get(locations->profile->paths, row->path);

	locations->stack_count = 0;
	for (size_t end = path.count; end > 0;) {
		size_t count = location_frames(locations, path.frames, end);
		uint64_t id = location_id(locations, &path.frames[end - 1], count);

		th_array_append(locations, stack, id);
		end -= count;
	}
	if (row->shows_internal) {
		uint64_t id = location_id(locations, &locations->internal_frame, 1);

		th_array_append(locations, stack, id);
	}
}

const struct th_decoded_module *
th_locations_module(const struct th_profile *profile, uint64_t word)
{
	const struct th_recording *recording = profile->recording;

	if (!word || th_frame_kind(word) != TH_FRAME_NATIVE || !th_frame_module(word))
		return NULL;
	uint32_t index = th_id_map_find(&recording->modules_ids, th_frame_module(word));
	return index == TH_ID_MAP_NONE ? NULL : &recording->modules[index];
}

const struct th_decoded_module *
th_locations_executable(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	char *executable = th_text_clean(recording->process.executable);
	const struct th_decoded_module *found = NULL;

	for (size_t i = 0; i < recording->modules_count && !found; i++) {
		char *path = th_text_clean(recording->modules[i].path);

		if (!strcmp(path, executable))
			found = &recording->modules[i];
		free(path);
	}
	free(executable);
	return found;
}
