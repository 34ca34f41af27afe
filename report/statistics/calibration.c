/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the samples of a heap: the first finds the known bytes of each thread at both
 * borders of the window and groups the threads, the second sums with the groups' factors.
 */
#include "report/statistics/calibration.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/statistics/mean_interval.h"

/* A factor from fewer samples would be noise rather than a correction. */
#define SAMPLES_PER_FACTOR 100
/* Rare sites are not thinned for others: in this time one of them has the highest keep. */
#define RARE_NS 100000000
/*
 * A group that should have had SAMPLES_PER_FACTOR samples and was passed over still gets a
 * factor with at least this many.
 */
#define SAMPLES_AT_LEAST 5
/*
 * On the VMs whose sampler is biased (JDK-8356372), objects just outside the TLABs of many
 * small threads are up to 7 % off after all corrections: measured on 17 and 21 in thirteen
 * mixes of sizes, 1 to 200 threads.
 */
#define CURED_SHARE_ERROR 0.07
/* Bytes outside all thread records that a bounded window may ignore. */
#define NEGLIGIBLE_PART 1e-3

/* The latest record of a thread's bytes at or before a time. */
struct knowledge {
	uint64_t bytes;
	const struct th_sample
		*sample; /* NULL: a THREAD_BYTES record, nothing allocated since */
};

/* Per-thread data for the factors. */
struct thread_state {
	struct knowledge from;
	struct knowledge to;
	bool is_unknown; /* its samples have no byte count */
	uint32_t group;
	struct th_estimator sum; /* of its samples in the window, factor 1 */
};

/* Threads that share one factor. */
struct group {
	struct th_estimator sum;
	double bytes; /* counted bytes */
};

struct work {
	const struct th_recording *recording;
	const struct th_window *window;
	enum th_heap heap;
	uint64_t interval;
	double gap;
	struct thread_state *threads;
	size_t thread_count;
	struct knowledge others_from; /* threads without an entry, treated as one */
	struct knowledge others_to;
	uint64_t quiet_bytes;          /* of threads without any record */
	struct th_estimator cut;       /* last samples before the window's end */
	struct th_estimator uncounted; /* samples of threads without a count */
	double counted;                /* exact part of the total */
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
learn_from_samples(struct work *work)
{
	const struct th_samples *samples = th_recording_allocations(
		work->recording, work->heap);

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		uint32_t index = th_recording_thread(work->recording, sample);
		struct thread_state *thread = &work->threads[account_of(work, index)];

		if (!sample->thread_bytes)
			thread->is_unknown = true;
		learn_at(work->window, sample->time, sample->thread_bytes, sample,
			&thread->from, &thread->to);
		if (th_window_holds(work->window, sample->time))
			th_sample_add(
				&thread->sum, work->recording, sample, (double)sample->keep, 1);
	}
}

