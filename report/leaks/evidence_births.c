/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the times at which survivors were allocated. For a steady leak these are uniform on
 * a clock that compensates for changes of the sampling density.
 */
#include "report/leaks/evidence_rules.h"

#include <math.h>

#include "report/base/sort.h"
#include "report/statistics/distribution.h"

/* Sites with fewer gains and losses: 16 KiB of results. */
#define KNOWN_MORE 128
#define KNOWN_LESS 16

/* The longest time between survivors on the clock, from the warm-up to the last survivor. */
static double
longest_pause(const struct th_judge *judge, const struct th_sampling_clock *clock)
{
	double before = th_sampling_clock_at(clock, judge->births[0].time);
	double longest = 0;

	for (size_t i = 1; i < judge->births_count; i++) {
		double now = th_sampling_clock_at(clock, judge->births[i].time);

		longest = fmax(longest, now - before);
		before = now;
	}
	return longest;
}

/* Samples of the heap up to a time since the warm-up; even within a part. */
static double
samples_until(const struct th_judge *judge, uint64_t time)
{
	const struct th_sampling_density *density = &judge->density;
	double place = TH_DENSITY_PARTS * (double)(time - density->from) /
		       (double)(density->to - density->from);
	unsigned part = (unsigned)fmin(place, TH_DENSITY_PARTS - 1);
	double start = density->samples[part];

	return start + (place - part) * (density->samples[part + 1] - start);
}

/*
 * Whether the heap went on allocating after the last survivor: the program did not pause. Few
 * samples do not show that.
 */
static bool
is_active_since(const struct th_judge *judge, uint64_t time, double pause)
{
	double all = judge->density.samples[TH_DENSITY_PARTS];
	double after = all - samples_until(judge, time);

	return after >= ENOUGH_SAMPLES && after >= ACTIVE_RATE * pause * all;
}

/*
 * Whether growth began so long after the warm-up that chance does not explain it, and then ended
 * before the end: one step. The final pause counts by the time since growth began.
 */
static bool
is_step(struct th_evidence *evidence, double lead, double pause, double longest, double count)
{
	evidence->is_late = lead > PAUSE_PART && lead > longest &&
			    pow(1 - lead, count) < UNLIKELY_PAUSE;
	return evidence->is_late && pause > longest && lead < 1 &&
	       pow(1 - pause / (1 - lead), count - 1) < UNLIKELY_PAUSE;
}

/* A final pause that neither chance nor earlier pauses explain means that growth ended. */
static bool
goes_on(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_sampling_clock *clock)
{
	const struct th_observation_window *horizon = evidence->horizon;
	double count = (double)judge->births_count;
	double length = (double)(horizon->end - horizon->warm);
	double part = length > 0 ? (double)(horizon->end - evidence->last_birth) / length : 1;
	double all = th_sampling_clock_at(clock, horizon->end);
	double last = th_sampling_clock_at(clock, evidence->last_birth);
	double lead = all > 0 ? th_sampling_clock_at(clock, evidence->first_since) / all : 0;
	double pause = all > 0 ? 1 - last / all : 1;
	double longest = all > 0 ? LONGER_PAUSE * longest_pause(judge, clock) / all : 0;

	evidence->pause_probability = pow(1 - pause, count);
	evidence->is_step = part > ACTIVE_PAUSE_PART &&
			    is_step(evidence, lead, pause, longest, count);
	if (evidence->is_step)
		return false;
	if (evidence->pause_probability >= UNLIKELY_PAUSE || pause <= longest ||
		part <= ACTIVE_PAUSE_PART)
		return true;
	return part <= PAUSE_PART &&
	       !(evidence->pause_probability < UNLIKELY_ACTIVE_PAUSE &&
		       is_active_since(judge, evidence->last_birth, pause));
}

/*
 * Whether the last quarter of the time has less than half of the survivors expected in it, and
 * so few samples of them that chance does not explain it.
 */
