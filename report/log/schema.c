/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptions are in an array in order of first use; a map finds them by type number.
 * Descriptions themselves (types 1 and 2) are read by the layout known here, which is part of
 * the format's version.
 */
#include "report/log/schema.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"

/* More types than any log describes: limits the memory for a damaged log. */
#define EVENTS_MAX 4096
#define NO_TARGET (-1)

struct th_schema {
	struct th_id_map types; /* type number -> index of `events` */
	TH_ARRAY(struct th_schema_event, events);
};

struct known_field {
	enum th_data_type data_type;
	const char *name;
};

struct known_event {
	const char *name;
	struct known_field fields[16]; /* ends with a NULL name */
};

static const struct known_event known_events[] = {
#define F(data, content, name, label) {TH_DATA_##data, #name},
#define E(NUMBER, NAME, name, label, description) [NUMBER] = {#name, {TH_FIELDS_##NAME(F)}},
	TH_EVENTS(E)
#undef E
#undef F
};
#define KNOWN_EVENTS (sizeof(known_events) / sizeof(known_events[0]))

/* Size and alignment of a member of struct th_decoded_NAME, by data type. */
static const struct {
	uint8_t bytes;
	uint8_t alignment;
} members[] = {
	[TH_DATA_U32] = {sizeof(uint32_t), _Alignof(uint32_t)},
	[TH_DATA_U64] = {sizeof(uint64_t), _Alignof(uint64_t)},
	[TH_DATA_F64] = {sizeof(double), _Alignof(double)},
	[TH_DATA_TEXT] = {sizeof(struct th_text), _Alignof(struct th_text)},
	[TH_DATA_U64_ARRAY] = {sizeof(struct th_words), _Alignof(struct th_words)},
};

static const struct known_event *
find_known(uint32_t type)
{
	return type < KNOWN_EVENTS && known_events[type].name ? &known_events[type] : NULL;
}

bool
th_schema_is_known(uint32_t type)
{
	return find_known(type);
}

/* Values */

