/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format otlp: OpenTelemetry's ProfilesData (profiles.proto, v1development).
 *
 * The dictionary and the profiles grow in buffers of their own, as concatenated parts of their
 * messages, each with one string, location or sample: a message's repeated fields may be
 * interleaved.  At the end the buffers become fields of the outer message.
 *
 * Entry 0 of each table is the zero value, so an index of 0 means none.  A profile has one value
 * (alloc_space, ...), so a stack with four values has a sample in four profiles.
 */
#include "report/views/view.h"

#include <stdlib.h>
#include <string.h>

#include "opentelemetry/proto/profiles/v1development/profiles.pb-c.h"
#include "report/base/allocate.h"
#include "report/base/bytes.h"
#include "report/base/heap_names.h"
#include "report/base/log_text.h"
#include "report/log/recording_labels.h"
#include "report/views/export_part.h"
#include "report/views/locations.h"

/* Field numbers of the messages that are put together from buffers. */
enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPES = 2 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };

typedef Opentelemetry__Proto__Profiles__V1development__ProfilesDictionary dictionary;
typedef Opentelemetry__Proto__Profiles__V1development__Profile profile_part;
typedef Opentelemetry__Proto__Profiles__V1development__KeyValueAndUnit attribute;
typedef Opentelemetry__Proto__Profiles__V1development__ValueType value_type;
typedef Opentelemetry__Proto__Common__V1__AnyValue any_value;

#define DICTIONARY_INIT OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__PROFILES_DICTIONARY__INIT
#define PROFILE_INIT OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__PROFILE__INIT
#define VALUE_TYPE_INIT OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__VALUE_TYPE__INIT
#define ANY_VALUE_INIT OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__INIT

struct otlp {
	const struct th_profile *profile;
	struct th_bytes dictionary;
	struct th_bytes profiles; /* fields of ScopeProfiles */
	/* Indices in the tables by key; the zero values have key 0. */
	struct th_id_map strings;    /* string number in the frames */
	struct th_id_map functions;  /* function << 32 | file, + 1 */
	struct th_id_map mappings;   /* index of the module + 1, or 1 << 32 | path */
	struct th_id_map attributes; /* key << 32 | value: string numbers; numbers: see below */
	struct th_id_map stacks;     /* path << 1 | shows_internal, + 1 */
	struct th_locations locations;
};

/* Bytes */

static void
append_message(struct th_bytes *bytes, const ProtobufCMessage *message)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	uint8_t *packed = th_allocate(length + 1, 1);

	protobuf_c_message_pack(message, packed);
	th_bytes_add(bytes, packed, length);
	free(packed);
}

/* Moves the bytes of a message into a field of another. */
static void
append_field(struct th_bytes *bytes, unsigned field, struct th_bytes *message)
{
	th_bytes_varint(bytes, field << 3 | 2);
	th_bytes_varint(bytes, message->items_count);
	th_bytes_move(bytes, message);
}

static void
add(struct otlp *otlp, const dictionary *part)
{
	append_message(&otlp->dictionary, &part->base);
}

/* Strings and attributes */

static int32_t
string_index(struct otlp *otlp, uint32_t string)
{
	bool added;
	uint32_t index = th_id_map_intern(&otlp->strings, string, &added);

	if (added) {
		dictionary part = DICTIONARY_INIT;
		char *text = (char *)(uintptr_t)th_frames_string(otlp->profile->frames, string);

		part.string_table = &text;
		part.n_string_table = 1;
		add(otlp, &part);
	}
	return (int32_t)index;
}

static int32_t
text_index(struct otlp *otlp, const char *text)
{
	return string_index(otlp, th_frames_intern(otlp->profile->frames, text));
}

static void
add_attribute(struct otlp *otlp, const char *key, any_value *value, const char *unit)
{
	dictionary part = DICTIONARY_INIT;
	attribute item =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__KEY_VALUE_AND_UNIT__INIT;

	item.key_strindex = text_index(otlp, key);
	item.value = value;
	item.unit_strindex = text_index(otlp, unit);
	part.attribute_table = &(attribute *){&item};
	part.n_attribute_table = 1;
	add(otlp, &part);
}