static void
learn_from_records(struct work *work)
{
	const struct th_recording *recording = work->recording;

	for (size_t i = 0; i < recording->thread_bytes_count; i++) {
		const struct th_thread_bytes_info *record = &recording->thread_bytes[i];
		bool is_others = record->thread == TH_ID_MAP_NONE;

		if (record->heap != work->heap)
			continue;
		learn_at(work->window, record->time, record->bytes, NULL,
			is_others ? &work->others_from : &work->threads[record->thread].from,
			is_others ? &work->others_to : &work->threads[record->thread].to);
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

	work->counted = bytes_before(&work->others_to) - bytes_before(&work->others_from);
	if (!is_bounded(work->window))
		work->counted += (double)work->quiet_bytes;
	for (size_t i = 0; i < work->thread_count; i++) {
		const struct thread_state *thread = &work->threads[i];

		if (thread->is_unknown) {
			th_estimator_merge(&work->uncounted, &thread->sum);
			continue;
		}
		work->counted += bytes_before(&thread->to) - bytes_before(&thread->from);
		add_last_sample(work, &thread->to, &work->cut);
		add_last_sample(work, &thread->from, &cut_from);
	}
	work->total = th_estimate_exact(work->counted, 0);
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

/* Groups and their factors */

/* Group 0 pools threads with few samples; every other thread is a separate group. */
static uint32_t
assign_groups(struct work *work)
{
	uint32_t group_count = 1;

	for (size_t i = 0; i < work->thread_count; i++) {
		struct thread_state *thread = &work->threads[i];

		if (!thread->is_unknown && thread->sum.samples >= SAMPLES_PER_FACTOR)
			thread->group = group_count++;
	}
	return group_count;
}

static void
sum_groups(const struct work *work, struct group *groups)
{
	groups[0].bytes = bytes_before(&work->others_to) - bytes_before(&work->others_from) +
			  (is_bounded(work->window) ? 0 : (double)work->quiet_bytes);
	for (size_t i = 0; i < work->thread_count; i++) {
		const struct thread_state *thread = &work->threads[i];
		struct group *group = &groups[thread->group];

		if (thread->is_unknown)
			continue;
		th_estimator_merge(&group->sum, &thread->sum);
		group->bytes += estimated_bytes(work, &thread->to) -
				estimated_bytes(work, &thread->from);
	}
}

/*
 * Whether the bytes correspond to at least SAMPLES_PER_FACTOR samples. A group of that size
 * with far fewer shows that the sampler missed its threads (HotSpot before 25 misses short
 * threads): samples of other threads must not compensate for its bytes.
 */
static bool
is_large(const struct work *work, const struct group *group)
{
	return group->bytes >= SAMPLES_PER_FACTOR * (double)work->interval;
}

/* A pool too small for its own factor shares one with the group that has the fewest samples. */
static void
settle_pool(const struct work *work, struct group *groups, uint32_t group_count)
{
	uint32_t fewest = 1;

	if (groups[0].sum.samples >= SAMPLES_PER_FACTOR || is_large(work, &groups[0]) ||
		group_count == 1)
		return;
	for (uint32_t i = 2; i < group_count; i++) {
		if (groups[i].sum.samples < groups[fewest].sum.samples)
			fewest = i;
	}
	th_estimator_merge(&groups[0].sum, &groups[fewest].sum);
	groups[0].bytes += groups[fewest].bytes;
	groups[fewest] = groups[0];
}

static double
factor_of(const struct group *group)
{
	if (group->sum.samples < SAMPLES_AT_LEAST)
		return 1;
	return th_estimator_factor(&group->sum, group->bytes);
}

static void
find_factors(struct th_calibration *calibration, struct work *work)
{
	uint32_t group_count = assign_groups(work);
	struct group *groups = th_allocate(group_count, sizeof(*groups));

	sum_groups(work, groups);
	settle_pool(work, groups, group_count);
	for (size_t i = 0; i < work->recording->thread_names_count; i++) {
		size_t index = work->recording->thread_names[i].thread;
		const struct thread_state *thread = &work->threads[account_of(work, index)];

		if (!thread->is_unknown)
			calibration->factors[i] = factor_of(&groups[thread->group]);
	}
	free(groups);
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

	return counted_samples >= SAMPLES_PER_FACTOR && !sampled->exact &&
	       2 * counted_width < sampled->high - sampled->low;
}

/* One heap in one window */

/* The index after the samples that follow the one at `begin` closely, and their highest keep. */
static size_t
slot_end(const struct th_samples *samples, size_t begin, double *rare_ret)
{
	uint64_t time = samples->items[begin].time;
	size_t end = begin;

	*rare_ret = 0;
	for (; end < samples->items_count && samples->items[end].time < time + RARE_NS; end++)
		*rare_ret = fmax(*rare_ret, (double)samples->items[end].keep);
	return end > begin ? end : begin + 1;
}

static double
thin_gap(
	const struct th_recording *recording, enum th_heap heap, const struct th_window *window)
{
	const struct th_samples *samples = th_recording_allocations(recording, heap);
	struct th_mean_interval gaps = {0};
	size_t count = 0;
	size_t end = 0;
	double rare = 0;

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];

		if (i == end)
			end = slot_end(samples, i, &rare);
		if (!th_window_holds(window, sample->time))
			continue;
		count++;
		th_mean_interval_add(&gaps, sample->size,
			th_recording_sample_interval(recording, sample), (double)sample->keep,
			rare);
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
	const struct th_window *window, double gap)
{
	*work = (struct work){
		.recording = recording,
		.window = window,
		.heap = heap,
		.interval = th_recording_gap(recording, heap),
		.gap = gap,
		.thread_count = heap == TH_HEAP_MAPPED ? 1 : recording->threads_count,
	};
	work->threads = th_allocate(work->thread_count, sizeof(*work->threads));
	if (heap == TH_HEAP_NATIVE)
		work->quiet_bytes = th_recording_counter(recording, "native_bytes_quiet");
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

/* Objects of the whole window; their interval follows that of the bytes. */
static struct th_estimate
estimate_objects(const struct th_calibration *calibration, const struct th_estimator *sum)
{
	const struct th_estimator *whole = calibration->is_calibrated ? &calibration->whole
								      : NULL;
	struct th_estimate objects = th_estimate_objects(sum, whole, calibration->gap);

	return calibration->total_error > 0
		       ? th_estimate_widen(&objects, calibration->total_error)
		       : objects;
}

/* Uses the window's own counts. */
static void
calibrate(struct th_calibration *calibration, const struct th_recording *recording,
	enum th_heap heap, const struct th_window *window)
{
	struct work work;

	work_init(&work, recording, heap, window, calibration->gap);
	calibration->whole = sum_window(calibration, recording, heap, window);
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
	calibration->window_samples = sampled.samples;
	calibration->objects = estimate_objects(calibration, &calibration->whole);
	free(work.threads);
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
		all.window_samples = sum.samples;
		all.objects = estimate_objects(&all, &sum);
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
		.gap = thin_gap(recording, heap, window),
		.factors = th_allocate(recording->thread_names_count, sizeof(double)),
	};
	for (size_t i = 0; i < recording->thread_names_count; i++)
		calibration->factors[i] = 1;
	if (heap == TH_HEAP_JAVA && recording->jvm.features & TH_JVM_TLAB_CURE)
		calibration->share_error = CURED_SHARE_ERROR;
	calibrate(calibration, recording, heap, window);
	if (!calibration->is_calibrated && is_bounded(window))
		calibrate_as_share(calibration, recording, heap, window);
}

void
th_calibration_deinit(struct th_calibration *calibration)
{
	free(calibration->factors);
	calibration->factors = NULL;
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

/*
 * Errors beyond sampling: the total is itself uncertain, and the VM's sampler errs on a share,
 * by less the larger the share is.
 */
static struct th_estimate
widen(const struct th_calibration *calibration, const struct th_estimate *estimate,
	double share_of_whole)
{
	double share_error = calibration->share_error * (1 - share_of_whole);
	double error = hypot(calibration->total_error, share_error);

	return error > 0 && !estimate->exact ? th_estimate_widen(estimate, error) : *estimate;
}

static double
share_of(const struct th_calibration *calibration, const struct th_estimator *part)
{
	double all = th_sums_point(&calibration->whole.bytes);

	return all > 0 ? fmin(th_sums_point(&part->bytes) / all, 1) : 0;
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

	bytes = widen(calibration, &bytes, share_of(calibration, part));
	return within_total(calibration, bytes);
}

struct th_estimate
th_calibration_objects(
	const struct th_calibration *calibration, const struct th_estimator *part)
{
	const struct th_estimator *whole = calibration->is_calibrated ? &calibration->whole
								      : NULL;
	struct th_estimate objects = th_estimate_objects(part, whole, calibration->gap);

	return widen(calibration, &objects, share_of(calibration, part));
}
