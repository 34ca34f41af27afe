/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format json.  The object is printed piece by piece: all rows in memory at once would
 * take a gigabyte for a hundred thousand stacks.  The text of each frame is built once and
 * reused.
 */
#include "report/views/view.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/heap_names.h"
#include "report/profile/mapped_use.h"
#include "report/views/frame_texts.h"
#include "report/views/json_parts.h"
#include "report/views/unseen_parts.h"

struct printer {
	FILE *file;
	const struct th_profile *profile;
	struct th_frame_texts frames;
	char *internal; /* name of the group of VM-internal threads */
	/* JSON figures of sums without samples: shared, since most rows have such sums. */
	struct th_estimate empty_bytes[TH_HEAPS][TH_MEASURES];
	struct th_estimate empty_objects[TH_HEAPS][TH_MEASURES];
};

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

/* Sets the figures of a heap that was not recorded to null. */
static void
set_no_figures(json_t *json)
{
	for (int measure = 0; measure < TH_MEASURES; measure++) {
		json_object_set_new(json, figures[measure].bytes, json_null());
		if (figures[measure].objects)
			json_object_set_new(json, figures[measure].objects, json_null());
	}
}

/* Sets the figures of a row or a total from its sums by measure. */
static void
set_figures(const struct printer *printer, json_t *json, enum th_heap heap,
	const struct th_estimator *sums)
{
	for (int measure = 0; measure < TH_MEASURES; measure++) {
		const struct th_estimator *sum = &sums[measure];
		struct th_estimate bytes = printer->empty_bytes[heap][measure];
		struct th_estimate objects = printer->empty_objects[heap][measure];

		if (measure == TH_MEASURE_TOUCHED &&
			!th_profile_knows_touched(printer->profile, heap)) {
			json_object_set_new(json, figures[measure].bytes, json_null());
			continue;
		}
		if (sum->samples)
			bytes = th_profile_bytes(
				printer->profile, heap, (enum th_measure)measure, sum);
		json_object_set_new(json, figures[measure].bytes, th_json_estimate(&bytes));
		if (!figures[measure].objects)
			continue;
		if (sum->samples)
			objects = th_profile_objects(
				printer->profile, heap, (enum th_measure)measure, sum);
		json_object_set_new(json, figures[measure].objects, th_json_estimate(&objects));
	}
}

static void
learn_empty_figures(struct printer *printer, enum th_heap heap)
{
	const struct th_profile *profile = printer->profile;
	const struct th_estimator empty = {0};

	for (int measure = 0; measure < TH_MEASURES; measure++) {
		printer->empty_bytes[heap][measure] = th_profile_bytes(
			profile, heap, (enum th_measure)measure, &empty);
		printer->empty_objects[heap][measure] = th_profile_objects(
			profile, heap, (enum th_measure)measure, &empty);
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

		json_array_append_new(
			list, th_json_log_text((struct th_text){command.bytes, length}));
		command.bytes += used;
		command.length -= used;
	}
	return list;
}

static json_t *
process_json(const struct th_recording *recording)
{
	const struct th_decoded_jvm *jvm = &recording->jvm;

	return json_pack("{s:I, s:o, s:o, s:b, s:f}", "pid", (json_int_t)recording->process.pid,
		"command", command_json(recording->process.command), "jvm",
		recording->has_jvm ? th_json_log_text(jvm->version) : json_null(), "complete",
		recording->is_complete, "duration_s", th_recording_duration(recording));
}

/* Lost samples, by reason. */
static json_t *
dropped_json(const struct th_recording *recording)
{
	const char prefix[] = "dropped_";
	const size_t length = sizeof(prefix) - 1;
	json_t *json = json_object();

	for (size_t i = 0; i < recording->counters_count; i++) {
		const struct th_counter_info *counter = &recording->counters[i];

		if (counter->name.length <= length ||
			memcmp(counter->name.bytes, prefix, length) != 0)
			continue;
		char *name = th_text_clean(counter->name);
		json_object_set_new(
			json, name + length, json_integer((json_int_t)counter->value));
		free(name);
	}
	json_object_set_new(json, "torn_records", json_integer((json_int_t)recording->torn));
	json_object_set_new(json, "damaged_records",
		json_integer((json_int_t)(recording->damaged + recording->undecodable)));
	return json;
}

