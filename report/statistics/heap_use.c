/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/heap_use.h"

#include <math.h>

/* The measurement nearest to `time`, of those at or after it, or at or before it. */
static const struct th_decoded_heap_use *
find_use(const struct th_recording *recording, uint64_t time, bool is_after)
{
	const struct th_decoded_heap_use *found = NULL;

	for (size_t i = 0; i < recording->heap_uses_count; i++) {
		const struct th_decoded_heap_use *use = &recording->heap_uses[i];

		if (is_after ? use->time >= time && (!found || use->time < found->time)
			     : use->time <= time && (!found || use->time > found->time))
			found = use;
	}
	return found;
}

const struct th_decoded_heap_use *
th_heap_use_after(const struct th_recording *recording, uint64_t time)
{
	return find_use(recording, time, true);
}

double
th_heap_use_bound(const struct th_recording *recording,
	const struct th_calibration *calibration, uint64_t time)
{
	const struct th_samples *samples = &recording->samples[TH_HEAP_JAVA];
	const struct th_decoded_heap_use *use = find_use(recording, time, false);
	struct th_estimator since = {0};

	if (!use)
		return calibration->bytes.high;
	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];

		if (sample->time > use->time && sample->time <= time)
			th_calibration_add(calibration, recording, sample, &since);
	}
	return fmin(calibration->bytes.high,
		(double)use->used + th_calibration_bytes(calibration, &since).high);
}

struct th_estimate
th_heap_use_clamp(const struct th_estimate *estimate, double bound)
{
	struct th_estimate result = *estimate;

	result.estimate = fmin(result.estimate, bound);
	/* Certainly above the bytes in use: it includes garbage that is not judged yet. */
	if (result.low > bound) {
		result.low = 0;
		result.exact = false;
	}
	result.high = fmin(result.high, bound);
	return result;
}
