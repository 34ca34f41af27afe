/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata is a tree of elements with attributes, whose texts are indices into a table of
 * strings: root { metadata { class { annotation, field { annotation } } }, region }.  The types
 * have the names and fields of OpenJDK's and, for malloc, of async-profiler's events, in their
 * order.  Those that async-profiler's converter knows have no others: it does not skip what follows.
 */
#include "report/views/jfr_types.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/log_text.h"

/* Encodings of a string. */
enum { STRING_UTF8 = 3 };

enum field_flag {
	IN_POOL = 1, /* a reference into the constant pool of its type */
	IS_ARRAY = 2,
	IN_TICKS = 4, /* a point in time */
	IS_SPAN = 8,  /* ticks */
	IN_BYTES = 16,
};

struct field {
	const char *name;
	enum th_jfr_type type;
	unsigned flags; /* enum field_flag bits */
};

struct type {
	enum th_jfr_type type;
	const char *name;
	const char *super;
	const char *label;
	const char *category;
	const struct field *fields; /* until a NULL name */
};

#define FIELDS(...)                \
	(const struct field[])     \
	{                          \
		__VA_ARGS__,       \
		{                  \
			NULL, 0, 0 \
		}                  \
	}
#define NO_FIELDS FIELDS({NULL, 0, 0})
#define EVENT "jdk.jfr.Event"
#define ANNOTATION "java.lang.annotation.Annotation"
#define START                                      \
	{                                          \
		"startTime", TH_JFR_LONG, IN_TICKS \
	}
#define THREAD                                        \
	{                                             \
		"eventThread", TH_JFR_THREAD, IN_POOL \
	}
#define STACK                                             \
	{                                                 \
		"stackTrace", TH_JFR_STACK_TRACE, IN_POOL \
	}

