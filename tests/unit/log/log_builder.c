/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log in memory grows with each record; headers, checks and field layout are computed here
 * from the format's definition (log_builder.h).
 */
#include "tests/unit/log/log_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a KEPT; and no record has more words. */
#define KEPT_RECORDS 10u
#define KEPT_WORDS 64u

static void
require(int condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	abort();
}

static unsigned char *
extend(struct log_builder *log, size_t bytes)
{
	while (log->length + bytes > log->capacity) {
		log->capacity = log->capacity ? 2 * log->capacity : 65536;
		log->bytes = realloc(log->bytes, log->capacity);
		require(log->bytes != NULL, "realloc");
	}
	unsigned char *added = log->bytes + log->length;
	memset(added, 0, bytes);
	log->length += bytes;
	return added;
}

struct th_log_header *
log_header(struct log_builder *log)
{
	return (struct th_log_header *)(void *)log->bytes;
}

static void
align_record(struct log_builder *log, size_t start, size_t alignment)
{
	while ((log->length - start) % alignment)
		extend(log, 1);
}

static void
put(struct log_builder *log, size_t start, const void *data, size_t bytes)
{
	align_record(log, start, bytes);
	memcpy(extend(log, bytes), data, bytes);
}

static void
put_bytes(struct log_builder *log, const void *data, size_t bytes)
{
	unsigned char *added = extend(log, bytes);

	if (bytes)
		memcpy(added, data, bytes);
}

static void
put_field(struct log_builder *log, size_t start, const struct log_field *field)
{
	uint32_t narrow = (uint32_t)field->integer;

	switch (field->type) {
	case TH_DATA_U32:
		put(log, start, &narrow, 4);
		break;
	case TH_DATA_U64:
		put(log, start, &field->integer, 8);
		break;
	case TH_DATA_F64:
		put(log, start, &field->number, 8);
		break;
	case TH_DATA_TEXT:
		put(log, start, &field->length, 4);
		put_bytes(log, field->text, field->length);
		break;
	case TH_DATA_U64_ARRAY:
		put(log, start, &field->length, 4);
		align_record(log, start, 8);
		put_bytes(log, field->words, 8 * (size_t)field->length);
		break;
	}
}

uint64_t
log_add(struct log_builder *log, uint16_t type, const struct log_field *fields,
	size_t field_count)
{
	size_t start = log->length;
	struct th_log_record record = {.type = type};

	extend(log, sizeof(record));
	for (size_t i = 0; i < field_count; i++)
		put_field(log, start, &fields[i]);
	align_record(log, start, 8);
	record.size = (uint32_t)(log->length - start);
	record.check = th_log_check(start, record.size, type);
	memcpy(log->bytes + start, &record, sizeof(record));
	log_header(log)->tail = log->length;
	return start;
}

void
log_add_hole(struct log_builder *log, size_t bytes)
{
	extend(log, bytes);
	log_header(log)->tail = log->length;
}

static struct th_log_record
record_at(const struct log_builder *log, size_t at)
{
	struct th_log_record record;

	memcpy(&record, log->bytes + at, sizeof(record));
	return record;
}

static int
is_metadata(uint32_t type)
{
	return type == TH_EVENT_EVENT_TYPE || type == TH_EVENT_EVENT_FIELD ||
	       type == TH_EVENT_COUNTER_NAME;
}

/* Writes the words of a record in a KEPT; returns their number.  `keep`: 1 if it was certain. */
static uint32_t
keep_record(const struct log_builder *log, size_t at, double keep, uint64_t *words)
{
	const struct th_log_record record = record_at(log, at);
	uint32_t count = 0;

	words[count++] = at;
	if (keep < 1) {
		words[0] |= TH_KEPT_THINNED;
		memcpy(&words[count++], &keep, sizeof(keep));
	}
	require(record.size / 8 + count <= KEPT_WORDS, "a long record");
	memcpy(words + count, log->bytes + at, record.size);
	return count + record.size / 8;
}

