/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples are sorted by row once. The cells of a row are found by their two slices, their
 * size and whether their blocks died young in a table that the next row reuses: cell numbers increase,
 * so entries of other rows are recognized by smaller numbers. Cells are counted before any is
 * made, with ever fewer slices until they are few enough.
 */
#include "report/profile/time_slices.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/profile/sample_order.h"

/* Samples of a row are scattered in memory: this many are prefetched. */
#define AHEAD 16

struct maker {
	const struct th_profile *profile;
	struct th_time_slices *cells;
	struct th_sample_order order; /* of the samples, by row */
	uint32_t *places;             /* place_of() of the samples, in their order */
	uint32_t *numbers;            /* by place: number of the cell, plus one */
};

static uint32_t
slice_of(const struct th_time_slices *cells, uint64_t time)
{
	double slice = time > cells->start ? (double)(time - cells->start) / cells->slice : 0;

	return slice < cells->slices ? (uint32_t)slice : cells->slices - 1;
}

/* Table index by time */

/*
 * Index of a cell in a table of births by deaths, which has one more death for "never", by size
 * and by early death.
 */
static uint32_t
place_at(const struct th_time_slices *cells, const struct th_time_slice *cell)
{
	uint32_t column = cell->death == TH_TIME_SLICE_NEVER ? 0 : cell->death + 1;
	uint32_t times = cell->birth * (cells->slices + 1) + column;

	return 2 * (times * TH_TIME_SLICE_SIZES + cell->size) + cell->is_temporary;
}

static size_t
count_places(const struct th_time_slices *cells)
{
	return 2 * (size_t)cells->slices * (cells->slices + 1) * TH_TIME_SLICE_SIZES;
}

static struct th_time_slice
cell_at(const struct th_time_slices *cells, uint32_t place)
{
	uint32_t times = place / 2 / TH_TIME_SLICE_SIZES;
	uint32_t column = times % (cells->slices + 1);

	return (struct th_time_slice){
		.birth = times / (cells->slices + 1),
		.death = column ? column - 1 : TH_TIME_SLICE_NEVER,
		.size = place / 2 % TH_TIME_SLICE_SIZES,
		.is_temporary = place % 2,
	};
}

static uint32_t
size_of(uint64_t bytes)
{
	uint32_t size = bytes ? 63 - (uint32_t)__builtin_clzll(bytes) : 0;

	return size < TH_TIME_SLICE_SIZES ? size : TH_TIME_SLICE_SIZES - 1;
}

static uint32_t
place_of(const struct maker *maker, enum th_heap heap, size_t index)
{
	const struct th_profile *profile = maker->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	uint64_t within = (uint64_t)(profile->options->temporary_within * 1e9);
	uint64_t end = lifetimes->ends[heap][index];
	bool has_end = end != TH_END_UNKNOWN && end <= profile->recording->end;
	const struct th_sample *sample = &profile->recording->samples[heap].items[index];
	const struct th_time_slice cell = {
		.birth = slice_of(maker->cells, sample->time),
		.death = has_end ? slice_of(maker->cells, end) : TH_TIME_SLICE_NEVER,
		.size = size_of(sample->size),
		.is_temporary = th_lifetimes_follows(lifetimes, heap, index, &profile->end) &&
				th_lifetimes_is_temporary(lifetimes, heap, index, within),
	};

	return place_at(maker->cells, &cell);
}

/* Prefetches a sample that will be used soon, if it is of this heap. */
static void
expect_sample(const struct maker *maker, enum th_heap heap, uint32_t at)
{
	const struct th_profile *profile = maker->profile;
	const struct th_samples *samples = &profile->recording->samples[heap];

	if (at >= maker->order.starts[profile->rows_count])
		return;
	uint32_t index = maker->order.samples[at];
	if (index < samples->items_count) {
		__builtin_prefetch(&samples->items[index]);
		__builtin_prefetch(&profile->lifetimes.ends[heap][index]);
	}
}

static void
find_places(struct maker *maker)
{
	const struct th_profile *profile = maker->profile;

	for (uint32_t row = 0; row < profile->rows_count; row++) {
		enum th_heap heap = profile->rows[row].heap;

		for (uint32_t i = maker->order.starts[row]; i < maker->order.starts[row + 1];
			i++) {
			expect_sample(maker, heap, i + AHEAD);
			maker->places[i] = place_of(maker, heap, maker->order.samples[i]);
		}
	}
}

