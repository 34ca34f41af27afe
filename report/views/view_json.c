/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format json.  The object is printed piece by piece: all rows in memory at once would
 * take a gigabyte for a hundred thousand stacks.  The text of each frame is built once and
 * reused.
 */
#include "report/views/view.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "report/profile/mapped_use.h"
#include "report/profile/unseen.h"
#include "report/views/parts.h"

/* Figures */

static const struct {
	const char *bytes;
	const char *objects; /* NULL = not shown */
} figures[TH_MEASURES] = {
	[TH_MEASURE_ALLOC] = {"alloc_bytes", "alloc_objects"},
	[TH_MEASURE_LIVE] = {"live_bytes", "live_objects"},
	[TH_MEASURE_TEMPORARY] = {"temp_bytes", NULL},
	[TH_MEASURE_TOUCHED] = {"touched_bytes", NULL},
};

/* Sets the figures of a row or a total from its sums by measure; NULL: the heap was not recorded. */
static void
set_figures(const struct th_profile *profile, json_t *json, enum th_heap heap,
	const struct th_estimator *sums)
{
	for (enum th_measure measure = 0; measure < TH_MEASURES; measure++) {
		bool is_known = sums && (measure != TH_MEASURE_TOUCHED ||
						(heap == TH_HEAP_NATIVE && profile->account));
		struct th_estimate bytes, objects;

		if (is_known)
			bytes = th_profile_bytes(profile, heap, measure, &sums[measure]);
		th_json_put(json, figures[measure].bytes, is_known ? &bytes : NULL);
		if (!figures[measure].objects)
			continue;
		if (sums)
			objects = th_profile_objects(profile, heap, measure, &sums[measure]);
		th_json_put(json, figures[measure].objects, sums ? &objects : NULL);
	}
}

/* The parts before the rows */

static json_t *
command_json(struct th_text command)
{
	json_t *list = json_array();

	while (command.length) {
		uint32_t length = (uint32_t)strnlen(command.bytes, command.length);
		uint32_t used = length < command.length ? length + 1 : length;

		th_json_append(list, ((struct th_text){command.bytes, length}));
		command.bytes += used;
		command.length -= used;
	}
	return list;
}

static json_t *
process_json(const struct th_recording *recording)
{
	json_t *json = th_json("pid command jvm complete duration_s", recording->process.pid,
		command_json(recording->process.command), (json_t *)NULL,
		(bool)recording->is_complete, th_recording_duration(recording));

	return recording->has_jvm ? th_json_set(json, "jvm", recording->jvm.version) : json;
}

/* Lost samples, by reason. */
static json_t *
dropped_json(const struct th_recording *recording)
{
	json_t *json = json_object();

	for (size_t i = 0; i < recording->counters_count; i++) {
		const struct th_counter_info *counter = &recording->counters[i];
		char *name = th_text_clean(counter->name);

		if (th_text_begins(name, "dropped_"))
			th_json_put(json, name + strlen("dropped_"), counter->value);
		free(name);
	}
	return th_json_set(json, "torn_records damaged_records", recording->torn,
		recording->damaged + recording->undecodable);
}

static json_t *
sampling_json(const struct th_recording *recording)
{
	const struct th_log_header *header = th_reader_header(recording->reader);

	return th_json("interval_bytes rate_target overhead_target java_samples "
		       "native_samples mapped_samples dropped",
		header->interval, header->rate, (double)header->overhead / 1e6,
		recording->samples[TH_HEAP_JAVA].items_count,
		recording->samples[TH_HEAP_NATIVE].items_count,
		th_recording_counter(recording, "mapped_samples"), dropped_json(recording));
}

/* What recording by import slots does not see; null for another recording. */
static json_t *
unseen_json(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	struct th_unseen unseen;

	if (!th_unseen_find(profile, &unseen))
		return json_null();
	return th_json("slots objects foreign_slots searched_objects pointers sampled_blocks "
		       "freed_unseen growth",
		unseen.slots, unseen.objects, unseen.foreign, unseen.searched,
		th_json_map(copy, recording->slot_copies, recording->slot_copies_count,
			th_json("object pointers", copy->path, copy->copies)),
		unseen.blocks, unseen.reused,
		unseen.has_growth ? th_json("bytes seen unseen_at_least", unseen.grown,
					    &unseen.seen, unseen.at_least)
				  : NULL);
}

