/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the samples of a heap: the first finds the known bytes of each thread at both
 * borders of the window, the second sums with the factors.
 */
#include "report/statistics/calibration.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"

/* Bytes outside all thread records that a bounded window may ignore. */
#define NEGLIGIBLE_PART 1e-3

/* The latest record of a thread's bytes at or before a time. */
struct knowledge {
	uint64_t bytes;
	const struct th_sample
		*sample; /* NULL: a THREAD_BYTES record, nothing allocated since */
};

struct thread_state {
	struct th_estimator sum; /* of its samples in the window, factor 1 */
	struct knowledge from;
	struct knowledge to;
};

struct work {
	const struct th_recording *recording;
	const struct th_window *window;
	enum th_heap heap;
	double gap;
	const struct th_weight_classes *classes;
	struct th_factors factors;
	struct thread_state *threads; /* the last one: all threads without an entry */
	size_t thread_count;
	uint64_t quiet_bytes;          /* of threads without any record */
	struct th_estimator cut;       /* last samples before the window's end */
	struct th_estimator uncounted; /* samples of threads without a count */
	struct th_estimator sampled;   /* all samples in the window, factor 1 */
	struct th_estimate total;
};

/* Known bytes of each thread */

static bool
is_bounded(const struct th_window *window)
{
	return window->from > 0 || window->to < UINT64_MAX;
}

static void
learn(struct knowledge *knowledge, uint64_t bytes, const struct th_sample *sample)
{
	if (bytes > knowledge->bytes || (bytes == knowledge->bytes && !sample))
		*knowledge = (struct knowledge){bytes, sample};
}

static void
learn_at(const struct th_window *window, uint64_t time, uint64_t bytes,
	const struct th_sample *sample, struct knowledge *from, struct knowledge *to)
{
	if (time < window->from)
		learn(from, bytes, sample);
	if (time < window->to)
		learn(to, bytes, sample);
}

/* Mapped bytes are counted for the whole process, in one state. */
static size_t
account_of(const struct work *work, size_t thread)
{
	return work->heap == TH_HEAP_MAPPED ? 0 : thread;
}

static void
add_sample(struct work *work, size_t thread, const struct th_sample *sample)
{
	struct th_estimator one = {0};

	th_sample_add(&one, work->recording, sample, (double)sample->keep, 1);
	th_estimator_merge(&work->threads[thread].sum, &one);
	th_estimator_merge(&work->sampled, &one);
	th_factors_add(
		&work->factors, thread, th_weight_class(work->classes, sample), &one.bytes);
}

static void
learn_from_samples(struct work *work)
{
	const struct th_samples *samples = th_recording_allocations(
		work->recording, work->heap);

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		size_t index = account_of(work, th_recording_thread(work->recording, sample));
		struct thread_state *thread = &work->threads[index];

		if (!sample->thread_bytes)
			work->factors.threads[index].is_unknown = true;
		learn_at(work->window, sample->time, sample->thread_bytes, sample,
			&thread->from, &thread->to);
		if (th_window_holds(work->window, sample->time))
			add_sample(work, index, sample);
	}
}

static void
learn_from_records(struct work *work)
{
	const struct th_recording *recording = work->recording;

	for (size_t i = 0; i < recording->thread_bytes_count; i++) {
		const struct th_decoded_thread_bytes *record = &recording->thread_bytes[i];
		bool is_others = record->thread == TH_ID_MAP_NONE;
		struct thread_state *thread =
			&work->threads[is_others ? work->thread_count - 1 : record->thread];

		if (record->heap == work->heap)
			learn_at(work->window, record->time, record->bytes, NULL, &thread->from,
				&thread->to);
	}
}

static void
learn_from_uses(struct work *work)
{
	const struct th_recording *recording = work->recording;

	for (size_t i = 0; i < recording->mapped_uses_count; i++)
		learn_at(work->window, recording->mapped_uses[i].time,
			recording->mapped_uses[i].allocated, NULL, &work->threads[0].from,
			&work->threads[0].to);
}

