/* SPDX-License-Identifier: Apache-2.0 */
/* The Java heap in use, as the VM says: what is alive can be no more. */
#ifndef TH_REPORT_HEAP_USE_H
#define TH_REPORT_HEAP_USE_H

#include "report/calibration.h"
#include "report/recording.h"

/* What was in use when the heap was first looked at from `time` on; NULL if it was not. [offline] */
const struct th_heap_use_info *
th_heap_use_after(const struct th_recording *recording, uint64_t time);

/*
 * Bytes that can be alive at `time`, at most, of those allocated in the Java heap: what was in use
 * when it was last looked at, and what was allocated since, as `calibration` of that heap says; all
 * that was allocated if nobody looked. [offline]
 */
double th_heap_use_bound(const struct th_recording *recording,
	const struct th_calibration *calibration, uint64_t time);

/*
 * An estimate of bytes of which there are `bound` at most.  One that is above for certain counts
 * garbage: its lower limit is 0. [offline]
 */
struct th_estimate th_heap_use_clamp(const struct th_estimate *estimate, double bound);

#endif
