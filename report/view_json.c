/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format json.  The object is printed piece by piece, since all rows at once would
 * take a gigabyte for a hundred thousand stacks; the text of a frame is made once and repeated.
 * What is live is not known yet: those keys are null.
 */
#include "report/view.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/allocate.h"

static json_t *
text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *
log_text(struct th_text text)
{
	char *clean = th_text_clean(text);
	json_t *json = json_string(clean);

	free(clean);
	return json;
}

static json_t *
estimate_json(const struct th_estimate *estimate)
{
	json_t *json = json_pack("{s:f, s:[f, f], s:I}", "estimate", estimate->estimate, "ci95",
		estimate->low, estimate->high, "samples", (json_int_t)estimate->samples);

	if (estimate->exact)
		json_object_set_new(json, "exact", json_true());
	return json;
}

/* The five figures of a row or a total. */
static void
set_figures(json_t *json, const struct th_estimate *bytes, const struct th_estimate *objects)
{
	json_object_set_new(json, "alloc_bytes", bytes ? estimate_json(bytes) : json_null());
	json_object_set_new(
		json, "alloc_objects", bytes ? estimate_json(objects) : json_null());
	json_object_set_new(json, "live_bytes", json_null());
	json_object_set_new(json, "live_objects", json_null());
	json_object_set_new(json, "temp_bytes", json_null());
}

/* The parts before the rows */

static json_t *
command_json(struct th_text command)
{
	json_t *list = json_array();

	while (command.length) {
		uint32_t length = (uint32_t)strnlen(command.bytes, command.length);
		uint32_t used = length < command.length ? length + 1 : length;

		json_array_append_new(list, log_text((struct th_text){command.bytes, length}));
		command.bytes += used;
		command.length -= used;
	}
	return list;
}

static json_t *
process_json(const struct th_recording *recording)
{
	const struct th_jvm_info *jvm = &recording->jvm;

	return json_pack("{s:I, s:o, s:o, s:b, s:f}", "pid", (json_int_t)recording->process.pid,
		"command", command_json(recording->process.command), "jvm",
		jvm->is_known ? log_text(jvm->version) : json_null(), "complete",
		recording->is_complete, "duration_s", th_recording_duration(recording));
}

/* Samples that are missing, by reason. */
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

	return json_pack("{s:I, s:I, s:I, s:I, s:o}", "interval_bytes",
		(json_int_t)header->interval, "rate_target", (json_int_t)header->rate,
		"java_samples", (json_int_t)recording->samples[TH_HEAP_JAVA].items_count,
		"native_samples", (json_int_t)recording->samples[TH_HEAP_NATIVE].items_count,
		"dropped", dropped_json(recording));
}

static json_t *
total_json(const struct th_profile *profile, enum th_heap heap)
{
	const struct th_estimator *sum = &profile->selected[heap];
	json_t *json = json_object();

	if (th_profile_has_heap(profile, heap)) {
		struct th_estimate bytes = th_profile_bytes(profile, heap, sum);
		struct th_estimate objects = th_profile_objects(profile, heap, sum);

		set_figures(json, &bytes, &objects);
	} else {
		set_figures(json, NULL, NULL);
	}
	return json;
}

static json_t *
totals_json(const struct th_profile *profile)
{
	return json_pack("{s:o, s:o}", "java", total_json(profile, TH_HEAP_JAVA), "native",
		total_json(profile, TH_HEAP_NATIVE));
}

/* Rows */

static const char *
kind_name(enum th_function_kind kind)
{
	switch (kind) {
	case TH_KIND_JAVA:
		return "java";
	case TH_KIND_NATIVE:
		return "native";
	default:
		return "vm";
	}
}

static json_t *
function_json(const struct th_frames *frames, uint32_t number, const char *file, uint32_t line)
{
	const struct th_function *function = th_frames_function(frames, number);

	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "name",
		th_frames_string(frames, function->name), "kind", kind_name(function->kind),
		"module", text_or_null(th_frames_string(frames, function->module)), "file",
		text_or_null(file), "line", line ? json_integer(line) : json_null());
}

static json_t *
frame_json(const struct th_frames *frames, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(frames, number);

	return function_json(
		frames, frame->function, th_frames_string(frames, frame->file), frame->line);
}

