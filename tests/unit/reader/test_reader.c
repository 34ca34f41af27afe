/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading logs: intact, torn, with every byte damaged, truncated at every byte, with unknown
 * events, invalid inputs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/log/recording.h"
#include "report/log/limits.h"
#include "report/views/view.h"
#include "tests/unit/log/log_builder.h"
#include "unify/sample/poisson.h"

#define INTERVAL 524288

/* A small log with all kinds of events. */
static void
build(struct log_builder *log)
{
	const uint64_t frames[] = {th_frame_native(1, 0x1234), th_frame_java(7, 5)};

	log_init(log, INTERVAL);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES);
	log_thread(log, 1, "main");
	uint64_t sample = log_native(log, (struct log_sample){.ms = 10,
						  .size = 4096,
						  .interval = INTERVAL,
						  .thread_bytes = 600000,
						  .thread = 1,
						  .stack = 3});
	/* Definitions after their use, which the format permits. */
	log_module(log, 1, "/lib/libwork.so");
	log_method(log, 7, "Lapp/Main;", "work");
	log_class(log, 2, "[B");
	log_stack(log, 3, frames, 2);
	log_java(log, (struct log_sample){.ms = 20,
			      .size = 1024,
			      .interval = INTERVAL,
			      .thread_bytes = 700000,
			      .thread = 1,
			      .stack = 3,
			      .class = 2});
	log_free(log, 30, sample);
	log_thread_bytes(log, 40, TH_HEAP_NATIVE, 1, 650000);
	log_end(log, 50);
}

static struct th_recording *
load(const char *path)
{
	struct th_recording *recording = NULL;
	struct th_error *error = th_recording_load(path, &recording);

	if (error)
		fail_msg("%s", th_error_message(error));
	return recording;
}

/* Loads bytes and removes the file at once: the mapping does not need its name. */
static struct th_recording *
load_bytes(const void *bytes, size_t length)
{
	char *path = log_save_bytes(bytes, length);
	struct th_recording *recording = load(path);

	unlink(path);
	free(path);
	return recording;
}

static void
test_whole_log(void **state)
{
	struct log_builder log;

	(void)state;
	build(&log);
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_true(recording->is_complete);
	assert_int_equal(recording->torn + recording->damaged, 0);
	assert_int_equal(recording->undecodable + recording->unknown, 0);
	assert_int_equal(recording->process.pid, 4711);
	assert_true(th_text_equals(recording->process.host, "host"));
	assert_int_equal(recording->process.command.length, 10);
	assert_int_equal(recording->jvm.feature_release, 25);
	assert_true(th_text_equals(recording->jvm.version, "25.0.3+9-LTS"));
	assert_int_equal(recording->end - recording->start, 50000000);

	assert_int_equal(recording->samples[TH_HEAP_NATIVE].items_count, 1);
	assert_int_equal(recording->samples[TH_HEAP_JAVA].items_count, 1);
	const struct th_sample *native = &recording->samples[TH_HEAP_NATIVE].items[0];
	const struct th_sample *java = &recording->samples[TH_HEAP_JAVA].items[0];
	assert_int_equal(native->size, 4096);
	assert_int_equal(native->time, LOG_START + 10000000);
	assert_int_equal(native->thread_bytes, 600000);
	assert_int_equal(th_recording_sample_interval(recording, native), INTERVAL);
	assert_int_equal(native->function, TH_FUNCTION_MALLOC);
	assert_int_equal(java->size, 1024);
	assert_true(java->keep == 1);
	assert_true(recording->classes[java->class].class);
	assert_true(th_text_equals(recording->classes[java->class].signature, "[B"));

	const struct th_decoded_stack *stack = &recording->stacks[native->stack];
	assert_int_equal(native->stack, java->stack);
	assert_true(stack->stack);
	assert_int_equal(stack->frames.count, 2);
	assert_int_equal(stack->frames.words[1], th_frame_java(7, 5));
	assert_true(th_text_equals(recording->thread_names[native->name].text, "main"));

	assert_int_equal(recording->frees_count, 1);
	assert_int_equal(recording->frees[0].record, native->record);
	assert_int_equal(recording->thread_bytes_count, 1);
	assert_int_equal(recording->thread_bytes[0].bytes, 650000);
	th_recording_destroy(recording);
	log_deinit(&log);
}

