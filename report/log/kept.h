/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the past that a log which is a ring has kept, see TH_EVENT_KEPT. */
#ifndef TH_REPORT_LOG_KEPT_H
#define TH_REPORT_LOG_KEPT_H

#include "report/base/allocate.h"
#include "report/log/reader.h"

/* Zeroed: none. */
struct th_kept {
	struct th_record *records;
	size_t records_count;
	size_t records_capacity;
};

/*
 * Adds the records in a KEPT event, unless they do not count yet, because the ring begins at
 * `ring_from`.  What is malformed ends the event.
 */
void th_kept_add(struct th_kept *kept, const struct th_record *carrier, uint64_t ring_from);

/* Sorts them by offset, and drops repeated ones. */
void th_kept_sort(struct th_kept *kept);

void th_kept_deinit(struct th_kept *kept);

#endif
