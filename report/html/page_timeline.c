/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time slices of the recording: the cells, which are sums of each row by slice, and the live
 * bytes, collections and marks over time.
 */
#include "report/html/page_timeline.h"

#include "report/html/page_columns.h"
#include "report/profile/time_slices.h"
#include "report/views/values.h"

/* Number of slices, and the maximum number of cells: eight megabytes of the page. */
#define SLICES 128
#define CELLS_MAX 250000

/* Columns of cells. */

typedef int64_t cell_integer(const struct th_time_slice *);
typedef double cell_number(const struct th_time_slices *, size_t cell);

static int64_t
cell_row(const struct th_time_slice *cell)
{
	return cell->row;
}

static int64_t
cell_birth(const struct th_time_slice *cell)
{
	return cell->birth;
}

static int64_t
cell_death(const struct th_time_slice *cell)
{
	return cell->death == TH_TIME_SLICE_NEVER ? -1 : (int64_t)cell->death;
}

static int64_t
cell_temporary(const struct th_time_slice *cell)
{
	return cell->is_temporary;
}

static int64_t
cell_size(const struct th_time_slice *cell)
{
	return cell->size;
}

static double
cell_bytes(const struct th_time_slices *cells, size_t cell)
{
	return cells->items[cell].bytes;
}

static double
cell_objects(const struct th_time_slices *cells, size_t cell)
{
	return cells->items[cell].objects;
}

static double
cell_bytes_variance(const struct th_time_slices *cells, size_t cell)
{
	return cells->items[cell].bytes_variance;
}

static double
cell_objects_variance(const struct th_time_slices *cells, size_t cell)
{
	return cells->items[cell].objects_variance;
}

static double
cell_live_bytes(const struct th_time_slices *cells, size_t cell)
{
	return cells->live[cell].bytes;
}

static double
cell_live_objects(const struct th_time_slices *cells, size_t cell)
{
	return cells->live[cell].objects;
}

static void
print_integers(FILE *file, const struct th_time_slices *cells, const char *before,
	const char *name, cell_integer *value)
{
	struct th_page_column column;

	th_page_column_begin(&column, file, before, name);
	for (size_t i = 0; i < cells->items_count; i++)
		th_page_column_add_integer(&column, value(&cells->items[i]));
	th_page_column_end(&column);
}

static void
print_numbers(
	FILE *file, const struct th_time_slices *cells, const char *name, cell_number *value)
{
	struct th_page_column column;

	th_page_column_begin(&column, file, ",", name);
	for (size_t i = 0; i < cells->items_count; i++)
		th_page_column_add_float(&column, value(cells, i));
	th_page_column_end(&column);
}

static void
print_cells(FILE *file, const struct th_time_slices *cells)
{
	print_integers(file, cells, ",\n\"cells\":{", "row", cell_row);
	print_integers(file, cells, ",", "birth", cell_birth);
	print_integers(file, cells, ",", "death", cell_death);
	print_integers(file, cells, ",", "temp", cell_temporary);
	print_integers(file, cells, ",", "size", cell_size);
	print_numbers(file, cells, "bytes", cell_bytes);
	print_numbers(file, cells, "objects", cell_objects);
	print_numbers(file, cells, "bytes_variance", cell_bytes_variance);
	print_numbers(file, cells, "objects_variance", cell_objects_variance);
	if (cells->has_live) {
		print_numbers(file, cells, "live_bytes", cell_live_bytes);
		print_numbers(file, cells, "live_objects", cell_live_objects);
	}
	fputc('}', file);
}

static void
print_list(FILE *file, const char *before, json_t *list)
{
	fputs(before, file);
	th_page_print_json(file, list);
}

/* Collections, the use of the Java heap, numbers of JNI global references, marks. */
static void
print_events(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;

	print_list(file, ",\"collections\":",
		th_json_map(gc, recording->collections, recording->collections_count,
			th_json("start end kind", th_profile_seconds(profile, gc->start),
				th_profile_seconds(profile, gc->end), gc->kind)));
	print_list(file, ",\"uses\":",
		th_json_map(use, recording->heap_uses, recording->heap_uses_count,
			th_json_list(th_profile_seconds(profile, use->time), use->used,
				use->committed)));
	print_list(file, ",\"references\":",
		th_json_map(at, recording->references, recording->references_count,
			th_json_list(th_profile_seconds(profile, at->time), at->globals)));
	print_list(file, ",\"marks\":",
		th_json_map(mark, recording->marks, recording->marks_count,
			th_json("seconds name", th_profile_seconds(profile, mark->time),
				mark->name)));
}

static size_t
slice_of(const struct th_recording *recording, uint64_t time, double slice)
{
	double number = (double)(time - recording->start) / slice;

	return number < SLICES ? (size_t)number : SLICES - 1;
}

/* Live bytes of a heap at the beginning of each of SLICES slices and at the end. */
static void
print_live(FILE *file, const struct th_profile *profile, enum th_heap heap, double slice)
{
	const struct th_recording *recording = profile->recording;
	const struct th_samples *samples = &recording->samples[heap];
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	double keep = th_lifetimes_keep(lifetimes, heap, &profile->end);
	double changes[SLICES + 1] = {0};
	double live = 0;

	for (size_t i = 0; i < samples->items_count; i++) {
		struct th_estimator sum = {0};
		uint64_t end = lifetimes->ends[heap][i];

		if (profile->sample_rows[heap][i] == TH_NO_ROW ||
			!th_lifetimes_follows(lifetimes, heap, i, &profile->end))
			continue;
		th_lifetimes_add(lifetimes, &profile->heaps[heap], heap, i, &samples->items[i],
			keep, &sum);
		double bytes = th_sums_point(&sum.bytes);
		changes[slice_of(recording, samples->items[i].time, slice) + 1] += bytes;
		if (end <= recording->end)
			changes[slice_of(recording, end, slice) + 1] -= bytes;
	}
	for (size_t i = 0; i <= SLICES; i++) {
		live += changes[i];
		th_page_print_number(file, i, live > 0 ? live : 0);
	}
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
	fputs(",\"live\":[", file);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		fputs(heap > TH_HEAP_JAVA ? ",[" : "[", file);
		print_live(file, profile, (enum th_heap)heap, length / SLICES);
		fputc(']', file);
	}
	fputc(']', file);
	print_events(file, profile);
	fputc('}', file);
}
