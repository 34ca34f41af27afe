/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row contains no intervals but the sums that intervals are computed from, so that the page
 * can group rows in any way.  Most rows have one or two samples, and many have equal sums:
 * equal sums are written once.
 */
#include "report/html/page_rows.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"
#include "report/html/page_columns.h"

/* Samples whose row is prefetched: rows are scattered in memory. */
#define AHEAD 16

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
	const struct th_page_names *names;
	const struct th_moment *peak;
	struct th_estimator *peaks;                  /* by row */
	struct th_estimator peak_selected[TH_HEAPS]; /* sums of all rows */
	struct th_id_map sum_ids; /* hash of a sum, incremented on collision */
	TH_ARRAY(struct sum_at, sums);
};

/* Live at the peak */

/* Prefetches the sum to which a sample may be added. */
static void
expect_peak(const struct rows *rows, enum th_heap heap, size_t sample)
{
	const struct th_profile *profile = rows->profile;
	uint32_t row = sample < profile->recording->samples[heap].items_count
			       ? profile->sample_rows[heap][sample]
			       : TH_NO_ROW;

	if (row == TH_NO_ROW)
		return;
	__builtin_prefetch(&rows->peaks[row], 1);
	__builtin_prefetch((const char *)&rows->peaks[row + 1] - 1, 1);
}