/* Bytes up to a border: exact before the last sample, plus the weight of that sample. */
static double
bytes_before(const struct knowledge *knowledge)
{
	if (!knowledge->sample)
		return (double)knowledge->bytes;
	return (double)knowledge->bytes - (double)knowledge->sample->size;
}

static void
add_last_sample(
	const struct work *work, const struct knowledge *knowledge, struct th_estimator *sum)
{
	const struct th_sample *sample = knowledge->sample;

	if (sample)
		th_estimator_add(sum, sample->size,
			th_recording_sample_interval(work->recording, sample),
			(double)sample->keep, 1);
}

static double
estimated_bytes(const struct work *work, const struct knowledge *knowledge)
{
	struct th_estimator last = {0};

	add_last_sample(work, knowledge, &last);
	return bytes_before(knowledge) + th_sums_point(&last.bytes);
}

/* The total */

/*
 * Whether the counts reach the end of the window: the log is complete and the last record of
 * each thread is a count.
 */
static bool
is_counted_to_end(const struct work *work)
{
	return work->recording->is_complete && work->window->to == UINT64_MAX &&
	       !work->cut.samples;
}

/* The sum of the counts and, where the counts end early, an estimate of the rest. */
static void
find_total(struct work *work)
{
	struct th_estimator cut_from = {0};
	double counted = 0;

	if (!is_bounded(work->window))
		work->threads[work->thread_count - 1].to.bytes += work->quiet_bytes;
	for (size_t i = 0; i < work->thread_count; i++) {
		const struct thread_state *thread = &work->threads[i];

		if (work->factors.threads[i].is_unknown) {
			th_estimator_merge(&work->uncounted, &thread->sum);
			continue;
		}
		counted += bytes_before(&thread->to) - bytes_before(&thread->from);
		add_last_sample(work, &thread->to, &work->cut);
		add_last_sample(work, &thread->from, &cut_from);
	}
	work->total = th_estimate_exact(counted, 0);
	if (!is_counted_to_end(work)) {
		struct th_estimate cut = th_estimate_bytes(&work->cut, NULL, work->gap);

		work->total = th_estimate_sum(&work->total, &cut);
	}
	if (cut_from.samples) {
		struct th_estimate cut = th_estimate_bytes(&cut_from, NULL, work->gap);

		work->total = th_estimate_difference(&work->total, &cut);
	}
	if (work->uncounted.samples) {
		struct th_estimate rest = th_estimate_bytes(&work->uncounted, NULL, work->gap);

		work->total = th_estimate_sum(&work->total, &rest);
	}
}

/* Finds the factors of the window's samples from its counted bytes. */
static void
find_factors(struct th_calibration *calibration, struct work *work)
{
	struct th_factors *factors = &work->factors;

	for (size_t i = 0; i < work->thread_count; i++) {
		const struct thread_state *thread = &work->threads[i];

		factors->threads[i].bytes = estimated_bytes(work, &thread->to) -
					    estimated_bytes(work, &thread->from);
	}
	th_factors_find(factors, work->gap);
	for (size_t i = 0; i < work->recording->thread_names_count; i++) {
		size_t index = account_of(work, work->recording->thread_names[i].thread);

		for (uint32_t k = 0; k < factors->classes; k++)
			calibration->factors[i * factors->classes + k] =
				factors->parts[index * factors->classes + k].factor;
	}
}

/* Validity of the total */

/*
 * Whether the counts cover this window: a count below the bytes seen in samples cannot be
 * right, and a bounded window lacks threads that wrote no record, whose time is not known.
 */
static bool
is_total_counted(const struct work *work, const struct th_estimate *sampled, double seen_bytes)
{
	const struct th_estimate *total = &work->total;
	bool has_unplaced_bytes = (double)work->quiet_bytes > NEGLIGIBLE_PART * total->estimate;

	if (total->high < seen_bytes || (is_bounded(work->window) && has_unplaced_bytes))
		return false;
	return total->exact || total->high - total->low < sampled->high - sampled->low;
}

