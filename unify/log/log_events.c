/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/log/log_events.h"

#include "unify/base/align.h"

const struct th_log_event_type th_log_events[TH_EVENT_NUMBERS] = {
#define F(data, content, name, label) {TH_DATA_##data, TH_CONTENT_##content},
#define E(NUMBER, NAME, name, label, description) [NUMBER] = {NUMBER, {TH_FIELDS_##NAME(F)}},
	TH_EVENTS(E)
#undef E
#undef F
};

const char th_log_event_texts[] =
#define F(data, content, name, label) #name "\0" label "\0"
#define E(NUMBER, NAME, name, label, description) \
#	name "\0" label "\0" description "\0" TH_FIELDS_##NAME(F)
	TH_EVENTS(E)
#undef E
#undef F
	;

const uint8_t th_log_event_order[] = {
#define E(NUMBER, NAME, name, label, description) NUMBER,
	TH_EVENTS(E)
#undef E
};

uint32_t
th_log_data_bytes(enum th_data_type data)
{
	switch (data) {
	case TH_DATA_U32:
		return 4;
	case TH_DATA_U64:
	case TH_DATA_F64:
		return 8;
	default:
		return 0;
	}
}

uint32_t
th_log_event_fixed_end(const struct th_log_event_type *event)
{
	uint32_t end = sizeof(struct th_log_record);

	for (const struct th_log_field *field = event->fields; field->data; field++) {
		uint32_t bytes = th_log_data_bytes((enum th_data_type)field->data);

		if (bytes)
			end = (uint32_t)th_align_up(end, bytes) + bytes;
	}
	return end;
}
