/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control requests during a recording: pauses, heaps, its end. Excluded
 * allocations are neither in samples nor in totals, so estimates are not affected; but rates
 * are (bytes per second of sampled time), and readers of the report have to know.
 */
#ifndef TH_REPORT_STATISTICS_SAMPLING_CHANGES_H
#define TH_REPORT_STATISTICS_SAMPLING_CHANGES_H

#include "report/log/recording.h"

/* Nanoseconds between `from` and `to` in which a heap was sampled. */
uint64_t th_sampling_changes_sampled(
	const struct th_recording *recording, enum th_heap heap, uint64_t from, uint64_t to);

/*
 * The next range of time in which nothing was sampled, by the changes from *change_number on, which
 * becomes that behind it; the last may reach to the end.  False: there are no more.
 */
bool th_sampling_changes_next_pause(const struct th_recording *recording, size_t *change_number,
	uint64_t *from_ret, uint64_t *to_ret);

/* Passes to `warn` one line for each kind of exclusion, and one if the recording was ended. */
void th_sampling_changes_tell(const struct th_recording *recording,
	void (*warn)(void *data, const char *text), void *data);

#endif