static void
add_sample(struct log_builder *log, uint32_t thread)
{
	log_native(
		log, (struct log_sample){.ms = 10, .size = 64, .thread = thread, .stack = 3});
}

/* Samples have the name that precedes them in the log, regardless of later names. */
static void
test_names_of_then(void **state)
{
	static const struct {
		const char *name;
		uint32_t tid;
	} expected[] = {{"early", 1001}, {"early", 1001}, {"task 1", 1001}, {"other", 1002},
		{"task 2", 1001}, {"task 1", 1001}, {"", 0}, {"worker", 1004}, {"worker", 1004},
		{"renamed", 1004}};
	struct log_builder log;

	(void)state;
	log_init(&log, 0);
	/* Before its first name a thread has samples; later names do not apply to them. */
	add_sample(&log, 1);
	log_thread(&log, 1, "early");
	log_thread(&log, 1, "early");
	add_sample(&log, 1);
	log_thread(&log, 2, "other");
	log_thread(&log, 1, "task 1");
	add_sample(&log, 1);
	add_sample(&log, 2);
	log_thread(&log, 1, "task 2");
	add_sample(&log, 1);
	log_thread(&log, 1, "task 1");
	add_sample(&log, 1);
	log_thread(&log, 1, "idle");
	add_sample(&log, 3);
	/*
	 * A Java thread has its name before it runs; the kernel's name is that of its creator.
	 */
	log_thread(&log, 4, "main");
	add_sample(&log, 4);
	log_thread_by(&log, 4, TH_THREAD_JAVA_NAME, "worker");
	add_sample(&log, 4);
	log_thread_by(&log, 4, TH_THREAD_JAVA_NAME, "renamed");
	add_sample(&log, 4);

	struct th_recording *recording = load_bytes(log.bytes, log.length);
	const struct th_samples *samples = &recording->samples[TH_HEAP_NATIVE];
	assert_int_equal(samples->items_count, sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		const struct th_thread_name *name = &recording->thread_names[sample->name];

		assert_true(th_text_equals(name->text, expected[i].name));
		assert_int_equal(recording->threads[name->thread].tid, expected[i].tid);
		assert_int_equal(th_recording_thread(recording, sample), name->thread);
	}
	assert_int_equal(recording->threads_count, 4);
	th_recording_destroy(recording);
	log_deinit(&log);
}

static void
test_counters_are_found_by_name(void **state)
{
	struct log_builder log;

	(void)state;
	build(&log);
	log_header(&log)->counters[TH_COUNTER_NATIVE_BYTES_QUIET] = 12345;
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(th_recording_counter(recording, "native_bytes_quiet"), 12345);
	assert_int_equal(th_recording_counter(recording, "no such counter"), 0);
	th_recording_destroy(recording);
	log_deinit(&log);
}

/* A hole between committed records is one torn record; zeros at the end are unused space. */
static void
test_torn_records(void **state)
{
	struct log_builder log;

	(void)state;
	build(&log);
	log_add_hole(&log, 72);
	log_thread(&log, 9, "after the hole");
	log_add_hole(&log, 8);
	log_thread(&log, 10, "after another");
	log_add_hole(&log, 4096);
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->torn, 2);
	assert_int_equal(recording->damaged, 0);
	assert_int_equal(recording->threads_count, 3);
	th_recording_destroy(recording);
	log_deinit(&log);
}

/* The writer was killed between the body and the header: the body is not a record either. */
static void
test_body_without_header(void **state)
{
	struct log_builder log;

	(void)state;
	build(&log);
	uint64_t offset = log_native(&log,
		(struct log_sample){
			.ms = 60, .size = 64, .interval = INTERVAL, .thread = 1, .stack = 3});
	memset(log.bytes + offset, 0, 8);
	log_thread(&log, 9, "after the hole");
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->torn, 1);
	assert_int_equal(recording->damaged, 0);
	assert_int_equal(recording->threads_count, 2);
	assert_int_equal(recording->samples[TH_HEAP_NATIVE].items_count, 1);
	th_recording_destroy(recording);
	log_deinit(&log);
}