static void
sum_peak(struct rows *rows)
{
	const struct th_profile *profile = rows->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;

	rows->peaks = th_allocate(profile->rows_count, sizeof(*rows->peaks));
	for (int i = TH_HEAP_JAVA; i < TH_HEAPS; i++) {
		enum th_heap heap = (enum th_heap)i;
		const struct th_samples *samples = &profile->recording->samples[heap];
		double keep = th_lifetimes_keep(lifetimes, heap, rows->peak);

		for (size_t k = 0; k < samples->items_count; k++) {
			uint32_t row = profile->sample_rows[heap][k];

			expect_peak(rows, heap, k + AHEAD);
			if (row == TH_NO_ROW ||
				!th_lifetimes_is_live(lifetimes, heap, k, rows->peak))
				continue;
			struct th_estimator one = {0};
			th_lifetimes_add(lifetimes, &profile->heaps[heap], (enum th_heap)heap,
				k, &samples->items[k], keep, &one);
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

static void
print_sums_of(const struct rows *rows, const char *name, size_t offset)
{
	static const char *const names[] = {"seen", "unseen", "variance", "doubt"};
	const char *before = "";

	fprintf(rows->file, ",\"%s\":{", name);
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++, before = ",") {
		struct th_page_column column;

		th_page_column_begin(&column, rows->file, before, names[k]);
		for (size_t i = 0; i < rows->sums_count; i++) {
			const struct th_estimator *sum = sum_of(rows, rows->sums[i]);
			const struct th_sums *sums = (const void *)((const char *)sum + offset);
			const double values[] = {
				sums->seen, sums->unseen, sums->variance, doubt_of(sums)};

			th_page_column_add_float(&column, values[k]);
		}
		th_page_column_end(&column);
	}
	fputc('}', rows->file);
}

static void
print_sums(const struct rows *rows)
{
	struct th_page_column column;

	th_page_column_begin(&column, rows->file, ",\n\"sums\":{", "samples");
	for (size_t i = 0; i < rows->sums_count; i++)
		th_page_column_add_integer(
			&column, (int64_t)sum_of(rows, rows->sums[i])->samples);
	th_page_column_end(&column);
	th_page_column_begin(&column, rows->file, ",", "covariance");
	for (size_t i = 0; i < rows->sums_count; i++)
		th_page_column_add_float(&column, sum_of(rows, rows->sums[i])->covariance);
	th_page_column_end(&column);
	print_sums_of(rows, "bytes", offsetof(struct th_estimator, bytes));
	print_sums_of(rows, "objects", offsetof(struct th_estimator, objects));
	fputc('}', rows->file);
}

/* Rows */

/* Value of a column. */
typedef int64_t row_value(const struct rows *, size_t row);

static int64_t
row_heap(const struct rows *rows, size_t row)
{
	return rows->profile->rows[row].heap - TH_HEAP_JAVA;
}

/* The number of the heap whose blocks it holds, plus one; 0 = none. */
static int64_t
row_contains(const struct rows *rows, size_t row)
{
	enum th_heap heap = th_profile_contents(rows->profile, &rows->profile->rows[row]);

	return heap ? heap - TH_HEAP_JAVA + 1 : 0;
}

static int64_t
row_thread(const struct rows *rows, size_t row)
{
	const struct th_profile *profile = rows->profile;

	return th_page_names_string(rows->names,
		th_frames_function(profile->frames, profile->rows[row].thread)->name);
}

static int64_t
row_class(const struct rows *rows, size_t row)
{
	return th_page_names_string(rows->names, rows->profile->rows[row].class_name);
}

static int64_t
row_node(const struct rows *rows, size_t row)
{
	return (int64_t)rows->names->row_nodes[row] - 1;
}

static int64_t
row_package(const struct rows *rows, size_t row)
{
	return rows->names->row_packages[row];
}

static int64_t
row_library(const struct rows *rows, size_t row)
{
	return rows->names->row_libraries[row];
}

static void
print_rows(struct rows *rows)
{
	static const struct {
		const char *name;
		row_value *value;
	} columns[] = {{"heap", row_heap}, {"thread", row_thread}, {"class", row_class},
		{"node", row_node}, {"package", row_package}, {"library", row_library},
		{"contains", row_contains}};
	size_t count = rows->profile->rows_count;
	struct th_page_column column;

	fprintf(rows->file, ",\n\"rows\":{\"count\":%zu", count);
	for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
		th_page_column_begin(&column, rows->file, ",", columns[c].name);
		for (size_t i = 0; i < count; i++)
			th_page_column_add_integer(&column, columns[c].value(rows, i));
		th_page_column_end(&column);
	}
	for (int figure = 0; figure < FIGURES; figure++) {
		th_page_column_begin(&column, rows->file, ",", figure_names[figure]);
		for (uint32_t i = 0; i < count; i++)
			th_page_column_add_integer(&column,
				intern_sum(rows, (struct sum_at){i, (enum figure)figure}));
		th_page_column_end(&column);
	}
	fputc('}', rows->file);
	print_sums(rows);
}

/* Heaps */

static json_t *
estimate_json(const struct th_estimate *estimate)
{
	return json_pack("{s:f, s:f, s:f}", "estimate", estimate->estimate, "low",
		estimate->low, "high", estimate->high);
}

static json_t *
sums_json(const struct th_sums *sums)
{
	return json_pack("{s:f, s:f, s:f, s:f}", "seen", sums->seen, "unseen", sums->unseen,
		"variance", sums->variance, "doubt", doubt_of(sums));
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
	return json_pack("{s:b, s:f, s:o, s:o}", "share", calibration.is_calibrated, "gap",
		calibration.gap, "bytes", estimate_json(&bytes), "objects",
		estimate_json(&objects));
}

/* The part of the whole that is in no row. */
static json_t *
outside_json(const struct rows *rows, enum th_heap heap)
{
	struct th_estimator outside = rows->profile->heaps[heap].whole;

	th_estimator_subtract(&outside, &rows->profile->selected[heap][TH_MEASURE_ALLOC]);
	return json_pack("{s:I, s:f, s:o, s:o}", "samples", (json_int_t)outside.samples,
		"covariance", outside.covariance, "bytes", sums_json(&outside.bytes), "objects",
		sums_json(&outside.objects));
}

static json_t *
heap_json(const struct rows *rows, enum th_heap heap)
{
	const struct th_calibration *calibration = &rows->profile->heaps[heap];
	json_t *figures = json_object();

	for (int figure = 0; figure < FIGURES; figure++)
		json_object_set_new(figures, figure_names[figure],
			figure_json(rows, heap, (enum figure)figure));
	return json_pack("{s:b, s:o, s:o, s:f, s:f, s:o, s:o}", "exact",
		calibration->bytes.exact, "bytes", estimate_json(&calibration->bytes),
		"objects", estimate_json(&calibration->objects), "total_error",
		calibration->total_error, "share_error", calibration->share_error, "outside",
		outside_json(rows, heap), "figures", figures);
}

static void
print_heaps(const struct rows *rows)
{
	json_t *heaps = json_array();

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		json_array_append_new(
			heaps, th_profile_has_heap(rows->profile, (enum th_heap)heap)
				       ? heap_json(rows, (enum th_heap)heap)
				       : json_null());
	fputs(",\n\"heaps\":", rows->file);
	th_page_print_json(rows->file, heaps);
}

void
th_page_rows_print(FILE *file, const struct th_page_names *names, const struct th_moment *peak)
{
	struct rows rows = {
		.file = file,
		.profile = names->profile,
		.names = names,
		.peak = peak,
	};

	sum_peak(&rows);
	print_rows(&rows);
	print_heaps(&rows);
	th_id_map_deinit(&rows.sum_ids);
	free(rows.sums);
	free(rows.peaks);
}