static json_t *
sampling_json(const struct th_recording *recording)
{
	const struct th_log_header *header = th_reader_header(recording->reader);

	return json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:o}", "interval_bytes",
		(json_int_t)header->interval, "rate_target", (json_int_t)header->rate,
		"overhead_target", (double)header->overhead / 1e6, "java_samples",
		(json_int_t)recording->samples[TH_HEAP_JAVA].items_count, "native_samples",
		(json_int_t)recording->samples[TH_HEAP_NATIVE].items_count, "mapped_samples",
		(json_int_t)th_recording_counter(recording, "mapped_samples"), "dropped",
		dropped_json(recording));
}

static json_t *
total_json(const struct printer *printer, enum th_heap heap, const struct th_estimator *sums)
{
	json_t *json = json_object();

	if (!th_profile_has_heap(printer->profile, heap)) {
		set_no_figures(json);
		return json;
	}
	set_figures(printer, json, heap, sums);
	return json;
}

static json_t *
totals_json(const struct printer *printer, const struct th_estimator (*sums)[TH_MEASURES])
{
	json_t *json = json_object();

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		json_object_set_new(json, th_heap_word((enum th_heap)heap),
			total_json(printer, (enum th_heap)heap, sums[heap]));
	return json;
}

/* Exact figures that are part of no sum: address space and file mappings. */
static void
set_mapped_use(const struct th_profile *profile, json_t *total)
{
	const struct th_decoded_mapped_use *use = th_mapped_use_at(profile);

	if (!use)
		return;
	json_object_set_new(total, "use",
		json_pack("{s:f, s:I, s:I, s:I, s:I}", "seconds",
			th_profile_seconds(profile, use->time), "accessible",
			(json_int_t)use->accessible, "files", (json_int_t)use->files,
			"reserved", (json_int_t)use->reserved, "returned",
			(json_int_t)use->returned));
}

/*
 * Totals of the selection, which may include counted bytes that no row has: allocations without
 * a sampled block, and live mapped memory.
 */
static json_t *
selected_json(const struct printer *printer)
{
	const struct th_profile *profile = printer->profile;
	json_t *json = totals_json(printer, profile->selected);

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		json_t *total = json_object_get(json, th_heap_word((enum th_heap)heap));

		if (!th_profile_has_heap(profile, (enum th_heap)heap))
			continue;
		struct th_estimate bytes = th_profile_total(profile, (enum th_heap)heap);
		struct th_estimate live = th_profile_live(profile, (enum th_heap)heap);
		json_object_set_new(
			total, figures[TH_MEASURE_ALLOC].bytes, th_json_estimate(&bytes));
		json_object_set_new(
			total, figures[TH_MEASURE_LIVE].bytes, th_json_estimate(&live));
		if (heap == TH_HEAP_MAPPED)
			set_mapped_use(profile, total);
	}
	return json;
}

/* Rows */

/* A row without its frames. */
static json_t *
row_json(const struct printer *printer, const struct th_row *row)
{
	const struct th_frames *frames = printer->profile->frames;
	struct th_estimator sums[TH_MEASURES];
	json_t *json = json_pack("{s:s, s:o, s:s}", "heap", th_heap_word(row->heap), "class",
		th_json_text_or_null(th_frames_string(frames, row->class_name)), "thread",
		th_frames_function_name(frames, row->thread));

	enum th_heap contents = th_profile_contents(printer->profile, row);

	if (contents)
		json_object_set_new(json, "contains", json_string(th_heap_word(contents)));
	for (int measure = 0; measure < TH_MEASURES; measure++)
		sums[measure] = *th_profile_row_sum(
			printer->profile, row, (enum th_measure)measure);
	set_figures(printer, json, row->heap, sums);
	return json;
}

