/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of a log adds to the recording. */
#ifndef TH_REPORT_LOG_EVENTS_H
#define TH_REPORT_LOG_EVENTS_H

#include "report/log/recording.h"

/*
 * Adds one record, in the order of the log.  What cannot be decoded or makes no sense is
 * counted and left out.
 */
void th_recording_add_event(struct th_recording *recording, const struct th_record *record);

/* The index of an interval in `intervals`. */
uint32_t th_recording_intern_interval(struct th_recording *recording, uint64_t interval);

#endif
