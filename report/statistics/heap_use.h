/* SPDX-License-Identifier: Apache-2.0 */
/* The Java heap in use, as reported by the VM: an upper limit of live bytes. */
#ifndef TH_REPORT_STATISTICS_HEAP_USE_H
#define TH_REPORT_STATISTICS_HEAP_USE_H

#include "report/log/recording.h"
#include "report/statistics/calibration.h"

/* The first measurement of the heap in use since `time`; NULL if there is none. */
const struct th_decoded_heap_use *
th_heap_use_after(const struct th_recording *recording, uint64_t time);

/*
 * Upper limit of the live bytes of the Java heap at `time`: bytes in use at the last
 * measurement plus bytes allocated since, by `calibration` of that heap; all allocated bytes if
 * there was no measurement.
 */
double th_heap_use_bound(const struct th_recording *recording,
	const struct th_calibration *calibration, uint64_t time);

/*
 * Limits an estimate of bytes to `bound`. If even its lower limit is above, it includes
 * garbage: the lower limit becomes 0, and it is not exact.
 */
struct th_estimate th_heap_use_clamp(const struct th_estimate *estimate, double bound);

#endif
