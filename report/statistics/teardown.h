/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last time at which a process was at work, before it, or its Java VM, released everything
 * because it ended.  What is freed from then on does not show what was needed, so live values are
 * taken at that time.
 *
 * The start of teardown is marked in the log (TEARDOWN events), or it is recognized by the
 * collapse of live memory right before the end: an interpreter's or a program's own cleaning up
 * before main returns.
 */
#ifndef TH_REPORT_STATISTICS_TEARDOWN_H
#define TH_REPORT_STATISTICS_TEARDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"
#include "report/statistics/lifetimes.h"

struct th_teardown {
	uint64_t time; /* the last one before it; the end of the recording if none was found */
	/*
	 * Deaths of Java objects that collections found by this time count: later than `time` if the
	 * library requested a full collection at exit, else the same.
	 */
	uint64_t known;
	bool is_found;
	bool is_collection;                     /* it begins with the full collection at exit */
	const struct th_decoded_teardown *mark; /* NULL: a collapse, or none was found */
};

/*
 * Finds it.  A mark counts only if the process ended with it: a VM may be destroyed, or main's
 * thread end, in a process that goes on.  `is_internal`, by index of the thread: a thread of the
 * Java VM itself.
 */
void th_teardown_find(
	struct th_teardown *ret, const struct th_lifetimes *lifetimes, const bool *is_internal);

/* What begins, as in "before ...": "the shutdown hooks ran".  Only if it was found. */
const char *th_teardown_reason(const struct th_teardown *teardown);

/* The part of the bytes of a heap (C or mapped) live at `from` that was freed up to `to`. */
double th_teardown_freed_part(
	const struct th_lifetimes *lifetimes, enum th_heap heap, uint64_t from, uint64_t to);

#endif
