/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/export_part.h"

#include <math.h>

#include "report/base/allocate.h"

/* A sum of a thousand values of this size still fits a 64-bit integer. */
#define LARGEST_VALUE 0x1p53

const struct th_export_kind th_export_kinds[TH_EXPORT_VALUES] = {
	[TH_EXPORT_ALLOC_OBJECTS] = {"alloc_objects", "count"},
	[TH_EXPORT_ALLOC_SPACE] = {"alloc_space", "bytes"},
	[TH_EXPORT_INUSE_OBJECTS] = {"inuse_objects", "count"},
	[TH_EXPORT_INUSE_SPACE] = {"inuse_space", "bytes"},
};

/* The same figure as in every other view, without its interval. */
static double
exact_value(
	const struct th_profile *profile, const struct th_row *row, enum th_export_value value)
{
	enum th_measure measure = 1u << value & TH_EXPORT_ALLOC ? TH_MEASURE_ALLOC
								: TH_MEASURE_LIVE;
	const struct th_estimator *sum = th_profile_row_sum(profile, row, measure);

	if (value == TH_EXPORT_ALLOC_OBJECTS || value == TH_EXPORT_INUSE_OBJECTS)
		return th_sums_point(&sum->objects);
	return sum->samples ? th_profile_bytes_point(profile, row->heap, measure, sum) : 0;
}

/*
 * Rounds to integers that add up to the rounded sum: the remainder is carried to the next row.
 */
static void
round_values(const struct th_profile *profile, const struct th_row *row,
	double sums[TH_EXPORT_VALUES], th_export_row values)
{
	for (enum th_export_value i = 0; i < TH_EXPORT_VALUES; i++) {
		int64_t before = llround(sums[i]);

		sums[i] += fmin(exact_value(profile, row, i), LARGEST_VALUE);
		values[i] = llround(sums[i]) - before;
	}
}

th_export_row *
th_export_rows(const struct th_profile *profile)
{
	th_export_row *rows = th_allocate(profile->rows_count + 1, sizeof(*rows));
	double sums[TH_HEAPS][TH_EXPORT_VALUES] = {0};

	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];

		if (!th_profile_contents(profile, row))
			round_values(profile, row, sums[row->heap], rows[i]);
	}
	return rows;
}

bool
th_export_part_has(const struct th_export_part *part, size_t row)
{
	for (int i = 0; i < TH_EXPORT_VALUES; i++) {
		if (part->values & 1u << i && part->rows[row][i])
			return true;
	}
	return false;
}

uint64_t
th_export_time(const struct th_recording *recording, uint64_t time)
{
	return th_reader_header(recording->reader)->start_realtime + (time - recording->start);
}

void
th_export_both(const struct th_profile *profile, const th_export_row *rows,
	const struct th_labels *labels, struct th_export_part parts_ret[2])
{
	const struct th_recording *recording = profile->recording;

	parts_ret[0] = (struct th_export_part){
		.profile = profile,
		.rows = rows,
		.values = TH_EXPORT_ALLOC,
		.start = th_export_time(recording, recording->start),
		.duration = recording->end - recording->start,
		.is_whole = true,
		.labels = labels,
	};
	parts_ret[1] = parts_ret[0];
	parts_ret[1].values = TH_EXPORT_INUSE;
	parts_ret[1].start = th_export_time(recording, profile->at.time);
	parts_ret[1].duration = 0;
}