static json_t *
totals_json(const struct th_profile *profile, const struct th_estimator (*sums)[TH_MEASURES])
{
	json_t *json = json_object();

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		json_t *total = json_object();

		set_figures(profile, total, heap,
			th_profile_has_heap(profile, heap) ? sums[heap] : NULL);
		th_json_put(json, th_heap_word(heap), total);
	}
	return json;
}

/*
 * Totals of the selection, which may include counted bytes that no row has: allocations without
 * a sampled block, and live mapped memory.
 */
static json_t *
selected_json(const struct th_profile *profile)
{
	const struct th_decoded_mapped_use *use = th_mapped_use_at(profile);
	json_t *json = totals_json(profile, profile->selected);

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		json_t *total = json_object_get(json, th_heap_word(heap));

		if (!th_profile_has_heap(profile, heap))
			continue;
		struct th_estimate bytes = th_profile_total(profile, heap);
		struct th_estimate live = th_profile_live(profile, heap);
		th_json_set(total, "alloc_bytes live_bytes", &bytes, &live);
		/* Exact figures that are part of no sum: address space and file mappings. */
		if (heap == TH_HEAP_MAPPED && use)
			th_json_set(total, "use",
				th_json("seconds accessible files reserved returned",
					th_profile_seconds(profile, use->time), use->accessible,
					use->files, use->reserved, use->returned));
	}
	return json;
}

/* Rows */

/* Its frames are a mark. */
static json_t *
row_json(const struct th_profile *profile, const struct th_row *row)
{
	struct th_path path = th_paths_get(profile->paths, row->shown);
	struct th_estimator sums[TH_MEASURES];
	enum th_heap contents = th_profile_contents(profile, row);
	json_t *json = th_json("heap class? thread", th_heap_word(row->heap),
		th_frames_string(profile->frames, row->class_name),
		th_frames_function_name(profile->frames, row->thread));

	if (contents)
		th_json_set(json, "contains", th_heap_word(contents));
	for (enum th_measure measure = 0; measure < TH_MEASURES; measure++)
		sums[measure] = *th_profile_row_sum(profile, row, measure);
	set_figures(profile, json, row->heap, sums);
	return th_json_set(
		json, "frames", th_json_list(th_frame_texts_mark(path.frames, path.count)));
}

static double
size_of(const struct th_profile *profile, uint32_t row)
{
	return th_profile_point(profile, th_profile_sum(profile, &profile->rows[row]));
}

/* Largest first. */
TH_COMPARE_WITH(compare, uint32_t, const struct th_profile, profile,
	th_order(size_of(profile, *right), size_of(profile, *left)) ?: th_order(*left, *right))

static void
print_rows(FILE *file, const struct th_profile *profile)
{
	uint32_t *order = th_allocate(profile->rows_count, sizeof(*order));
	struct th_frame_texts texts = {.frames = profile->frames};

	for (uint32_t i = 0; i < profile->rows_count; i++)
		order[i] = i;
	th_sort_with(order, profile->rows_count, compare, profile);
	for (size_t i = 0; i < profile->rows_count; i++)
		th_frame_texts_write(&texts, file, i ? ",\n  " : "\n  ",
			row_json(profile, &profile->rows[order[i]]));
	th_frame_texts_deinit(&texts);
	free(order);
}

void
th_view_json(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	bool is_filtered = th_options_filter_stacks(profile->options);

	th_json_write(file, "{\"twinheap\": 1,\n \"process\": ", process_json(recording), 0);
	th_json_write(file, ",\n \"sampling\": ", sampling_json(recording), 0);
	th_json_write(file, ",\n \"import_slots\": ", unseen_json(profile), 0);
	th_json_write(file, ",\n \"recorded\": ", th_json_recorded(recording), 0);
	th_json_write(file, ",\n \"filters\": ", th_json_filters(profile->options), 0);
	th_json_write(file, ",\n \"judged\": ", th_json_moment(profile), 0);
	th_json_write(file, ",\n \"totals\": ", selected_json(profile), 0);
	th_json_write(file, ",\n \"left_out\": ",
		is_filtered ? totals_json(profile, profile->left_out) : json_null(), 0);
	fputs(",\n \"stacks\": [", file);
	print_rows(file, profile);
	fputs("]}\n", file);
}
