/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a window adds to the allocated values of a recording. A sample is sent once, in the first
 * window that is made after it was written. The samples of a window are scaled so that each heap's
 * sums of all windows are the totals known by then, although estimates change: so a window that
 * was not accepted is part of the next one, and nothing is taken back. Where a total is less than
 * what was sent, nothing is sent until it exceeds it.
 */
#ifndef TH_REPORT_PUSH_DELTAS_H
#define TH_REPORT_PUSH_DELTAS_H

#include "report/views/export_part.h"

/* Allocated values of a heap: objects, bytes. */
#define TH_DELTA_VALUES 2

/* What a receiver has accepted of a recording. Zeroed: nothing. */
struct th_sent {
	uint64_t time;   /* end of the last window, ns since 1970 */
	uint64_t offset; /* in the log: samples before it were sent */
	int64_t sums[TH_HEAPS][TH_DELTA_VALUES];
};

/*
 * Replaces the allocated values in `rows`, which th_export_rows() made, by those of the window
 * that follows `sent`; sets offset and sums of *next_ret, as they are once it is accepted. False:
 * it adds nothing.
 */
bool th_deltas_take(const struct th_sent *sent, const struct th_profile *profile,
	th_export_row *rows, struct th_sent *next_ret);

#endif
