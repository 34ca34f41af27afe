/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times by which leaks of a heap are judged: warm-up, middle, horizon
 * (observation_window.h). For the Java heap the horizon is the time of a GC that is late enough
 * and plausible.
 */
#include "report/leaks/observation_window.h"

/* Memory that a program builds up during start-up is not a leak. */
#define WARM_UP_PART 0.2
/* Blocks with a shorter life are in use, not forgotten. */
#define OLD_PART 0.1
/*
 * Minimum horizon, as a fraction of the time after the warm-up, for any verdict, and for a
 * verdict of leak (by old-generation GCs): a cache that was filled earlier and has evicted old
 * entries since then is recognized by its dead objects.
 */
#define HORIZON_PART (1.0 / 3)
#define PROVEN_PART 0.5

/* Whether a time is past this fraction of the time after the warm-up. */
static bool
reaches(const struct th_observation_window *horizon, uint64_t time, double part)
{
	double length = (double)(horizon->end - horizon->warm);

	return time > horizon->warm && (double)(time - horizon->warm) >= part * length;
}

/* Lower limit of the bytes of objects from before `births` that no GC found dead. */
static double
least_alive(const struct th_profile *profile, uint64_t births)
{
	const struct th_samples *samples = &profile->recording->samples[TH_HEAP_JAVA];
	struct th_calibration calibration = th_lifetimes_calibration(&profile->lifetimes,
		&profile->heaps[TH_HEAP_JAVA], TH_HEAP_JAVA, &profile->at, 1);
	struct th_estimator sum = {0};

	for (size_t i = 0; i < samples->items_count; i++) {
		if (samples->items[i].time < births &&
			th_profile_counts(profile, TH_MEASURE_LIVE, TH_HEAP_JAVA, i))
			th_profile_add(profile, TH_MEASURE_LIVE, TH_HEAP_JAVA, i, &sum);
	}
	return th_estimate_bytes(&sum, NULL, calibration.gap).low;
}

/*
 * Whether the objects counted as alive can be: not if they exceed the whole heap in use, as
 * under a collector that does not clear the references to all dead objects.
 */
static bool
is_plausible(const struct th_profile *profile, const struct th_judgement *judgement)
{
	const struct th_decoded_heap_use *use = th_heap_use_after(
		profile->recording, judgement->time);

	return !use || least_alive(profile, judgement->births) <= (double)use->used;
}

static void
set_java_horizon(struct th_observation_window *horizon, const struct th_profile *profile)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	uint64_t known = profile->at.known - 1;
	const struct th_judgement *major = th_lifetimes_last(lifetimes, known, true);

	horizon->is_proven = major && reaches(horizon, major->births, PROVEN_PART) &&
			     is_plausible(profile, major);
	horizon->horizon = horizon->is_proven ? major->births
					      : th_lifetimes_judged(lifetimes, known, false);
	if (horizon->horizon < horizon->start)
		horizon->horizon = horizon->start;
	if (horizon->horizon > horizon->end)
		horizon->horizon = horizon->end;
}

/* The part of the recording that the options choose, up to --at; empty if they choose none of it. */
static struct th_window
part_of(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	struct th_window part = profile->window;

	if (part.from < recording->start)
		part.from = recording->start;
	if (part.to > recording->end)
		part.to = recording->end;
	if (part.to > profile->at.time)
		part.to = profile->at.time;
	if (part.from > part.to)
		part.from = part.to;
	return part;
}

void
th_observation_window_init(struct th_observation_window *horizon,
	const struct th_profile *profile, enum th_heap heap)
{
	struct th_window part = part_of(profile);
	double length = (double)(part.to - part.from);

	*horizon = (struct th_observation_window){
		.origin = profile->recording->start,
		.start = part.from,
		.warm = part.from + (uint64_t)(WARM_UP_PART * length),
		.horizon = part.to,
		.end = part.to,
		.old = (uint64_t)(OLD_PART * length),
		.is_proven = true,
	};
	if (heap == TH_HEAP_JAVA)
		set_java_horizon(horizon, profile);
	if (heap == TH_HEAP_JAVA && profile->lifetimes.followed &&
		th_observation_window_is_far(horizon))
		horizon->end = horizon->horizon; /* younger objects are not judged */
	horizon->middle = horizon->warm;
	if (horizon->horizon > horizon->warm)
		horizon->middle += (horizon->horizon - horizon->warm) / 2;
}

bool
th_observation_window_is_far(const struct th_observation_window *horizon)
{
	return reaches(horizon, horizon->horizon, HORIZON_PART);
}

bool
th_observation_window_may_leak(const struct th_observation_window *horizon)
{
	return th_observation_window_is_far(horizon) && horizon->is_proven;
}