static char *
text_of(json_t *json, size_t flags)
{
	char *text = json_dumps(json, JSON_COMPACT | flags);

	if (!text)
		th_out_of_memory();
	json_decref(json);
	return text;
}

/* All of a row but its frames. */
static json_t *
row_json(const struct th_profile *profile, const struct th_row *row)
{
	struct th_estimate bytes = th_profile_bytes(profile, row->heap, &row->sum);
	struct th_estimate objects = th_profile_objects(profile, row->heap, &row->sum);
	json_t *json = json_pack("{s:s, s:o, s:s}", "heap",
		row->heap == TH_HEAP_JAVA ? "java" : "native", "class",
		text_or_null(th_frames_string(profile->frames, row->class_name)), "thread",
		th_frames_function_name(profile->frames, row->thread));

	set_figures(json, &bytes, &objects);
	return json;
}

struct printer {
	FILE *file;
	const struct th_profile *profile;
	char **frames;  /* by number: the text of each frame that was printed before */
	char *internal; /* the text of the group of the VM's own threads */
};

static void
print_frames(struct printer *printer, const struct th_row *row)
{
	struct th_path path = th_paths_get(printer->profile->paths, row->path);
	const char *before = "";

	if (row->is_internal) {
		fputs(printer->internal, printer->file);
		before = ",";
	}
	for (uint32_t i = 0; i < path.count; i++, before = ",") {
		char **text = &printer->frames[path.frames[i]];

		if (!*text)
			*text = text_of(
				frame_json(printer->profile->frames, path.frames[i]), 0);
		fputs(before, printer->file);
		fputs(*text, printer->file);
	}
}

static void
print_row(struct printer *printer, const struct th_row *row)
{
	char *rest = text_of(row_json(printer->profile, row), JSON_EMBED);

	fprintf(printer->file, "{%s,\"frames\":[", rest);
	print_frames(printer, row);
	fputs("]}", printer->file);
	free(rest);
}

/* Printing */

static void
print(FILE *file, const char *before, json_t *json)
{
	char *text = text_of(json, 0);

	fputs(before, file);
	fputs(text, file);
	free(text);
}

/* Largest first, as a reader would want them. */
static int
compare(const void *a, const void *b, void *data)
{
	const struct th_profile *profile = data;
	const struct th_row *left = &profile->rows[*(const uint32_t *)a];
	const struct th_row *right = &profile->rows[*(const uint32_t *)b];
	double difference = th_profile_point(profile, &right->sum) -
			    th_profile_point(profile, &left->sum);

	if (difference != 0)
		return difference > 0 ? 1 : -1;
	return (left > right) - (left < right);
}

static void
print_rows(FILE *file, const struct th_profile *profile)
{
	uint32_t frame_count = th_frames_count(profile->frames);
	struct printer printer = {
		.file = file,
		.profile = profile,
		.frames = th_allocate(frame_count, sizeof(char *)),
		.internal = text_of(
			function_json(profile->frames, profile->internal_group, "", 0), 0),
	};
	uint32_t *order = th_allocate(profile->rows_count, sizeof(*order));

	for (uint32_t i = 0; i < profile->rows_count; i++)
		order[i] = i;
	qsort_r(order, profile->rows_count, sizeof(*order), compare,
		(void *)(uintptr_t)profile);
	for (size_t i = 0; i < profile->rows_count; i++) {
		fputs(i ? ",\n  " : "\n  ", file);
		print_row(&printer, &profile->rows[order[i]]);
	}
	for (uint32_t i = 0; i < frame_count; i++)
		free(printer.frames[i]);
	free(printer.frames);
	free(printer.internal);
	free(order);
}

void
th_view_json(FILE *file, const struct th_profile *profile)
{
	fputs("{\"twinheap\": 1,\n", file);
	print(file, " \"process\": ", process_json(profile->recording));
	print(file, ",\n \"sampling\": ", sampling_json(profile->recording));
	print(file, ",\n \"totals\": ", totals_json(profile));
	fputs(",\n \"stacks\": [", file);
	print_rows(file, profile);
	fputs("]}\n", file);
}