/* Merges pairs of slices. */
static void
halve(struct maker *maker)
{
	const struct th_time_slices before = *maker->cells;
	uint32_t count = maker->order.starts[maker->profile->rows_count];

	maker->cells->slices /= 2;
	maker->cells->slice *= 2;
	for (uint32_t i = 0; i < count; i++) {
		struct th_time_slice cell = cell_at(&before, maker->places[i]);

		cell.birth /= 2;
		if (cell.death != TH_TIME_SLICE_NEVER)
			cell.death /= 2;
		maker->places[i] = place_at(maker->cells, &cell);
	}
}

/* Cells */

/*
 * The number of the cell at a place; `first` is the first of its row and `*next` that of a new
 * one.
 */
static uint32_t
find_cell(const struct maker *maker, uint32_t place, uint32_t first, uint32_t *next)
{
	uint32_t *number = &maker->numbers[place];

	if (*number <= first)
		*number = ++*next;
	return *number - 1;
}

/* The number of cells; no further than one above `most`. */
static size_t
count_cells(const struct maker *maker, size_t most)
{
	const uint32_t *starts = maker->order.starts;
	uint32_t count = 0;

	memset(maker->numbers, 0, count_places(maker->cells) * sizeof(*maker->numbers));
	for (uint32_t row = 0; row < maker->profile->rows_count && count <= most; row++) {
		uint32_t first = count;

		for (uint32_t i = starts[row]; i < starts[row + 1]; i++)
			find_cell(maker, maker->places[i], first, &count);
	}
	return count;
}

static void
add_sample(const struct maker *maker, uint32_t number, enum th_heap heap, size_t index)
{
	const struct th_profile *profile = maker->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_calibration *calibration = &profile->heaps[heap];
	const struct th_sample *sample = &profile->recording->samples[heap].items[index];

	th_calibration_add(
		calibration, profile->recording, sample, &maker->cells->items[number].alloc);
	if (maker->cells->live && th_lifetimes_follows(lifetimes, heap, index, &profile->end))
		th_lifetimes_add(lifetimes, calibration, heap, index, sample,
			th_lifetimes_keep(lifetimes, heap, &profile->end),
			&maker->cells->live[number]);
}

static void
add_row(const struct maker *maker, uint32_t row, uint32_t *count)
{
	struct th_time_slices *cells = maker->cells;
	enum th_heap heap = maker->profile->rows[row].heap;
	uint32_t first = *count;

	for (uint32_t i = maker->order.starts[row]; i < maker->order.starts[row + 1]; i++) {
		expect_sample(maker, heap, i + AHEAD);
		uint32_t before = *count;
		uint32_t number = find_cell(maker, maker->places[i], first, count);

		if (number == before) {
			cells->items[number] = cell_at(cells, maker->places[i]);
			cells->items[number].row = row;
		}
		add_sample(maker, number, heap, maker->order.samples[i]);
	}
}

/* Halves the slices until the cells are few enough or one slice is left; returns their number. */
static size_t
choose_slices(struct maker *maker, size_t most)
{
	for (;;) {
		size_t limit = maker->cells->slices > 1 ? most : SIZE_MAX;
		size_t count = count_cells(maker, limit);

		if (count <= limit)
			return count;
		halve(maker);
	}
}

static void
make_cells(const struct maker *maker, size_t items_count)
{
	struct th_time_slices *cells = maker->cells;

	uint32_t count = 0;

	cells->items = th_allocate(items_count, sizeof(*cells->items));
	cells->items_count = items_count;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!cells->live && th_lifetimes_keep(&maker->profile->lifetimes,
					    (enum th_heap)heap, &maker->profile->end) < 1)
			cells->live = th_allocate(items_count, sizeof(*cells->live));
	}
	memset(maker->numbers, 0, count_places(cells) * sizeof(*maker->numbers));
	for (uint32_t row = 0; row < maker->profile->rows_count; row++)
		add_row(maker, row, &count);
}

void
th_time_slices_init(struct th_time_slices *cells, const struct th_profile *profile,
	uint32_t slices, size_t most)
{
	const struct th_recording *recording = profile->recording;
	struct maker maker = {.profile = profile, .cells = cells};

	/* Each row has at least one cell. */
	if (profile->rows_count > most)
		slices = 1;
	*cells = (struct th_time_slices){
		.slices = slices,
		.start = recording->start,
		.slice = (double)(recording->end - recording->start + 1) / slices,
	};
	th_sample_order_init(&maker.order, profile, NULL, profile->rows_count);
	maker.places = th_allocate(
		maker.order.starts[profile->rows_count], sizeof(*maker.places));
	maker.numbers = th_allocate(count_places(cells), sizeof(*maker.numbers));
	find_places(&maker);
	make_cells(&maker, choose_slices(&maker, most));
	th_sample_order_deinit(&maker.order);
	free(maker.places);
	free(maker.numbers);
}

void
th_time_slices_deinit(struct th_time_slices *cells)
{
	free(cells->items);
	free(cells->live);
}
