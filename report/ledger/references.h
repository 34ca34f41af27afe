/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of JNI references over time (TH_EVENT_JNI_REFERENCES), and whether it grows.
 *
 * A leak: after the warm-up, the smallest number of each quarter of the time is higher than that of the
 * quarter before, by TH_REFERENCES_LEAST together, and the last step is at least half the mean step.
 * Minima, since references that are given back later do not count.
 */
#ifndef TH_REPORT_LEDGER_REFERENCES_H
#define TH_REPORT_LEDGER_REFERENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"

/* A VM of itself creates some dozen references while it warms up. */
#define TH_REFERENCES_LEAST 64
/* Shorter recordings are not judged. */
#define TH_REFERENCES_LEAST_NS UINT64_C(2000000000)

struct th_reference_count {
	uint64_t first;
	uint64_t last;
	uint64_t max;
	bool is_leak;
	double rate;  /* growth per second since `since`; of a leak */
	double since; /* seconds since the start of the recording: when it began to grow */
};

struct th_references {
	bool is_known; /* the VM's count was recorded */
	struct th_reference_count globals;
	struct th_reference_count weaks;
	uint64_t undetached; /* threads that ended while attached */
};

/* Counts up to `end` (ns), the time at which the report judges. */
struct th_references th_references_find(const struct th_recording *recording, uint64_t end);

/* "781 -> 200,004", or one number if it did not change; the caller frees it. */
char *th_reference_count_text(const struct th_reference_count *count);

#endif
