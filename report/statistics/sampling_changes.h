/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was asked of a recording while it ran: pauses, heaps, names of threads, its end.  What that
 * left out is neither in samples nor in totals, so no estimate needs to know of it; but rates do
 * (bytes a second of the time that was sampled), and so does who reads them.
 */
#ifndef TH_REPORT_STATISTICS_SAMPLING_CHANGES_H
#define TH_REPORT_STATISTICS_SAMPLING_CHANGES_H

#include "report/log/recording.h"

/* Nanoseconds between `from` and `to` in which a heap was sampled. */
uint64_t th_sampling_changes_sampled(
	const struct th_recording *recording, enum th_heap heap, uint64_t from, uint64_t to);

/* Times between which nothing was sampled, in order; the last may reach to the end. */
void th_sampling_changes_each_pause(const struct th_recording *recording,
	void (*each)(void *data, uint64_t from, uint64_t to), void *data);

/* Says in a line each what was left out, and that the recording was ended; nothing else. */
void th_sampling_changes_tell(const struct th_recording *recording,
	void (*warn)(void *data, const char *text), void *data);

#endif
