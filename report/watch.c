/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are taken in the order of the log.  One that has to wait for its names holds up what
 * comes after it in its heap.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/allocate.h"
#include "report/running.h"
#include "report/watch_work.h"

/* Summing everything up takes one part in so many of the time, at most. */
#define RENEW_SHARE 50

/* Time */

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int64_t
second_of(const struct th_watch *watch, uint64_t time)
{
	uint64_t start = watch->recording->start;

	return time > start ? (int64_t)((time - start) / 1000000000u) : 0;
}

/* Clears the columns of histories that come around again. */
static void
clear_columns(struct th_watch_history *history, int64_t from, int64_t to)
{
	if (to - from >= TH_WATCH_SECONDS) {
		*history = (struct th_watch_history){0};
		return;
	}
	for (int64_t second = from; second < to; second++) {
		history->allocated[second % TH_WATCH_SECONDS] = 0;
		history->change[second % TH_WATCH_SECONDS] = 0;
	}
}

static void
advance(struct th_watch *watch, int64_t second)
{
	if (second <= watch->second)
		return;
	for (size_t i = 0; i < watch->sites_count; i++)
		clear_columns(&watch->sites[i].history, watch->second + 1, second + 1);
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++)
		clear_columns(&watch->heaps[heap].history, watch->second + 1, second + 1);
	watch->second = second;
}

/* The slot of a time; NULL when it is longer ago than histories go back. */
static float *
slot_of(const struct th_watch *watch, float *slots, uint64_t time)
{
	int64_t second = second_of(watch, time);

	if (second <= watch->second - TH_WATCH_SECONDS)
		return NULL;
	if (second > watch->second)
		second = watch->second;
	return &slots[second % TH_WATCH_SECONDS];
}

static void
add_to_history(const struct th_watch *watch, float *slots, uint64_t time, double value)
{
	float *slot = slot_of(watch, slots, time);

	if (slot)
		*slot += (float)value;
}

/* Sums */

struct th_estimator
th_watch_alone(const struct th_watch *watch, enum th_heap heap, size_t index, bool of_ends)
{
	const struct th_calibration *calibration = &watch->calibrations[heap];
	const struct th_sample *sample = &watch->recording->samples[heap].items[index];
	struct th_estimator alone = th_calibration_empty(calibration);

	if (of_ends)
		th_lifetimes_add(&watch->lifetimes, calibration, sample,
			th_lifetimes_keep(&watch->lifetimes, heap, &watch->moment), &alone);
	else
		th_calibration_add(calibration, watch->recording, sample, &alone);
	return alone;
}

bool
th_watch_is_followed(const struct th_watch *watch, enum th_heap heap, size_t index)
{
	const struct th_sample *sample = &watch->recording->samples[heap].items[index];

	if (watch->work->placed[heap].ends[index] == TH_END_UNKNOWN)
		return false;
	return heap != TH_HEAP_JAVA ||
	       th_live_keeps((uint64_t)sample->record * 8, watch->moment.level);
}

static double
bytes_of(const struct th_estimator *sum)
{
	return sum->bytes.seen + sum->bytes.unseen;
}

static void
add_allocation(const struct th_watch *watch, struct th_watch_site *site,
	const struct th_estimator *alone, uint64_t time)
{
	th_estimator_merge(&site->allocated, alone);
	add_to_history(watch, site->history.allocated, time, bytes_of(alone));
}

static void
add_birth(const struct th_watch *watch, struct th_watch_site *site,
	const struct th_estimator *alone, uint64_t time)
{
	th_estimator_merge(&site->live, alone);
	add_to_history(watch, site->history.change, time, bytes_of(alone));
}

static void
add_death(const struct th_watch *watch, struct th_watch_site *site,
	const struct th_estimator *alone, uint64_t time)
{
	th_estimator_subtract(&site->live, alone);
	add_to_history(watch, site->history.change, time, -bytes_of(alone));
}

/* Adds a placed sample to its site and its heap, as far as its life is known. */
static void
add_sample(struct th_watch *watch, enum th_heap heap, size_t index)
{
	const struct th_watch_placed *placed = &watch->work->placed[heap];
	uint64_t time = watch->recording->samples[heap].items[index].time;
	uint64_t end = placed->ends[index];
	struct th_watch_site *both[] = {
		&watch->sites[placed->sites[index]], &watch->heaps[heap]};
	struct th_estimator allocated = th_watch_alone(watch, heap, index, false);
	struct th_estimator live = th_watch_alone(watch, heap, index, true);

	for (int i = 0; i < 2; i++) {
		add_allocation(watch, both[i], &allocated, time);
		if (!th_watch_is_followed(watch, heap, index))
			continue;
		add_birth(watch, both[i], &live, time);
		if (end != TH_END_NEVER)
			add_death(watch, both[i], &live, end);
	}
}