/* 0 for an empty text. */
static int32_t
text_attribute(struct otlp *otlp, const char *key, uint32_t string)
{
	struct th_frames *frames = otlp->profile->frames;
	uint64_t word = (uint64_t)th_frames_intern(frames, key) << 32 | string;
	any_value value = ANY_VALUE_INIT;
	bool added;

	if (!string)
		return 0;
	uint32_t index = th_id_map_intern(&otlp->attributes, word, &added);
	if (added) {
		value.value_case =
			OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE;
		value.string_value = (char *)(uintptr_t)th_frames_string(frames, string);
		add_attribute(otlp, key, &value, "");
	}
	return (int32_t)index;
}

/* A key has at most one number in a message. */
static int32_t
number_attribute(struct otlp *otlp, const char *key, double number)
{
	uint64_t word = (uint64_t)th_frames_intern(otlp->profile->frames, key) << 32 |
			UINT32_MAX;
	any_value value = ANY_VALUE_INIT;
	bool added;
	uint32_t index = th_id_map_intern(&otlp->attributes, word, &added);

	if (added) {
		value.value_case = OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_INT_VALUE;
		value.int_value = number < 0x1p62 ? (int64_t)(number + 0.5) : INT64_MAX;
		add_attribute(otlp, key, &value, "By");
	}
	return (int32_t)index;
}

/* Frames */

static int32_t
function_index(struct otlp *otlp, const struct th_frame *frame)
{
	bool added;
	uint64_t word = ((uint64_t)frame->function << 32 | frame->file) + 1;
	uint32_t index = th_id_map_intern(&otlp->functions, word, &added);

	if (added) {
		dictionary part = DICTIONARY_INIT;
		Opentelemetry__Proto__Profiles__V1development__Function function =
			OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__FUNCTION__INIT;
		const struct th_frames *frames = otlp->profile->frames;

		function.name_strindex = string_index(
			otlp, th_frames_function(frames, frame->function)->name);
		function.filename_strindex = string_index(otlp, frame->file);
		part.function_table = &(
			Opentelemetry__Proto__Profiles__V1development__Function *){&function};
		part.n_function_table = 1;
		add(otlp, &part);
	}
	return (int32_t)index;
}

static void
add_mapping(struct otlp *otlp, const struct th_decoded_module *module, uint32_t path)
{
	dictionary part = DICTIONARY_INIT;
	Opentelemetry__Proto__Profiles__V1development__Mapping mapping =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__MAPPING__INIT;
	int32_t build_id = 0;

	mapping.filename_strindex = string_index(otlp, path);
	if (module) {
		char *text = th_text_clean(module->build_id);

		mapping.memory_start = module->start;
		mapping.memory_limit = module->end;
		build_id = text_attribute(otlp, "process.executable.build_id.gnu",
			th_frames_intern(otlp->profile->frames, text));
		free(text);
	}
	mapping.attribute_indices = &build_id;
	mapping.n_attribute_indices = build_id != 0;
	part.mapping_table = &(Opentelemetry__Proto__Profiles__V1development__Mapping *){
		&mapping};
	part.n_mapping_table = 1;
	add(otlp, &part);
}

/* 0 for a frame without a file. */
static int32_t
mapping_index(
	struct otlp *otlp, const struct th_frame *frame, const struct th_decoded_module *module)
{
	uint32_t path = th_frames_function(otlp->profile->frames, frame->function)->module;
	bool added;

	if (!path)
		return 0;
	const struct th_decoded_module *modules = otlp->profile->recording->modules;
	uint64_t key = module ? (uint64_t)(module - modules) + 1 : (uint64_t)1 << 32 | path;
	uint32_t index = th_id_map_intern(&otlp->mappings, key, &added);
	if (added)
		add_mapping(otlp, module, path);
	return (int32_t)index;
}

/* profile.frame.type of the semantic conventions; frames that the report makes up have none. */
static int32_t
frame_type(struct otlp *otlp, const struct th_frame *frame)
{
	const char *type = frame->kind == TH_KIND_JAVA    ? "jvm"
			   : frame->kind == TH_KIND_GROUP ? ""
							  : "native";

	return text_attribute(
		otlp, "profile.frame.type", th_frames_intern(otlp->profile->frames, type));
}

