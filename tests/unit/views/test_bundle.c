/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles of small logs: complete, truncated at every byte, damaged; read back, plain and
 * compressed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/base/gzip.h"
#include "report/symbols/frames.h"
#include "report/views/view.h"
#include "tests/unit/log/log_builder.h"

#define MODULE 3

static void
build(struct log_builder *log)
{
	const uint64_t frames[] = {
		th_frame_native(MODULE, 0x10), th_frame_java(1, 5), th_frame_native(0, 0x99)};

	log_init(log, 0);
	log_thread(log, 1, "main");
	log_module(log, MODULE, "/nonexistent/libwork.so");
	log_method(log, 1, "Lapp/Main;", "main");
	log_stack(log, 1, frames, 3);
	for (uint32_t i = 0; i < 4; i++)
		log_native(log, (struct log_sample){.ms = 10 + i,
					.size = 100,
					.thread_bytes = 100 * (i + 1),
					.thread = 1,
					.stack = 1});
	log_end(log, 100);
}

static struct th_recording *
load_file(const char *path)
{
	struct th_recording *recording = NULL;
	struct th_error *error = th_recording_load(path, &recording);

	if (error)
		fail_msg("%s", th_error_message(error));
	return recording;
}

static struct th_recording *
load(const void *bytes, size_t length)
{
	char *path = log_save_bytes(bytes, length);
	struct th_recording *recording = load_file(path);

	unlink(path);
	free(path);
	return recording;
}

/* Collects the warnings about modules in one text. */
static void
collect(void *data, const char *text)
{
	char *collected = data;

	strcat(strcat(collected, text), "\n");
}

static void *
bundle(const struct th_recording *recording, bool compressed, char *warnings, size_t *length)
{
	char *bytes = NULL;
	FILE *file = open_memstream(&bytes, length);
	struct th_bundle_size size;

	th_bundle_write(file, recording, compressed, false, collect, warnings, &size);
	fclose(file);
	if (!compressed)
		assert_int_equal(size.bytes, *length);
	return bytes;
}

static void
expect_same_health(const struct th_recording *a, const struct th_recording *b)
{
	struct th_health left;
	struct th_health right;

	th_health_init(&left, a);
	th_health_init(&right, b);
	assert_int_equal(left.lines_count, right.lines_count);
	for (size_t i = 0; i < left.lines_count; i++)
		assert_string_equal(left.lines[i].text, right.lines[i].text);
	th_health_deinit(&left);
	th_health_deinit(&right);
}

/* Expects the log and its bundle to be equal recordings. */
static void
expect_same(const struct th_recording *a, const struct th_recording *b)
{
	const struct th_samples *left = &a->samples[TH_HEAP_NATIVE];
	const struct th_samples *right = &b->samples[TH_HEAP_NATIVE];

	assert_int_equal(left->items_count, right->items_count);
	if (left->items_count)
		assert_memory_equal(
			left->items, right->items, left->items_count * sizeof(*left->items));
	assert_int_equal(a->is_complete, b->is_complete);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->unknown + a->undecodable, b->unknown + b->undecodable);
	assert_int_equal(a->torn, b->torn);
	assert_int_equal(a->damaged, b->damaged);
	assert_int_equal(th_recording_log_bytes(a), th_recording_log_bytes(b));
	expect_same_health(a, b);
}

static void
check_bundle(const void *bytes, size_t length)
{
	struct th_recording *original = load(bytes, length);
	char warnings[1024] = "";
	size_t bundle_length;
	void *made = bundle(original, false, warnings, &bundle_length);
	struct th_recording *bundled = load(made, bundle_length);

	assert_true(bundled->is_bundle);
	expect_same(original, bundled);
	th_recording_destroy(bundled);
	th_recording_destroy(original);
	free(made);
}

static void
test_cut_everywhere(void **state)
{
	struct log_builder log;

	(void)state;
	build(&log);
	for (size_t length = TH_LOG_HEADER_BYTES; length <= log.length; length++)
		check_bundle(log.bytes, length);
	log_deinit(&log);
}

