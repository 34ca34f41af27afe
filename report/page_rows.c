/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/allocate.h"
#include "report/page_columns.h"

/* What the page can show of a row; the first ones are those of enum th_measure. */
enum figure { FIGURE_PEAK = TH_MEASURE_TEMPORARY + 1, FIGURES };

static const char *const figure_names[FIGURES] = {
	[TH_MEASURE_ALLOC] = "alloc",
	[TH_MEASURE_LIVE] = "live",
	[TH_MEASURE_TEMPORARY] = "temp",
	[FIGURE_PEAK] = "peak",
};

/*
 * Estimates by what they are made of: most rows are one sample or two, and many of them are
 * alike, while an interval takes microseconds.
 */
#define KNOWN (1u << 14)

struct known {
	struct th_estimator sum;
	enum th_heap heap;
	enum th_measure measure;
	struct th_estimate bytes;
	struct th_estimate objects;
};

struct rows {
	FILE *file;
	const struct th_profile *profile;
	const struct th_page_names *names;
	const struct th_moment *peak;
	struct th_estimator *peaks;                  /* by row */
	struct th_estimator peak_selected[TH_HEAPS]; /* sums of all rows */
	struct known *known; /* KNOWN, by hash; `sum.samples` 0 = free */
};

/* What was alive at the peak */

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

			if (row == TH_NO_ROW ||
				!th_lifetimes_is_live(lifetimes, heap, k, rows->peak))
				continue;
			th_lifetimes_add(lifetimes, &profile->heaps[heap], &samples->items[k],
				keep, &rows->peaks[row]);
			th_lifetimes_add(lifetimes, &profile->heaps[heap], &samples->items[k],
				keep, &rows->peak_selected[heap]);
		}
	}
}

/* Figures */

static const struct th_estimator *
sum_of(const struct rows *rows, size_t row, enum figure figure)
{
	return figure == FIGURE_PEAK ? &rows->peaks[row]
				     : &rows->profile->rows[row].sums[figure];
}