static void
add_location(void *data, uint64_t id, const uint32_t *inner, size_t count)
{
	struct otlp *otlp = data;
	const struct th_frames *frames = otlp->profile->frames;
	const struct th_frame first = *th_frames_get(frames, *inner);
	const struct th_decoded_module *module = th_locations_module(otlp->profile, first.word);
	dictionary part = DICTIONARY_INIT;
	Opentelemetry__Proto__Profiles__V1development__Location location =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__LOCATION__INIT;
	Opentelemetry__Proto__Profiles__V1development__Line *lines = th_allocate(
		count, sizeof(*lines));
	Opentelemetry__Proto__Profiles__V1development__Line **pointers = th_allocate(
		count, sizeof(*pointers));

	(void)id;
	for (size_t i = 0; i < count; i++) {
		const struct th_frame *frame = th_frames_get(frames, *(inner - i));

		opentelemetry__proto__profiles__v1development__line__init(&lines[i]);
		lines[i].line = frame->line;
		lines[i].function_index = function_index(otlp, frame);
		pointers[i] = &lines[i];
	}
	int32_t type = frame_type(otlp, &first);
	location.mapping_index = mapping_index(otlp, &first, module);
	if (module)
		location.address = module->bias + th_frame_offset(first.word);
	location.lines = pointers;
	location.n_lines = count;
	location.attribute_indices = &type;
	location.n_attribute_indices = type != 0;
	part.location_table = &(Opentelemetry__Proto__Profiles__V1development__Location *){
		&location};
	part.n_location_table = 1;
	add(otlp, &part);
	free(pointers);
	free(lines);
}

static int32_t
stack_index(struct otlp *otlp, const struct th_row *row)
{
	bool added;
	uint64_t word = ((uint64_t)row->path << 1 | row->shows_internal) + 1;
	uint32_t index = th_id_map_intern(&otlp->stacks, word, &added);

	if (added) {
		dictionary part = DICTIONARY_INIT;
		Opentelemetry__Proto__Profiles__V1development__Stack stack =
			OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__STACK__INIT;

		th_locations_find(&otlp->locations, row);
		stack.n_location_indices = otlp->locations.stack_count;
		stack.location_indices = th_allocate(
			stack.n_location_indices + 1, sizeof(int32_t));
		for (size_t i = 0; i < stack.n_location_indices; i++)
			stack.location_indices[i] = (int32_t)otlp->locations.stack[i];
		part.stack_table = &(Opentelemetry__Proto__Profiles__V1development__Stack *){
			&stack};
		part.n_stack_table = 1;
		add(otlp, &part);
		free(stack.location_indices);
	}
	return (int32_t)index;
}

/* The zero values at index 0 of the tables. */
static void
add_zero_values(struct otlp *otlp)
{
	static uint8_t zeros[16];
	dictionary part = DICTIONARY_INIT;
	Opentelemetry__Proto__Profiles__V1development__Mapping mapping =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__MAPPING__INIT;
	Opentelemetry__Proto__Profiles__V1development__Location location =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__LOCATION__INIT;
	Opentelemetry__Proto__Profiles__V1development__Function function =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__FUNCTION__INIT;
	Opentelemetry__Proto__Profiles__V1development__Link link =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__LINK__INIT;
	Opentelemetry__Proto__Profiles__V1development__Stack stack =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__STACK__INIT;
	attribute item =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__KEY_VALUE_AND_UNIT__INIT;
	bool added;

	string_index(otlp, 0);
	link.trace_id = (ProtobufCBinaryData){sizeof(zeros), zeros};
	link.span_id = (ProtobufCBinaryData){sizeof(zeros) / 2, zeros};
	part.mapping_table = &(Opentelemetry__Proto__Profiles__V1development__Mapping *){
		&mapping};
	part.location_table = &(Opentelemetry__Proto__Profiles__V1development__Location *){
		&location};
	part.function_table = &(Opentelemetry__Proto__Profiles__V1development__Function *){
		&function};
	part.link_table = &(Opentelemetry__Proto__Profiles__V1development__Link *){&link};
	part.stack_table = &(Opentelemetry__Proto__Profiles__V1development__Stack *){&stack};
	part.attribute_table = &(attribute *){&item};
	part.n_mapping_table = part.n_location_table = part.n_function_table = 1;
	part.n_link_table = part.n_stack_table = part.n_attribute_table = 1;
	add(otlp, &part);
	th_id_map_intern(&otlp->functions, 0, &added);
	th_id_map_intern(&otlp->mappings, 0, &added);
	th_id_map_intern(&otlp->attributes, 0, &added);
	th_id_map_intern(&otlp->stacks, 0, &added);
}

