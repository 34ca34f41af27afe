/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are taken in the order of the log.  One that has to wait for its names holds up what
 * comes after it in its heap.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/base/allocate.h"
#include "report/log/mapped_parts.h"
#include "report/control/running.h"
#include "report/live/watch_work.h"
#include "unify/shared/clock.h"

/* Summing everything up takes one part in so many of the time, at most. */
#define RENEW_SHARE 50

/* Time */

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
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		clear_columns(&watch->heaps[heap].history, watch->second + 1, second + 1);
	watch->second = second;
}

/* Placing */

/* Samples that had no place yet; false: names are missing, the rest waits. */
static bool
place_next(struct th_watch *watch, enum th_heap heap)
{
	struct th_watch_placed *placed = &watch->work->placed[heap];
	const struct th_sample *sample =
		&th_recording_allocations(watch->recording, heap)->items[placed->sites_count];
	uint32_t site = th_watch_site_of(watch, heap, sample);

	if (site == TH_WATCH_NO_SITE)
		return false;
	th_array_append(placed, sites, site);
	return true;
}

static size_t
count_samples(const struct th_watch *watch, enum th_heap heap)
{
	return th_recording_allocations(watch->recording, heap)->items_count;
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
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_samples *samples = th_recording_allocations(
			watch->recording, (enum th_heap)heap);

		for (size_t i = work->placed[heap].sites_count; i < samples->items_count; i++) {
			const struct th_sample *sample = &samples->items[i];
			uint8_t *traits =
				&work->traits[th_recording_thread(watch->recording, sample)];
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

	th_id_map_deinit(&work->actor_ids);
	th_id_map_deinit(&work->raw_ids);
	work->raw_sites_count = 0;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		work->placed[heap].sites_count = 0;
}

static void
empty_site(struct th_watch_site *site)
{
	site->allocated = site->live = (struct th_estimator){0};
	site->history = (struct th_watch_history){0};
}

/* Other views sum parts of mappings and count each; here a mapping is one sample. */
static void
count_whole_mappings(struct th_watch *watch)
{
	const struct th_samples *mappings = &watch->recording->mappings;
	struct th_calibration *calibration = &watch->calibrations[TH_HEAP_MAPPED];

	calibration->whole = (struct th_estimator){0};
	for (size_t i = 0; i < mappings->items_count; i++)
		th_calibration_add(calibration, watch->recording, &mappings->items[i],
			&calibration->whole);
	calibration->window_samples = mappings->items_count;
	calibration->bytes.samples = mappings->items_count;
}

static void
renew_heap(struct th_watch *watch, enum th_heap heap)
{
	struct th_watch_work *work = watch->work;

	th_calibration_deinit(&watch->calibrations[heap]);
	th_calibration_init(&watch->calibrations[heap], watch->recording, heap, &TH_WINDOW_ALL);
	if (heap == TH_HEAP_MAPPED)
		count_whole_mappings(watch);
	work->counted[heap] = count_samples(watch, heap);
	work->renewed[heap] = watch->calibrations[heap].bytes;
	work->fresh[heap] = (struct th_estimator){0};
	watch->heaps[heap].heap = heap;
	empty_site(&watch->heaps[heap]);
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
	struct th_recording *recording = watch->recording;
	struct th_watch_work *work = watch->work;

	th_mapped_parts_split(recording);
	th_lifetimes_deinit(&watch->lifetimes);
	th_lifetimes_init(&watch->lifetimes, recording);
	watch->moment = last_moment(watch);
	work->frees_seen = recording->frees_count;
	work->deaths_seen = recording->deaths_count;
	work->mapped_ends_seen = 0;
	work->remains_count = 0;
	work->losses_seen = recording->losses_count;
	work->levels_seen = recording->levels_count;
	work->followed_seen = recording->followed_count;
	work->factors_count = recording->thread_names_count;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		renew_heap(watch, (enum th_heap)heap);
	for (size_t i = 0; i < watch->sites_count; i++)
		empty_site(&watch->sites[i]);
	th_watch_extend(watch);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		size_t count = count_samples(watch, (enum th_heap)heap);

		while (work->placed[heap].sites_count < count &&
			place_next(watch, (enum th_heap)heap))
			;
		for (size_t i = 0; i < work->placed[heap].sites_count; i++)
			th_watch_add(watch, (enum th_heap)heap, i);
	}
	th_watch_add_ends(watch);
}

/* Adding what is new */

/* Names of threads that have come since the last summing up count as they are. */
static void
extend_factors(struct th_watch *watch)
{
	struct th_watch_work *work = watch->work;
	size_t count = watch->recording->thread_names_count;

	if (count == work->factors_count)
		return;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
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
	struct th_estimator alone = th_watch_allocation(watch, heap, index);

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
	struct th_estimate since = th_estimate_bytes(fresh, NULL, calibration->gap);
	calibration->bytes = th_estimate_sum(&watch->work->renewed[heap], &since);
	calibration->bytes.samples = calibration->window_samples;
}

static void
add_new(struct th_watch *watch)
{
	extend_factors(watch);
	th_watch_extend(watch);
	th_watch_add_ends(watch);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_watch_placed *placed = &watch->work->placed[heap];
		size_t count = count_samples(watch, (enum th_heap)heap);

		while (placed->sites_count < count && place_next(watch, (enum th_heap)heap)) {
			size_t index = placed->sites_count - 1;

			th_watch_add(watch, (enum th_heap)heap, index);
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
	       work->levels_seen != watch->recording->levels_count ||
	       work->followed_seen != watch->recording->followed_count;
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
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (watch->work->placed[heap].sites_count <
			count_samples(watch, (enum th_heap)heap))
			return true;
	}
	return false;
}

void
th_watch_update(struct th_watch *watch)
{
	struct th_watch_work *work = watch->work;
	enum th_watch_state state = watch->state;

	if (state != TH_WATCH_RUNNING && work->renew_at != 0)
		return;
	uint64_t begin = th_clock_read(CLOCK_THREAD_CPUTIME_ID);
	bool is_new = read_on(watch) || is_waiting(watch);
	find_now(watch);
	advance(watch, th_watch_second_of(watch, watch->now));
	bool has_moved = find_traits(watch);
	if (has_moved)
		forget_places(watch);
	bool is_last = watch->state != state;
	bool is_due = !work->renew_at || (is_new && th_clock_now() >= work->renew_at);
	if (has_moved || is_due || is_last || is_stale(watch)) {
		renew(watch);
		uint64_t cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
		work->renew_at = th_clock_now() + RENEW_SHARE * cost;
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

static const struct th_watch_world real_world = {th_running_is_alive, th_clock_now};

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
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		free(work->placed[heap].sites);
	free(work->remains);
	free(work->traits);
	free(work->raw_sites);
	th_id_map_deinit(&work->actor_ids);
	th_id_map_deinit(&work->raw_ids);
	th_id_map_deinit(&work->place_ids);
	th_id_map_deinit(&work->site_ids);
	free(work);
}

void
th_watch_close(struct th_watch *watch)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		th_calibration_deinit(&watch->calibrations[heap]);
	th_lifetimes_deinit(&watch->lifetimes);
	deinit_work(watch->work);
	th_paths_destroy(watch->paths);
	th_frames_destroy(watch->frames);
	free(watch->sites);
	th_recording_destroy(watch->recording);
}
