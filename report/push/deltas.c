/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/push.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"

/* Values in a row, in the order of `sums`. */
static const enum th_export_value values[TH_DELTA_VALUES] = {
	TH_EXPORT_ALLOC_OBJECTS, TH_EXPORT_ALLOC_SPACE};

/* The sums of the samples after an offset, by row; to be freed. */
static struct th_estimator *
sum_new(const struct th_profile *profile, uint64_t offset)
{
	const struct th_recording *recording = profile->recording;
	struct th_estimator *sums = th_allocate(profile->rows_count + 1, sizeof(*sums));

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_samples *samples = &recording->samples[heap];
		const uint32_t *rows = profile->sample_rows[heap];

		for (size_t i = 0; i < samples->items_count; i++) {
			const struct th_sample *sample = &samples->items[i];

			if (rows[i] != TH_NO_ROW &&
				th_recording_id(recording, sample->record) >= offset)
				th_calibration_add(&profile->heaps[heap], recording, sample,
					&sums[rows[i]]);
		}
	}
	return sums;
}

static double
weight_of(const struct th_profile *profile, const struct th_estimator *news, size_t row,
	int value)
{
	/* Mapped memory that holds the blocks of another heap has no values. */
	if (th_profile_contents(profile, &profile->rows[row]))
		return 0;
	return th_sums_point(value ? &news[row].bytes : &news[row].objects);
}

/*
 * One value of one heap: its growth is distributed over the new samples, over all if there are
 * none. Returns the sum that is sent then.
 */
static int64_t
take_value(const struct th_profile *profile, enum th_heap heap, int value, int64_t sent,
	const struct th_estimator *news, th_export_row *rows)
{
	enum th_export_value column = values[value];
	double weights = 0, exact = 0;
	int64_t total = 0, taken = 0;

	for (size_t i = 0; i < profile->rows_count; i++) {
		if (profile->rows[i].heap != heap)
			continue;
		total += rows[i][column];
		weights += weight_of(profile, news, i, value);
	}
	double growth = total > sent ? (double)(total - sent) : 0;
	for (size_t i = 0; i < profile->rows_count; i++) {
		if (profile->rows[i].heap != heap)
			continue;
		double part = weights > 0 ? weight_of(profile, news, i, value) / weights
			      : total > 0 ? (double)rows[i][column] / (double)total
					  : 0;
		/* Rounded so that the parts add up. */
		exact += growth * part;
		rows[i][column] = llround(exact) - taken;
		taken += rows[i][column];
	}
	return sent + taken;
}

bool
th_deltas_take(const struct th_sent *sent, const struct th_profile *profile,
	th_export_row *rows, struct th_sent *next_ret)
{
	struct th_estimator *news = sum_new(profile, sent->offset);
	bool any = false;

	next_ret->offset = profile->recording->records_end;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		for (int value = 0; value < TH_DELTA_VALUES; value++) {
			int64_t before = sent->sums[heap][value];
			int64_t after = take_value(
				profile, (enum th_heap)heap, value, before, news, rows);

			next_ret->sums[heap][value] = after;
			any |= after > before;
		}
	}
	free(news);
	return any;
}