static void
print_frames(struct printer *printer, const struct th_row *row)
{
	struct th_path path = th_paths_get(printer->profile->paths, row->path);

	if (row->shows_internal)
		fprintf(printer->file, "%s%s", printer->internal, path.count ? "," : "");
	th_frame_texts_print(&printer->frames, printer->file, &path);
}

static void
print_row(struct printer *printer, const struct th_row *row)
{
	char *rest = th_json_dump(row_json(printer, row), JSON_EMBED);

	fprintf(printer->file, "{%s,\"frames\":[", rest);
	print_frames(printer, row);
	fputs("]}", printer->file);
	free(rest);
}

/* Printing */

static void
print(FILE *file, const char *before, json_t *json)
{
	char *text = th_json_dump(json, JSON_ENCODE_ANY);

	fputs(before, file);
	fputs(text, file);
	free(text);
}

/* Sorts by size, largest first. */
static int
compare(const void *a, const void *b, void *data)
{
	const struct th_profile *profile = data;
	const struct th_row *left = &profile->rows[*(const uint32_t *)a];
	const struct th_row *right = &profile->rows[*(const uint32_t *)b];
	double difference = th_profile_point(profile, th_profile_sum(profile, right)) -
			    th_profile_point(profile, th_profile_sum(profile, left));

	if (difference != 0)
		return difference > 0 ? 1 : -1;
	return (left > right) - (left < right);
}

static void
print_rows(struct printer *printer)
{
	const struct th_profile *profile = printer->profile;
	uint32_t *order = th_allocate(profile->rows_count, sizeof(*order));

	for (uint32_t i = 0; i < profile->rows_count; i++)
		order[i] = i;
	qsort_r(order, profile->rows_count, sizeof(*order), compare,
		(void *)(uintptr_t)profile);
	for (size_t i = 0; i < profile->rows_count; i++) {
		fputs(i ? ",\n  " : "\n  ", printer->file);
		print_row(printer, &profile->rows[order[i]]);
	}
	free(order);
}

static void
printer_init(struct printer *printer, FILE *file, const struct th_profile *profile)
{
	*printer = (struct printer){
		.file = file,
		.profile = profile,
		.internal = th_json_dump(
			th_json_function(profile->frames, profile->internal_group, "", 0), 0),
	};
	th_frame_texts_init(&printer->frames, profile->frames);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		learn_empty_figures(printer, (enum th_heap)heap);
}

static void
printer_deinit(struct printer *printer)
{
	th_frame_texts_deinit(&printer->frames);
	free(printer->internal);
}

void
th_view_json(FILE *file, const struct th_profile *profile)
{
	struct printer printer;

	printer_init(&printer, file, profile);
	fputs("{\"twinheap\": 1,\n", file);
	print(file, " \"process\": ", process_json(profile->recording));
	print(file, ",\n \"sampling\": ", sampling_json(profile->recording));
	print(file, ",\n \"import_slots\": ", th_unseen_parts_json(profile));
	print(file, ",\n \"recorded\": ", th_json_recorded(profile->recording));
	print(file, ",\n \"filters\": ", th_json_filters(profile->options));
	print(file, ",\n \"judged\": ", th_json_moment(profile));
	print(file, ",\n \"totals\": ", selected_json(&printer));
	if (th_options_filter_stacks(profile->options))
		print(file, ",\n \"left_out\": ", totals_json(&printer, profile->left_out));
	else
		fputs(",\n \"left_out\": null", file);
	fputs(",\n \"stacks\": [", file);
	print_rows(&printer);
	fputs("]}\n", file);
	printer_deinit(&printer);
}