static void
test_preallocated_space_is_no_damage(void **state)
{
	struct log_builder log;

	(void)state;
	build(&log);
	uint64_t tail = log_header(&log)->tail;
	log_add_hole(&log, 1 << 20);
	log_header(&log)->tail = tail;
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->torn + recording->damaged, 0);
	assert_true(recording->is_complete);
	assert_int_equal(th_reader_bytes(recording->reader), tail);
	th_recording_destroy(recording);
	log_deinit(&log);
}

/*
 * Every prefix: an error while the header is incomplete, afterwards no more than was written.
 */
static void
test_truncated_at_every_byte(void **state)
{
	struct log_builder log;
	size_t records = 0;

	(void)state;
	build(&log);
	for (size_t length = 1; length <= log.length; length += length < 4090 ? 31 : 1) {
		char *path = log_save_bytes(log.bytes, length);
		struct th_recording *recording = NULL;
		struct th_error *error = th_recording_load(path, &recording);

		unlink(path);
		free(path);
		if (length < TH_LOG_HEADER_BYTES) {
			assert_non_null(error);
			assert_non_null(strstr(th_error_message(error), "truncated"));
			th_error_destroy(error);
			continue;
		}
		assert_null(error);
		assert_int_equal(th_reader_is_cut(recording->reader), length < log.length);
		assert_true(recording->records >= records);
		assert_int_equal(recording->is_complete, length == log.length);
		records = recording->records;
		th_recording_destroy(recording);
	}
	assert_true(records > 100);
	log_deinit(&log);
}

/*
 * Every byte of header and records flipped, one at a time: no crash, and the loss from one
 * flipped byte is bounded: one record, or one type of event if a description is hit.
 */
static void
test_every_byte_flipped(void **state)
{
	struct log_builder log;
	size_t harmed = 0;

	(void)state;
	build(&log);
	struct th_recording *whole = load_bytes(log.bytes, log.length);
	uint64_t records = whole->records;
	th_recording_destroy(whole);
	for (size_t at = TH_LOG_HEADER_BYTES; at < log.length; at++) {
		log.bytes[at] ^= 0xff;
		struct th_recording *recording = load_bytes(log.bytes, log.length);

		assert_true(recording->records + 1 >= records);
		harmed += recording->records < records;
		if (recording->records < records)
			assert_true(recording->damaged + recording->torn > 0 ||
				    at + 64 > log.length);
		th_recording_destroy(recording);
		log.bytes[at] ^= 0xff;
	}
	/* A flip in a record's header, eight bytes of each, loses that record. */
	assert_int_equal(harmed, 8 * records);
	log_deinit(&log);
}

static void
test_header_flipped(void **state)
{
	struct log_builder log;

	(void)state;
	build(&log);
	for (size_t at = 0; at < sizeof(struct th_log_header); at++) {
		log.bytes[at] ^= 0x5a;
		char *path = log_save(&log);
		struct th_recording *recording = NULL;
		struct th_error *error = th_recording_load(path, &recording);

		unlink(path);
		free(path);
		assert_true(!error == !!recording);
		th_error_destroy(error);
		th_recording_destroy(recording);
		log.bytes[at] ^= 0x5a;
	}
	log_deinit(&log);
}

/* Many flips at once, also of lengths inside records: no crash, and no invented records. */
static void
test_random_damage(void **state)
{
	const size_t head = sizeof(struct th_log_header);
	struct log_builder log;
	struct th_random random;

	(void)state;
	th_random_seed(&random, 42);
	build(&log);
	struct th_recording *whole = load_bytes(log.bytes, log.length);
	const uint64_t records = whole->records;
	th_recording_destroy(whole);
	unsigned char *copy = malloc(log.length);
	for (int round = 0; round < 500; round++) {
		memcpy(copy, log.bytes, log.length);
		for (int i = 0; i < 50; i++) {
			size_t at = head + th_random_next(&random) % (log.length - head);

			copy[at] = (unsigned char)th_random_next(&random);
		}
		struct th_recording *recording = load_bytes(copy, log.length);
		assert_true(recording->records <= records);
		FILE *file = fopen("/dev/null", "w");
		th_view_dump(file, recording->reader, false);
		fclose(file);
		th_recording_destroy(recording);
	}
	free(copy);
	log_deinit(&log);
}

