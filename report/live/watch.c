/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a running recording up to date.  On each update the log is read on, the rows of the
 * profile are summed up by site, and the samples of the last minute by second.  Sites keep
 * their numbers across updates, so a selection stays valid.
 */
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/control/running.h"
#include "report/live/watch.h"
#include "report/symbols/mapped_names.h"
#include "unify/shared/clock.h"

/* An update may take at most 1/SHARE of the time. */
#define SHARE 10

/* Sites */

static uint32_t
number_site(struct th_watch *watch, const struct th_watch_site *site)
{
	bool added;
	uint64_t place = th_id_map_intern(&watch->place_ids,
		(uint64_t)site->place.function << 32 | site->place.caller, &added);
	uint32_t number = th_id_map_intern(
		&watch->site_ids, (place << 2 | site->heap) << 32 | site->class_name, &added);

	if (added)
		th_array_append(watch, sites, *site);
	return number;
}

/* Memory that the VM maps for itself, and arenas of malloc, form one site per purpose. */
static uint32_t
site_of_row(struct th_watch *watch, const struct th_row *row)
{
	struct th_frames *frames = watch->profile->frames;
	const char *business = row->heap == TH_HEAP_MAPPED
				       ? th_mapped_names_business(
						 th_frames_string(frames, row->class_name))
				       : NULL;
	struct th_watch_site site = {.heap = row->heap};

	if (business) {
		site.place = (struct th_site_place){
			th_frames_special_function(frames, business, "", TH_KIND_GROUP),
			TH_SITE_NO_FUNCTION};
	} else {
		site.class_name = row->class_name;
		site.place = th_sites_of_row(watch->profile, row);
	}
	return number_site(watch, &site);
}

static void
sum_sites(struct th_watch *watch)
{
	const struct th_profile *profile = watch->profile;

	for (size_t i = 0; i < watch->sites_count; i++)
		watch->sites[i] = (struct th_watch_site){
			.heap = watch->sites[i].heap,
			.class_name = watch->sites[i].class_name,
			.place = watch->sites[i].place,
			.is_leak = watch->sites[i].is_leak,
		};
	watch->row_sites_count = 0;
	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];
		uint32_t number = site_of_row(watch, row);
		struct th_watch_site *site = &watch->sites[number];

		th_array_append(watch, row_sites, number);
		th_estimator_merge(
			&site->allocated, th_profile_row_sum(profile, row, TH_MEASURE_ALLOC));
		th_estimator_merge(
			&site->live, th_profile_row_sum(profile, row, TH_MEASURE_LIVE));
	}
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		watch->heaps[heap] = (struct th_watch_site){
			.heap = (enum th_heap)heap,
			.allocated = profile->selected[heap][TH_MEASURE_ALLOC],
			.live = profile->selected[heap][TH_MEASURE_LIVE],
		};
}

/* Histories */

static int64_t
second_of(const struct th_watch *watch, uint64_t time)
{
	uint64_t start = watch->recording->start;

	return time > start ? (int64_t)((time - start) / TH_NS_PER_S) : 0;
}

/* The history slot of a time; -1 if the time is older than the history or in the future. */
static int
slot_of(const struct th_watch *watch, uint64_t time)
{
	int64_t back = watch->summed - second_of(watch, time);

	return back >= 0 && back < TH_WATCH_SECONDS ? (int)(TH_WATCH_SECONDS - 1 - back) : -1;
}

/* Adds the allocation and the death of a sample (by index) if they are in the last minute. */
static void
add_to_history(const struct th_watch *watch, enum th_heap heap, size_t index,
	struct th_watch_history *history)
{
	const struct th_profile *profile = watch->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_sample *sample = &watch->recording->samples[heap].items[index];
	uint64_t end = lifetimes->ends[heap][index];
	int birth_slot = slot_of(watch, sample->time);
	int end_slot = end == TH_END_NEVER || end == TH_END_UNKNOWN ? -1 : slot_of(watch, end);
	struct th_estimator allocated = {0}, live = {0};

	if (birth_slot >= 0) {
		th_calibration_add(&profile->heaps[heap], watch->recording, sample, &allocated);
		history->allocated[birth_slot] += (float)th_sums_point(&allocated.bytes);
	}
	if ((birth_slot < 0 && end_slot < 0) ||
		!th_lifetimes_follows(lifetimes, heap, index, &profile->at))
		return;
	th_lifetimes_add(lifetimes, &profile->heaps[heap], heap, index, sample,
		th_lifetimes_keep(lifetimes, heap, &profile->at), &live);
	if (birth_slot >= 0)
		history->change[birth_slot] += (float)th_sums_point(&live.bytes);
	if (end_slot >= 0)
		history->change[end_slot] -= (float)th_sums_point(&live.bytes);
}