/* clang-format off: keeps one field per line */
static const struct type types[] = {
	{TH_JFR_BOOLEAN, "boolean", NULL, NULL, NULL, NO_FIELDS},
	{TH_JFR_INT, "int", NULL, NULL, NULL, NO_FIELDS},
	{TH_JFR_LONG, "long", NULL, NULL, NULL, NO_FIELDS},
	{TH_JFR_STRING, "java.lang.String", NULL, NULL, NULL, NO_FIELDS},
	{TH_JFR_CLASS, "java.lang.Class", NULL, "Java Class", NULL,
		FIELDS({"classLoader", TH_JFR_CLASS_LOADER, IN_POOL},
			{"name", TH_JFR_SYMBOL, IN_POOL}, {"package", TH_JFR_PACKAGE, IN_POOL},
			{"modifiers", TH_JFR_INT, 0})},
	{TH_JFR_THREAD, "java.lang.Thread", NULL, "Thread", NULL,
		FIELDS({"osName", TH_JFR_STRING, 0}, {"osThreadId", TH_JFR_LONG, 0},
			{"javaName", TH_JFR_STRING, 0}, {"javaThreadId", TH_JFR_LONG, 0})},
	{TH_JFR_CLASS_LOADER, "jdk.types.ClassLoader", NULL, "Java Class Loader", NULL,
		FIELDS({"type", TH_JFR_CLASS, IN_POOL}, {"name", TH_JFR_SYMBOL, IN_POOL})},
	{TH_JFR_FRAME_TYPE, "jdk.types.FrameType", NULL, "Frame type", NULL,
		FIELDS({"description", TH_JFR_STRING, 0})},
	{TH_JFR_STACK_TRACE, "jdk.types.StackTrace", NULL, "Stacktrace", NULL,
		FIELDS({"truncated", TH_JFR_BOOLEAN, 0},
			{"frames", TH_JFR_STACK_FRAME, IS_ARRAY})},
	{TH_JFR_STACK_FRAME, "jdk.types.StackFrame", NULL, NULL, NULL,
		FIELDS({"method", TH_JFR_METHOD, IN_POOL}, {"lineNumber", TH_JFR_INT, 0},
			{"bytecodeIndex", TH_JFR_INT, 0},
			{"type", TH_JFR_FRAME_TYPE, IN_POOL})},
	{TH_JFR_METHOD, "jdk.types.Method", NULL, "Java Method", NULL,
		FIELDS({"type", TH_JFR_CLASS, IN_POOL}, {"name", TH_JFR_SYMBOL, IN_POOL},
			{"descriptor", TH_JFR_SYMBOL, IN_POOL}, {"modifiers", TH_JFR_INT, 0},
			{"hidden", TH_JFR_BOOLEAN, 0})},
	{TH_JFR_PACKAGE, "jdk.types.Package", NULL, "Package", NULL,
		FIELDS({"name", TH_JFR_SYMBOL, IN_POOL})},
	{TH_JFR_SYMBOL, "jdk.types.Symbol", NULL, "Symbol", NULL,
		FIELDS({"string", TH_JFR_STRING, 0})},
	{TH_JFR_GC_NAME, "jdk.types.GCName", NULL, "GC Name", NULL,
		FIELDS({"name", TH_JFR_STRING, 0})},
	{TH_JFR_GC_CAUSE, "jdk.types.GCCause", NULL, "GC Cause", NULL,
		FIELDS({"cause", TH_JFR_STRING, 0})},
	{TH_JFR_GC_WHEN, "jdk.types.GCWhen", NULL, "GC When", NULL,
		FIELDS({"when", TH_JFR_STRING, 0})},
	{TH_JFR_VIRTUAL_SPACE, "jdk.types.VirtualSpace", NULL, NULL, NULL,
		FIELDS({"start", TH_JFR_LONG, 0}, {"committedEnd", TH_JFR_LONG, 0},
			{"committedSize", TH_JFR_LONG, IN_BYTES},
			{"reservedEnd", TH_JFR_LONG, 0},
			{"reservedSize", TH_JFR_LONG, IN_BYTES})},
	{TH_JFR_OLD_OBJECT, "jdk.types.OldObject", NULL, "Old Object", NULL,
		FIELDS({"address", TH_JFR_LONG, 0}, {"type", TH_JFR_CLASS, IN_POOL},
			{"description", TH_JFR_STRING, 0})},
	{TH_JFR_ALLOCATION_SAMPLE, "jdk.ObjectAllocationSample", EVENT,
		"Object Allocation Sample", "Java Virtual Machine",
		FIELDS(START, THREAD, STACK, {"objectClass", TH_JFR_CLASS, IN_POOL},
			{"weight", TH_JFR_LONG, IN_BYTES})},
	{TH_JFR_OLD_OBJECT_SAMPLE, "jdk.OldObjectSample", EVENT, "Old Object Sample",
		"Java Virtual Machine",
		FIELDS(START, THREAD, STACK, {"allocationTime", TH_JFR_LONG, IN_TICKS},
			{"objectSize", TH_JFR_LONG, IN_BYTES},
			{"objectAge", TH_JFR_LONG, IS_SPAN},
			{"lastKnownHeapUsage", TH_JFR_LONG, IN_BYTES},
			{"object", TH_JFR_OLD_OBJECT, IN_POOL},
			{"arrayElements", TH_JFR_INT, 0}, {"weight", TH_JFR_LONG, IN_BYTES})},
	{TH_JFR_MALLOC, "profiler.Malloc", EVENT, "malloc", "Profiler",
		FIELDS(START, THREAD, STACK, {"address", TH_JFR_LONG, 0},
			{"size", TH_JFR_LONG, IN_BYTES})},
	{TH_JFR_FREE, "profiler.Free", EVENT, "free", "Profiler",
		FIELDS(START, THREAD, STACK, {"address", TH_JFR_LONG, 0})},
	{TH_JFR_MAPPED, "twinheap.Mapped", EVENT, "mmap", "Profiler",
		FIELDS(START, THREAD, STACK, {"size", TH_JFR_LONG, IN_BYTES})},
	{TH_JFR_GARBAGE_COLLECTION, "jdk.GarbageCollection", EVENT, "Garbage Collection",
		"Java Virtual Machine",
		FIELDS(START, {"duration", TH_JFR_LONG, IS_SPAN}, {"gcId", TH_JFR_INT, 0},
			{"name", TH_JFR_GC_NAME, IN_POOL}, {"cause", TH_JFR_GC_CAUSE, IN_POOL},
			{"sumOfPauses", TH_JFR_LONG, IS_SPAN},
			{"longestPause", TH_JFR_LONG, IS_SPAN})},
	{TH_JFR_HEAP_SUMMARY, "jdk.GCHeapSummary", EVENT, "Heap Summary",
		"Java Virtual Machine",
		FIELDS(START, {"gcId", TH_JFR_INT, 0}, {"when", TH_JFR_GC_WHEN, IN_POOL},
			{"heapSpace", TH_JFR_VIRTUAL_SPACE, 0},
			{"heapUsed", TH_JFR_LONG, IN_BYTES})},
	{TH_JFR_LABEL, "jdk.jfr.Label", ANNOTATION, NULL, NULL,
		FIELDS({"value", TH_JFR_STRING, 0})},
	{TH_JFR_CATEGORY, "jdk.jfr.Category", ANNOTATION, NULL, NULL,
		FIELDS({"value", TH_JFR_STRING, IS_ARRAY})},
	{TH_JFR_TIMESTAMP, "jdk.jfr.Timestamp", ANNOTATION, NULL, NULL,
		FIELDS({"value", TH_JFR_STRING, 0})},
	{TH_JFR_TIMESPAN, "jdk.jfr.Timespan", ANNOTATION, NULL, NULL,
		FIELDS({"value", TH_JFR_STRING, 0})},
	{TH_JFR_DATA_AMOUNT, "jdk.jfr.DataAmount", ANNOTATION, NULL, NULL,
		FIELDS({"value", TH_JFR_STRING, 0})},
};
/* clang-format on */
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