static void
test_garbage_after_the_header(void **state)
{
	struct log_builder log;
	struct th_random random;

	(void)state;
	th_random_seed(&random, 7);
	log_init(&log, INTERVAL);
	for (size_t at = TH_LOG_HEADER_BYTES; at + 8 <= log.length; at += 8) {
		uint64_t word = th_random_next(&random);

		memcpy(log.bytes + at, &word, 8);
	}
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->records, 0);
	assert_int_equal(recording->damaged, 1);
	th_recording_destroy(recording);
	log_deinit(&log);
}

/* The output of dump; the caller frees it. */
static char *
dump(const struct log_builder *log)
{
	char *path = log_save(log);
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	struct th_reader *reader = NULL;

	assert_null(th_reader_open(path, &reader));
	th_view_dump(file, reader, false);
	fclose(file);
	th_reader_close(reader);
	unlink(path);
	free(path);
	return text;
}

static void
test_dump_prints_unknown_events(void **state)
{
	const uint64_t words[] = {11, 12};
	struct log_builder log;

	(void)state;
	build(&log);
	log_describe_type(&log, 900, "weather", "Weather");
	log_describe_field(&log, 900, 0, TH_DATA_U64, TH_CONTENT_NANOSECONDS, "time");
	log_describe_field(&log, 900, 1, TH_DATA_U32, TH_CONTENT_COUNT, "clouds");
	log_describe_field(&log, 900, 2, TH_DATA_F64, TH_CONTENT_NONE, "rain");
	log_describe_field(&log, 900, 3, TH_DATA_TEXT, TH_CONTENT_NONE, "place");
	log_describe_field(&log, 900, 4, TH_DATA_U64_ARRAY, TH_CONTENT_NONE, "days");
	log_add_fields(&log, 900, LOG_U64(LOG_START + 1500000000), LOG_U32(8), LOG_F64(0.25),
		LOG_TEXT("a \"b\"\n"), LOG_WORDS(words, 2));
	log_add_fields(&log, 901, LOG_U64(1));
	char *text = dump(&log);
	assert_non_null(strstr(text,
		" weather time=+1.500000s clouds=8 rain=0.25 place=\"a \\\"b\\\" \" days=[11 "
		"12]\n"));
	assert_non_null(strstr(text, " type 901, 16 bytes, not described\n"));
	assert_non_null(strstr(text, " native_alloc time=+0.010000s size=4096 interval=524288 "
				     "thread_bytes=600000 thread=1 "
				     "stack=3 address=0x7f0000 function=1 flags=0x1\n"));
	assert_non_null(strstr(text, "frames=[native:1+0x1234 java:7@5]\n"));
	free(text);
	log_deinit(&log);
}

/* A later version may add fields: the known ones are found by name. */
static void
test_fields_are_found_by_name(void **state)
{
	struct log_builder log;

	(void)state;
	build(&log);
	log_describe_field(&log, TH_EVENT_CLASS, 1, TH_DATA_U32, TH_CONTENT_NONE, "loader");
	log_describe_field(&log, TH_EVENT_CLASS, 2, TH_DATA_TEXT, TH_CONTENT_NONE, "signature");
	log_add_fields(&log, TH_EVENT_CLASS, LOG_U32(50), LOG_U32(99), LOG_TEXT("Lapp/New;"));
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	uint32_t index = th_id_map_find(&recording->classes_ids, 50);
	assert_int_not_equal(index, TH_ID_MAP_NONE);
	assert_true(th_text_equals(recording->classes[index].signature, "Lapp/New;"));
	th_recording_destroy(recording);
	log_deinit(&log);
}

