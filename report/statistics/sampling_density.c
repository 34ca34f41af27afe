/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits the time into parts and estimates the interval of each from its samples and the
 * control events; a clock (sampling_density.h) is the integral of the resulting density.
 */
#include "report/statistics/sampling_density.h"

#include <math.h>
#include <string.h>

#include "report/statistics/sampling_changes.h"

/* Sums over the samples of a part. */
struct part_sums {
	double samples;
	double intervals;
};

static uint64_t
start_of(uint64_t from, uint64_t to, unsigned part)
{
	return from + (uint64_t)((double)(to - from) * part / TH_DENSITY_PARTS);
}

static void
add_sample(struct part_sums *sums, const struct th_recording *recording,
	const struct th_sample *sample, uint64_t from, uint64_t to)
{
	if (sample->time < from || sample->time >= to)
		return;
	double place = (double)(sample->time - from) / (double)(to - from);
	unsigned part = (unsigned)fmin(place * TH_DENSITY_PARTS, TH_DENSITY_PARTS - 1);
	/* Those that a ring left out count as well: they were recorded. */
	double recorded = 1 / (double)sample->keep;
	sums[part].samples += recorded;
	sums[part].intervals += (double)th_recording_sample_interval(recording, sample) *
				recorded;
}

void
th_sampling_density_init(struct th_sampling_density *density,
	const struct th_recording *recording, enum th_heap heap, uint64_t from, uint64_t to)
{
	struct part_sums sums[TH_DENSITY_PARTS];

	memset(sums, 0, sizeof(sums));
	*density = (struct th_sampling_density){.from = from, .to = to};
	if (from >= to)
		return;
	for (size_t i = 0; i < recording->samples[heap].items_count; i++)
		add_sample(sums, recording, &recording->samples[heap].items[i], from, to);
	unsigned known = 0; /* the last part with samples, or the first */
	while (known + 1 < TH_DENSITY_PARTS && !(sums[known].samples > 0))
		known++;
	for (unsigned i = 0; i < TH_DENSITY_PARTS; i++) {
		uint64_t start = start_of(from, to, i);
		uint64_t end = start_of(from, to, i + 1);

		if (sums[i].samples > 0)
			known = i;
		density->parts[i] = (struct th_sampling_density_part){.sampled = 1};
		if (end > start)
			density->parts[i].sampled = (double)th_sampling_changes_sampled(
							    recording, heap, start, end) /
						    (double)(end - start);
		if (sums[known].samples > 0)
			density->parts[i].interval = sums[known].intervals /
						     sums[known].samples;
	}
}

/* Expected samples of a steady allocation in a part, up to a factor. */
static double
speed(const struct th_sampling_density_part *part, double size)
{
	double due = part->interval > 0 ? -expm1(-size / part->interval) : 1;

	return part->sampled * due;
}

void
th_sampling_clock_init(
	struct th_sampling_clock *clock, const struct th_sampling_density *density, double size)
{
	double sum = 0;

	*clock = (struct th_sampling_clock){.from = density->from, .to = density->to};
	for (unsigned i = 0; i < TH_DENSITY_PARTS; i++) {
		clock->starts[i] = sum;
		sum += speed(&density->parts[i], size);
	}
	for (unsigned i = 0; i < TH_DENSITY_PARTS; i++)
		clock->starts[i] = sum > 0 ? clock->starts[i] / sum
					   : i / (double)TH_DENSITY_PARTS;
	clock->starts[TH_DENSITY_PARTS] = 1;
}

/* Position of a time, in parts; between from and to. */
static double
place_of(const struct th_sampling_clock *clock, uint64_t time)
{
	return (double)(time - clock->from) / (double)(clock->to - clock->from) *
	       TH_DENSITY_PARTS;
}

double
th_sampling_clock_at(const struct th_sampling_clock *clock, uint64_t time)
{
	if (time <= clock->from)
		return 0;
	if (time >= clock->to)
		return 1;
	double place = place_of(clock, time);
	unsigned part = (unsigned)fmin(place, TH_DENSITY_PARTS - 1);
	double start = clock->starts[part];

	return start + (place - part) * (clock->starts[part + 1] - start);
}

double
th_sampling_clock_weight(const struct th_sampling_clock *clock, uint64_t time)
{
	if (time < clock->from || time > clock->to || clock->from == clock->to)
		return 1;
	unsigned part = (unsigned)fmin(place_of(clock, time), TH_DENSITY_PARTS - 1);
	double share = clock->starts[part + 1] - clock->starts[part];

	return share > 0 ? 1 / (share * TH_DENSITY_PARTS) : 1;
}