/*
 * Whether factors from the counts improve shares. Counts that end at samples on both sides, as
 * in a short window with many threads, may be no better than the samples themselves.
 */
static bool
are_factors_worth_it(const struct work *work, const struct th_estimate *sampled)
{
	double counted_width = work->total.high - work->total.low;
	uint64_t counted_samples = sampled->samples - work->uncounted.samples;

	return counted_samples >= TH_SAMPLES_PER_FACTOR && !sampled->exact &&
	       2 * counted_width < sampled->high - sampled->low;
}

/* One heap in one window */

/* `is_live`: of samples that are alive, which a ring keeps. */
static double
thin_gap(const struct th_recording *recording, enum th_heap heap,
	const struct th_window *window, bool is_live)
{
	const struct th_samples *samples = th_recording_allocations(recording, heap);
	struct th_mean_interval gaps = {0};
	size_t count = 0;

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		double keep = (double)sample->keep;

		if (!th_window_holds(window, sample->time))
			continue;
		count++;
		th_mean_interval_add(&gaps, sample->size,
			th_recording_sample_interval(recording, sample), keep,
			is_live ? 1 : keep);
	}
	return count ? th_mean_interval_thin(&gaps) : (double)th_recording_gap(recording, heap);
}

static bool
is_heap_recorded(const struct th_recording *recording, enum th_heap heap)
{
	if (recording->samples[heap].items_count)
		return true;
	if (heap != TH_HEAP_JAVA)
		return th_recording_heaps(recording) & 1u << heap;
	return recording->jvm.features & TH_JVM_SAMPLED_ALLOC;
}

static void
work_init(struct work *work, const struct th_recording *recording, enum th_heap heap,
	const struct th_window *window, const struct th_calibration *calibration)
{
	*work = (struct work){
		.recording = recording,
		.window = window,
		.heap = heap,
		.gap = calibration->gap,
		.classes = &calibration->classes,
		.thread_count = heap == TH_HEAP_MAPPED ? 1 : recording->threads_count + 1,
	};
	work->threads = th_allocate(work->thread_count, sizeof(*work->threads));
	th_factors_init(&work->factors, work->classes->count, work->thread_count);
	if (heap == TH_HEAP_NATIVE)
		work->quiet_bytes = th_recording_counter(recording, "native_bytes_quiet") +
				    th_recording_counter(recording, "ring_native_bytes");
	if (heap == TH_HEAP_JAVA)
		work->quiet_bytes = th_recording_counter(recording, "ring_java_bytes");
	learn_from_samples(work);
	learn_from_records(work);
	if (heap == TH_HEAP_MAPPED)
		learn_from_uses(work);
	find_total(work);
}

/* The window's samples with their factors. */
static struct th_estimator
sum_window(const struct th_calibration *calibration, const struct th_recording *recording,
	enum th_heap heap, const struct th_window *window)
{
	const struct th_samples *samples = &recording->samples[heap];
	struct th_estimator sum = {0};

	for (size_t i = 0; i < samples->items_count; i++) {
		if (th_window_holds(window, samples->items[i].time))
			th_calibration_add(calibration, recording, &samples->items[i], &sum);
	}
	return sum;
}

/* Uses the window's own counts. */
static void
calibrate(struct th_calibration *calibration, const struct th_recording *recording,
	enum th_heap heap, const struct th_window *window)
{
	struct work work;

	work_init(&work, recording, heap, window, calibration);
	/* Parts of mappings are samples of their own. */
	calibration->whole = heap == TH_HEAP_MAPPED
				     ? sum_window(calibration, recording, heap, window)
				     : work.sampled;
	struct th_estimate sampled = th_estimate_bytes(
		&calibration->whole, NULL, calibration->gap);
	bool is_counted = is_total_counted(&work, &sampled, calibration->whole.bytes.seen);

