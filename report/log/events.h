/* SPDX-License-Identifier: Apache-2.0 */
/* Adds events of a log to the recording. */
#ifndef TH_REPORT_LOG_EVENTS_H
#define TH_REPORT_LOG_EVENTS_H

#include "report/log/recording.h"

/* What was done with a record, apart from any recording. */
enum th_decoding {
	TH_DECODING_DONE,
	TH_DECODING_LEARNED, /* a description: the schema has it */
	TH_DECODING_UNKNOWN, /* a type that this tool does not know */
	TH_DECODING_FAILED,  /* malformed */
};

enum th_decoding th_event_decode(
	struct th_schema *schema, const struct th_record *record, union th_decoded *ret);

/* Adds one record so decoded, in the order of the log; `event` may be changed. */
void th_recording_add_decoded(struct th_recording *recording, const struct th_record *record,
	enum th_decoding decoding, union th_decoded *event);

/* Adds one record, in the order of the log. Malformed records are counted and skipped. */
void th_recording_add_event(struct th_recording *recording, const struct th_record *record);

/* The index of an interval in `intervals`. */
uint32_t th_recording_intern_interval(struct th_recording *recording, uint64_t interval);

#endif
