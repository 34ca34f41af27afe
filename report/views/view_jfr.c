/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format jfr: one chunk of a flight recording, version 2.1, as HotSpot writes it and the
 * JDK's `jfr`, JDK Mission Control and async-profiler's converter read it.
 *
 * A chunk is a header of 68 bytes, events, the constant pools and the metadata.  Each sample is an
 * event whose weight or size is what the sample represents, so that sums are our figures; what
 * was allocated and what is live at the time of the view are events of different types.  Ticks
 * are nanoseconds of CLOCK_MONOTONIC.
 *
 * Readers need every pool to have an entry, every method a descriptor with parentheses, and every
 * frame a type.
 */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/bytes.h"
#include "report/base/line.h"
#include "report/base/log_text.h"
#include "report/profile/values.h"
#include "report/views/export_part.h"
#include "unify/shared/clock.h"

#define HEADER_BYTES 68
#define COMPRESSED_NUMBERS 1

/* Numbers of types; 0 and 1 are the metadata and the constant pools. */
enum jfr_type {
	JFR_METADATA = 0,
	JFR_POOLS = 1,
	JFR_BOOLEAN = 4,
	JFR_INT = 10,
	JFR_LONG = 11,
	JFR_STRING = 20,
	/* With a constant pool each. */
	JFR_CLASS,
	JFR_THREAD,
	JFR_CLASS_LOADER,
	JFR_FRAME_TYPE,
	JFR_STACK_TRACE,
	JFR_METHOD,
	JFR_PACKAGE,
	JFR_SYMBOL,
	JFR_GC_NAME,
	JFR_GC_CAUSE,
	JFR_GC_WHEN,
	JFR_OLD_OBJECT,
	JFR_POOL_END,
	/* Parts of others. */
	JFR_STACK_FRAME = 50,
	JFR_VIRTUAL_SPACE,
	/* Events. */
	JFR_ALLOCATION_SAMPLE = 100,
	JFR_OLD_OBJECT_SAMPLE,
	JFR_MALLOC,
	JFR_FREE,
	JFR_MAPPED,
	JFR_GARBAGE_COLLECTION,
	JFR_HEAP_SUMMARY,
	/* Annotations. */
	JFR_LABEL = 150,
	JFR_CATEGORY,
	JFR_TIMESTAMP,
	JFR_TIMESPAN,
	JFR_DATA_AMOUNT,
};

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
	enum jfr_type type;
	unsigned flags; /* enum field_flag bits */
};

struct type {
	enum jfr_type type;
	const char *name;
	const char *super;
	const char *label;
	const char *category;
	const struct field *fields; /* until a NULL name */
};

/* clang-format off */
#define FIELDS(...) (const struct field[]) {__VA_ARGS__, {NULL, 0, 0}}
#define NO_FIELDS FIELDS({NULL, 0, 0})
#define EVENT "jdk.jfr.Event"
#define ANNOTATION "java.lang.annotation.Annotation"
#define START {"startTime", JFR_LONG, IN_TICKS}
#define THREAD {"eventThread", JFR_THREAD, IN_POOL}
#define STACK {"stackTrace", JFR_STACK_TRACE, IN_POOL}

/*
 * With the names and fields of OpenJDK's and, for malloc, of async-profiler's events, in their
 * order.  Those that async-profiler's converter knows have no others: it does not skip what follows.
 */