/* An earlier version wrote fewer fields: a missing number is 0. */
static void
test_numbers_that_lack_are_zero(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	log_describe_field(&log, TH_EVENT_THREAD, 3, TH_DATA_U32, TH_CONTENT_NONE, "other");
	log_add_fields(&log, TH_EVENT_THREAD, LOG_U64(LOG_START), LOG_U32(7), LOG_U32(99),
		LOG_U32(1), LOG_U32(0), LOG_TEXT("run"));
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->threads_count, 1);
	assert_int_equal(recording->thread_names_count, 1);
	assert_true(th_text_equals(recording->thread_names[0].text, "run"));
	assert_false(recording->thread_names[0].is_of_java);
	th_recording_destroy(recording);
	log_deinit(&log);
}

/* A field of another type under a known name must not be read as the known one. */
static void
test_fields_of_another_type_are_not_decoded(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	log_describe_field(&log, TH_EVENT_CLASS, 0, TH_DATA_U64, TH_CONTENT_CLASS, "class");
	log_add_fields(&log, TH_EVENT_CLASS, LOG_U64(50), LOG_TEXT("Lapp/New;"));
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->classes_count, 0);
	assert_int_equal(recording->undecodable, 1);
	th_recording_destroy(recording);
	log_deinit(&log);
}

static void
test_impossible_samples_are_left_out(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	log_native(&log, (struct log_sample){.size = 0, .interval = INTERVAL});
	/* Interval 0 records everything, including blocks of 0 bytes. */
	log_native(&log, (struct log_sample){.size = 0, .interval = 0});
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->samples[TH_HEAP_NATIVE].items_count, 1);
	assert_int_equal(recording->undecodable, 1);
	th_recording_destroy(recording);
	log_deinit(&log);
}

static void
add_native(struct log_builder *log, uint64_t time, uint64_t size, uint64_t interval)
{
	log_add_fields(log, TH_EVENT_NATIVE_ALLOC, LOG_U64(time), LOG_U64(size),
		LOG_U64(interval), LOG_U64(size), LOG_U32(1), LOG_U32(1), LOG_U64(0),
		LOG_U32(1), LOG_U32(0));
}

static void
test_values_beyond_their_limits_are_left_out(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_native(&log, LOG_START, TH_SIZE_MAX + 1, INTERVAL);
	add_native(&log, LOG_START, 10, UINT64_MAX);
	add_native(&log, LOG_START + TH_TIME_SPAN_MAX + 1, 10, INTERVAL);
	log_add_fields(&log, TH_EVENT_RESIDENT, LOG_U64(LOG_START), LOG_U64(UINT64_MAX),
		LOG_U64(0), LOG_U64(0));
	add_native(&log, LOG_START, TH_SIZE_MAX, INTERVAL);
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->samples[TH_HEAP_NATIVE].items_count, 1);
	assert_int_equal(recording->residents_count, 0);
	assert_int_equal(recording->undecodable, 4);
	assert_int_equal(recording->end, LOG_START);
	th_recording_destroy(recording);
	log_deinit(&log);
}

static void
test_events_before_the_start_are_moved_to_it(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_native(&log, 0, 10, INTERVAL);
	add_native(&log, LOG_START - 1, 10, INTERVAL);
	add_native(&log, LOG_START + 1, 10, INTERVAL);
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	const struct th_sample *samples = recording->samples[TH_HEAP_NATIVE].items;
	assert_int_equal(samples[0].time, LOG_START);
	assert_int_equal(samples[1].time, LOG_START);
	assert_int_equal(samples[2].time, LOG_START + 1);
	assert_int_equal(recording->early, 2);
	assert_int_equal(recording->undecodable, 0);
	th_recording_destroy(recording);
	log_deinit(&log);
}

static void
expect_error(const char *path, const char *text)
{
	struct th_reader *reader = NULL;
	struct th_error *error = th_reader_open(path, &reader);

	assert_non_null(error);
	assert_non_null(strstr(th_error_message(error), path));
	assert_non_null(strstr(th_error_message(error), text));
	assert_null(strchr(th_error_message(error), '\n'));
	assert_int_equal(th_error_code(error), TH_ERROR_UNREADABLE);
	th_error_destroy(error);
}

