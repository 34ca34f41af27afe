/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell is found by its row, its two slices and whether its blocks died young.
 */
#include "report/cells.h"

#include <stdlib.h>

#include "report/allocate.h"

/* Each end of a life is a slice or "never": 16 bits are plenty. */
#define NEVER_SLICE 0xffffu

struct finder {
	const struct th_profile *profile;
	struct th_cells *cells;
	struct th_map places; /* row << 1 | is_temporary -> place */
	struct th_map ids;    /* place << 32 | birth << 16 | death -> index of the cell */
};

static uint32_t
slice_of(const struct th_cells *cells, uint64_t time)
{
	double slice = time > cells->start ? (double)(time - cells->start) / cells->slice : 0;

	return slice < cells->slices ? (uint32_t)slice : cells->slices - 1;
}

/* The slice in which a sample ended, NEVER_SLICE if it did not. */
static uint32_t
death_of(const struct finder *finder, enum th_heap heap, size_t index)
{
	const struct th_profile *profile = finder->profile;
	uint64_t end = profile->lifetimes.ends[heap][index];

	if (end == TH_END_UNKNOWN || end > profile->recording->end)
		return NEVER_SLICE;
	return slice_of(finder->cells, end);
}

static struct th_cell *
find_cell(struct finder *finder, uint32_t row, uint32_t birth, uint32_t death, bool temporary)
{
	struct th_cells *cells = finder->cells;
	bool added;
	uint32_t place = th_map_intern(&finder->places, (uint64_t)row << 1 | temporary, &added);
	uint32_t index = th_map_intern(
		&finder->ids, (uint64_t)place << 32 | (uint64_t)birth << 16 | death, &added);

	if (added) {
		struct th_cell cell = {
			.row = row,
			.birth = birth,
			.death = death == NEVER_SLICE ? TH_CELL_NEVER : death,
			.is_temporary = temporary,
		};

		th_array_append(cells, items, cell);
	}
	return &cells->items[index];
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
	struct th_cell *cell = find_cell(finder, row, slice_of(finder->cells, sample->time),
		death_of(finder, heap, index),
		follows && th_lifetimes_is_temporary(lifetimes, heap, index, within));

	th_calibration_add(calibration, profile->recording, sample, &cell->alloc);
	if (follows)
		th_lifetimes_add(lifetimes, calibration, sample,
			th_lifetimes_keep(lifetimes, heap, &profile->end), &cell->live);
}

/* Whether at most `most` cells came of it. */
static bool
fill(struct th_cells *cells, const struct th_profile *profile, size_t most)
{
	const struct th_recording *recording = profile->recording;
	struct finder finder = {.profile = profile, .cells = cells};

	cells->items_count = 0;
	cells->start = recording->start;
	cells->slice = (double)(recording->end - recording->start + 1) / cells->slices;
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		const uint32_t *rows = profile->sample_rows[heap];

		for (size_t i = 0; i < recording->samples[heap].items_count; i++) {
			if (rows[i] != TH_NO_ROW && cells->items_count <= most)
				add_sample(&finder, (enum th_heap)heap, i, rows[i]);
		}
	}
	th_map_deinit(&finder.places);
	th_map_deinit(&finder.ids);
	return cells->items_count <= most;
}

void
th_cells_init(
	struct th_cells *cells, const struct th_profile *profile, uint32_t slices, size_t most)
{
	*cells = (struct th_cells){.slices = slices};
	while (!fill(cells, profile, cells->slices > 1 ? most : SIZE_MAX - 1))
		cells->slices /= 2;
}

void
th_cells_deinit(struct th_cells *cells)
{
	free(cells->items);
}
