/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time slices of the recording: the cells, which are sums of each row by slice, and what happened
 * over time.
 */
#include "report/html/page.h"

#include "report/profile/time_slices.h"
#include "report/views/values.h"

/* Number of slices, and the maximum number of cells: eight megabytes of the page. */
#define SLICES 128
#define CELLS_MAX 250000

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

void
th_page_timeline_print(
	FILE *file, const struct th_profile *profile, const struct th_moment *peak)
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
