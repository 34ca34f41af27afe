/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format speedscope: the JSON of https://www.speedscope.app/file-format-schema.json.
 * Each heap and value is a profile of its own, since speedscope shows one at a time; all share
 * the frames.  The value of the options comes first.
 */
#include "report/views/view.h"

#include <jansson.h>
#include <stdlib.h>

#include "report/base/line.h"
#include "report/profile/order.h"
#include "report/statistics/sampling_changes.h"
#include "report/views/parts.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct speedscope {
	FILE *file;
	const struct th_profile *profile;
	struct th_id_map frames; /* frame number -> index in the file */
	/* Speedscope shows stacks in file order and merges equal neighbors. */
	uint32_t *order; /* of the rows */
};

/* Frames */

static json_t *
frame_json(const struct th_frames *frames, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(frames, number);
	const char *module = th_frames_string(
		frames, th_frames_function(frames, frame->function)->module);
	const char *file = th_frames_string(frames, frame->file);
	json_t *json = th_json("name", th_frames_function_name(frames, frame->function));

	/* For a function without a source file, the module names its origin. */
	if (file[0] || module[0])
		th_json_put(json, "file", file[0] ? file : module);
	if (frame->line)
		th_json_put(json, "line", frame->line);
	return json;
}

static void
print_frame(struct speedscope *speedscope, uint32_t number)
{
	bool added;
	uint32_t index = th_id_map_intern(&speedscope->frames, number, &added);

	if (!added)
		return;
	th_json_write(speedscope->file, index ? ",\n" : "\n",
		frame_json(speedscope->profile->frames, number), 0);
}

/* Prints the frames that occur in rows, in the order of their first use. */
static void
print_frames(struct speedscope *speedscope)
{
	const struct th_profile *profile = speedscope->profile;

	for (size_t i = 0; i < profile->rows_count; i++) {
		struct th_path path = th_paths_get(profile->paths, profile->rows[i].shown);

		for (uint32_t k = 0; k < path.count; k++)
			print_frame(speedscope, path.frames[k]);
	}
}

/* Profiles */

static double
point(const struct th_profile *profile, const struct th_row *row, enum th_view_value value)
{
	const struct th_estimator *sum = th_profile_row_sum(
		profile, row, th_values[value].measure);

	return th_sums_point(
		th_values[value].unit == TH_UNIT_OBJECTS ? &sum->objects : &sum->bytes);
}

static void
print_stack(const struct speedscope *speedscope, const struct th_row *row)
{
	struct th_path path = th_paths_get(speedscope->profile->paths, row->shown);

	fputc('[', speedscope->file);
	for (uint32_t i = 0; i < path.count; i++)
		fprintf(speedscope->file, "%s%u", i ? "," : "",
			th_id_map_find(&speedscope->frames, path.frames[i]));
	fputc(']', speedscope->file);
}

static bool
is_shown(const struct th_profile *profile, const struct th_row *row, enum th_heap heap,
	enum th_view_value value)
{
	return row->heap == heap && point(profile, row, value) > 0;
}

/* Prints the stacks or their weights; returns the sum of the weights. */
static double
print_rows(const struct speedscope *speedscope, enum th_heap heap, enum th_view_value value,
	bool weights)
{
	const char *before = "";
	double sum = 0;

	for (size_t i = 0; i < speedscope->profile->rows_count; i++) {
		const struct th_row *row = &speedscope->profile->rows[speedscope->order[i]];

		if (!is_shown(speedscope->profile, row, heap, value))
			continue;
		fputs(before, speedscope->file);
		before = ",";
		sum += point(speedscope->profile, row, value);
		if (weights)
			fprintf(speedscope->file, "%.17g",
				point(speedscope->profile, row, value));
		else
			print_stack(speedscope, row);
	}
	return sum;
}

static void
print_profile(const struct speedscope *speedscope, enum th_heap heap, enum th_view_value value)
{
	fprintf(speedscope->file,
		"{\"type\":\"sampled\",\"name\":\"%s heap: %s\",\"unit\":\"%s\","
		"\"startValue\":0,\n\"samples\":[",
		th_heap_adjective(heap), th_values[value].title,
		th_values[value].unit == TH_UNIT_OBJECTS ? "none" : "bytes");
	print_rows(speedscope, heap, value, false);
	fputs("],\n\"weights\":[", speedscope->file);
	double sum = print_rows(speedscope, heap, value, true);
	fprintf(speedscope->file, "],\n\"endValue\":%.17g}", sum);
}

/* Values known only at resident-memory snapshots are included only if selected by --value. */
static bool
has_profile(const struct th_profile *profile, enum th_heap heap, enum th_view_value value)
{
	if (value == TH_VALUE_TOUCHED_BYTES && profile->options->value != value)
		return false;
	return th_profile_has_heap(profile, heap);
}

static void
print_profiles(const struct speedscope *speedscope)
{
	enum th_view_value first = speedscope->profile->options->value;
	const char *before = "\n";

	for (size_t i = 0; i < TH_VALUES; i++) {
		enum th_view_value value = (enum th_view_value)((first + i) % TH_VALUES);

		for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
			if (!has_profile(speedscope->profile, heap, value))
				continue;
			fputs(before, speedscope->file);
			before = ",\n";
			print_profile(speedscope, heap, value);
		}
	}
}

/* The command and the recorded part of its run. */
struct name {
	struct th_line line;
	const char *before;
};

static void
add_to_name(void *data, const char *text)
{
	struct name *name = data;

	th_print(name->line.stream, "{}{}", name->before, text);
	name->before = "; ";
}

static const char *
make_name(const struct th_profile *profile)
{
	const char *filters = th_view_filters_text(profile->options);
	struct name name = {.before = " ("};

	th_line_begin(&name.line);
	th_print(name.line.stream, "{}", profile->recording->process.command);
	if (filters[0])
		add_to_name(&name, filters);
	th_sampling_changes_tell(profile->recording, add_to_name, &name);
	fputs(name.before[0] == ';' ? ")" : "", name.line.stream);
	return th_line_text(&name.line);
}

void
th_view_speedscope(FILE *file, const struct th_profile *profile)
{
	struct speedscope speedscope = {
		.file = file,
		.profile = profile,
		.order = th_row_order_by_path(profile),
	};

	th_json_write(file,
		"{\"$schema\":\"" SCHEMA "\",\n\"exporter\":\"twinheap " TH_VERSION
		"\",\n\"name\":",
		json_string(make_name(profile)), 0);
	fputs(",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", file);
	print_frames(&speedscope);
	fputs("]},\n\"profiles\":[", file);
	print_profiles(&speedscope);
	fputs("]}\n", file);
	th_id_map_deinit(&speedscope.frames);
	free(speedscope.order);
}