static void
sum_histories(struct th_watch *watch)
{
	const struct th_profile *profile = watch->profile;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		for (size_t i = 0; i < watch->recording->samples[heap].items_count; i++) {
			uint32_t row = profile->sample_rows[heap][i];

			if (row != TH_NO_ROW)
				add_to_history(watch, (enum th_heap)heap, i,
					&watch->sites[watch->row_sites[row]].history);
		}
	}
	for (size_t i = 0; i < watch->sites_count; i++) {
		const struct th_watch_history *part = &watch->sites[i].history;
		struct th_watch_history *all = &watch->heaps[watch->sites[i].heap].history;

		for (int second = 0; second < TH_WATCH_SECONDS; second++) {
			all->allocated[second] += part->allocated[second];
			all->change[second] += part->change[second];
		}
	}
}

/* Updates */

/* The current time.  The clocks differ if the recorded process is in another time namespace. */
static uint64_t
present(const struct th_watch *watch)
{
	uint64_t now = watch->world->now();

	return watch->state == TH_WATCH_RUNNING && now > watch->recording->end
		       ? now
		       : watch->recording->end;
}

static bool
is_alive(const struct th_watch *watch)
{
	return watch->world->is_alive(th_reader_header(watch->recording->reader));
}

/* Reads on.  If the process is gone, unfinished records stay unfinished. */
static bool
read_on(struct th_watch *watch)
{
	bool is_new = th_recording_update(watch->recording);
	bool is_gone = !watch->recording->is_complete && !is_alive(watch);

	while ((is_gone || watch->recording->is_complete) &&
		th_recording_update(watch->recording))
		is_new = true;
	if (watch->recording->is_complete)
		watch->state = TH_WATCH_ENDED;
	else if (is_gone)
		watch->state = TH_WATCH_GONE;
	return is_new;
}

/* Marks the sites that leak: from time to time, and at the end of the recording. */
static void
judge_sites(struct th_watch *watch)
{
	if (watch->state != TH_WATCH_RUNNING)
		watch->findings.due = 0;
	if (!th_watch_findings_update(&watch->findings, watch->profile, watch->now))
		return;
	for (size_t i = 0; i < watch->sites_count; i++)
		watch->sites[i].is_leak = false;
	for (size_t i = 0; i < watch->row_sites_count; i++)
		watch->sites[watch->row_sites[i]].is_leak |= th_watch_findings_is_leak(
			&watch->findings, i);
}

static void
sum_up(struct th_watch *watch)
{
	if (watch->profile)
		th_profile_renew(watch->profile);
	else
		watch->profile = th_profile_create(
			watch->recording, &watch->options, NULL, NULL);
	watch->summed = watch->second;
	sum_sites(watch);
	judge_sites(watch);
	sum_histories(watch);
}

void
th_watch_update(struct th_watch *watch)
{
	uint64_t begin = watch->world->now();

	if (watch->state != TH_WATCH_RUNNING)
		return;
	watch->now = present(watch);
	if (begin < watch->due && is_alive(watch))
		return;
	bool is_new = read_on(watch);
	watch->now = watch->as_of = present(watch);
	watch->second = second_of(watch, watch->as_of);
	if (is_new || !watch->profile)
		sum_up(watch);
	uint64_t end = watch->world->now();
	watch->due = end + SHARE * (end - begin);
}

/* Life */

static const struct th_watch_world real_world = {th_running_is_alive, th_clock_now};

struct th_error *
th_watch_open(const char *path, const struct th_watch_world *world, struct th_watch *watch)
{
	*watch = (struct th_watch){.world = world ? world : &real_world};
	struct th_error *error = th_recording_follow(path, &watch->recording);

	if (error)
		return error;
	th_options_set_defaults(&watch->options);
	th_watch_update(watch);
	return NULL;
}

void
th_watch_close(struct th_watch *watch)
{
	th_watch_findings_deinit(&watch->findings);
	th_profile_destroy(watch->profile);
	th_recording_destroy(watch->recording);
	th_id_map_deinit(&watch->place_ids);
	th_id_map_deinit(&watch->site_ids);
	free(watch->row_sites);
	free(watch->sites);
}
