/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell is found by its row, its two slices and whether its blocks died young.  When there are
 * too many of them, two slices become one and what is there already is put together.
 */
#include "report/cells.h"

#include <stdlib.h>

#include "report/allocate.h"

struct finder {
	const struct th_profile *profile;
	struct th_cells *cells;
	struct th_map ids; /* by key_of() -> index of the cell */
	size_t most;
};

static uint32_t
slice_of(const struct th_cells *cells, uint64_t time)
{
	double slice = time > cells->start ? (double)(time - cells->start) / cells->slice : 0;

	return slice < cells->slices ? (uint32_t)slice : cells->slices - 1;
}

/* The slice in which a sample ended, TH_CELL_NEVER if it did not. */
static uint32_t
death_of(const struct finder *finder, enum th_heap heap, size_t index)
{
	const struct th_profile *profile = finder->profile;
	uint64_t end = profile->lifetimes.ends[heap][index];

	if (end == TH_END_UNKNOWN || end > profile->recording->end)
		return TH_CELL_NEVER;
	return slice_of(finder->cells, end);
}

/* Slices are few: each end of a life takes 15 bits, with 0 for never. */
static uint64_t
key_of(const struct th_cell *cell)
{
	uint32_t death = cell->death == TH_CELL_NEVER ? 0 : cell->death + 1;

	return (uint64_t)cell->row << 31 | (uint64_t)cell->birth << 16 | death << 1 |
	       cell->is_temporary;
}

/* The index of the cell with the place in time of `cell`, which is added if there is none. */
static uint32_t
find_cell(struct finder *finder, const struct th_cell *cell)
{
	bool added;
	uint32_t index = th_map_intern(&finder->ids, key_of(cell), &added);

	if (added)
		th_array_append(finder->cells, items, *cell);
	return index;
}

/* Makes two slices one; cells that now fall together stand where the first of them stood. */
static void
halve(struct finder *finder)
{
	struct th_cells *cells = finder->cells;
	size_t count = cells->items_count;

	th_map_deinit(&finder->ids);
	cells->items_count = 0;
	cells->slices /= 2;
	cells->slice *= 2;
	for (size_t i = 0; i < count; i++) {
		struct th_cell cell = cells->items[i];

		cell.birth /= 2;
		if (cell.death != TH_CELL_NEVER)
			cell.death /= 2;
		size_t before = cells->items_count;
		uint32_t index = find_cell(finder, &cell);
		if (index == before)
			continue;
		th_estimator_merge(&cells->items[index].alloc, &cell.alloc);
		th_estimator_merge(&cells->items[index].live, &cell.live);
	}
}

static void
add_sample(struct finder *finder, enum th_heap heap, size_t index, uint32_t row)
{
	const struct th_profile *profile = finder->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_calibration *calibration = &profile->heaps[heap];
	const struct th_sample *sample = &profile->recording->samples[heap].items[index];
	uint64_t within = (uint64_t)(profile->options->temporary_within * 1e9);
	bool follows = th_lifetimes_follows(lifetimes, heap, index, &profile->end);
	struct th_cell place = {
		.row = row,
		.birth = slice_of(finder->cells, sample->time),
		.death = death_of(finder, heap, index),
		.is_temporary = follows &&
				th_lifetimes_is_temporary(lifetimes, heap, index, within),
	};
	uint32_t number = find_cell(finder, &place);
	struct th_cell *cell = &finder->cells->items[number];

	th_calibration_add(calibration, profile->recording, sample, &cell->alloc);
	if (follows)
		th_lifetimes_add(lifetimes, calibration, sample,
			th_lifetimes_keep(lifetimes, heap, &profile->end), &cell->live);
}

static void
add_heap(struct finder *finder, enum th_heap heap)
{
	const struct th_profile *profile = finder->profile;
	const uint32_t *rows = profile->sample_rows[heap];

	for (size_t i = 0; i < profile->recording->samples[heap].items_count; i++) {
		if (rows[i] == TH_NO_ROW)
			continue;
		add_sample(finder, heap, i, rows[i]);
		while (finder->cells->items_count > finder->most && finder->cells->slices > 1)
			halve(finder);
	}
}

void
th_cells_init(
	struct th_cells *cells, const struct th_profile *profile, uint32_t slices, size_t most)
{
	const struct th_recording *recording = profile->recording;
	struct finder finder = {.profile = profile, .cells = cells, .most = most};

	*cells = (struct th_cells){
		.slices = slices,
		.start = recording->start,
		.slice = (double)(recording->end - recording->start + 1) / slices,
	};
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		add_heap(&finder, (enum th_heap)heap);
	th_map_deinit(&finder.ids);
}

void
th_cells_deinit(struct th_cells *cells)
{
	free(cells->items);
}