static bool
slows_down(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_sampling_clock *clock)
{
	const struct th_birth *births = judge->births;
	size_t count = judge->births_count;
	uint64_t last = evidence->last_birth;
	uint64_t quarter = last - (last - evidence->horizon->warm) / 4;
	double all = 0;
	double late = 0;

	for (size_t i = 0; i < count; i++) {
		double weight = births[i].weight *
				th_sampling_clock_weight(clock, births[i].time);

		all += weight;
		if (births[i].time < quarter)
			continue;
		late += weight;
		evidence->born_last_quarter++;
	}
	double before = th_sampling_clock_at(clock, quarter) /
			th_sampling_clock_at(clock, last);
	double earlier = (double)(count - evidence->born_last_quarter);
	/* Of `count` survivors so many, or more, before the last quarter. */
	return 8 * late < all && before > 0 && before < 1 &&
	       th_distribution_misses(earlier, (double)evidence->born_last_quarter, before,
		       1 - before, 1) < UNLIKELY_QUARTER;
}

/*
 * Whether old survivors came throughout the time since the warm-up, as those of a steady leak do:
 * neither their last pause nor the longest of all is improbable, and an end of growth before the
 * last quarter of the time would have been noticed. With n of them, a pause of a share g of the
 * time at the end has the probability (1-g)^n, and one anywhere at most (n+1) (1-g)^n.
 */
static bool
is_steady(const struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_sampling_clock *clock)
{
	const struct th_observation_window *horizon = evidence->horizon;
	uint64_t end = horizon->horizon - horizon->old;
	double n = (double)evidence->kept_since;
	double before = 0;
	double longest = 0;

	if (!evidence->kept_since || end <= horizon->warm)
		return false;
	double all = th_sampling_clock_at(clock, end);
	uint64_t last_part = (uint64_t)(NOTICED_PAUSE_PART * (double)(end - horizon->warm));
	double noticed = 1 - th_sampling_clock_at(clock, end - last_part) / all;
	for (size_t i = judge->old_births_count - evidence->kept_since;
		i < judge->old_births_count; i++) {
		double now = th_sampling_clock_at(clock, judge->old_births[i]) / all;

		longest = fmax(longest, now - before);
		before = now;
	}
	return pow(1 - noticed, n) <= UNLIKELY_PAUSE && pow(before, n) >= UNLIKELY_PAUSE &&
	       (n + 1) * pow(1 - fmax(longest, 1 - before), n) >= UNLIKELY_PAUSE;
}

double
th_chance_of_more(uint64_t more, uint64_t less)
{
	/* The results of this thread for small sites, which are most; 0: not computed. */
	static __thread double known[KNOWN_MORE][KNOWN_LESS];
	bool is_kept = more < KNOWN_MORE && less < KNOWN_LESS;
	double chance = is_kept ? known[more][less] : 0;

	if (!(chance > 0))
		chance = th_distribution_misses((double)more, (double)less, 0.5, 0.5, 1);
	if (is_kept)
		known[more][less] = chance;
	return chance;
}

/*
 * If only blocks of a certain age show growth, younger survivors say nothing: those in use for a
 * time would hide that growth ended.
 */
static void
drop_young(struct th_judge *judge, const struct th_observation_window *horizon)
{
	while (judge->births_count &&
		judge->births[judge->births_count - 1].time > horizon->end)
		judge->births_count--;
}

void
th_evidence_test_births(struct th_evidence *evidence, struct th_judge *judge, double size)
{
	const struct th_birth *births = judge->births;
	struct th_sampling_clock of_site;
	const struct th_sampling_clock *clock = &judge->clock;
	size_t count;

	th_sort_by_word(judge->births, judge->births_count, sizeof(*judge->births));
	drop_young(judge, evidence->horizon);
	evidence->born_since = count = judge->births_count;
	if (!count)
		return;
	if (!judge->density.is_even) {
		th_sampling_clock_init(&of_site, &judge->density, size);
		clock = &of_site;
	}
	evidence->first_since = births[0].time;
	evidence->last_birth = births[count - 1].time;
	evidence->is_growing = goes_on(evidence, judge, clock);
	evidence->is_slowing = slows_down(evidence, judge, clock);
	evidence->is_steady = is_steady(evidence, judge, clock);
}
