/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page_data.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/allocate.h"
#include "report/cells.h"
#include "report/json_parts.h"
#include "report/leaks.h"

/* Moments that the timeline tells apart, and the most cells that a page of ten megabytes holds. */
#define SLICES 128
#define CELLS_MAX 250000

/* Findings, worst first: nobody reads further, and each carries its stack. */
#define FINDINGS_MAX 200

/* What the page can show of a row; the first ones are those of enum th_measure. */
enum figure { FIGURE_PEAK = TH_MEASURES, FIGURES };

static const char *const figure_names[FIGURES] = {
	[TH_MEASURE_ALLOC] = "alloc",
	[TH_MEASURE_LIVE] = "live",
	[TH_MEASURE_TEMPORARY] = "temp",
	[FIGURE_PEAK] = "peak",
};

struct page_data {
	FILE *file;
	const struct th_profile *profile;
	struct th_moment peak;
	struct th_estimator *peaks;                  /* by row */
	struct th_estimator peak_selected[TH_HEAPS]; /* sums of all rows */
	uint32_t internal_frame;                     /* what threads of the VM begin with */
	struct th_map strings;                       /* number of the frames' string -> index */
	TH_ARRAY(uint32_t, string_numbers);
	struct th_map functions;
	TH_ARRAY(uint32_t, function_numbers);
	struct th_map frames;
	TH_ARRAY(uint32_t, frame_numbers);
	struct th_map nodes;              /* parent + 1 << 32 | frame */
	TH_ARRAY(uint32_t, node_parents); /* plus one */
	TH_ARRAY(uint32_t, node_frames);
	uint32_t *row_nodes;
};

/* Printing */

/* Letters that could end a script element, as JSON may also write them. */
static void
print_escaped(FILE *file, const char *text)
{
	for (;;) {
		size_t length = strcspn(text, "<>&");

		fwrite(text, 1, length, file);
		if (!text[length])
			return;
		fprintf(file, "\\u%04x", (unsigned char)text[length]);
		text += length + 1;
	}
}

static void
print_json(FILE *file, json_t *json)
{
	char *text = th_json_dump(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	print_escaped(file, text);
	free(text);
}

/* A column is begun by its name, and each of its values by its separator. */
static void
begin_column(FILE *file, const char *before, const char *name)
{
	fprintf(file, "%s\"%s\":[", before, name);
}

static void
print_integer(FILE *file, size_t index, int64_t value)
{
	fprintf(file, "%s%" PRId64, index ? "," : "", value);
}

/* Nine digits: a thousand times finer than any error bar. */
static void
print_number(FILE *file, size_t index, double value)
{
	fprintf(file, "%s%.9g", index ? "," : "", value);
}

/* Numbering what rows refer to */

static uint32_t
add_string(struct page_data *data, uint32_t string)
{
	bool added;
	uint32_t index = th_map_intern(&data->strings, string, &added);

	if (added)
		th_array_append(data, string_numbers, string);
	return index;
}

static uint32_t
add_function(struct page_data *data, uint32_t number)
{
	const struct th_function *function = th_frames_function(data->profile->frames, number);
	bool added;
	uint32_t index = th_map_intern(&data->functions, number, &added);

	if (added) {
		th_array_append(data, function_numbers, number);
		add_string(data, function->name);
		add_string(data, function->module);
	}
	return index;
}

static uint32_t
add_frame(struct page_data *data, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(data->profile->frames, number);
	bool added;
	uint32_t index = th_map_intern(&data->frames, number, &added);

	if (added) {
		th_array_append(data, frame_numbers, number);
		add_function(data, frame->function);
		add_string(data, frame->file);
	}
	return index;
}

/* The node of `frame` below a node; nodes are numbered from 1, 0 is the root. */
static uint32_t
add_node(struct page_data *data, uint32_t parent, uint32_t frame)
{
	bool added;
	uint32_t number = th_map_intern(&data->nodes, (uint64_t)parent << 32 | frame, &added);

	if (added) {
		th_array_append(data, node_parents, parent);
		th_array_append(data, node_frames, frame);
	}
	return number + 1;
}

static uint32_t
add_path(struct page_data *data, const struct th_row *row)
{
	struct th_path path = th_paths_get(data->profile->paths, row->path);
	uint32_t node = 0;

	if (row->shows_internal)
		node = add_node(data, node, add_frame(data, data->internal_frame));
	for (uint32_t i = 0; i < path.count; i++)
		node = add_node(data, node, add_frame(data, path.frames[i]));
	return node;
}

static void
number_everything(struct page_data *data)
{
	const struct th_profile *profile = data->profile;

	add_string(data, 0);
	data->row_nodes = th_allocate(profile->rows_count, sizeof(*data->row_nodes));
	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];

		add_string(data, th_frames_function(profile->frames, row->thread)->name);
		add_string(data, row->class_name);
		data->row_nodes[i] = add_path(data, row);
	}
}

