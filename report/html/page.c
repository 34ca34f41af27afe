/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A self-contained HTML file: the page, d3 and the data.  The parts of the page are embedded in
 * this program at build time.  Names from the recording occur in the data only, which the page
 * parses as JSON and inserts as text.
 */
#include "report/html/page.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/profile/time_slices.h"
#include "report/profile/values.h"
#include "report/views/view.h"

/* Maximum number of findings, worst first; each carries its stack. */
#define FINDINGS_MAX 200

/* Number of slices, and the maximum number of cells: eight megabytes of the page. */
#define SLICES 128
#define CELLS_MAX 250000

/* From report/html/page and node-d3. */
extern const char th_page_head[], th_page_style[], th_page_body[], th_page_d3[],
	th_page_script[];

/* Findings */

/* The findings of samples that are printed, after those of threads and class loaders. */
static size_t
shown_count(const struct th_leaks *leaks)
{
	return leaks->findings_count < FINDINGS_MAX ? leaks->findings_count : FINDINGS_MAX;
}

/* The finding of each site, plus one; 0: none. */
static uint32_t *
number_sites(const struct th_leaks *leaks)
{
	size_t count = leaks->places.items_count;
	uint32_t *numbers = th_allocate(count, sizeof(*numbers));
	struct th_leak_part *parts = th_allocate(count, sizeof(*parts));
	size_t tallies = leaks->tallies.items_count;

	for (size_t i = 0; i < shown_count(leaks); i++) {
		double live;
		size_t found = th_leaks_parts(leaks, &leaks->findings[i], parts, count, &live);

		for (size_t k = 0; k < found && k < count; k++)
			numbers[parts[k].place] = (uint32_t)(tallies + i + 1);
	}
	free(parts);
	return numbers;
}

/*
 * The same for each row of the page.  Options that shape stacks may join the rows of several
 * findings; such a row belongs to the worst of them.
 */
static uint32_t *
number_rows(const struct th_leaks *leaks, const struct th_profile *profile)
{
	uint32_t *sites = number_sites(leaks);
	uint32_t *rows = th_allocate(profile->rows_count, sizeof(*rows));

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		for (size_t i = 0; i < profile->recording->samples[heap].items_count; i++) {
			uint32_t row = profile->sample_rows[heap][i];
			uint32_t whole = leaks->profile->sample_rows[heap][i];

			if (row == TH_NO_ROW || whole == TH_NO_ROW)
				continue;
			uint32_t number = sites[leaks->places.of_row[whole]];
			if (number && (!rows[row] || number < rows[row]))
				rows[row] = number;
		}
	}
	free(sites);
	return rows;
}

static uint32_t
number_of(void *frames, uint32_t frame)
{
	return th_page_index(frames, frame);
}

static void
print_findings(FILE *file, struct th_page_names *names, const struct th_leaks *leaks)
{
	uint32_t *rows = number_rows(leaks, names->profile);
	struct th_line line;

	th_line_begin(&line);
	th_view_leaks_json_page(line.stream, leaks, FINDINGS_MAX, number_of, &names->frames);
	char *text = th_line_end(&line);
	th_page_print_json(file, ",\n\"answer\":", json_loads(text, 0, NULL));
	free(text);
	fprintf(file, ",\n\"leaks_left_out\":%zu", leaks->findings_count - shown_count(leaks));
	th_page_integers(file, ",\n", "finding_rows", i, names->profile->rows_count,
		(int64_t)rows[i] - 1);
	free(rows);
	th_page_source_print(file, names, leaks);
}

/* Time */

static void
print_cells(FILE *file, const struct th_time_slices *cells)
{
	const struct th_time_slice *cell = cells->items;
	size_t count = cells->items_count;

	th_page_integers(file, ",\n\"cells\":{", "row", i, count, cell[i].row);
	th_page_integers(file, ",", "birth", i, count, cell[i].birth);
	th_page_integers(file, ",", "death", i, count,
		cell[i].death == TH_TIME_SLICE_NEVER ? -1 : (int64_t)cell[i].death);
	th_page_integers(file, ",", "temp", i, count, cell[i].is_temporary);
	th_page_integers(file, ",", "size", i, count, cell[i].size);
	th_page_floats(file, ",", "bytes", i, count, cell[i].bytes);
	th_page_floats(file, ",", "objects", i, count, cell[i].objects);
	th_page_floats(file, ",", "bytes_variance", i, count, cell[i].bytes_variance);
	th_page_floats(file, ",", "objects_variance", i, count, cell[i].objects_variance);
	if (cells->has_live) {
		th_page_floats(file, ",", "live_bytes", i, count, cells->live[i].bytes);
		th_page_floats(file, ",", "live_objects", i, count, cells->live[i].objects);
	}
	fputc('}', file);
}