void
log_keep_past(struct log_builder *log, const double *keeps)
{
	const size_t end = log->length;
	uint64_t words[KEPT_RECORDS * KEPT_WORDS];
	size_t from = TH_LOG_HEADER_BYTES;

	while (is_metadata(record_at(log, from).type))
		from += record_at(log, from).size;
	for (size_t at = from; at < end;) {
		uint32_t count = 0;

		for (unsigned i = 0; i < KEPT_RECORDS && at < end; i++) {
			double keep = 1;

			if (record_at(log, at).type == TH_EVENT_NATIVE_ALLOC)
				keep = keeps ? *keeps++ : 0.5;
			count += keep_record(log, at, keep, words + count);
			at += record_at(log, at).size;
		}
		log_add_fields(log, TH_EVENT_KEPT, LOG_U64(end), LOG_WORDS(words, count));
	}
	memset(log->bytes + from, 0, end - from);
	log_header(log)->ring_bytes = 8 << 20;
	log_header(log)->ring_from = end;
}

void
log_describe_type(struct log_builder *log, uint32_t type, const char *name, const char *label)
{
	log_add_fields(log, TH_EVENT_EVENT_TYPE, LOG_U32(type), LOG_TEXT(name), LOG_TEXT(label),
		LOG_TEXT(""));
}

void
log_describe_field(struct log_builder *log, uint32_t type, uint32_t index,
	enum th_data_type data_type, enum th_content_type content, const char *name)
{
	log_add_fields(log, TH_EVENT_EVENT_FIELD, LOG_U32(type), LOG_U32(index),
		LOG_U32(data_type), LOG_U32(content), LOG_TEXT(name), LOG_TEXT(name));
}