static void
expect_error_of_bytes(const void *bytes, size_t length, const char *text)
{
	char *path = log_save_bytes(bytes, length);

	expect_error(path, text);
	unlink(path);
	free(path);
}

static void
test_bad_inputs_are_told_apart(void **state)
{
	char pipe_path[] = "/tmp/twinheap-test-pipe-XXXXXX";
	struct log_builder log;

	(void)state;
	build(&log);
	expect_error("/nonexistent/log.thl", "No such file");
	expect_error("/tmp", "directory");
	close(mkstemp(pipe_path));
	unlink(pipe_path);
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	expect_error(pipe_path, "not a regular file");
	unlink(pipe_path);
	expect_error_of_bytes("", 0, "is empty");
	expect_error_of_bytes("#!/bin/sh\n", 10, "not a twinheap log");
	expect_error_of_bytes("TWIN", 4, "truncated");
	expect_error_of_bytes(log.bytes, 4095, "truncated");
	log_header(&log)->version = 2;
	expect_error_of_bytes(log.bytes, log.length, "version 2");
	log_header(&log)->version = 0;
	expect_error_of_bytes(log.bytes, log.length, "damaged header");
	log_header(&log)->version = 1;
	log_header(&log)->header_bytes = 12;
	expect_error_of_bytes(log.bytes, log.length, "damaged header");
	log_header(&log)->header_bytes = TH_LOG_HEADER_BYTES;
	log_header(&log)->start_monotonic = UINT64_MAX;
	expect_error_of_bytes(log.bytes, log.length, "damaged header");
	log_deinit(&log);
}

/* Others could lead out of the directory of debug files, or to another address of a server. */
static void
test_build_ids_are_hexadecimal(void **state)
{
	static const struct {
		const char *build_id;
		size_t length;
	} cases[] = {{"00aAfF99", 8}, {"", 0}, {"../../../../etc/passwd", 0}, {"ab/../../x", 0},
		{"0x12", 0}, {"ab cd", 0}, {"ab?x=y", 0}, {"\033[2J", 0}};
	struct log_builder log;

	(void)state;
	log_init(&log, 0);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		log_add_fields(&log, TH_EVENT_MODULE, LOG_U64(0x10000), LOG_U64(0x20000),
			LOG_U64(0x10000), LOG_U32(i + 1), LOG_TEXT("/lib/libwork.so"),
			LOG_TEXT(cases[i].build_id));
	struct th_recording *recording = load_bytes(log.bytes, log.length);
	assert_int_equal(recording->modules_count, sizeof(cases) / sizeof(cases[0]));
	for (size_t i = 0; i < recording->modules_count; i++)
		assert_int_equal(recording->modules[i].build_id.length, cases[i].length);
	th_recording_destroy(recording);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_log),
		cmocka_unit_test(test_names_of_then),
		cmocka_unit_test(test_build_ids_are_hexadecimal),
		cmocka_unit_test(test_counters_are_found_by_name),
		cmocka_unit_test(test_torn_records),
		cmocka_unit_test(test_body_without_header),
		cmocka_unit_test(test_preallocated_space_is_no_damage),
		cmocka_unit_test(test_truncated_at_every_byte),
		cmocka_unit_test(test_every_byte_flipped),
		cmocka_unit_test(test_header_flipped),
		cmocka_unit_test(test_random_damage),
		cmocka_unit_test(test_garbage_after_the_header),
		cmocka_unit_test(test_dump_prints_unknown_events),
		cmocka_unit_test(test_fields_are_found_by_name),
		cmocka_unit_test(test_numbers_that_lack_are_zero),
		cmocka_unit_test(test_fields_of_another_type_are_not_decoded),
		cmocka_unit_test(test_impossible_samples_are_left_out),
		cmocka_unit_test(test_values_beyond_their_limits_are_left_out),
		cmocka_unit_test(test_events_before_the_start_are_moved_to_it),
		cmocka_unit_test(test_bad_inputs_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