static uint32_t
align_up(uint32_t value, uint32_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

/* Copies the `bytes` bytes at the next aligned offset from *at. */
static bool
take(const struct th_record *record, uint32_t bytes, uint32_t *at, void *ret)
{
	uint32_t start = align_up(*at, bytes);

	if (start > record->size || bytes > record->size - start)
		return false;
	memcpy(ret, record->bytes + start, bytes);
	*at = start + bytes;
	return true;
}

static bool
take_text(const struct th_record *record, uint32_t *at, struct th_text *ret)
{
	uint32_t length;

	if (!take(record, sizeof(length), at, &length) || length > record->size - *at)
		return false;
	*ret = (struct th_text){(const char *)record->bytes + *at, length};
	*at += length;
	return true;
}

static bool
take_words(const struct th_record *record, uint32_t *at, struct th_words *ret)
{
	uint32_t count;

	if (!take(record, sizeof(count), at, &count))
		return false;
	uint32_t start = align_up(*at, 8);
	if (start > record->size || count > (record->size - start) / 8)
		return false;
	ret->words = (const uint64_t *)(const void *)(record->bytes + start);
	ret->count = count;
	*at = start + 8 * count;
	return true;
}

/* Whether all values of a type have the same size in the log as in memory. */
static bool
is_steady(uint32_t data_type)
{
	return data_type == TH_DATA_U32 || data_type == TH_DATA_U64 || data_type == TH_DATA_F64;
}

bool
th_schema_read_value(
	const struct th_record *record, uint32_t data_type, uint32_t *at, struct th_value *ret)
{
	ret->data_type = data_type;
	ret->integer = 0;
	if (is_steady(data_type))
		return take(record, members[data_type].bytes, at, &ret->integer);
	if (data_type == TH_DATA_TEXT)
		return take_text(record, at, &ret->text);
	return data_type == TH_DATA_U64_ARRAY && take_words(record, at, &ret->words);
}

/* Decoding */

/* The values are at one address, and the log's byte order is this one's: least first. */
static void
store(void *target, const struct th_value *value)
{
	memcpy(target, &value->integer, members[value->data_type].bytes);
}

/* The index of a field, whatever its type; -1 if the log has none of that name. */
static int
find_field(const struct th_schema_event *event, const char *name)
{
	for (uint32_t i = 0; i < event->field_count; i++)
		if (event->fields[i].name && !strcmp(event->fields[i].name, name))
			return (int)i;
	return -1;
}

/*
 * Most events, and all frequent ones, are laid out in the record as in memory, up to the first field
 * of variable length: these fields are decoded by one copy.
 */
static void
find_alike(struct th_schema_event *event)
{
	event->alike_fields = event->alike_bytes = 0;
	for (uint32_t i = 0; i < event->field_count && is_steady(event->fields[i].data_type);
		i++) {
		uint32_t bytes = members[event->fields[i].data_type].bytes;
		uint32_t at = align_up(event->alike_bytes, bytes);

		if (event->target[i] != (int)at)
			return;
		event->alike_fields = i + 1;
		event->alike_bytes = at + bytes;
	}
}

/*
 * Finds each known field in the log's description. The members of struct th_decoded_NAME are in
 * C layout: in order, each at the next multiple of its alignment.
 */
static void
bind(struct th_schema_event *event, const struct known_event *known)
{
	uint32_t target = 0;

	event->is_bound = true;
	event->is_decodable = event->name && !strcmp(event->name, known->name);
	for (uint32_t i = 0; i < TH_SCHEMA_FIELDS_MAX; i++)
		event->target[i] = NO_TARGET;
	for (const struct known_field *field = known->fields; field->name; field++) {
		int index = find_field(event, field->name);

		target = align_up(target, members[field->data_type].alignment);
		if (index >= 0 && event->fields[index].data_type == field->data_type)
			event->target[index] = (int16_t)target;
		else if (index < 0 && is_steady(field->data_type))
			event->lacks_fields = true;
		else
			event->is_decodable = false;
		target += members[field->data_type].bytes;
	}
	find_alike(event);
}

struct th_schema_event *
th_schema_find(const struct th_schema *schema, uint32_t type)
{
	uint32_t index = th_id_map_find(&schema->types, type);

	return index == TH_ID_MAP_NONE ? NULL : &schema->events[index];
}

bool
th_schema_decode(
	struct th_schema *schema, const struct th_record *record, union th_decoded *ret)
{
	const struct known_event *known = find_known(record->type);
	struct th_schema_event *event = known ? th_schema_find(schema, record->type) : NULL;

	if (!event)
		return false;
	if (!event->is_bound)
		bind(event, known);
	uint32_t at = sizeof(struct th_log_record) + event->alike_bytes;
	if (!event->is_decodable || record->size < at)
		return false;
	if (event->lacks_fields)
		memset(ret, 0, sizeof(*ret));
	memcpy(ret, record->bytes + sizeof(struct th_log_record), event->alike_bytes);
	for (uint32_t i = event->alike_fields; i < event->field_count; i++) {
		struct th_value value;

		if (!th_schema_read_value(record, event->fields[i].data_type, &at, &value))
			return false;
		if (event->target[i] != NO_TARGET)
			store((char *)ret + event->target[i], &value);
	}
	return true;
}

/* Descriptions */

static struct th_schema_event *
find_or_add_event(struct th_schema *schema, uint32_t type)
{
	if (schema->events_count >= EVENTS_MAX)
		return th_schema_find(schema, type);
	uint32_t index = th_id_map_enter(
		&schema->types, type, schema, events, ((struct th_schema_event){.type = type}));
	return &schema->events[index];
}

static void
set_text(char **text, struct th_text value)
{
	free(*text);
	*text = th_text_clean(value);
}

/* Reads the fields of a description by the layout known here, into struct th_decoded_NAME. */
static bool
decode_description(const struct th_record *record, void *ret)
{
	const struct known_field *field = known_events[record->type].fields;
	uint32_t at = sizeof(struct th_log_record);
	uint32_t target = 0;

	for (; field->name; field++) {
		struct th_value value;

		if (!th_schema_read_value(record, field->data_type, &at, &value))
			return false;
		target = align_up(target, members[field->data_type].alignment);
		store((char *)ret + target, &value);
		target += members[field->data_type].bytes;
	}
	return true;
}

static void
learn_type(struct th_schema *schema, const struct th_record *record)
{
	struct th_decoded_event_type decoded;

	if (!decode_description(record, &decoded))
		return;
	struct th_schema_event *event = find_or_add_event(schema, decoded.type);
	if (!event)
		return;
	set_text(&event->name, decoded.name);
	set_text(&event->label, decoded.label);
	set_text(&event->description, decoded.description);
	event->is_bound = false;
}

static void
learn_field(struct th_schema *schema, const struct th_record *record)
{
	struct th_decoded_event_field decoded;

	if (!decode_description(record, &decoded) || decoded.index >= TH_SCHEMA_FIELDS_MAX)
		return;
	struct th_schema_event *event = find_or_add_event(schema, decoded.type);
	if (!event)
		return;
	struct th_schema_field *field = &event->fields[decoded.index];
	field->data_type = decoded.data_type;
	field->content_type = decoded.content_type;
	set_text(&field->name, decoded.name);
	set_text(&field->label, decoded.label);
	if (event->field_count <= decoded.index)
		event->field_count = decoded.index + 1;
	event->is_bound = false;
}

bool
th_schema_learn(struct th_schema *schema, const struct th_record *record)
{
	if (record->type == TH_EVENT_EVENT_TYPE)
		learn_type(schema, record);
	else if (record->type == TH_EVENT_EVENT_FIELD)
		learn_field(schema, record);
	else
		return false;
	return true;
}

struct th_schema *
th_schema_create(void)
{
	return th_allocate(1, sizeof(struct th_schema));
}

static void
free_event(struct th_schema_event *event)
{
	for (uint32_t i = 0; i < event->field_count; i++) {
		free(event->fields[i].name);
		free(event->fields[i].label);
	}
	free(event->name);
	free(event->label);
	free(event->description);
}

void
th_schema_destroy(struct th_schema *schema)
{
	if (!schema)
		return;
	for (size_t i = 0; i < schema->events_count; i++)
		free_event(&schema->events[i]);
	free(schema->events);
	th_id_map_deinit(&schema->types);
	free(schema);
}
