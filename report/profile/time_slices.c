/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples are sorted by row once. The cells of a row are found by their two slices, their
 * size and whether their blocks died young in a table that the next row reuses: cell numbers increase,
 * so entries of other rows are recognized by smaller numbers. Where their number is limited, they are
 * made with ever fewer slices until they are few enough.
 */
#include "report/profile/time_slices.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/profile/order.h"

struct maker {
	const struct th_profile *profile;
	struct th_time_slices *cells;
	struct th_sample_order order; /* of the samples, by row */
	uint32_t *numbers;            /* by place: number of the cell, plus one */
	/* Sums of the cells of the current row. */
	TH_ARRAY(struct th_estimator, alloc);
	TH_ARRAY(struct th_estimator, live);
};

static uint16_t
slice_of(const struct th_time_slices *cells, uint64_t time)
{
	double slice = (double)(time - cells->start) / cells->slice;

	return (uint16_t)(slice < cells->slices ? (uint32_t)slice : cells->slices - 1);
}

/* Table index by time */

/*
 * Index of a cell in a table of births by deaths, which has one more death for "never", by size
 * and by early death.
 */
static uint32_t
place_of(const struct th_time_slices *cells, const struct th_time_slice *cell)
{
	uint32_t column = cell->death == TH_TIME_SLICE_NEVER ? 0 : cell->death + 1u;
	uint32_t times = cell->birth * (cells->slices + 1) + column;

	return 2 * (times * TH_TIME_SLICE_SIZES + cell->size) + cell->is_temporary;
}

static size_t
count_places(const struct th_time_slices *cells)
{
	return 2 * (size_t)cells->slices * (cells->slices + 1) * TH_TIME_SLICE_SIZES;
}

static uint8_t
size_of(uint64_t bytes)
{
	uint32_t size = bytes ? 63 - (uint32_t)__builtin_clzll(bytes) : 0;

	return (uint8_t)(size < TH_TIME_SLICE_SIZES ? size : TH_TIME_SLICE_SIZES - 1);
}

static struct th_time_slice
cell_of(const struct maker *maker, uint32_t row, enum th_heap heap, size_t index)
{
	const struct th_profile *profile = maker->profile;
	uint64_t end = profile->lifetimes.ends[heap][index];
	bool has_end = end != TH_END_UNKNOWN && end <= profile->recording->end;
	const struct th_sample *sample = &profile->recording->samples[heap].items[index];

	return (struct th_time_slice){
		.row = row,
		.birth = slice_of(maker->cells, sample->time),
		.death = has_end ? slice_of(maker->cells, end) : TH_TIME_SLICE_NEVER,
		.size = size_of(sample->size),
		.is_temporary = th_profile_counts(profile, TH_MEASURE_TEMPORARY, heap, index),
	};
}

/* Cells */

/* Adds a sample to a cell of the current row. */
static void
add_sample(const struct maker *maker, uint32_t cell, enum th_heap heap, size_t index)
{
	const struct th_profile *profile = maker->profile;

	th_profile_add(profile, TH_MEASURE_ALLOC, heap, index, &maker->alloc[cell]);
	/* With the weight of all whose end is known at the end of the recording. */
	if (maker->cells->has_live &&
		th_lifetimes_follows(&profile->lifetimes, heap, index, &profile->end))
		th_profile_add(profile, TH_MEASURE_TEMPORARY, heap, index, &maker->live[cell]);
}

static float
narrow(double value)
{
	return (float)fmin(fmax(value, -FLT_MAX), FLT_MAX);
}

/* Stores the sums of the current row, whose cells are the last ones. */
static void
store_sums(const struct maker *maker)
{
	struct th_time_slices *cells = maker->cells;
	size_t first = cells->items_count - maker->alloc_count;

	for (size_t i = 0; i < maker->alloc_count; i++) {
		const struct th_estimator *alloc = &maker->alloc[i];
		struct th_time_slice *cell = &cells->items[first + i];

		cell->bytes = narrow(th_sums_point(&alloc->bytes));
		cell->objects = narrow(th_sums_point(&alloc->objects));
		cell->bytes_variance = narrow(alloc->bytes.variance);
		cell->objects_variance = narrow(alloc->objects.variance);
	}
	for (size_t i = 0; i < maker->live_count; i++) {
		struct th_time_slice_live live = {narrow(th_sums_point(&maker->live[i].bytes)),
			narrow(th_sums_point(&maker->live[i].objects))};

		th_array_append(cells, live, live);
	}
}

static void
begin_cell(struct maker *maker, struct th_time_slice cell)
{
	th_array_append(maker->cells, items, cell);
	th_array_append(maker, alloc, (struct th_estimator){0});
	if (maker->cells->has_live)
		th_array_append(maker, live, (struct th_estimator){0});
}

static void
add_row(struct maker *maker, uint32_t row)
{
	enum th_heap heap = maker->profile->rows[row].heap;
	uint32_t first = (uint32_t)maker->cells->items_count;

	maker->alloc_count = maker->live_count = 0;
	for (uint32_t i = maker->order.starts[row]; i < maker->order.starts[row + 1]; i++) {
		uint32_t index = maker->order.samples[i];
		struct th_time_slice cell = cell_of(maker, row, heap, index);
		uint32_t *number = &maker->numbers[place_of(maker->cells, &cell)];

		if (*number <= first) {
			begin_cell(maker, cell);
			*number = (uint32_t)maker->cells->items_count;
		}
		add_sample(maker, *number - 1 - first, heap, index);
	}
	store_sums(maker);
}

/* False: there are more than `most`. */
static bool
make_cells(struct maker *maker, size_t most)
{
	struct th_time_slices *cells = maker->cells;

	memset(maker->numbers, 0, count_places(cells) * sizeof(*maker->numbers));
	cells->items_count = cells->live_count = 0;
	for (uint32_t row = 0; row < maker->profile->rows_count; row++) {
		add_row(maker, row);
		if (cells->items_count > most)
			return false;
	}
	return true;
}

void
th_time_slices_init(struct th_time_slices *cells, const struct th_profile *profile,
	uint32_t slices, size_t most)
{
	const struct th_recording *recording = profile->recording;
	struct maker maker = {.profile = profile, .cells = cells};
	double length = (double)(recording->end - recording->start + 1);

	*cells = (struct th_time_slices){.slices = slices, .start = recording->start};
	th_sample_order_init(&maker.order, profile, NULL, profile->rows_count);
	maker.numbers = th_allocate(count_places(cells), sizeof(*maker.numbers));
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		cells->has_live |= th_lifetimes_keep(&profile->lifetimes, (enum th_heap)heap,
					   &profile->end) < 1;
	/* Where one slice has too many, more slices are not tried. */
	cells->slices = 1;
	cells->slice = length;
	cells->slices = make_cells(&maker, most) ? slices : 1;
	cells->slice = length / cells->slices;
	while (!make_cells(&maker, cells->slices > 1 ? most : SIZE_MAX)) {
		cells->slices /= 2;
		cells->slice *= 2;
	}
	th_sample_order_deinit(&maker.order);
	free(maker.numbers);
	free(maker.alloc);
	free(maker.live);
}

void
th_time_slices_deinit(struct th_time_slices *cells)
{
	free(cells->items);
	free(cells->live);
}