/* What was alive at the peak */

static void
sum_peak(struct page_data *data)
{
	const struct th_profile *profile = data->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;

	data->peak = th_lifetimes_peak(lifetimes, profile->heaps, profile->options->heaps);
	data->peaks = th_allocate(profile->rows_count, sizeof(*data->peaks));
	for (int i = TH_HEAP_JAVA; i <= TH_HEAP_NATIVE; i++) {
		enum th_heap heap = (enum th_heap)i;
		const struct th_samples *samples = &profile->recording->samples[heap];
		double keep = th_lifetimes_keep(lifetimes, heap, &data->peak);

		for (size_t k = 0; k < samples->items_count; k++) {
			uint32_t row = profile->sample_rows[heap][k];

			if (row == TH_NO_ROW ||
				!th_lifetimes_is_live(lifetimes, heap, k, &data->peak))
				continue;
			th_lifetimes_add(lifetimes, &profile->heaps[heap], &samples->items[k],
				keep, &data->peaks[row]);
			th_lifetimes_add(lifetimes, &profile->heaps[heap], &samples->items[k],
				keep, &data->peak_selected[heap]);
		}
	}
}

/* Columns of names */

static void
print_strings(const struct page_data *data)
{
	begin_column(data->file, ",\n", "strings");
	for (size_t i = 0; i < data->string_numbers_count; i++) {
		if (i)
			fputc(',', data->file);
		print_json(data->file, json_string(th_frames_string(data->profile->frames,
					       data->string_numbers[i])));
	}
	fputc(']', data->file);
}

static void
print_functions(const struct page_data *data)
{
	const struct th_frames *frames = data->profile->frames;

	begin_column(data->file, ",\n\"functions\":{", "name");
	for (size_t i = 0; i < data->function_numbers_count; i++)
		print_integer(data->file, i,
			th_map_find(&data->strings,
				th_frames_function(frames, data->function_numbers[i])->name));
	begin_column(data->file, "],", "module");
	for (size_t i = 0; i < data->function_numbers_count; i++)
		print_integer(data->file, i,
			th_map_find(&data->strings,
				th_frames_function(frames, data->function_numbers[i])->module));
	begin_column(data->file, "],", "kind");
	for (size_t i = 0; i < data->function_numbers_count; i++)
		print_integer(data->file, i,
			th_frames_function(frames, data->function_numbers[i])->kind);
	fputs("]}", data->file);
}

static const struct th_frame *
frame_at(const struct page_data *data, size_t index)
{
	return th_frames_get(data->profile->frames, data->frame_numbers[index]);
}

static void
print_frames(const struct page_data *data)
{
	begin_column(data->file, ",\n\"frames\":{", "function");
	for (size_t i = 0; i < data->frame_numbers_count; i++)
		print_integer(data->file, i,
			th_map_find(&data->functions, frame_at(data, i)->function));
	begin_column(data->file, "],", "file");
	for (size_t i = 0; i < data->frame_numbers_count; i++)
		print_integer(
			data->file, i, th_map_find(&data->strings, frame_at(data, i)->file));
	begin_column(data->file, "],", "line");
	for (size_t i = 0; i < data->frame_numbers_count; i++)
		print_integer(data->file, i, frame_at(data, i)->line);
	begin_column(data->file, "],", "inlined");
	for (size_t i = 0; i < data->frame_numbers_count; i++)
		print_integer(data->file, i, frame_at(data, i)->is_inlined);
	fputs("]}", data->file);
}