static const struct type types[] = {
	{JFR_BOOLEAN, "boolean", NULL, NULL, NULL, NO_FIELDS},
	{JFR_INT, "int", NULL, NULL, NULL, NO_FIELDS},
	{JFR_LONG, "long", NULL, NULL, NULL, NO_FIELDS},
	{JFR_STRING, "java.lang.String", NULL, NULL, NULL, NO_FIELDS},
	{JFR_CLASS, "java.lang.Class", NULL, "Java Class", NULL,
		FIELDS({"classLoader", JFR_CLASS_LOADER, IN_POOL},
			{"name", JFR_SYMBOL, IN_POOL}, {"package", JFR_PACKAGE, IN_POOL},
			{"modifiers", JFR_INT, 0})},
	{JFR_THREAD, "java.lang.Thread", NULL, "Thread", NULL,
		FIELDS({"osName", JFR_STRING, 0}, {"osThreadId", JFR_LONG, 0},
			{"javaName", JFR_STRING, 0}, {"javaThreadId", JFR_LONG, 0})},
	{JFR_CLASS_LOADER, "jdk.types.ClassLoader", NULL, "Java Class Loader", NULL,
		FIELDS({"type", JFR_CLASS, IN_POOL}, {"name", JFR_SYMBOL, IN_POOL})},
	{JFR_FRAME_TYPE, "jdk.types.FrameType", NULL, "Frame type", NULL,
		FIELDS({"description", JFR_STRING, 0})},
	{JFR_STACK_TRACE, "jdk.types.StackTrace", NULL, "Stacktrace", NULL,
		FIELDS({"truncated", JFR_BOOLEAN, 0}, {"frames", JFR_STACK_FRAME, IS_ARRAY})},
	{JFR_STACK_FRAME, "jdk.types.StackFrame", NULL, NULL, NULL,
		FIELDS({"method", JFR_METHOD, IN_POOL}, {"lineNumber", JFR_INT, 0},
			{"bytecodeIndex", JFR_INT, 0}, {"type", JFR_FRAME_TYPE, IN_POOL})},
	{JFR_METHOD, "jdk.types.Method", NULL, "Java Method", NULL,
		FIELDS({"type", JFR_CLASS, IN_POOL}, {"name", JFR_SYMBOL, IN_POOL},
			{"descriptor", JFR_SYMBOL, IN_POOL}, {"modifiers", JFR_INT, 0},
			{"hidden", JFR_BOOLEAN, 0})},
	{JFR_PACKAGE, "jdk.types.Package", NULL, "Package", NULL,
		FIELDS({"name", JFR_SYMBOL, IN_POOL})},
	{JFR_SYMBOL, "jdk.types.Symbol", NULL, "Symbol", NULL,
		FIELDS({"string", JFR_STRING, 0})},
	{JFR_GC_NAME, "jdk.types.GCName", NULL, "GC Name", NULL,
		FIELDS({"name", JFR_STRING, 0})},
	{JFR_GC_CAUSE, "jdk.types.GCCause", NULL, "GC Cause", NULL,
		FIELDS({"cause", JFR_STRING, 0})},
	{JFR_GC_WHEN, "jdk.types.GCWhen", NULL, "GC When", NULL,
		FIELDS({"when", JFR_STRING, 0})},
	{JFR_VIRTUAL_SPACE, "jdk.types.VirtualSpace", NULL, NULL, NULL,
		FIELDS({"start", JFR_LONG, 0}, {"committedEnd", JFR_LONG, 0},
			{"committedSize", JFR_LONG, IN_BYTES}, {"reservedEnd", JFR_LONG, 0},
			{"reservedSize", JFR_LONG, IN_BYTES})},
	{JFR_OLD_OBJECT, "jdk.types.OldObject", NULL, "Old Object", NULL,
		FIELDS({"address", JFR_LONG, 0}, {"type", JFR_CLASS, IN_POOL},
			{"description", JFR_STRING, 0})},
	{JFR_ALLOCATION_SAMPLE, "jdk.ObjectAllocationSample", EVENT, "Object Allocation Sample",
		"Java Virtual Machine",
		FIELDS(START, THREAD, STACK, {"objectClass", JFR_CLASS, IN_POOL},
			{"weight", JFR_LONG, IN_BYTES})},
	{JFR_OLD_OBJECT_SAMPLE, "jdk.OldObjectSample", EVENT, "Old Object Sample",
		"Java Virtual Machine",
		FIELDS(START, THREAD, STACK, {"allocationTime", JFR_LONG, IN_TICKS},
			{"objectSize", JFR_LONG, IN_BYTES}, {"objectAge", JFR_LONG, IS_SPAN},
			{"lastKnownHeapUsage", JFR_LONG, IN_BYTES},
			{"object", JFR_OLD_OBJECT, IN_POOL}, {"arrayElements", JFR_INT, 0},
			{"weight", JFR_LONG, IN_BYTES})},
	{JFR_MALLOC, "profiler.Malloc", EVENT, "malloc", "Profiler",
		FIELDS(START, THREAD, STACK, {"address", JFR_LONG, 0},
			{"size", JFR_LONG, IN_BYTES})},
	{JFR_FREE, "profiler.Free", EVENT, "free", "Profiler",
		FIELDS(START, THREAD, STACK, {"address", JFR_LONG, 0})},
	{JFR_MAPPED, "twinheap.Mapped", EVENT, "mmap", "Profiler",
		FIELDS(START, THREAD, STACK, {"size", JFR_LONG, IN_BYTES})},
	{JFR_GARBAGE_COLLECTION, "jdk.GarbageCollection", EVENT, "Garbage Collection",
		"Java Virtual Machine",
		FIELDS(START, {"duration", JFR_LONG, IS_SPAN}, {"gcId", JFR_INT, 0},
			{"name", JFR_GC_NAME, IN_POOL}, {"cause", JFR_GC_CAUSE, IN_POOL},
			{"sumOfPauses", JFR_LONG, IS_SPAN},
			{"longestPause", JFR_LONG, IS_SPAN})},
	{JFR_HEAP_SUMMARY, "jdk.GCHeapSummary", EVENT, "Heap Summary", "Java Virtual Machine",
		FIELDS(START, {"gcId", JFR_INT, 0}, {"when", JFR_GC_WHEN, IN_POOL},
			{"heapSpace", JFR_VIRTUAL_SPACE, 0}, {"heapUsed", JFR_LONG, IN_BYTES})},
	{JFR_LABEL, "jdk.jfr.Label", ANNOTATION, NULL, NULL, FIELDS({"value", JFR_STRING, 0})},
	{JFR_CATEGORY, "jdk.jfr.Category", ANNOTATION, NULL, NULL,
		FIELDS({"value", JFR_STRING, IS_ARRAY})},
	{JFR_TIMESTAMP, "jdk.jfr.Timestamp", ANNOTATION, NULL, NULL,
		FIELDS({"value", JFR_STRING, 0})},
	{JFR_TIMESPAN, "jdk.jfr.Timespan", ANNOTATION, NULL, NULL,
		FIELDS({"value", JFR_STRING, 0})},
	{JFR_DATA_AMOUNT, "jdk.jfr.DataAmount", ANNOTATION, NULL, NULL,
		FIELDS({"value", JFR_STRING, 0})},
};
/* clang-format on */
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