/* Collections, the use of the Java heap, numbers of JNI global references, marks. */
static void
print_events(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;

	th_page_print_json(file, ",\"collections\":",
		th_json_map(gc, recording->collections, recording->collections_count,
			th_json("start end kind", th_profile_seconds(profile, gc->start),
				th_profile_seconds(profile, gc->end), gc->kind)));
	th_page_print_json(file, ",\"uses\":",
		th_json_map(use, recording->heap_uses, recording->heap_uses_count,
			th_json_list(th_profile_seconds(profile, use->time), use->used,
				use->committed)));
	th_page_print_json(file, ",\"references\":",
		th_json_map(at, recording->references, recording->references_count,
			th_json_list(th_profile_seconds(profile, at->time), at->globals)));
	th_page_print_json(file, ",\"marks\":",
		th_json_map(mark, recording->marks, recording->marks_count,
			th_json("seconds name", th_profile_seconds(profile, mark->time),
				mark->name)));
}

/* The members "cells" and "timeline". */
static void
print_timeline(FILE *file, const struct th_profile *profile, const struct th_moment *peak)
{
	const struct th_recording *recording = profile->recording;
	double length = (double)(recording->end - recording->start + 1);
	struct th_time_slices cells;

	th_time_slices_init(&cells, profile, SLICES, CELLS_MAX);
	print_cells(file, &cells);
	fprintf(file, ",\n\"timeline\":{\"slices\":%u,\"seconds\":%.9g,\"peak\":%.9g",
		cells.slices, length / 1e9, th_profile_seconds(profile, peak->time));
	th_time_slices_deinit(&cells);
	print_events(file, profile);
	fputc('}', file);
}

/* The other parts */

static void
print_process(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;

	th_page_print_json(file, "{\"version\":\"" TH_VERSION "\",\"process\":",
		th_json("pid command jvm complete seconds sampling", recording->process.pid,
			recording->process.command,
			recording->has_jvm ? th_json_text(recording->jvm.version) : NULL,
			(bool)recording->is_complete, th_recording_duration(recording),
			th_view_sampling_text(recording)));
	th_page_print_json(
		file, ",\"filters\":", json_string(th_view_filters_text(profile->options)));
}

static void
print_memory(FILE *file, const struct th_profile *profile, const struct th_leaks *leaks)
{
	const struct th_options *options = profile->options;
	bool is_filtered = th_options_filter_stacks(options) || options->from > 0 ||
			   isfinite(options->to) || !(options->heaps & 1u << TH_HEAP_NATIVE);

	th_page_print_json(file, ",\n\"memory\":",
		!profile->recording->accounts_count || is_filtered
			? json_null()
			: th_view_rss_document(profile, leaks, false));
}

static void
print_base(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	struct th_page_names names;
	struct th_moment peak = th_profile_peak(profile);

	th_page_print_json(
		file, ",\n\"base\":{\"command\":", th_json_text(recording->process.command));
	fprintf(file, ",\"seconds\":%.9g,\"at_s\":%.9g", th_recording_duration(recording),
		th_profile_seconds(profile, profile->at.time));
	th_page_names_init(&names, profile);
	th_page_nodes_print(file, &names);
	th_page_rows_print(file, &names, &peak);
	th_page_names_print(file, &names);
	th_page_names_deinit(&names);
	fputc('}', file);
}

static void
print_data(FILE *file, const struct th_profile *profile, const struct th_profile *base)
{
	struct th_page_names names;
	struct th_leaks leaks;
	struct th_moment peak = th_profile_peak(profile);

	th_page_names_init(&names, profile);
	th_leaks_init(&leaks, profile);
	print_process(file, profile);
	th_page_nodes_print(file, &names);
	th_page_rows_print(file, &names, &peak);
	print_timeline(file, profile, &peak);
	print_memory(file, profile, &leaks);
	print_findings(file, &names, &leaks);
	th_leaks_deinit(&leaks);
	th_page_names_print(file, &names);
	th_page_names_deinit(&names);
	if (base)
		print_base(file, base);
	fputs("}\n", file);
}

void
th_view_flamegraph_diff(
	FILE *file, const struct th_profile *old_profile, const struct th_profile *profile)
{
	fprintf(file, "%s<style>\n%s</style>\n%s", th_page_head, th_page_style, th_page_body);
	fputs("<script type=\"application/json\" id=\"data\">\n", file);
	print_data(file, profile, old_profile);
	fprintf(file,
		"</script>\n<script>\n%s</script>\n<script>\n%s</script>\n</body>\n</html>\n",
		th_page_d3, th_page_script);
}

void
th_view_flamegraph(FILE *file, const struct th_profile *profile)
{
	th_view_flamegraph_diff(file, NULL, profile);
}
