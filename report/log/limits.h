/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a value of a log can be, by its content type. Checked once, when an event is added to a
 * recording, so that the analysis and the views need no checks of their own:
 *
 * - a time is at most TH_TIME_SPAN_MAX after the start of the recording, and the time of an event
 *   is not before the start;
 * - an amount (bytes, a count) fits into a signed number; a size and a sampling interval of a
 *   sample fit into an address space;
 * - a probability is between 0 and 1.
 *
 * An id may be undefined: see recording.h.
 */
#ifndef TH_REPORT_LOG_LIMITS_H
#define TH_REPORT_LOG_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/schema.h"

/* Nanoseconds, nine years; the start itself is at most TH_TIME_MAX, so that no sum overflows. */
#define TH_TIME_SPAN_MAX ((uint64_t)1 << 58)
#define TH_TIME_MAX ((uint64_t)1 << 62)
/* An address space of five levels of page tables. */
#define TH_SIZE_MAX ((uint64_t)1 << 57)

struct th_limits {
	uint64_t start; /* of the recording */
	uint64_t time;  /* set: of the event, 0 if it has none */
	bool is_early;  /* set: it was before the start */
};

/*
 * Whether the values of an event are possible in the recording. An event before its start, such as a
 * sample whose capture began before the recording, is moved to the start.
 */
bool th_limits_apply(struct th_limits *limits, uint32_t type, union th_decoded *event);

#endif