/* Numbers, strings, events */

/* A number, which is signed; the ninth byte has 8 bits, of which a positive one needs 7. */
static void
put_number(struct th_bytes *bytes, uint64_t value)
{
	th_bytes_varint(bytes, value & INT64_MAX);
}

/* Numbers in a row, evaluated in any order. */
#define put_numbers(bytes, ...)                                \
	put_numbers_of(bytes, (const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
static void
put_numbers_of(struct th_bytes *bytes, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_number(bytes, values[i]);
}

static void
put_string(struct th_bytes *bytes, const char *text)
{
	size_t length = strlen(text);

	th_bytes_add(bytes, &(uint8_t){STRING_UTF8}, 1);
	put_number(bytes, length);
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

/* Appends an event, whose size counts its own bytes; `body`, without the type, becomes empty. */
static void
put_event(struct th_bytes *bytes, enum jfr_type type, struct th_bytes *body)
{
	uint64_t size = body->items_count + number_length(type);
	size_t length = 1;

	while (number_length(size + length) != length)
		length++;
	put_number(bytes, size + length);
	put_number(bytes, type);
	th_bytes_move(bytes, body);
}

/*
 * Metadata is a tree of elements with attributes, whose texts are indices into a table of
 * strings: root { metadata { class { annotation, field { annotation } } }, region }.
 */

struct metadata {
	struct th_strings strings;
	struct th_bytes tree;
};

static void
put_text(struct metadata *metadata, const char *text)
{
	put_number(&metadata->tree, th_strings_intern(&metadata->strings, text));
}

static void
put_attribute(struct metadata *metadata, const char *key, const char *value)
{
	put_text(metadata, key);
	put_text(metadata, value);
}

static void
put_integer(struct metadata *metadata, const char *key, unsigned number)
{
	put_attribute(metadata, key, th_printed("{}", number));
}

/* Begins an element; its attributes follow, then the number of its children and these. */
static void
put_element(struct metadata *metadata, const char *name, size_t attributes)
{
	put_text(metadata, name);
	put_number(&metadata->tree, attributes);
}

static void
put_children(struct metadata *metadata, size_t count)
{
	put_number(&metadata->tree, count);
}

static void
put_annotation(
	struct metadata *metadata, enum jfr_type type, const char *key, const char *value)
{
	put_element(metadata, "annotation", 2);
	put_integer(metadata, "class", type);
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
	put_integer(metadata, "class", field->type);
	if (in_pool)
		put_attribute(metadata, "constantPool", "true");
	if (is_array)
		put_integer(metadata, "dimension", 1);
	put_children(metadata, unit != 0);
	if (unit == IN_TICKS)
		put_annotation(metadata, JFR_TIMESTAMP, "value", "TICKS");
	else if (unit == IS_SPAN)
		put_annotation(metadata, JFR_TIMESPAN, "value", "TICKS");
	else if (unit == IN_BYTES)
		put_annotation(metadata, JFR_DATA_AMOUNT, "value", "BYTES");
}

static void
put_type(struct metadata *metadata, const struct type *type)
{
	size_t fields = 0;

	while (type->fields[fields].name)
		fields++;
	/* A name for a string: readers show the string. */
	bool is_simple = fields == 1 && !type->super && type->fields[0].type == JFR_STRING;

	put_element(metadata, "class", 2 + (type->super != NULL) + is_simple);
	put_attribute(metadata, "name", type->name);
	put_integer(metadata, "id", type->type);
	if (is_simple)
		put_attribute(metadata, "simpleType", "true");
	if (type->super)
		put_attribute(metadata, "superType", type->super);
	put_children(metadata, fields + (type->label != NULL) + (type->category != NULL));
	if (type->label)
		put_annotation(metadata, JFR_LABEL, "value", type->label);
	if (type->category)
		put_annotation(metadata, JFR_CATEGORY, "value-0", type->category);
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

/* Appends the metadata event; times in ticks. */
static void
put_metadata(struct th_bytes *bytes, uint64_t start, uint64_t duration)
{
	struct metadata metadata = {0};
	struct th_bytes body = {0};

	th_strings_init(&metadata.strings);
	put_tree(&metadata);
	/* The one: id of the metadata. */
	put_numbers(&body, start, duration, 1, metadata.strings.items_count);
	for (size_t i = 0; i < metadata.strings.items_count; i++)
		put_string(&body, th_strings_get(&metadata.strings, (uint32_t)i));
	th_bytes_move(&body, &metadata.tree);
	put_event(bytes, JFR_METADATA, &body);
	th_strings_deinit(&metadata.strings);
}

/* Constant pools */

/* Entries of the pool of frame types, with the names of HotSpot and of async-profiler. */
enum frame_type { FRAME_COMPILED = 1, FRAME_INLINED, FRAME_NATIVE, FRAME_CPP };

/* Entries of the pool of times of a heap summary. */
enum { WHEN_BEFORE = 1, WHEN_AFTER };

/* A constant pool: its entries in a row, each with its number before it. */
struct pool {
	struct th_bytes entries;
	struct th_id_map ids; /* by key of the pool; the entry's number is the index + 1 */
	size_t count;
};

struct jfr {
	const struct th_profile *profile;
	struct th_bytes events;
	struct pool pools[JFR_POOL_END];
	double sums[TH_HEAPS][TH_MEASURES]; /* of the weights so far, bytes */
};

/* Begins an entry with a fixed number; its fields follow. */
static struct th_bytes *
begin_entry(struct jfr *jfr, enum jfr_type type, uint64_t id)
{
	jfr->pools[type].count++;
	put_number(&jfr->pools[type].entries, id);
	return &jfr->pools[type].entries;
}

/* The number of the entry with this key; *new_ret: begun if it is new, else NULL. */
static uint64_t
pool_id(struct jfr *jfr, enum jfr_type type, uint64_t key, struct th_bytes **new_ret)
{
	bool added;
	uint64_t id = th_id_map_intern(&jfr->pools[type].ids, key, &added) + (uint64_t)1;

	*new_ret = added ? begin_entry(jfr, type, id) : NULL;
	return id;
}

/* An entry with one string, keyed by it. */
static uint64_t
named(struct jfr *jfr, enum jfr_type type, const char *text)
{
	struct th_bytes *entry;
	uint64_t id = pool_id(jfr, type, th_frames_intern(jfr->profile->frames, text), &entry);

	if (entry)
		put_string(entry, text);
	return id;
}

static uint64_t
symbol(struct jfr *jfr, const char *text)
{
	return named(jfr, JFR_SYMBOL, text);
}

/* A class by its name in the form of the class file, "java/lang/String" or "[B". */
static uint64_t
class_named(struct jfr *jfr, const char *name)
{
	uint64_t name_id = symbol(jfr, name);
	struct th_bytes *entry;
	uint64_t id = pool_id(jfr, JFR_CLASS, name_id, &entry);

	/* Class loader, name, package, modifiers. */
	if (entry)
		put_numbers(entry, 1, name_id, 0, 0);
	return id;
}

/* 0: not known. */
static uint64_t
class_of(struct jfr *jfr, uint32_t index)
{
	const struct th_decoded_class *class = &jfr->profile->recording->classes[index];

	if (!class->class)
		return 0;
	char *name = th_text_clean(class->signature);
	size_t length = strlen(name);
	bool is_object = length > 2 && name[0] == 'L' && name[length - 1] == ';';

	if (is_object)
		name[length - 1] = '\0';
	uint64_t id = class_named(jfr, is_object ? name + 1 : name);
	free(name);
	return id;
}

static void
put_thread(struct th_bytes *entry, const char *name, uint64_t tid, const char *java_name,
	uint64_t java_id)
{
	put_string(entry, name);
	put_number(entry, tid);
	put_string(entry, java_name);
	put_number(entry, java_id);
}

static uint64_t
thread_of(struct jfr *jfr, uint32_t name_index)
{
	const struct th_recording *recording = jfr->profile->recording;
	const struct th_thread_name *name = &recording->thread_names[name_index];
	struct th_bytes *entry;
	uint64_t id = pool_id(jfr, JFR_THREAD, name_index, &entry);

	if (entry) {
		uint32_t tid = recording->threads[name->thread].tid;
		const char *text = name->text.length ? th_printed("{}", name->text)
						     : th_printed("thread {}", tid);

		put_thread(entry, text, tid, name->is_of_java ? text : "",
			name->is_of_java ? name->thread + (uint64_t)1 : 0);
	}
	return id;
}

/* A class in the form of the class file, "java/lang/String". */
static const char *
java_class(const char *name, const char *end)
{
	struct th_line line;

	th_line_begin(&line);
	for (; name < end; name++)
		fputc(*name == '.' ? '/' : *name, line.stream);
	return th_line_text(&line);
}

/* A native function belongs to the class that its library is here. */
static uint64_t
method_of(struct jfr *jfr, uint32_t function)
{
	const struct th_frames *frames = jfr->profile->frames;
	struct th_bytes *entry;
	uint64_t id = pool_id(jfr, JFR_METHOD, function, &entry);
	const char *method = th_frames_function_name(frames, function);
	const char *class = th_frames_library(frames, function);

	if (!entry)
		return id;
	if (th_frames_function(frames, function)->kind == TH_KIND_JAVA) {
		const char *dot = strrchr(method, '.');

		class = java_class(method, dot ? dot : method);
		method = dot ? dot + 1 : method;
	}
	/* The last ones: modifiers, hidden. */
	put_numbers(
		entry, class_named(jfr, class), symbol(jfr, method), symbol(jfr, "()V"), 0, 0);
	return id;
}

static enum frame_type
type_of(const struct th_frame *frame)
{
	switch (frame->kind) {
	case TH_KIND_JAVA:
		return frame->is_inlined ? FRAME_INLINED : FRAME_COMPILED;
	case TH_KIND_VM:
		return FRAME_CPP;
	default:
		return FRAME_NATIVE;
	}
}

static void
put_frames(struct jfr *jfr, struct th_bytes *bytes, uint32_t path)
{
	const struct th_frames *frames = jfr->profile->frames;
	struct th_path chosen = th_paths_get(jfr->profile->paths, path);

	put_number(bytes, chosen.count);
	for (uint32_t i = chosen.count; i-- > 0;) {
		const struct th_frame *frame = th_frames_get(frames, chosen.frames[i]);

		/* The zero: index in the bytecode. */
		put_numbers(
			bytes, method_of(jfr, frame->function), frame->line, 0, type_of(frame));
	}
}

static uint64_t
stack_of(struct jfr *jfr, uint32_t path)
{
	struct th_bytes *entry;
	uint64_t id = pool_id(jfr, JFR_STACK_TRACE, path, &entry);

	if (entry) {
		put_number(entry, 0); /* truncated */
		put_frames(jfr, entry, path);
	}
	return id;
}

static uint64_t
old_object_of(struct jfr *jfr, uint64_t class_id)
{
	struct th_bytes *entry;
	uint64_t id = pool_id(jfr, JFR_OLD_OBJECT, class_id, &entry);

	if (entry) {
		put_numbers(entry, 0, class_id); /* address, class */
		put_string(entry, "");
	}
	return id;
}

/* Entries that have fixed numbers, and one for each pool that would be empty. */
static void
fill_pools(struct jfr *jfr)
{
	static const char *const frame_types[] = {"JIT compiled", "Inlined", "Native", "C++"};

	for (size_t i = 0; i < sizeof(frame_types) / sizeof(frame_types[0]); i++)
		put_string(
			begin_entry(jfr, JFR_FRAME_TYPE, i + FRAME_COMPILED), frame_types[i]);
	put_string(begin_entry(jfr, JFR_GC_WHEN, WHEN_BEFORE), "Before GC");
	put_string(begin_entry(jfr, JFR_GC_WHEN, WHEN_AFTER), "After GC");
	/* The boot loader has no class. */
	put_numbers(begin_entry(jfr, JFR_CLASS_LOADER, 1), 0, symbol(jfr, "bootstrap"));
	put_number(begin_entry(jfr, JFR_PACKAGE, 1), symbol(jfr, ""));
	if (!jfr->pools[JFR_GC_NAME].count)
		named(jfr, JFR_GC_NAME, "");
	if (!jfr->pools[JFR_GC_CAUSE].count)
		named(jfr, JFR_GC_CAUSE, "");
	old_object_of(jfr, class_named(jfr, ""));
	if (!jfr->pools[JFR_METHOD].count)
		method_of(jfr, 0);
	if (!jfr->pools[JFR_STACK_TRACE].count)
		put_numbers(begin_entry(jfr, JFR_STACK_TRACE, 1), 0, 0);
	if (!jfr->pools[JFR_THREAD].count)
		put_thread(begin_entry(jfr, JFR_THREAD, 1), "", 0, "", 0);
}

/* Events */

/* What a sample represents; rounded so that the sum of all is the rounded sum. */
static uint64_t
weigh(struct jfr *jfr, enum th_heap heap, enum th_measure measure,
	const struct th_estimator *estimator)
{
	double *sum = &jfr->sums[heap][measure];
	double before = round(*sum);

	*sum += fmin(th_sums_point(&estimator->bytes), 0x1p53);
	return (uint64_t)(round(*sum) - before);
}

/* Time, thread and stack of a sample. */
static void
begin_sample(
	struct jfr *jfr, struct th_bytes *body, uint64_t time, enum th_heap heap, size_t index)
{
	const struct th_profile *profile = jfr->profile;
	const struct th_sample *sample = &profile->recording->samples[heap].items[index];
	uint32_t row = profile->sample_rows[heap][index];

	put_numbers(body, time, thread_of(jfr, sample->name),
		stack_of(jfr, profile->rows[row].path));
}

static void
put_allocation(struct jfr *jfr, enum th_heap heap, size_t index)
{
	static const enum jfr_type heap_types[TH_HEAPS] = {
		[TH_HEAP_JAVA] = JFR_ALLOCATION_SAMPLE,
		[TH_HEAP_NATIVE] = JFR_MALLOC,
		[TH_HEAP_MAPPED] = JFR_MAPPED,
	};
	const struct th_recording *recording = jfr->profile->recording;
	const struct th_sample *sample = &recording->samples[heap].items[index];
	struct th_estimator sum = {0};
	struct th_bytes body = {0};

	th_calibration_add(&jfr->profile->heaps[heap], recording, sample, &sum);
	begin_sample(jfr, &body, sample->time, heap, index);
	if (heap == TH_HEAP_JAVA)
		put_number(&body, class_of(jfr, sample->class));
	if (heap == TH_HEAP_NATIVE)
		put_number(&body, th_recording_address(recording, sample));
	put_number(&body, weigh(jfr, heap, TH_MEASURE_ALLOC, &sum));
	put_event(&jfr->events, heap_types[heap], &body);
}

/* Java heap in use at a time, bytes, as known from the last collection before; 0 = not known. */
static uint64_t
heap_use_at(const struct th_recording *recording, uint64_t time)
{
	uint64_t used = 0;

	for (size_t i = 0; i < recording->heap_uses_count; i++) {
		if (recording->heap_uses[i].time <= time)
			used = recording->heap_uses[i].used;
	}
	return used;
}

static void
put_old_object(struct jfr *jfr, size_t index, uint64_t heap_use)
{
	const struct th_profile *profile = jfr->profile;
	const struct th_sample *sample =
		&profile->recording->samples[TH_HEAP_JAVA].items[index];
	struct th_estimator sum = {0};
	struct th_bytes body = {0};
	uint64_t now = profile->at.time < profile->end.time ? profile->at.time
							    : profile->end.time;

	th_profile_add(profile, TH_MEASURE_LIVE, TH_HEAP_JAVA, index, &sum);
	begin_sample(jfr, &body, now, TH_HEAP_JAVA, index);
	/* The zero: elements of an array, not known. */
	put_numbers(&body, sample->time, sample->size,
		now > sample->time ? now - sample->time : 0, heap_use,
		old_object_of(jfr, class_of(jfr, sample->class)), 0,
		weigh(jfr, TH_HEAP_JAVA, TH_MEASURE_LIVE, &sum));
	put_event(&jfr->events, JFR_OLD_OBJECT_SAMPLE, &body);
}

static void
put_samples(struct jfr *jfr, enum th_heap heap)
{
	const struct th_profile *profile = jfr->profile;
	uint64_t heap_use = heap_use_at(profile->recording, profile->at.time);

	for (size_t i = 0; i < profile->recording->samples[heap].items_count; i++) {
		uint32_t row = profile->sample_rows[heap][i];

		if (row == TH_NO_ROW || th_profile_contents(profile, &profile->rows[row]))
			continue;
		put_allocation(jfr, heap, i);
		if (heap == TH_HEAP_JAVA &&
			th_lifetimes_is_live(&profile->lifetimes, heap, i, &profile->at))
			put_old_object(jfr, i, heap_use);
	}
}

static void
put_frees(struct jfr *jfr)
{
	const struct th_profile *profile = jfr->profile;
	const struct th_recording *recording = profile->recording;
	const struct th_samples *samples = &recording->samples[TH_HEAP_NATIVE];

	for (size_t i = 0; i < recording->frees_count && profile->sample_rows[TH_HEAP_NATIVE];
		i++) {
		const struct th_free_info *end = &recording->frees[i];
		size_t index = th_samples_find(samples, end->record);
		struct th_bytes body = {0};

		if (index == SIZE_MAX ||
			profile->sample_rows[TH_HEAP_NATIVE][index] == TH_NO_ROW ||
			end->time > profile->at.time)
			continue;
		/* The stack of free() is not recorded. */
		put_numbers(&body, end->time, thread_of(jfr, samples->items[index].name), 0,
			th_recording_address(recording, &samples->items[index]));
		put_event(&jfr->events, JFR_FREE, &body);
	}
}

/* "Collector (Cause)" as the log has it. */
static void
put_collection(struct jfr *jfr, const struct th_decoded_collection *collection)
{
	char *name = th_text_clean(collection->kind);
	char *cause = strstr(name, " (");
	uint64_t length = collection->end > collection->start
				  ? collection->end - collection->start
				  : 0;
	struct th_bytes body = {0};

	if (cause) {
		*cause = '\0';
		cause += 2;
		cause[strcspn(cause, ")")] = '\0';
	}
	put_numbers(&body, collection->start, length, collection->number,
		named(jfr, JFR_GC_NAME, name), named(jfr, JFR_GC_CAUSE, cause ? cause : ""),
		length, length);
	put_event(&jfr->events, JFR_GARBAGE_COLLECTION, &body);
	free(name);
}

/* The start of the heap is not known: sizes alone. */
static void
put_heap_use(struct jfr *jfr, const struct th_decoded_heap_use *use)
{
	struct th_bytes body = {0};

	put_numbers(&body, use->time, use->collections, WHEN_AFTER, 0, use->committed,
		use->committed, use->committed, use->committed, use->used);
	put_event(&jfr->events, JFR_HEAP_SUMMARY, &body);
}

static void
put_events(struct jfr *jfr)
{
	const struct th_recording *recording = jfr->profile->recording;

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (jfr->profile->sample_rows[heap])
			put_samples(jfr, heap);
	}
	put_frees(jfr);
	for (size_t i = 0; i < recording->collections_count; i++)
		put_collection(jfr, &recording->collections[i]);
	for (size_t i = 0; i < recording->heap_uses_count; i++)
		put_heap_use(jfr, &recording->heap_uses[i]);
}

/* The chunk */

/* The event with all constant pools. */
static void
put_pools(struct jfr *jfr, struct th_bytes *chunk)
{
	struct th_bytes body = {0};

	/* Start, duration, no pools before these, flush, number of pools. */
	put_numbers(&body, jfr->profile->recording->start, 0, 0, 1, JFR_POOL_END - JFR_CLASS);
	for (int type = JFR_CLASS; type < JFR_POOL_END; type++) {
		put_numbers(&body, (uint64_t)type, jfr->pools[type].count);
		th_bytes_move(&body, &jfr->pools[type].entries);
		th_id_map_deinit(&jfr->pools[type].ids);
	}
	put_event(chunk, JFR_POOLS, &body);
}

static void
put_word(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = bytes; i-- > 0; value >>= 8)
		at[i] = (uint8_t)value;
}

static void
write_header(FILE *file, const struct th_recording *recording, uint64_t size, uint64_t pools,
	uint64_t metadata)
{
	uint8_t header[HEADER_BYTES] = {'F', 'L', 'R', 0};
	const uint64_t words[] = {
		size, pools, metadata, th_export_time(recording, recording->start),
		recording->end - recording->start, recording->start,
		TH_NS_PER_S, /* ticks per second */
	};

	put_word(header + 4, 2, 2); /* version 2.1 */
	put_word(header + 6, 1, 2);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put_word(header + 8 + 8 * i, words[i], 8);
	put_word(header + HEADER_BYTES - 4, COMPRESSED_NUMBERS, 4);
	fwrite(header, 1, sizeof(header), file);
}

void
th_view_jfr(FILE *file, const struct th_profile *profile)
{
	struct jfr jfr = {.profile = profile};
	const struct th_recording *recording = profile->recording;

	put_events(&jfr);
	fill_pools(&jfr);
	uint64_t pools = HEADER_BYTES + jfr.events.items_count;
	put_pools(&jfr, &jfr.events);
	uint64_t metadata = HEADER_BYTES + jfr.events.items_count;
	put_metadata(&jfr.events, recording->start, recording->end - recording->start);
	write_header(file, recording, HEADER_BYTES + jfr.events.items_count, pools, metadata);
	fwrite(jfr.events.items, 1, jfr.events.items_count, file);
	free(jfr.events.items);
}