/* Profiles */

static void
append_sample(
	struct otlp *otlp, struct th_bytes *bytes, const struct th_row *row, int64_t value)
{
	struct th_frames *frames = otlp->profile->frames;
	profile_part part = PROFILE_INIT;
	Opentelemetry__Proto__Profiles__V1development__Sample sample =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__SAMPLE__INIT;
	int32_t attributes[3];
	const int32_t known[] = {
		text_attribute(otlp, "twinheap.heap",
			th_frames_intern(frames, th_heap_word(row->heap))),
		text_attribute(
			otlp, "thread.name", th_frames_function(frames, row->thread)->name),
		text_attribute(otlp, "twinheap.class", row->class_name),
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i])
			attributes[sample.n_attribute_indices++] = known[i];
	}
	sample.stack_index = stack_index(otlp, row);
	sample.attribute_indices = attributes;
	sample.values = &value;
	sample.n_values = 1;
	part.samples = &(Opentelemetry__Proto__Profiles__V1development__Sample *){&sample};
	part.n_samples = 1;
	append_message(bytes, &part.base);
}

/* The 95 % intervals of the totals that have one, as attributes of the profile; their number. */
static size_t
interval_attributes(struct otlp *otlp, const struct th_export_part *part,
	enum th_export_value value, int32_t indices[2 * TH_HEAPS])
{
	size_t count = 0;

	if ((value != TH_EXPORT_ALLOC_SPACE || !part->is_whole) &&
		value != TH_EXPORT_INUSE_SPACE)
		return 0;
	for (int i = TH_HEAP_JAVA; i < TH_HEAPS; i++) {
		enum th_heap heap = (enum th_heap)i;
		struct th_estimate total = value == TH_EXPORT_INUSE_SPACE
						   ? th_profile_live(part->profile, heap)
						   : th_profile_total(part->profile, heap);
		const char *ends[] = {"low", "high"};
		const double limits[] = {total.low, total.high};

		for (int end = 0; end < 2 && th_profile_has_heap(part->profile, heap); end++) {
			char *key = th_format_new("twinheap.%s.%s.ci95.%s",
				th_export_value_name(value), th_heap_word(heap), ends[end]);

			indices[count++] = number_attribute(otlp, key, limits[end]);
			free(key);
		}
	}
	return count;
}

static void
append_head(struct otlp *otlp, struct th_bytes *bytes, const struct th_export_part *part,
	enum th_export_value value)
{
	profile_part head = PROFILE_INIT;
	value_type type = VALUE_TYPE_INIT;
	value_type period = VALUE_TYPE_INIT;
	uint64_t id[2] = {part->id[0], part->id[1] + value};
	uint64_t interval = th_recording_interval(part->profile->recording);
	int32_t intervals[2 * TH_HEAPS];

	type.type_strindex = text_index(otlp, th_export_value_name(value));
	type.unit_strindex = text_index(otlp, th_export_value_unit(value));
	period.type_strindex = text_index(otlp, "space");
	period.unit_strindex = text_index(otlp, "bytes");
	head.sample_type = &type;
	head.period_type = &period;
	head.period = interval ? (int64_t)interval : 1;
	head.time_unix_nano = part->start;
	head.duration_nano = part->duration;
	if (part->id[0])
		head.profile_id = (ProtobufCBinaryData){sizeof(id), (uint8_t *)id};
	head.n_attribute_indices = interval_attributes(otlp, part, value, intervals);
	head.attribute_indices = intervals;
	append_message(bytes, &head.base);
}

