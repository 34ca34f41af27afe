/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording filtered by the options of a view: one row for each heap, class, thread and
 * stack, with the sums of its samples: of allocated bytes, of live ones at the time of the
 * view, of short-lived ones. Every figure of a view is a sum of rows.
 */
#ifndef TH_REPORT_PROFILE_PROFILE_H
#define TH_REPORT_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"
#include "report/profile/filter.h"
#include "report/profile/options.h"
#include "report/statistics/calibration.h"
#include "report/statistics/estimate.h"
#include "report/statistics/lifetimes.h"
#include "report/statistics/teardown.h"
#include "report/symbols/call_paths.h"
#include "report/symbols/frames.h"

/* Row of samples that the options leave out. */
#define TH_NO_ROW UINT32_MAX

/* Its sums: th_profile_row_sum(). */
struct th_row {
	enum th_heap heap;
	uint32_t thread;     /* function number of the thread's label, a TH_KIND_GROUP */
	uint32_t class_name; /* string number; 0 = none (native, or not known) */
	uint32_t path;
	uint32_t shown;   /* the path, below the frame of the VM's group if it is shown there */
	bool is_internal; /* a thread of the VM itself */
	bool shows_internal; /* `shown` has that frame */
	bool shows_thread;   /* shown below its thread */
};

struct th_profile {
	const struct th_recording *recording;
	const struct th_options *options;
	struct th_window window;
	struct th_calibration heaps[TH_HEAPS];
	struct th_lifetimes lifetimes;
	bool *internal_threads; /* by index of the thread: th_frames_find_vm_threads() */
	struct th_teardown teardown;
	struct th_moment at;   /* time at which live values are taken */
	struct th_moment end;  /* of the recording */
	struct th_moment peak; /* see th_profile_peak() */
	double java_bound;     /* th_heap_use_bound() at `at` */
	/*
	 * The snapshot of resident memory nearest to `at` that has data on blocks; NULL: none.
	 */
	const struct th_decoded_account *account;
	struct th_frames *frames;
	struct th_paths *paths;
	struct th_filter *filter;
	bool is_whole; /* rows have whole stacks, even if the options shape them */
	TH_ARRAY(struct th_row, rows);
	uint32_t *sample_rows[TH_HEAPS]; /* by index of the sample; TH_NO_ROW */
	/* By row. In separate arrays: a view needs some, and untouched ones take no memory. */
	struct th_estimator *sums[TH_MEASURES];
	struct th_estimator selected[TH_HEAPS][TH_MEASURES]; /* sums of all rows */
	struct th_estimator
		left_out[TH_HEAPS]
			[TH_MEASURES]; /* selected by patterns alone, not by heap and time */
	uint32_t internal_group;       /* function number of "[JVM-internal]" */
};

/*
 * Sums up the samples that the options select. Recording and options must outlive the profile;
 * `warn` receives what the recording leaves out, and modules without symbols, once each.
 */
struct th_profile *th_profile_create(const struct th_recording *recording,
	const struct th_options *options, th_symbols_warn *warn, void *warn_data);
void th_profile_destroy(struct th_profile *profile);

/* Frees the sums of the rows, for which nothing asks any more. */
void th_profile_forget_sums(struct th_profile *profile);

/*
 * The same samples with whole stacks, for verdicts that depend on hidden frames. It shares frames, paths and filter with `profile`, which must outlive
 * it; th_filter_shape() gives the paths to show.
 */
struct th_profile *th_profile_create_whole(const struct th_profile *profile);

/* The snapshot of resident memory that --at selects; NULL without snapshots. */
const struct th_decoded_account *th_profile_chosen_account(const struct th_profile *profile);

/* The time of the most live bytes: known if the options want it, computed otherwise. */
struct th_moment th_profile_peak(const struct th_profile *profile);

/* Whether live values are taken at the last time before the process began to end. */
bool th_profile_is_before_teardown(const struct th_profile *profile);

/*
 * The time at which live values are taken, and why: "at the end", "at 14.2 s, before the process's
 * exit handlers ran".
 */
const char *th_profile_moment_text(const struct th_profile *profile);

/* Whether the options select this heap and it was recorded. */
bool th_profile_has_heap(const struct th_profile *profile, enum th_heap heap);

/*
 * The heap whose blocks a row of mapped memory holds, if the options select it: a sum over heaps
 * must leave the row out, or it counts these twice. 0: none.
 */
enum th_heap th_profile_contents(const struct th_profile *profile, const struct th_row *row);

/*
 * Whether a sample (by index) counts for a measure, TH_MEASURE_TOUCHED aside, whatever the options
 * select; adds one that does to a sum.
 */
bool th_profile_counts(const struct th_profile *profile, enum th_measure measure,
	enum th_heap heap, size_t index);
void th_profile_add(const struct th_profile *profile, enum th_measure measure,
	enum th_heap heap, size_t index, struct th_estimator *sum);

/*
 * Bytes and objects of some rows of a heap. Rows that have every sample may still be less than
 * the whole: for that see th_profile_whole().
 */
struct th_estimate th_profile_bytes(const struct th_profile *profile, enum th_heap heap,
	enum th_measure measure, const struct th_estimator *sum);
struct th_estimate th_profile_objects(const struct th_profile *profile, enum th_heap heap,
	enum th_measure measure, const struct th_estimator *sum);

/* As th_profile_bytes() without the interval, which takes a search. */
double th_profile_bytes_point(const struct th_profile *profile, enum th_heap heap,
	enum th_measure measure, const struct th_estimator *sum);

/* Allocated bytes of everything selected; the exact count if nothing is filtered. */
struct th_estimate th_profile_total(const struct th_profile *profile, enum th_heap heap);

/* Live bytes of everything selected, at the time of the view; counted where that is known. */
struct th_estimate th_profile_live(const struct th_profile *profile, enum th_heap heap);

/* Bytes or objects of some rows, whichever the view shows. */
struct th_estimate th_profile_value(
	const struct th_profile *profile, enum th_heap heap, const struct th_estimator *sum);

/* The same of everything selected, counted where that is known. */
struct th_estimate th_profile_whole(const struct th_profile *profile, enum th_heap heap);

/* As th_profile_value without the interval: cheap enough for sorting. */
double th_profile_point(const struct th_profile *profile, const struct th_estimator *sum);

/* The sum of a row for a measure. */
static inline const struct th_estimator *
th_profile_row_sum(
	const struct th_profile *profile, const struct th_row *row, enum th_measure measure)
{
	return &profile->sums[measure][row - profile->rows];
}

/* The sum of a row, or of all rows of a heap, for the measure of the view. */
const struct th_estimator *
th_profile_sum(const struct th_profile *profile, const struct th_row *row);
const struct th_estimator *
th_profile_selected(const struct th_profile *profile, enum th_heap heap);

/* The string number of the name of a class of the recording, by index; 0 = unknown. */
uint32_t th_profile_class_name(const struct th_profile *profile, uint32_t index);

/* Seconds of a time since the start of the recording. */
double th_profile_seconds(const struct th_profile *profile, uint64_t time);

/*
 * The function with this index of a row from its root: group of threads, thread, frames; false if
 * there are fewer.
 */
bool th_profile_function_at(const struct th_profile *profile, const struct th_row *row,
	uint32_t index, uint32_t *function_ret);

#endif
