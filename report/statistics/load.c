/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of samples by equal parts of the time, summed up (load.h). */
#include "report/statistics/load.h"

#include <math.h>
#include <string.h>

#include "unify/shared/bisect.h"

void
th_load_init(struct th_load *load, const struct th_recording *recording, enum th_heap heap,
	uint64_t from, uint64_t to)
{
	const struct th_samples *samples = &recording->samples[heap];

	*load = (struct th_load){.heap = heap, .from = (double)from, .to = (double)to};
	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];

		if (sample->time < from || sample->time >= to)
			continue;
		double part = (double)(sample->time - from) / (double)(to - from);
		uint64_t interval = th_recording_sample_interval(recording, sample);
		int next = (int)fmin(part * TH_LOAD_PARTS, TH_LOAD_PARTS - 1) + 1;
		/* Those that a ring left out count as well: they were recorded. */
		load->samples[next] += 1 / (double)sample->keep;
		load->bytes[next] += (double)(interval ? interval : sample->size) /
				     (double)sample->keep;
	}
	for (int i = 0; i < TH_LOAD_PARTS; i++) {
		load->samples[i + 1] += load->samples[i];
		load->bytes[i + 1] += load->bytes[i];
	}
}

void
th_load_init_program(
	struct th_load *load, const struct th_recording *recording, uint64_t from, uint64_t to)
{
	bool has_java = recording->samples[TH_HEAP_JAVA].items_count > 0;

	th_load_init(load, recording, has_java ? TH_HEAP_JAVA : TH_HEAP_NATIVE, from, to);
}

/* The sum up to a time. */
static double
until(const struct th_load *load, const double *sums, double time)
{
	double place = TH_LOAD_PARTS * (time - load->from) / (load->to - load->from);

	if (!(place > 0))
		return 0;
	unsigned part = (unsigned)fmin(place, TH_LOAD_PARTS - 1);
	return sums[part] + fmin(place - part, 1) * (sums[part + 1] - sums[part]);
}

static double
between(const struct th_load *load, const double *sums, double from, double to)
{
	return to > from ? until(load, sums, to) - until(load, sums, from) : 0;
}

double
th_load_samples(const struct th_load *load, double from, double to)
{
	return between(load, load->samples, from, to);
}

double
th_load_bytes(const struct th_load *load, double from, double to)
{
	return between(load, load->bytes, from, to);
}

double
th_load_time(const struct th_load *load, double from, double to, double part)
{
	double wanted = until(load, load->bytes, from) + part * th_load_bytes(load, from, to);
	size_t next = th_bisect(TH_LOAD_PARTS, i, load->bytes[i + 1] < wanted);

	if (next == TH_LOAD_PARTS)
		return to;
	double here = load->bytes[next + 1] - load->bytes[next];
	double place = (double)next + (here > 0 ? (wanted - load->bytes[next]) / here : 0);
	return fmin(
		fmax(load->from + place * (load->to - load->from) / TH_LOAD_PARTS, from), to);
}