/* Numbers, strings, events */

void
th_jfr_number(struct th_bytes *bytes, uint64_t value)
{
	for (int i = 0; i < 8 && value >= 0x80; i++, value >>= 7) {
		th_bytes_add(bytes, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
		if (i == 7) {
			th_bytes_add(bytes, &(uint8_t){(uint8_t)(value >> 7)}, 1);
			return;
		}
	}
	th_bytes_add(bytes, &(uint8_t){(uint8_t)value}, 1);
}

void
th_jfr_numbers_of(struct th_bytes *bytes, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		th_jfr_number(bytes, values[i]);
}

void
th_jfr_string(struct th_bytes *bytes, const char *text)
{
	size_t length = strlen(text);

	th_bytes_add(bytes, &(uint8_t){STRING_UTF8}, 1);
	th_jfr_number(bytes, length);
	th_bytes_add(bytes, text, length);
}

static size_t
number_length(uint64_t value)
{
	size_t length = 1;

	for (; value >= 0x80 && length < 9; value >>= 7)
		length++;
	return length;
}

/* The size counts its own bytes. */
void
th_jfr_event(struct th_bytes *bytes, enum th_jfr_type type, struct th_bytes *body)
{
	uint64_t size = body->items_count + number_length(type);
	size_t length = 1;

	while (number_length(size + length) != length)
		length++;
	th_jfr_number(bytes, size + length);
	th_jfr_number(bytes, type);
	th_bytes_move(bytes, body);
}

/* Metadata */

struct metadata {
	struct th_strings strings;
	struct th_bytes tree;
};

static void
put_text(struct metadata *metadata, const char *text)
{
	th_jfr_number(&metadata->tree, th_strings_intern(&metadata->strings, text));
}

static void
put_attribute(struct metadata *metadata, const char *key, const char *value)
{
	put_text(metadata, key);
	put_text(metadata, value);
}

static void
put_number(struct metadata *metadata, const char *key, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	put_attribute(metadata, key, text);
}

/* Begins an element; its attributes follow, then the number of its children and these. */
static void
put_element(struct metadata *metadata, const char *name, size_t attributes)
{
	put_text(metadata, name);
	th_jfr_number(&metadata->tree, attributes);
}

static void
put_children(struct metadata *metadata, size_t count)
{
	th_jfr_number(&metadata->tree, count);
}

static void
put_annotation(
	struct metadata *metadata, enum th_jfr_type type, const char *key, const char *value)
{
	put_element(metadata, "annotation", 2);
	put_number(metadata, "class", type);
	put_attribute(metadata, key, value);
	put_children(metadata, 0);
}

static void
put_field(struct metadata *metadata, const struct field *field)
{
	bool in_pool = field->flags & IN_POOL;
	bool is_array = field->flags & IS_ARRAY;
	unsigned unit = field->flags & (IN_TICKS | IS_SPAN | IN_BYTES);

	put_element(metadata, "field", 2 + in_pool + is_array);
	put_attribute(metadata, "name", field->name);
	put_number(metadata, "class", field->type);
	if (in_pool)
		put_attribute(metadata, "constantPool", "true");
	if (is_array)
		put_number(metadata, "dimension", 1);
	put_children(metadata, unit != 0);
	if (unit == IN_TICKS)
		put_annotation(metadata, TH_JFR_TIMESTAMP, "value", "TICKS");
	else if (unit == IS_SPAN)
		put_annotation(metadata, TH_JFR_TIMESPAN, "value", "TICKS");
	else if (unit == IN_BYTES)
		put_annotation(metadata, TH_JFR_DATA_AMOUNT, "value", "BYTES");
}

static void
put_type(struct metadata *metadata, const struct type *type)
{
	size_t fields = 0;

	while (type->fields[fields].name)
		fields++;
	/* A name for a string: readers show the string. */
	bool is_simple = fields == 1 && !type->super && type->fields[0].type == TH_JFR_STRING;

	put_element(metadata, "class", 2 + (type->super != NULL) + is_simple);
	put_attribute(metadata, "name", type->name);
	put_number(metadata, "id", type->type);
	if (is_simple)
		put_attribute(metadata, "simpleType", "true");
	if (type->super)
		put_attribute(metadata, "superType", type->super);
	put_children(metadata, fields + (type->label != NULL) + (type->category != NULL));
	if (type->label)
		put_annotation(metadata, TH_JFR_LABEL, "value", type->label);
	if (type->category)
		put_annotation(metadata, TH_JFR_CATEGORY, "value-0", type->category);
	for (size_t i = 0; i < fields; i++)
		put_field(metadata, &type->fields[i]);
}

static void
put_tree(struct metadata *metadata)
{
	put_element(metadata, "root", 0);
	put_children(metadata, 2);
	put_element(metadata, "metadata", 0);
	put_children(metadata, TYPE_COUNT);
	for (size_t i = 0; i < TYPE_COUNT; i++)
		put_type(metadata, &types[i]);
	put_element(metadata, "region", 2);
	put_attribute(metadata, "locale", "en_US");
	put_attribute(metadata, "gmtOffset", "0");
	put_children(metadata, 0);
}

void
th_jfr_metadata(struct th_bytes *bytes, uint64_t start, uint64_t duration)
{
	struct metadata metadata = {0};
	struct th_bytes body = {0};

	th_strings_init(&metadata.strings);
	put_tree(&metadata);
	/* The one: id of the metadata. */
	th_jfr_numbers(&body, start, duration, 1, metadata.strings.items_count);
	for (size_t i = 0; i < metadata.strings.items_count; i++)
		th_jfr_string(&body, th_strings_get(&metadata.strings, (uint32_t)i));
	th_bytes_move(&body, &metadata.tree);
	th_jfr_event(bytes, TH_JFR_METADATA, &body);
	th_strings_deinit(&metadata.strings);
}