static void
describe_events(struct log_builder *log)
{
	uint32_t index;

#define F(data, content, name, label) \
	log_describe_field(log, type, index++, TH_DATA_##data, TH_CONTENT_##content, #name);
#define E(NUMBER, NAME, name, label, description)           \
	{                                                   \
		const uint32_t type = NUMBER;               \
		index = 0;                                  \
		log_describe_type(log, type, #name, label); \
		TH_FIELDS_##NAME(F)                         \
	}
	TH_EVENTS(E)
#undef E
#undef F
}

static void
name_counters(struct log_builder *log)
{
	uint32_t index = 0;

#define X(NAME, name, description)                                                  \
	log_add_fields(log, TH_EVENT_COUNTER_NAME, LOG_U32(index), LOG_TEXT(#name), \
		LOG_TEXT(description));                                             \
	index++;
	TH_LOG_COUNTERS(X)
#undef X
}

void
log_init(struct log_builder *log, uint64_t interval)
{
	*log = (struct log_builder){0};
	extend(log, TH_LOG_HEADER_BYTES);
	struct th_log_header *header = log_header(log);
	memcpy(header->magic, TH_LOG_MAGIC, sizeof(header->magic));
	header->version = TH_LOG_VERSION;
	header->header_bytes = TH_LOG_HEADER_BYTES;
	header->pid = 4711;
	header->start_monotonic = LOG_START;
	header->tail = TH_LOG_HEADER_BYTES;
	header->interval = interval;
	header->counter_count = TH_COUNTER_COUNT;
	describe_events(log);
	name_counters(log);
	log_add_fields(log, TH_EVENT_PROCESS, LOG_U64(LOG_START), LOG_U32(4711), LOG_U32(4096),
		LOG_TEXT("1.0"), LOG_TEXT("/usr/bin/app"), LOG_BYTES("app\0-x\0a b", 10),
		LOG_TEXT("host"));
}

void
log_process_text(struct log_builder *log, const char *executable, const char *command,
	uint32_t command_bytes)
{
	log_add_fields(log, TH_EVENT_PROCESS, LOG_U64(LOG_START), LOG_U32(4711), LOG_U32(4096),
		LOG_TEXT("1.0"), LOG_TEXT(executable), LOG_BYTES(command, command_bytes),
		LOG_TEXT("host"));
}

void
log_deinit(struct log_builder *log)
{
	free(log->bytes);
}

static uint64_t
time_at(uint32_t ms)
{
	return LOG_START + ms * (uint64_t)1000000;
}

void
log_thread_by(struct log_builder *log, uint32_t thread, uint32_t flags, const char *name)
{
	log_add_fields(log, TH_EVENT_THREAD, LOG_U64(LOG_START), LOG_U32(thread),
		LOG_U32(1000 + thread), LOG_U32(flags), LOG_U32(0), LOG_TEXT(name));
}

void
log_thread(struct log_builder *log, uint32_t thread, const char *name)
{
	log_thread_by(log, thread, 0, name);
}

void
log_module(struct log_builder *log, uint32_t module, const char *path)
{
	log_add_fields(log, TH_EVENT_MODULE, LOG_U64(0x10000), LOG_U64(0x20000),
		LOG_U64(0x10000), LOG_U32(module), LOG_TEXT(path), LOG_TEXT(""));
}

void
log_method(
	struct log_builder *log, uint32_t method, const char *class_signature, const char *name)
{
	const uint64_t lines[] = {(uint64_t)0 << 32 | 10, (uint64_t)5 << 32 | 11};

	log_add_fields(log, TH_EVENT_METHOD, LOG_U32(method), LOG_TEXT(class_signature),
		LOG_TEXT(name), LOG_TEXT("()V"), LOG_TEXT("Source.java"), LOG_WORDS(lines, 2));
}

void
log_code_source(
	struct log_builder *log, uint32_t flags, const char *package, const char *location)
{
	log_add_fields(log, TH_EVENT_CODE_SOURCE, LOG_U32(flags), LOG_TEXT(package),
		LOG_TEXT(location));
}

void
log_class(struct log_builder *log, uint32_t class, const char *signature)
{
	log_add_fields(log, TH_EVENT_CLASS, LOG_U32(class), LOG_TEXT(signature));
}

void
log_stack(struct log_builder *log, uint32_t stack, const uint64_t *frames, uint32_t count)
{
	log_add_fields(
		log, TH_EVENT_STACK, LOG_U32(stack), LOG_U32(0), LOG_WORDS(frames, count));
}

void
log_jvm(struct log_builder *log, uint32_t release, uint32_t features)
{
	log_add_fields(log, TH_EVENT_JVM, LOG_U64(LOG_START), LOG_U32(release),
		LOG_U32(features), LOG_TEXT("25.0.3+9-LTS"), LOG_TEXT("A VM"),
		LOG_TEXT("A vendor"));
}

static uint64_t
add_native(struct log_builder *log, struct log_sample sample, uint32_t flags)
{
	return log_add_fields(log, TH_EVENT_NATIVE_ALLOC, LOG_U64(time_at(sample.ms)),
		LOG_U64(sample.size), LOG_U64(sample.interval), LOG_U64(sample.thread_bytes),
		LOG_U32(sample.thread), LOG_U32(sample.stack), LOG_U64(0x7f0000),
		LOG_U32(TH_FUNCTION_MALLOC), LOG_U32(flags));
}

uint64_t
log_native(struct log_builder *log, struct log_sample sample)
{
	return add_native(log, sample, TH_NATIVE_TRACKED);
}

uint64_t
log_native_untracked(struct log_builder *log, struct log_sample sample)
{
	return add_native(log, sample, 0);
}

uint64_t
log_java(struct log_builder *log, struct log_sample sample)
{
	return log_add_fields(log, TH_EVENT_JAVA_ALLOC, LOG_U64(time_at(sample.ms)),
		LOG_U64(sample.size), LOG_U64(sample.interval), LOG_U64(sample.thread_bytes),
		LOG_U32(sample.thread), LOG_U32(sample.stack), LOG_U32(sample.class),
		LOG_U32(0));
}

uint64_t
log_mapped(struct log_builder *log, struct log_sample sample)
{
	return log_add_fields(log, TH_EVENT_MAPPED_ALLOC, LOG_U64(time_at(sample.ms)),
		LOG_U64(sample.size), LOG_U64(sample.interval), LOG_U64(sample.thread_bytes),
		LOG_U32(sample.thread), LOG_U32(sample.stack), LOG_U64(0x7f1000), LOG_U32(0),
		LOG_U32(0), LOG_U32(TH_MAPPED_TRACKED));
}

void
log_mapped_end(struct log_builder *log, uint32_t ms, uint64_t sample, uint64_t bytes)
{
	log_add_fields(log, TH_EVENT_MAPPED_END, LOG_U64(time_at(ms)), LOG_U64(sample),
		LOG_U64(bytes), LOG_U64(0x7f1000), LOG_U32(1));
}

void
log_free_by(struct log_builder *log, uint32_t thread, uint32_t ms, uint64_t sample)
{
	log_add_fields(log, TH_EVENT_NATIVE_FREE, LOG_U64(time_at(ms)), LOG_U64(sample),
		LOG_U32(thread));
}

void
log_free(struct log_builder *log, uint32_t ms, uint64_t sample)
{
	log_free_by(log, 1, ms, sample);
}

void
log_java_death(struct log_builder *log, uint32_t ms, uint64_t sample)
{
	log_add_fields(log, TH_EVENT_JAVA_DEATH, LOG_U64(time_at(ms)), LOG_U64(sample));
}

void
log_java_lost(struct log_builder *log, uint32_t ms, uint64_t sample)
{
	log_add_fields(log, TH_EVENT_JAVA_LOST, LOG_U64(time_at(ms)), LOG_U64(sample));
}

void
log_java_level(struct log_builder *log, uint32_t ms, uint32_t level)
{
	log_add_fields(log, TH_EVENT_JAVA_LEVEL, LOG_U64(time_at(ms)), LOG_U32(level));
}

void
log_collection(struct log_builder *log, uint32_t from_ms, uint32_t to_ms, uint32_t number,
	const char *kind)
{
	log->paused += time_at(to_ms) - time_at(from_ms);
	log_add_fields(log, TH_EVENT_COLLECTION, LOG_U64(time_at(from_ms)),
		LOG_U64(time_at(to_ms)), LOG_U64(log->paused), LOG_U32(number), LOG_TEXT(kind));
}

void
log_heap_use(struct log_builder *log, uint32_t ms, uint64_t used, uint32_t collections)
{
	log_add_fields(log, TH_EVENT_HEAP_USE, LOG_U64(time_at(ms)), LOG_U64(used),
		LOG_U64(2 * used), LOG_U32(collections), LOG_TEXT("test"));
}

void
log_thread_bytes(struct log_builder *log, uint32_t ms, enum th_heap heap, uint32_t thread,
	uint64_t bytes)
{
	log_add_fields(log, TH_EVENT_THREAD_BYTES, LOG_U64(time_at(ms)), LOG_U64(bytes),
		LOG_U32(thread), LOG_U32(heap));
}

void
log_end(struct log_builder *log, uint32_t ms)
{
	log_add_fields(log, TH_EVENT_END, LOG_U64(time_at(ms)));
	log_header(log)->state = TH_LOG_COMPLETE;
}

char *
log_save_bytes(const void *bytes, size_t length)
{
	char *path = strdup("/tmp/twinheap-test-XXXXXX");
	int descriptor = mkstemp(path);

	require(descriptor >= 0, "mkstemp");
	require(write(descriptor, bytes, length) == (ssize_t)length, "write");
	close(descriptor);
	return path;
}

char *
log_save(const struct log_builder *log)
{
	return log_save_bytes(log->bytes, log->length);
}
