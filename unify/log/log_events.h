/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptions of all events, as the log contains them.  Private to the log_*.c files. */
#ifndef TH_UNIFY_LOG_LOG_EVENTS_H
#define TH_UNIFY_LOG_LOG_EVENTS_H

#include <stdint.h>

#include "unify/shared/log_format.h"

#define TH_LOG_FIELDS_MAX 16

/*
 * The tables contain no pointers: the dynamic linker would write each of them in each process that
 * loads the library.
 */
struct th_log_field {
	uint8_t data; /* enum th_data_type; 0 = past the last field */
	uint8_t content;
};

struct th_log_event_type {
	uint8_t type; /* enum th_event_type */
	struct th_log_field fields[TH_LOG_FIELDS_MAX + 1];
};

/* Indexed by number; numbers may have gaps, whose type is 0. */
extern const struct th_log_event_type th_log_events[TH_EVENT_NUMBERS];

/*
 * The texts of all events, NUL-terminated, behind each other: for each in the order of
 * th_log_event_order its name, label and description, then name and label of its fields.
 */
extern const char th_log_event_texts[];
extern const uint8_t th_log_event_order[];

/* The number of entries of th_log_event_order. */
#define E(NUMBER, NAME, name, label, description) +1
enum { TH_LOG_EVENT_TYPES = 0 TH_EVENTS(E) };
#undef E

/* Bytes of a value of fixed size; 0 for texts and arrays. */
uint32_t th_log_data_bytes(enum th_data_type data);

/* End of the fixed part of an event, in bytes from the start of its record. */
uint32_t th_log_event_fixed_end(const struct th_log_event_type *event);

#endif
