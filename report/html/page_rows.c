/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row contains no intervals but the sums that intervals are computed from, so that the page
 * can group rows in any way.  Most rows have one or two samples, and many have equal sums:
 * equal sums are written once.
 */
#include "report/html/page.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"
#include "report/profile/sites.h"
#include "report/profile/values.h"

/* Figures that the page can show for a row; the first ones are those of enum th_measure. */
enum figure { FIGURE_PEAK = TH_MEASURE_TEMPORARY + 1, FIGURES };

static const char *const figure_names[FIGURES] = {
	[TH_MEASURE_ALLOC] = "alloc",
	[TH_MEASURE_LIVE] = "live",
	[TH_MEASURE_TEMPORARY] = "temp",
	[FIGURE_PEAK] = "peak",
};

/* Where a sum is. */
struct sum_at {
	uint32_t row;
	enum figure figure;
};

struct rows {
	FILE *file;
	const struct th_profile *profile;
	struct th_page_names *names;
	const struct th_moment *peak;
	struct th_estimator *peaks;                  /* by row */
	struct th_estimator peak_selected[TH_HEAPS]; /* sums of all rows */
	struct th_id_map sum_ids; /* hash of a sum, incremented on collision */
	TH_ARRAY(struct sum_at, sums);
};

/* Live at the peak */

static void
sum_peak(struct rows *rows)
{
	const struct th_profile *profile = rows->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;

	rows->peaks = th_allocate(profile->rows_count, sizeof(*rows->peaks));
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		for (size_t k = 0; k < profile->recording->samples[heap].items_count; k++) {
			uint32_t row = profile->sample_rows[heap][k];

			if (row == TH_NO_ROW ||
				!th_lifetimes_is_live(lifetimes, heap, k, rows->peak))
				continue;
			struct th_estimator one = {0};
			th_lifetimes_add(
				lifetimes, &profile->heaps[heap], heap, k, rows->peak, &one);
			th_estimator_merge(&rows->peaks[row], &one);
			th_estimator_merge(&rows->peak_selected[heap], &one);
		}
	}
}

/* Sums */

static const struct th_estimator *
sum_of(const struct rows *rows, struct sum_at at)
{
	return at.figure == FIGURE_PEAK ? &rows->peaks[at.row]
					: &rows->profile->sums[at.figure][at.row];
}

/* Hash of the members that usually differ. */
static uint64_t
hash_sum(const struct th_estimator *sum)
{
	const double parts[] = {sum->bytes.seen, sum->bytes.unseen, sum->objects.unseen};
	uint64_t hash = sum->samples;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint64_t word;

		memcpy(&word, &parts[i], sizeof(word));
		hash = th_hash_next(hash, word);
	}
	return hash;
}

/* The number of a sum, from 1; 0 for a sum without samples. */
static uint32_t
intern_sum(struct rows *rows, struct sum_at at)
{
	const struct th_estimator *sum = sum_of(rows, at);

	if (!sum->samples)
		return 0;
	for (uint64_t hash = hash_sum(sum);; hash++) {
		bool added;
		uint32_t number = th_id_map_intern(&rows->sum_ids, hash, &added);

		if (added)
			th_array_append(rows, sums, at);
		if (added || !memcmp(sum_of(rows, rows->sums[number]), sum, sizeof(*sum)))
			return number + 1;
	}
}

/*
 * Bytes or objects.  Written as the difference, because `missed` alone would lose digits next
 * to `unseen`.
 */
static double
doubt_of(const struct th_sums *sums)
{
	return sums->unseen - sums->missed;
}

/* Bytes or objects of each sum. */
static const struct th_sums *
sums_at(const struct rows *rows, size_t number, bool is_objects)
{
	const struct th_estimator *sum = sum_of(rows, rows->sums[number]);

	return is_objects ? &sum->objects : &sum->bytes;
}

static void
print_sums_of(const struct rows *rows, const char *before, bool is_objects)
{
	size_t count = rows->sums_count;

	th_page_floats(
		rows->file, before, "seen", i, count, sums_at(rows, i, is_objects)->seen);
	th_page_floats(
		rows->file, ",", "unseen", i, count, sums_at(rows, i, is_objects)->unseen);
	th_page_floats(
		rows->file, ",", "variance", i, count, sums_at(rows, i, is_objects)->variance);
	th_page_floats(
		rows->file, ",", "doubt", i, count, doubt_of(sums_at(rows, i, is_objects)));
	fputc('}', rows->file);
}

static void
print_sums(const struct rows *rows)
{
	size_t count = rows->sums_count;

	th_page_integers(rows->file, ",\n\"sums\":{", "samples", i, count,
		(int64_t)sum_of(rows, rows->sums[i])->samples);
	th_page_floats(rows->file, ",", "covariance", i, count,
		sum_of(rows, rows->sums[i])->covariance);
	print_sums_of(rows, ",\"bytes\":{", false);
	print_sums_of(rows, ",\"objects\":{", true);
	fputc('}', rows->file);
}

/* Rows */

/* The number of the heap whose blocks a row holds, plus one; 0 = none. */
static int64_t
contents_of(const struct th_profile *profile, const struct th_row *row)
{
	enum th_heap heap = th_profile_contents(profile, row);

	return heap ? heap - TH_HEAP_JAVA + 1 : 0;
}

