/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log's own descriptions of its events, and decoding of events by them.
 *
 * Any event, known here or not, can be read value by value in the order of its description. A
 * known one can also be decoded into struct th_decoded_NAME: its fields are found by name in
 * the log's own description, so a later version may add fields. A number that an earlier
 * version did not write is read as 0. A type of which the log has a field under another data
 * type, or lacks a text or an array, is not decoded.
 */
#ifndef TH_REPORT_LOG_SCHEMA_H
#define TH_REPORT_LOG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/log_text.h"
#include "report/log/reader.h"
#include "unify/shared/log_format.h"

/* No event has more fields; a larger index in a description is damage. */
#define TH_SCHEMA_FIELDS_MAX 64

struct th_schema_field {
	uint32_t data_type; /* enum th_data_type; 0 = not described */
	uint32_t content_type;
	char *name;
	char *label;
};

struct th_schema_event {
	uint32_t type;
	char *name; /* NULL: only fields were described */
	char *label;
	char *description;
	struct th_schema_field fields[TH_SCHEMA_FIELDS_MAX];
	uint32_t field_count;
	/* Offset of each field in struct th_decoded_NAME, -1 = unknown field. */
	int16_t target[TH_SCHEMA_FIELDS_MAX];
	bool is_bound;     /* `target` and the members below are up to date */
	bool is_decodable; /* all fields known here exist, except numbers */
	bool lacks_fields; /* some numbers are missing and read as 0 */
	/* The first fields, which are laid out in the record as in struct th_decoded_NAME. */
	uint32_t alike_fields;
	uint32_t alike_bytes;
};

struct th_schema;

struct th_schema *th_schema_create(void);
void th_schema_destroy(struct th_schema *schema);

/* Learns from a record if it is a description (EVENT_TYPE, EVENT_FIELD); false: it is not. */
bool th_schema_learn(struct th_schema *schema, const struct th_record *record);

/* The description of a type, NULL if the log has none. */
struct th_schema_event *th_schema_find(const struct th_schema *schema, uint32_t type);

/* A sequence of words in the mapping of the log. */
struct th_words {
	const uint64_t *words;
	uint32_t count;
};

struct th_value {
	uint32_t data_type; /* enum th_data_type */
	union {
		uint64_t integer; /* U32, U64 */
		double number;    /* F64 */
		struct th_text text;
		struct th_words words;
	};
};

/*
 * Reads the value of type `data_type` at the next aligned offset from *at of the record and
 * moves *at past it. False when it does not fit the record or the type is unknown.
 */
bool th_schema_read_value(
	const struct th_record *record, uint32_t data_type, uint32_t *at, struct th_value *ret);

/* Each known event with all its fields: struct th_decoded_NAME. */
#define TH_DECODED_U32(name) uint32_t name;
#define TH_DECODED_U64(name) uint64_t name;
#define TH_DECODED_F64(name) double name;
#define TH_DECODED_TEXT(name) struct th_text name;
#define TH_DECODED_U64_ARRAY(name) struct th_words name;
#define F(data, content, name, label) TH_DECODED_##data(name)
#define E(NUMBER, NAME, name, label, description) \
	struct th_decoded_##name {                \
		TH_FIELDS_##NAME(F)               \
	};
TH_EVENTS(E)
#undef E
#undef F

union th_decoded {
#define E(NUMBER, NAME, name, label, description) struct th_decoded_##name name;
	TH_EVENTS(E)
#undef E
};

/* Whether this tool knows a type, whatever the log describes. */
bool th_schema_is_known(uint32_t type);

/*
 * Decodes a record of a known type into the member of its type. False when the log does not
 * describe the type as it is known here, or the record is too short for it.
 */
bool th_schema_decode(
	struct th_schema *schema, const struct th_record *record, union th_decoded *ret);

#endif