static void
test_holes(void **state)
{
	static const struct {
		size_t bytes;
		char content;
	} holes[] = {{8, 0}, {64, 0}, {8, 'x'}, {64, 'x'}};
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(holes) / sizeof(holes[0]); i++) {
		bool at_end = i & 1;
		struct log_builder log;

		build(&log);
		size_t start = log.length;
		log_add_hole(&log, holes[i / 2].bytes);
		memset(log.bytes + start, holes[i / 2].content, holes[i / 2].bytes);
		if (!at_end)
			log_end(&log, 200);
		check_bundle(log.bytes, log.length);
		log_deinit(&log);
	}
}

/* Names come from the bundle; warnings about a module are printed once, at its first frame. */
static void
test_names(void **state)
{
	struct log_builder log;
	char warnings[1024] = "";
	char again[1024] = "";
	const uint32_t *numbers;
	size_t length;

	(void)state;
	build(&log);
	struct th_recording *original = load(log.bytes, log.length);
	void *made = bundle(original, false, warnings, &length);
	struct th_recording *bundled = load(made, length);
	struct th_frames *frames = th_frames_create(bundled, NULL, collect, again);

	assert_int_equal(bundled->named_frames_count, 2);
	assert_string_equal(again, "");
	for (int round = 0; round < 2; round++) {
		assert_int_equal(
			th_frames_expand(frames, th_frame_native(MODULE, 0x10), &numbers), 1);
		assert_string_equal(th_frames_function_name(frames,
					    th_frames_get(frames, numbers[0])->function),
			"libwork.so+0x10");
	}
	assert_string_equal(warnings, "/nonexistent/libwork.so: not found, so its functions "
				      "have no names\n");
	assert_string_equal(again, warnings);
	th_frames_destroy(frames);
	th_recording_destroy(bundled);
	th_recording_destroy(original);
	free(made);
	log_deinit(&log);
}

/* A truncated compressed log reads as its complete part. */
static void
test_compressed(void **state)
{
	struct log_builder log;
	char warnings[1024] = "";
	size_t length;

	(void)state;
	build(&log);
	struct th_recording *original = load(log.bytes, log.length);
	char *packed = bundle(original, true, warnings, &length);
	struct th_recording *bundled = load(packed, length);

	expect_same(original, bundled);
	th_recording_destroy(bundled);
	for (size_t cut = 3; cut < length; cut += 7) {
		char *path = log_save_bytes(packed, cut);
		struct th_error *error = th_recording_load(path, &bundled);

		if (!error)
			th_recording_destroy(bundled);
		th_error_destroy(error);
		unlink(path);
		free(path);
	}
	th_recording_destroy(original);
	free(packed);
	log_deinit(&log);
}

/* Packs a log that claims `bytes` in use, nearly all of them zeros. */
static char *
pack(uint64_t bytes, size_t *length_ret)
{
	struct log_builder log;
	char *packed = NULL;

	build(&log);
	log_add_hole(&log, bytes - log.length);
	FILE *file = open_memstream(&packed, length_ret);
	FILE *gzip = th_gzip_open(file);
	fwrite(log.bytes, 1, log.length, gzip);
	fclose(gzip);
	fclose(file);
	log_deinit(&log);
	return packed;
}

/* The memory for a compressed log is bounded by the size of its file. */
static void
test_compressed_log_that_expands_too_far(void **state)
{
	struct th_recording *recording = NULL;
	size_t length;
	char *packed = pack((uint64_t)15 << 20, &length);

	(void)state;
	th_recording_destroy(load(packed, length));
	free(packed);
	packed = pack((uint64_t)64 << 20, &length);
	assert_true(length < 1 << 20);
	char *path = log_save_bytes(packed, length);
	struct th_error *error = th_recording_load(path, &recording);
	assert_non_null(error);
	assert_non_null(strstr(th_error_message(error), "expands to more than 32 times"));
	th_error_destroy(error);
	unlink(path);
	free(path);
	free(packed);
}

/* The missing part does not read as zeros, whatever size the header claims. */
static void
test_compressed_log_that_was_cut(void **state)
{
	size_t length;
	char *packed = pack((uint64_t)15 << 20, &length);
	struct th_recording *recording = load(packed, length / 2);

	(void)state;
	assert_in_range(th_recording_missing_bytes(recording), 1 << 20, 15 << 20);
	assert_int_equal(
		th_recording_log_bytes(recording) + th_recording_missing_bytes(recording),
		15 << 20);
	th_recording_destroy(recording);
	free(packed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_everywhere),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_compressed_log_that_expands_too_far),
		cmocka_unit_test(test_compressed_log_that_was_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