static void
print_nodes(const struct page_data *data)
{
	begin_column(data->file, ",\n\"nodes\":{", "parent");
	for (size_t i = 0; i < data->node_parents_count; i++)
		print_integer(data->file, i, (int64_t)data->node_parents[i] - 1);
	begin_column(data->file, "],", "frame");
	for (size_t i = 0; i < data->node_frames_count; i++)
		print_integer(data->file, i, data->node_frames[i]);
	fputs("]}", data->file);
}

/* Figures */

static const struct th_estimator *
sum_of(const struct page_data *data, size_t row, enum figure figure)
{
	return figure == FIGURE_PEAK ? &data->peaks[row]
				     : &data->profile->rows[row].sums[figure];
}

/* Nothing seen reads as nothing: the bound that holds for it would hold for every row. */
static struct th_estimate
estimate(const struct page_data *data, enum th_heap heap, enum figure figure, bool objects,
	const struct th_estimator *sum)
{
	enum th_measure measure = figure == FIGURE_PEAK ? TH_MEASURE_LIVE
							: (enum th_measure)figure;

	if (!sum->samples)
		return (struct th_estimate){0};
	if (objects)
		return th_profile_objects(data->profile, heap, measure, sum);
	return th_profile_bytes(data->profile, heap, measure, sum);
}

/* `count` estimates as three columns. */
static void
print_estimates(FILE *file, const char *name, const struct th_estimate *estimates, size_t count)
{
	fprintf(file, "\"%s\":{", name);
	begin_column(file, "", "estimate");
	for (size_t i = 0; i < count; i++)
		print_number(file, i, estimates[i].estimate);
	begin_column(file, "],", "low");
	for (size_t i = 0; i < count; i++)
		print_number(file, i, estimates[i].low);
	begin_column(file, "],", "high");
	for (size_t i = 0; i < count; i++)
		print_number(file, i, estimates[i].high);
	fputs("]},", file);
}

static void
print_row_figure(const struct page_data *data, enum figure figure)
{
	size_t count = data->profile->rows_count;
	struct th_estimate *estimates = th_allocate(count, sizeof(*estimates));

	fprintf(data->file, ",\n\"%s\":{", figure_names[figure]);
	for (int objects = 0; objects < 2; objects++) {
		for (size_t i = 0; i < count; i++)
			estimates[i] = estimate(data, data->profile->rows[i].heap, figure,
				objects, sum_of(data, i, figure));
		print_estimates(data->file, objects ? "objects" : "bytes", estimates, count);
	}
	begin_column(data->file, "", "samples");
	for (size_t i = 0; i < count; i++)
		print_integer(data->file, i, (int64_t)sum_of(data, i, figure)->samples);
	fputs("]}", data->file);
	free(estimates);
}

static void
print_rows(const struct page_data *data)
{
	const struct th_profile *profile = data->profile;

	begin_column(data->file, ",\n\"rows\":{", "heap");
	for (size_t i = 0; i < profile->rows_count; i++)
		print_integer(data->file, i, profile->rows[i].heap == TH_HEAP_NATIVE);
	begin_column(data->file, "],", "thread");
	for (size_t i = 0; i < profile->rows_count; i++)
		print_integer(data->file, i,
			th_map_find(&data->strings,
				th_frames_function(profile->frames, profile->rows[i].thread)
					->name));
	begin_column(data->file, "],", "class");
	for (size_t i = 0; i < profile->rows_count; i++)
		print_integer(data->file, i,
			th_map_find(&data->strings, profile->rows[i].class_name));
	begin_column(data->file, "],", "node");
	for (size_t i = 0; i < profile->rows_count; i++)
		print_integer(data->file, i, (int64_t)data->row_nodes[i] - 1);
	fputc(']', data->file);
	for (int figure = 0; figure < FIGURES; figure++)
		print_row_figure(data, (enum figure)figure);
	fputc('}', data->file);
}

static void
print_total(const struct page_data *data, enum th_heap heap)
{
	const char *before = "";

	if (!th_profile_has_heap(data->profile, heap)) {
		fputs("null", data->file);
		return;
	}
	fputc('{', data->file);
	for (int figure = 0; figure < FIGURES; figure++, before = ",") {
		const struct th_estimator *sum =
			figure == FIGURE_PEAK ? &data->peak_selected[heap]
					      : &data->profile->selected[heap][figure];

		fprintf(data->file, "%s\"%s\":{", before, figure_names[figure]);
		for (int objects = 0; objects < 2; objects++) {
			struct th_estimate total = estimate(
				data, heap, (enum figure)figure, objects, sum);

			print_estimates(data->file, objects ? "objects" : "bytes", &total, 1);
		}
		fprintf(data->file, "\"samples\":[%" PRIu64 "]}", sum->samples);
	}
	fputc('}', data->file);
}