/* Of what tells sums apart. */
static uint64_t
hash_sum(const struct th_estimator *sum)
{
	const double parts[] = {sum->bytes.seen, sum->bytes.unseen, sum->objects.unseen};
	uint64_t hash = sum->samples;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint64_t word;

		memcpy(&word, &parts[i], sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Where all ends are known, all measures are read alike: see th_profile_bytes(). */
static enum th_measure
reading_of(const struct th_profile *profile, enum th_heap heap, enum th_measure measure)
{
	bool is_alike = th_lifetimes_keep(&profile->lifetimes, heap, &profile->at) >= 1 &&
			th_lifetimes_keep(&profile->lifetimes, heap, &profile->end) >= 1;

	return is_alike ? TH_MEASURE_ALLOC : measure;
}

/* The entry of a sum, filled in. */
static const struct known *
know(const struct rows *rows, enum th_heap heap, enum th_measure measure,
	const struct th_estimator *sum)
{
	enum th_measure reading = reading_of(rows->profile, heap, measure);
	struct known *known = &rows->known[(hash_sum(sum) + 2 * reading + heap) % KNOWN];

	if (known->heap == heap && known->measure == reading &&
		!memcmp(&known->sum, sum, sizeof(*sum)))
		return known;
	*known = (struct known){
		.sum = *sum,
		.heap = heap,
		.measure = reading,
		.bytes = th_profile_bytes(rows->profile, heap, measure, sum),
		.objects = th_profile_objects(rows->profile, heap, measure, sum),
	};
	return known;
}

/*
 * Bytes and objects of a sum.  Nothing seen reads as nothing: the bound that holds for it would
 * hold for every row.
 */
static void
look(const struct rows *rows, enum th_heap heap, enum figure figure,
	const struct th_estimator *sum, struct th_estimate *bytes_ret,
	struct th_estimate *objects_ret)
{
	enum th_measure measure = figure == FIGURE_PEAK ? TH_MEASURE_LIVE
							: (enum th_measure)figure;

	*bytes_ret = *objects_ret = (struct th_estimate){0};
	if (!sum->samples)
		return;
	const struct known *known = know(rows, heap, measure, sum);
	*bytes_ret = known->bytes;
	*objects_ret = known->objects;
}

/* `count` estimates as three columns. */
static void
print_estimates(FILE *file, const char *name, const struct th_estimate *estimates, size_t count)
{
	fprintf(file, "\"%s\":{", name);
	th_page_begin_column(file, "", "estimate");
	for (size_t i = 0; i < count; i++)
		th_page_print_number(file, i, estimates[i].estimate);
	th_page_begin_column(file, "],", "low");
	for (size_t i = 0; i < count; i++)
		th_page_print_number(file, i, estimates[i].low);
	th_page_begin_column(file, "],", "high");
	for (size_t i = 0; i < count; i++)
		th_page_print_number(file, i, estimates[i].high);
	fputs("]},", file);
}

static void
print_row_figure(const struct rows *rows, enum figure figure)
{
	size_t count = rows->profile->rows_count;
	struct th_estimate *bytes = th_allocate(count, sizeof(*bytes));
	struct th_estimate *objects = th_allocate(count, sizeof(*objects));

	for (size_t i = 0; i < count; i++)
		look(rows, rows->profile->rows[i].heap, figure, sum_of(rows, i, figure),
			&bytes[i], &objects[i]);
	fprintf(rows->file, ",\n\"%s\":{", figure_names[figure]);
	print_estimates(rows->file, "bytes", bytes, count);
	print_estimates(rows->file, "objects", objects, count);
	th_page_begin_column(rows->file, "", "samples");
	for (size_t i = 0; i < count; i++)
		th_page_print_integer(rows->file, i, (int64_t)sum_of(rows, i, figure)->samples);
	fputs("]}", rows->file);
	free(bytes);
	free(objects);
}

static void
print_rows(const struct rows *rows)
{
	const struct th_profile *profile = rows->profile;

	th_page_begin_column(rows->file, ",\n\"rows\":{", "heap");
	for (size_t i = 0; i < profile->rows_count; i++)
		th_page_print_integer(rows->file, i, profile->rows[i].heap - TH_HEAP_JAVA);
	th_page_begin_column(rows->file, "],", "thread");
	for (size_t i = 0; i < profile->rows_count; i++)
		th_page_print_integer(rows->file, i,
			th_page_names_string(rows->names,
				th_frames_function(profile->frames, profile->rows[i].thread)
					->name));
	th_page_begin_column(rows->file, "],", "class");
	for (size_t i = 0; i < profile->rows_count; i++)
		th_page_print_integer(rows->file, i,
			th_page_names_string(rows->names, profile->rows[i].class_name));
	th_page_begin_column(rows->file, "],", "node");
	for (size_t i = 0; i < profile->rows_count; i++)
		th_page_print_integer(rows->file, i, (int64_t)rows->names->row_nodes[i] - 1);
	th_page_begin_column(rows->file, "],", "package");
	for (size_t i = 0; i < profile->rows_count; i++)
		th_page_print_integer(rows->file, i, rows->names->row_packages[i]);
	th_page_begin_column(rows->file, "],", "library");
	for (size_t i = 0; i < profile->rows_count; i++)
		th_page_print_integer(rows->file, i, rows->names->row_libraries[i]);
	fputc(']', rows->file);
	for (int figure = 0; figure < FIGURES; figure++)
		print_row_figure(rows, (enum figure)figure);
	fputc('}', rows->file);
}

static void
print_total(const struct rows *rows, enum th_heap heap)
{
	const char *before = "";

	if (!th_profile_has_heap(rows->profile, heap)) {
		fputs("null", rows->file);
		return;
	}
	fputc('{', rows->file);
	for (int figure = 0; figure < FIGURES; figure++, before = ",") {
		const struct th_estimator *sum =
			figure == FIGURE_PEAK ? &rows->peak_selected[heap]
					      : &rows->profile->selected[heap][figure];

		fprintf(rows->file, "%s\"%s\":{", before, figure_names[figure]);
		struct th_estimate bytes;
		struct th_estimate objects;
		look(rows, heap, (enum figure)figure, sum, &bytes, &objects);
		print_estimates(rows->file, "bytes", &bytes, 1);
		print_estimates(rows->file, "objects", &objects, 1);
		fprintf(rows->file, "\"samples\":[%" PRIu64 "]}", sum->samples);
	}
	fputc('}', rows->file);
}

void
th_page_rows_print(FILE *file, const struct th_page_names *names, const struct th_moment *peak)
{
	struct rows rows = {
		.file = file,
		.profile = names->profile,
		.names = names,
		.peak = peak,
		.known = th_allocate(KNOWN, sizeof(struct known)),
	};

	sum_peak(&rows);
	print_rows(&rows);
	fputs(",\n\"totals\":[", file);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		fputs(heap > TH_HEAP_JAVA ? "," : "", file);
		print_total(&rows, (enum th_heap)heap);
	}
	fputc(']', file);
	free(rows.peaks);
	free(rows.known);
}