static void
append_profile(struct otlp *otlp, const struct th_export_part *part, enum th_export_value value)
{
	const struct th_profile *profile = part->profile;
	struct th_bytes bytes = {0};

	append_head(otlp, &bytes, part, value);
	for (size_t i = 0; i < profile->rows_count; i++) {
		if (part->rows[i][value])
			append_sample(otlp, &bytes, &profile->rows[i], part->rows[i][value]);
	}
	append_field(&otlp->profiles, SCOPE_PROFILES_PROFILES, &bytes);
}

/* The message */

static void
pack_resource(const struct th_labels *labels, struct th_bytes *bytes)
{
	for (size_t i = 0; i < labels->items_count; i++) {
		Opentelemetry__Proto__Resource__V1__Resource resource =
			OPENTELEMETRY__PROTO__RESOURCE__V1__RESOURCE__INIT;
		Opentelemetry__Proto__Common__V1__KeyValue pair =
			OPENTELEMETRY__PROTO__COMMON__V1__KEY_VALUE__INIT;
		any_value value = ANY_VALUE_INIT;

		value.value_case =
			OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE;
		value.string_value = labels->items[i].value;
		pair.key = labels->items[i].key;
		pair.value = &value;
		resource.attributes = &(Opentelemetry__Proto__Common__V1__KeyValue *){&pair};
		resource.n_attributes = 1;
		append_message(bytes, &resource.base);
	}
}

static void
pack_scope(struct th_bytes *bytes)
{
	Opentelemetry__Proto__Common__V1__InstrumentationScope scope =
		OPENTELEMETRY__PROTO__COMMON__V1__INSTRUMENTATION_SCOPE__INIT;

	scope.name = (char *)(uintptr_t) "twinheap";
	scope.version = (char *)(uintptr_t)TH_VERSION;
	append_message(bytes, &scope.base);
}

static struct th_bytes
pack_data(struct otlp *otlp, const struct th_labels *labels)
{
	struct th_bytes resource = {0}, scope = {0}, scopes = {0}, processes = {0}, data = {0};

	pack_scope(&scope);
	append_field(&scopes, SCOPE_PROFILES_SCOPE, &scope);
	th_bytes_move(&scopes, &otlp->profiles);
	pack_resource(labels, &resource);
	append_field(&processes, RESOURCE_PROFILES_RESOURCE, &resource);
	append_field(&processes, RESOURCE_PROFILES_SCOPES, &scopes);
	append_field(&data, DATA_RESOURCE_PROFILES, &processes);
	append_field(&data, DATA_DICTIONARY, &otlp->dictionary);
	return data;
}

uint8_t *
th_export_otlp(const struct th_export_part *parts, size_t parts_count, size_t *length_ret)
{
	struct otlp otlp = {.profile = parts[0].profile};

	th_locations_init(&otlp.locations, otlp.profile, add_location, &otlp);
	add_zero_values(&otlp);
	for (size_t i = 0; i < parts_count; i++) {
		for (int value = 0; value < TH_EXPORT_VALUES; value++) {
			if (parts[i].values & 1u << value)
				append_profile(&otlp, &parts[i], (enum th_export_value)value);
		}
	}
	struct th_bytes data = pack_data(&otlp, parts[0].labels);
	th_id_map_deinit(&otlp.strings);
	th_id_map_deinit(&otlp.functions);
	th_id_map_deinit(&otlp.mappings);
	th_id_map_deinit(&otlp.attributes);
	th_id_map_deinit(&otlp.stacks);
	th_locations_deinit(&otlp.locations);
	*length_ret = data.items_count;
	return data.items;
}

void
th_view_otlp(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	th_export_row *rows = th_export_rows(profile);
	struct th_labels labels = {0};
	struct th_export_part parts[2];
	size_t length;

	th_recording_labels(recording, &labels);
	th_recording_given_labels(recording, &labels);
	th_export_both(profile, rows, &labels, parts);
	uint8_t *bytes = th_export_otlp(parts, 2, &length);
	fwrite(bytes, 1, length, file);
	free(bytes);
	th_labels_deinit(&labels);
	free(rows);
}