/* Time */

static void
print_cells(const struct page_data *data, const struct th_cells *cells)
{
	static const struct {
		const char *name;
		size_t offset;
		size_t part; /* of a value; 0 = the whole of seen and unseen */
	} columns[] = {
		{"bytes", offsetof(struct th_cell, alloc.bytes), 0},
		{"objects", offsetof(struct th_cell, alloc.objects), 0},
		{"live_bytes", offsetof(struct th_cell, live.bytes), 0},
		{"live_objects", offsetof(struct th_cell, live.objects), 0},
		{"bytes_variance", offsetof(struct th_cell, alloc.bytes), 1},
		{"objects_variance", offsetof(struct th_cell, alloc.objects), 1},
	};

	begin_column(data->file, ",\n\"cells\":{", "row");
	for (size_t i = 0; i < cells->items_count; i++)
		print_integer(data->file, i, cells->items[i].row);
	begin_column(data->file, "],", "birth");
	for (size_t i = 0; i < cells->items_count; i++)
		print_integer(data->file, i, cells->items[i].birth);
	begin_column(data->file, "],", "death");
	for (size_t i = 0; i < cells->items_count; i++)
		print_integer(data->file, i, (int32_t)cells->items[i].death);
	begin_column(data->file, "],", "temp");
	for (size_t i = 0; i < cells->items_count; i++)
		print_integer(data->file, i, cells->items[i].is_temporary);
	for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
		begin_column(data->file, "],", columns[c].name);
		for (size_t i = 0; i < cells->items_count; i++) {
			const struct th_sums *sums =
				(const void *)((const char *)&cells->items[i] +
					       columns[c].offset);

			print_number(data->file, i,
				columns[c].part ? sums->variance : sums->seen + sums->unseen);
		}
	}
	fputs("]}", data->file);
}

static void
print_collections(const struct page_data *data)
{
	const struct th_recording *recording = data->profile->recording;
	json_t *collections = json_array();
	json_t *uses = json_array();

	for (size_t i = 0; i < recording->collections_count; i++) {
		const struct th_collection_info *collection = &recording->collections[i];

		json_array_append_new(collections,
			json_pack("{s:f, s:f, s:o}", "start",
				th_profile_seconds(data->profile, collection->start), "end",
				th_profile_seconds(data->profile, collection->end), "kind",
				th_json_log_text(collection->kind)));
	}
	for (size_t i = 0; i < recording->heap_uses_count; i++) {
		const struct th_heap_use_info *use = &recording->heap_uses[i];

		json_array_append_new(uses,
			json_pack("[f, I, I]", th_profile_seconds(data->profile, use->time),
				(json_int_t)use->used, (json_int_t)use->committed));
	}
	fputs(",\"collections\":", data->file);
	print_json(data->file, collections);
	fputs(",\"uses\":", data->file);
	print_json(data->file, uses);
}

static void
print_timeline(const struct page_data *data)
{
	struct th_cells cells;

	th_cells_init(&cells, data->profile, SLICES, CELLS_MAX);
	print_cells(data, &cells);
	fprintf(data->file, ",\n\"timeline\":{\"slices\":%u,\"seconds\":%.9g,\"peak\":%.9g",
		cells.slices, cells.slice * cells.slices / 1e9,
		th_profile_seconds(data->profile, data->peak.time));
	print_collections(data);
	fputc('}', data->file);
	th_cells_deinit(&cells);
}

/* Leaks */

/* The way to the allocation, in functions as the page numbers them; none for the VM's own. */
static json_t *
path_json(const struct page_data *data, const struct th_leaks *leaks,
	const struct th_place *place)
{
	struct th_path path = th_leaks_path(leaks, place);
	json_t *list = json_array();

	for (uint32_t i = 0; i < path.count && !place->internal; i++) {
		uint32_t function =
			th_frames_get(data->profile->frames, path.frames[i])->function;

		json_array_append_new(
			list, json_integer(th_map_find(&data->functions, function)));
	}
	return list;
}

