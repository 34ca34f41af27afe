/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptions of all events, as the log contains them.  Private to the log_*.c files. */
#ifndef TH_UNIFY_LOG_LOG_EVENTS_H
#define TH_UNIFY_LOG_LOG_EVENTS_H

#include <stdint.h>

#include "unify/shared/log_format.h"

#define TH_LOG_FIELDS_MAX 16

struct th_log_field {
	enum th_data_type data;
	enum th_content_type content;
	const char *name;
	const char *label;
};

struct th_log_event_type {
	enum th_event_type type;
	const char *name;
	const char *label;
	const char *description;
	struct th_log_field fields[TH_LOG_FIELDS_MAX];
};

/* Indexed by number; numbers may have gaps, whose name is NULL. */
extern const struct th_log_event_type th_log_events[TH_EVENT_NUMBERS];

/* Bytes of a value of fixed size; 0 for texts and arrays. */
uint32_t th_log_data_bytes(enum th_data_type data);

/* End of the fixed part of an event, in bytes from the start of its record. */
uint32_t th_log_event_fixed_end(const struct th_log_event_type *event);

#endif