static void
print_rows(struct rows *rows)
{
	const struct th_profile *profile = rows->profile;
	struct th_page_names *names = rows->names;
	const struct th_row *row = profile->rows;
	size_t count = profile->rows_count;
	FILE *file = rows->file;

	fprintf(file, ",\n\"rows\":{\"count\":%zu", count);
	th_page_integers(file, ",", "heap", i, count, row[i].heap - TH_HEAP_JAVA);
	th_page_integers(file, ",", "thread", i, count,
		th_page_index(&names->strings,
			th_frames_function(profile->frames, row[i].thread)->name));
	th_page_integers(file, ",", "class", i, count,
		th_page_index(&names->strings, row[i].class_name));
	th_page_integers(file, ",", "node", i, count, (int64_t)names->row_nodes[i] - 1);
	th_page_integers(file, ",", "site", i, count,
		th_page_index(&names->strings, th_frames_intern(profile->frames,
						       th_sites_row_text(profile, &row[i]))));
	th_page_integers(file, ",", "package", i, count,
		th_page_names_group(names, TH_GROUP_PACKAGE, &row[i]));
	th_page_integers(file, ",", "library", i, count,
		th_page_names_group(names, TH_GROUP_LIBRARY, &row[i]));
	th_page_integers(file, ",", "contains", i, count, contents_of(profile, &row[i]));
	for (int figure = 0; figure < FIGURES; figure++)
		th_page_integers(file, ",", figure_names[figure], i, count,
			intern_sum(rows, (struct sum_at){(uint32_t)i, (enum figure)figure}));
	fputc('}', file);
	print_sums(rows);
}

/* Heaps */

static json_t *
estimate_json(const struct th_estimate *estimate)
{
	return th_json("estimate low high", estimate->estimate, estimate->low, estimate->high);
}

static json_t *
sums_json(const struct th_sums *sums)
{
	return th_json("seen unseen variance doubt", sums->seen, sums->unseen, sums->variance,
		doubt_of(sums));
}

/* The calibration that applies to sums of a figure. */
static struct th_calibration
calibration_of(const struct rows *rows, enum th_heap heap, enum figure figure)
{
	const struct th_profile *profile = rows->profile;
	const struct th_moment *moment = &profile->end;

	if (figure == (enum figure)TH_MEASURE_ALLOC)
		return profile->heaps[heap];
	if (figure == (enum figure)TH_MEASURE_LIVE)
		moment = &profile->at;
	if (figure == FIGURE_PEAK)
		moment = rows->peak;
	return th_lifetimes_calibration(
		&profile->lifetimes, &profile->heaps[heap], heap, moment, 1);
}

/* The sum of all rows.  Without samples it is zero, as it is for each row. */
static json_t *
figure_json(const struct rows *rows, enum th_heap heap, enum figure figure)
{
	struct th_calibration calibration = calibration_of(rows, heap, figure);
	const struct th_estimator *sum = figure == FIGURE_PEAK
						 ? &rows->peak_selected[heap]
						 : &rows->profile->selected[heap][figure];
	struct th_estimate bytes = {0};
	struct th_estimate objects = {0};

	if (sum->samples) {
		bytes = th_calibration_bytes(&calibration, sum);
		objects = th_calibration_objects(&calibration, sum);
		if (figure == (enum figure)TH_MEASURE_ALLOC)
			bytes = th_profile_total(rows->profile, heap);
		if (figure == (enum figure)TH_MEASURE_LIVE)
			bytes = th_profile_live(rows->profile, heap);
	}
	return th_json("share gap bytes objects", (bool)calibration.is_calibrated,
		calibration.gap, estimate_json(&bytes), estimate_json(&objects));
}

/* The part of the whole that is in no row. */
static json_t *
outside_json(const struct rows *rows, enum th_heap heap)
{
	struct th_estimator outside = rows->profile->heaps[heap].whole;

	th_estimator_subtract(&outside, &rows->profile->selected[heap][TH_MEASURE_ALLOC]);
	return th_json("samples covariance bytes objects", outside.samples, outside.covariance,
		sums_json(&outside.bytes), sums_json(&outside.objects));
}

static json_t *
heap_json(const struct rows *rows, enum th_heap heap)
{
	const struct th_calibration *calibration = &rows->profile->heaps[heap];
	json_t *figures = json_object();

	for (int figure = 0; figure < FIGURES; figure++)
		th_json_put(figures, figure_names[figure],
			figure_json(rows, heap, (enum figure)figure));
	return th_json("exact bytes total_error outside figures",
		(bool)calibration->bytes.exact, estimate_json(&calibration->bytes),
		calibration->total_error, outside_json(rows, heap), figures);
}

static json_t *
heaps_json(const struct rows *rows)
{
	json_t *heaps = json_array();

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		th_json_append(heaps, th_profile_has_heap(rows->profile, (enum th_heap)heap)
					      ? heap_json(rows, (enum th_heap)heap)
					      : NULL);
	return heaps;
}

void
th_page_rows_print(FILE *file, struct th_page_names *names, const struct th_moment *peak)
{
	struct rows rows = {
		.file = file,
		.profile = names->profile,
		.names = names,
		.peak = peak,
	};

	sum_peak(&rows);
	print_rows(&rows);
	th_page_print_json(file, ",\n\"heaps\":", heaps_json(&rows));
	th_id_map_deinit(&rows.sum_ids);
	free(rows.sums);
	free(rows.peaks);
}