/* What the finding goes by: the line of the application, or else the function that allocated. */
static json_t *
place_json(const struct page_data *data, const struct th_leaks *leaks,
	const struct th_place *place)
{
	struct th_frames *frames = data->profile->frames;
	struct th_path path = th_paths_get(data->profile->paths, place->path);

	if (place->internal)
		return th_json_function(frames,
			th_frames_special_function(frames, place->internal, "", TH_KIND_GROUP),
			"", 0);
	return th_json_frame(frames, place->creator
					     ? th_places_creator_frame(&leaks->places, place)
					     : path.frames[path.count - 1]);
}

static json_t *
finding_json(const struct page_data *data, const struct th_leaks *leaks,
	const struct th_finding *finding)
{
	const struct th_evidence *evidence = &finding->evidence;
	const struct th_place *place = &leaks->places.items[finding->place];
	char *why = th_evidence_explain(evidence);
	json_t *json = json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:s}", "verdict",
		th_verdict_name(evidence->verdict), "heap", place->heap == TH_HEAP_NATIVE,
		"class", th_frames_string(data->profile->frames, place->class_name), "place",
		place_json(data, leaks, place), "path", path_json(data, leaks, place), "live",
		th_json_estimate(&evidence->live_bytes), "growth",
		th_json_estimate(&evidence->growth), "why", why);

	free(why);
	return json;
}

/* Verdicts are about the end of a recording: null in a view of another moment. */
static void
print_leaks(const struct page_data *data)
{
	struct th_leaks leaks;

	fputs(",\n\"leaks\":", data->file);
	if (data->profile->options->at != TH_AT_END) {
		fputs("null", data->file);
		return;
	}
	th_leaks_init(&leaks, data->profile);
	size_t shown = leaks.findings_count < FINDINGS_MAX ? leaks.findings_count
							   : FINDINGS_MAX;
	fputc('[', data->file);
	for (size_t i = 0; i < shown; i++) {
		fputs(i ? ",\n" : "\n", data->file);
		print_json(data->file, finding_json(data, &leaks, &leaks.findings[i]));
	}
	fprintf(data->file, "],\n\"leaks_left_out\":%zu", leaks.findings_count - shown);
	th_leaks_deinit(&leaks);
}

/* The whole */

static void
print_process(const struct page_data *data)
{
	const struct th_recording *recording = data->profile->recording;
	const struct th_text version = recording->jvm.version;

	fputs("{\"version\":\"" TH_VERSION "\",\"process\":", data->file);
	print_json(data->file,
		json_pack("{s:I, s:o, s:o, s:b, s:f, s:I}", "pid",
			(json_int_t)recording->process.pid, "command",
			th_json_log_text(recording->process.command), "jvm",
			recording->jvm.is_known ? th_json_log_text(version) : json_null(),
			"complete", recording->is_complete, "seconds",
			th_recording_duration(recording), "interval",
			(json_int_t)th_recording_interval(recording)));
}

static void
page_data_deinit(struct page_data *data)
{
	th_map_deinit(&data->strings);
	th_map_deinit(&data->functions);
	th_map_deinit(&data->frames);
	th_map_deinit(&data->nodes);
	free(data->string_numbers);
	free(data->function_numbers);
	free(data->frame_numbers);
	free(data->node_parents);
	free(data->node_frames);
	free(data->row_nodes);
	free(data->peaks);
}

void
th_page_data_print(FILE *file, const struct th_profile *profile)
{
	struct page_data data = {
		.file = file,
		.profile = profile,
		.internal_frame = th_frames_special(profile->frames,
			th_frames_function_name(profile->frames, profile->internal_group), "",
			TH_KIND_GROUP),
	};

	number_everything(&data);
	sum_peak(&data);
	print_process(&data);
	print_strings(&data);
	print_functions(&data);
	print_frames(&data);
	print_nodes(&data);
	print_rows(&data);
	fputs(",\n\"totals\":[", file);
	print_total(&data, TH_HEAP_JAVA);
	fputc(',', file);
	print_total(&data, TH_HEAP_NATIVE);
	fputc(']', file);
	print_timeline(&data);
	print_leaks(&data);
	fputs("}\n", file);
	page_data_deinit(&data);
}