	calibration->bytes = is_counted ? work.total : sampled;
	calibration->bytes.samples = sampled.samples;
	calibration->is_calibrated = is_counted && are_factors_worth_it(&work, &sampled);
	if (calibration->is_calibrated) {
		find_factors(calibration, &work);
		calibration->whole = sum_window(calibration, recording, heap, window);
		calibration->total_error = (work.total.high - work.total.low) / 2 /
					   work.total.estimate;
		calibration->unplaced = work.total.estimate -
					th_sums_point(&calibration->whole.bytes);
	}
	calibration->objects = th_calibration_objects(calibration, &calibration->whole);
	free(work.threads);
	th_factors_deinit(&work.factors);
}

/* Uses the counts of the whole recording: the window is one of its shares. */
static void
calibrate_as_share(struct th_calibration *calibration, const struct th_recording *recording,
	enum th_heap heap, const struct th_window *window)
{
	struct th_calibration all;
	struct th_estimator sum;

	th_calibration_init(&all, recording, heap, &TH_WINDOW_ALL);
	if (all.is_calibrated) {
		sum = sum_window(&all, recording, heap, window);
		all.bytes = th_calibration_bytes(&all, &sum);
		all.objects = th_calibration_objects(&all, &sum);
		th_calibration_deinit(calibration);
		*calibration = all;
		return;
	}
	th_calibration_deinit(&all);
}

void
th_calibration_init(struct th_calibration *calibration, const struct th_recording *recording,
	enum th_heap heap, const struct th_window *window)
{
	*calibration = (struct th_calibration){
		.is_recorded = is_heap_recorded(recording, heap),
		.interval = th_recording_gap(recording, heap),
		.gap = thin_gap(recording, heap, window, false),
	};
	calibration->live_gap = recording->is_ring ? thin_gap(recording, heap, window, true)
						   : calibration->gap;
	th_weight_classes_init(&calibration->classes, recording, heap);
	calibration->factors = th_allocate(recording->thread_names_count,
		calibration->classes.count * sizeof(*calibration->factors));
	for (size_t i = 0; i < recording->thread_names_count * calibration->classes.count; i++)
		calibration->factors[i] = 1;
	calibrate(calibration, recording, heap, window);
	if (!calibration->is_calibrated && is_bounded(window))
		calibrate_as_share(calibration, recording, heap, window);
}

void
th_calibration_deinit(struct th_calibration *calibration)
{
	free(calibration->factors);
	calibration->factors = NULL;
	th_weight_classes_deinit(&calibration->classes);
}

/* Subsets of the samples */

double
th_calibration_thinned_gap(const struct th_calibration *calibration, double keep)
{
	const struct th_estimator *whole = &calibration->whole;

	if (calibration->gap > 0)
		return calibration->gap / keep;
	return whole->samples ? fmax(whole->bytes.seen / (double)whole->samples, 1) / keep : 0;
}

/* The total is itself uncertain. */
static struct th_estimate
widen(const struct th_calibration *calibration, const struct th_estimate *estimate)
{
	double error = calibration->total_error;

	return error > 0 && !estimate->exact ? th_estimate_widen(estimate, error) : *estimate;
}

/* No part of a counted total is larger than the total. */
static struct th_estimate
within_total(const struct th_calibration *calibration, struct th_estimate part)
{
	double total = calibration->bytes.estimate;

	if (calibration->bytes.exact) {
		part.estimate = fmin(part.estimate, total);
		part.low = fmin(part.low, total);
		part.high = fmin(part.high, total);
	}
	return part;
}

struct th_estimate
th_calibration_bytes(const struct th_calibration *calibration, const struct th_estimator *part)
{
	const struct th_estimator *whole = calibration->is_calibrated ? &calibration->whole
								      : NULL;
	struct th_estimate bytes = th_estimate_bytes(part, whole, calibration->gap);

	bytes = widen(calibration, &bytes);
	return within_total(calibration, bytes);
}

struct th_estimate
th_calibration_objects(
	const struct th_calibration *calibration, const struct th_estimator *part)
{
	const struct th_estimator *whole = calibration->is_calibrated ? &calibration->whole
								      : NULL;
	struct th_estimate objects = th_estimate_objects(part, whole, calibration->gap);

	return widen(calibration, &objects);
}