/* Samples that had no place yet; false: names are missing, the rest waits. */
static bool
place_next(struct th_watch *watch, enum th_heap heap)
{
	struct th_watch_placed *placed = &watch->work->placed[heap];
	const struct th_sample *sample =
		&watch->recording->samples[heap].items[placed->sites_count];
	uint32_t site = th_watch_site_of(watch, heap, sample);

	if (site == TH_WATCH_NO_SITE)
		return false;
	th_array_append(placed, sites, site);
	return true;
}

static size_t
count_samples(const struct th_watch *watch, enum th_heap heap)
{
	return watch->recording->samples[heap].items_count;
}

/* Ends */

static void
extend_ends(struct th_watch *watch, enum th_heap heap)
{
	const struct th_samples *samples = &watch->recording->samples[heap];
	struct th_watch_placed *placed = &watch->work->placed[heap];

	while (placed->ends_count < samples->items_count) {
		const struct th_sample *sample = &samples->items[placed->ends_count];
		bool is_unknown = heap == TH_HEAP_NATIVE &&
				  !(sample->flags & TH_NATIVE_TRACKED);
		uint64_t end = is_unknown ? TH_END_UNKNOWN : TH_END_NEVER;

		th_array_append(placed, ends, end);
	}
}

/* The index of the sample with this record; SIZE_MAX without. */
static size_t
find_sample(const struct th_samples *samples, uint32_t record)
{
	size_t low = 0;
	size_t high = samples->items_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (samples->items[middle].record < record)
			low = middle + 1;
		else
			high = middle;
	}
	return low < samples->items_count && samples->items[low].record == record ? low
										  : SIZE_MAX;
}

static void
end_sample(struct th_watch *watch, enum th_heap heap, const struct th_free_info *info)
{
	struct th_watch_placed *placed = &watch->work->placed[heap];
	size_t index = find_sample(&watch->recording->samples[heap], info->record);

	if (index == SIZE_MAX || placed->ends[index] != TH_END_NEVER)
		return;
	placed->ends[index] = info->time;
	if (index >= placed->sites_count || !th_watch_is_followed(watch, heap, index))
		return;
	struct th_estimator live = th_watch_alone(watch, heap, index, true);
	add_death(watch, &watch->sites[placed->sites[index]], &live, info->time);
	add_death(watch, &watch->heaps[heap], &live, info->time);
}

static void
add_ends(struct th_watch *watch)
{
	const struct th_recording *recording = watch->recording;
	struct th_watch_work *work = watch->work;

	for (; work->frees_seen < recording->frees_count; work->frees_seen++)
		end_sample(watch, TH_HEAP_NATIVE, &recording->frees[work->frees_seen]);
	for (; work->deaths_seen < recording->deaths_count; work->deaths_seen++)
		end_sample(watch, TH_HEAP_JAVA, &recording->deaths[work->deaths_seen]);
}

/* Summing up anew */

/*
 * Threads whose stacks so far show the VM's own code alone; true when one turned out to be
 * another, so that its samples are at other sites.
 */
static bool
find_traits(struct th_watch *watch)
{
	struct th_watch_work *work = watch->work;
	bool changed = false;

	while (work->traits_count < watch->recording->threads_count)
		th_array_append(work, traits, 0);
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		const struct th_samples *samples = &watch->recording->samples[heap];

		for (size_t i = work->placed[heap].sites_count; i < samples->items_count; i++) {
			const struct th_sample *sample = &samples->items[i];
			uint8_t *traits = &work->traits[sample->thread];
			uint8_t all = *traits |
				      (uint8_t)th_frames_traits(watch->frames, sample->stack);

			changed |= *traits == TH_TRAIT_VM && all != TH_TRAIT_VM;
			*traits = all;
		}
	}
	return changed;
}

static void
forget_places(struct th_watch *watch)
{
	struct th_watch_work *work = watch->work;

	th_map_deinit(&work->actor_ids);
	th_map_deinit(&work->raw_ids);
	work->raw_sites_count = 0;
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++)
		work->placed[heap].sites_count = 0;
}

