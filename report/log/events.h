/* SPDX-License-Identifier: Apache-2.0 */
/* Adds events of a log to the recording. */
#ifndef TH_REPORT_LOG_EVENTS_H
#define TH_REPORT_LOG_EVENTS_H

#include "report/log/recording.h"

/* Adds one record, in the order of the log. Malformed records are counted and skipped. */
void th_recording_add_event(struct th_recording *recording, const struct th_record *record);

/* The index of an interval in `intervals`. */
uint32_t th_recording_intern_interval(struct th_recording *recording, uint64_t interval);

#endif