static void
empty_site(const struct th_watch *watch, struct th_watch_site *site)
{
	site->allocated = th_calibration_empty(&watch->calibrations[site->heap]);
	site->live = th_calibration_empty(&watch->calibrations[site->heap]);
	site->history = (struct th_watch_history){0};
}

/* Calibrates the heap and takes over the ends as lifetimes.h knows them. */
static void
renew_heap(struct th_watch *watch, enum th_heap heap)
{
	struct th_watch_work *work = watch->work;

	th_calibration_deinit(&watch->calibrations[heap]);
	th_calibration_init(&watch->calibrations[heap], watch->recording, heap, &TH_WINDOW_ALL);
	extend_ends(watch, heap);
	if (work->placed[heap].ends_count)
		memcpy(work->placed[heap].ends, watch->lifetimes.ends[heap],
			work->placed[heap].ends_count * sizeof(uint64_t));
	work->counted[heap] = work->placed[heap].ends_count;
	work->renewed[heap] = watch->calibrations[heap].bytes;
	th_estimator_init(&work->fresh[heap], th_recording_gap(watch->recording, heap));
	watch->heaps[heap].heap = heap;
	empty_site(watch, &watch->heaps[heap]);
}

/* The largest level of all: an object that is followed now was followed at every lower one. */
static struct th_moment
last_moment(const struct th_watch *watch)
{
	return th_lifetimes_moment(&watch->lifetimes, watch->recording->end);
}

static void
renew(struct th_watch *watch)
{
	const struct th_recording *recording = watch->recording;
	struct th_watch_work *work = watch->work;

	th_lifetimes_deinit(&watch->lifetimes);
	th_lifetimes_init(&watch->lifetimes, recording);
	watch->moment = last_moment(watch);
	work->frees_seen = recording->frees_count;
	work->deaths_seen = recording->deaths_count;
	work->losses_seen = recording->losses_count;
	work->levels_seen = recording->levels_count;
	work->factors_count = recording->threads_count;
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++)
		renew_heap(watch, (enum th_heap)heap);
	for (size_t i = 0; i < watch->sites_count; i++)
		empty_site(watch, &watch->sites[i]);
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		size_t count = count_samples(watch, (enum th_heap)heap);

		while (work->placed[heap].sites_count < count &&
			place_next(watch, (enum th_heap)heap))
			;
		for (size_t i = 0; i < work->placed[heap].sites_count; i++)
			add_sample(watch, (enum th_heap)heap, i);
	}
}

/* Adding what is new */

/* Threads that have come since the last summing up count as they are. */
static void
extend_factors(struct th_watch *watch)
{
	struct th_watch_work *work = watch->work;
	size_t count = watch->recording->threads_count;

	if (count == work->factors_count)
		return;
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		double *factors = th_allocate(count, sizeof(*factors));

		memcpy(factors, watch->calibrations[heap].factors,
			work->factors_count * sizeof(*factors));
		for (size_t i = work->factors_count; i < count; i++)
			factors[i] = 1;
		free(watch->calibrations[heap].factors);
		watch->calibrations[heap].factors = factors;
	}
	work->factors_count = count;
}

/* The total is what was counted at the last summing up, and what samples since stand for. */
static void
add_to_total(struct th_watch *watch, enum th_heap heap, size_t index)
{
	struct th_calibration *calibration = &watch->calibrations[heap];
	struct th_estimator *fresh = &watch->work->fresh[heap];
	struct th_estimator alone = th_watch_alone(watch, heap, index, false);

	th_estimator_merge(fresh, &alone);
	th_estimator_merge(&calibration->whole, &alone);
	calibration->window_samples++;
}

static void
find_total(struct th_watch *watch, enum th_heap heap)
{
	struct th_calibration *calibration = &watch->calibrations[heap];
	const struct th_estimator *fresh = &watch->work->fresh[heap];

	if (!fresh->samples)
		return;
	struct th_estimate since = th_estimate_bytes(fresh, NULL);
	calibration->bytes = th_estimate_sum(&watch->work->renewed[heap], &since);
	calibration->bytes.samples = calibration->window_samples;
}

static void
add_new(struct th_watch *watch)
{
	extend_factors(watch);
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++)
		extend_ends(watch, (enum th_heap)heap);
	add_ends(watch);
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		const struct th_watch_placed *placed = &watch->work->placed[heap];
		size_t count = count_samples(watch, (enum th_heap)heap);

		while (placed->sites_count < count && place_next(watch, (enum th_heap)heap)) {
			size_t index = placed->sites_count - 1;

			add_sample(watch, (enum th_heap)heap, index);
			if (index >= watch->work->counted[heap])
				add_to_total(watch, (enum th_heap)heap, index);
		}
		find_total(watch, (enum th_heap)heap);
	}
}

/* Updates */

static void
find_state(struct th_watch *watch)
{
	if (watch->recording->is_complete)
		watch->state = TH_WATCH_ENDED;
	else if (!watch->world->is_alive(th_reader_header(watch->recording->reader)))
		watch->state = TH_WATCH_GONE;
}

static void
find_now(struct th_watch *watch)
{
	uint64_t now = watch->recording->end;

	if (watch->state == TH_WATCH_RUNNING) {
		uint64_t clock = watch->world->now();

		/* Another time namespace may have another idea of it. */
		if (clock > now)
			now = clock;
	}
	watch->now = now;
}

/* Whether what is summed up does not hold any more, for other reasons than new samples. */
static bool
is_stale(const struct th_watch *watch)
{
	const struct th_watch_work *work = watch->work;

	return work->losses_seen != watch->recording->losses_count ||
	       work->levels_seen != watch->recording->levels_count;
}

/* Reads on; a process that is gone fills no more holes. */
static bool
read_on(struct th_watch *watch)
{
	bool is_new = th_recording_update(watch->recording);

	find_state(watch);
	while (watch->state != TH_WATCH_RUNNING && th_recording_update(watch->recording))
		is_new = true;
	if (watch->recording->is_complete)
		watch->state = TH_WATCH_ENDED;
	return is_new;
}

static bool
is_waiting(const struct th_watch *watch)
{
	const struct th_watch_placed *placed = watch->work->placed;

	return placed[TH_HEAP_JAVA].sites_count < count_samples(watch, TH_HEAP_JAVA) ||
	       placed[TH_HEAP_NATIVE].sites_count < count_samples(watch, TH_HEAP_NATIVE);
}

void
th_watch_update(struct th_watch *watch)
{
	struct th_watch_work *work = watch->work;
	enum th_watch_state state = watch->state;

	if (state != TH_WATCH_RUNNING && work->renew_at != 0)
		return;
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool is_new = read_on(watch) || is_waiting(watch);
	find_now(watch);
	advance(watch, second_of(watch, watch->now));
	bool has_moved = find_traits(watch);
	if (has_moved)
		forget_places(watch);
	bool is_last = watch->state != state;
	bool is_due = !work->renew_at ||
		      (is_new && clock_ns(CLOCK_MONOTONIC) >= work->renew_at);
	if (has_moved || is_due || is_last || is_stale(watch)) {
		renew(watch);
		uint64_t cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		work->renew_at = clock_ns(CLOCK_MONOTONIC) + RENEW_SHARE * cost;
	} else {
		add_new(watch);
	}
	watch->is_new = is_new;
}

void
th_watch_renew(struct th_watch *watch)
{
	watch->work->renew_at = 0;
}

/* Life */

static uint64_t
monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static const struct th_watch_world real_world = {th_running_is_alive, monotonic_ns};

struct th_error *
th_watch_open(const char *path, const struct th_watch_world *world, struct th_watch *watch)
{
	*watch = (struct th_watch){.world = world ? world : &real_world, .second = -1};
	struct th_error *error = th_recording_follow(path, &watch->recording);

	if (error)
		return error;
	watch->work = th_allocate(1, sizeof(*watch->work));
	watch->frames = th_frames_create(watch->recording, NULL, NULL);
	watch->paths = th_paths_create(watch->recording, watch->frames, false);
	watch->work->internal_group = th_frames_special_function(
		watch->frames, "[JVM-internal]", "", TH_KIND_GROUP);
	th_watch_update(watch);
	return NULL;
}

static void
deinit_work(struct th_watch_work *work)
{
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		free(work->placed[heap].sites);
		free(work->placed[heap].ends);
	}
	free(work->traits);
	free(work->raw_sites);
	th_map_deinit(&work->actor_ids);
	th_map_deinit(&work->raw_ids);
	th_map_deinit(&work->place_ids);
	th_map_deinit(&work->site_ids);
	free(work);
}

void
th_watch_close(struct th_watch *watch)
{
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++)
		th_calibration_deinit(&watch->calibrations[heap]);
	th_lifetimes_deinit(&watch->lifetimes);
	deinit_work(watch->work);
	th_paths_destroy(watch->paths);
	th_frames_destroy(watch->frames);
	free(watch->sites);
	th_recording_destroy(watch->recording);
}
