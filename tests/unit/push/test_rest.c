/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that rests between windows has the same contents as one that is read at once, at
 * each length of its log, also of a ring; and while it rests it has no samples.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/log/small_log.h"
#include "tests/unit/views/view_helper.h"

#define STEPS 12u
#define EVENTS 40u

/* Writes what the log contains so far to its file, as its process would. */
static void
write_file(const struct log_builder *log, const char *path)
{
	int descriptor = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, log->bytes, log->length), log->length);
	close(descriptor);
}

/* Samples of all heaps, ends of some, and a thread that is renamed in the middle. */
static void
add_events(struct log_builder *log, uint32_t step)
{
	uint32_t ms = 100 * step;

	for (uint32_t i = 0; i < EVENTS; i++, ms++) {
		struct log_sample sample = {.ms = ms,
			.size = 100 + 7 * i,
			.interval = 1 + i % 3 * 4096,
			.thread = 1 + i % 2,
			.stack = 1 + i % 2};
		uint64_t native = log_native(log, sample);
		uint64_t mapped = log_mapped(log, sample);

		sample.class = 1;
		sample.stack = 3;
		uint64_t java = log_java(log, sample);
		if (i % 3 == 0)
			log_free(log, ms + 1, native);
		if (i % 4 == 0)
			log_java_death(log, ms + 1, java);
		if (i % 5 == 0)
			log_java_lost(log, ms + 1, java);
		if (i % 6 == 0)
			log_mapped_end(log, ms + 1, mapped, 50);
		if (i == EVENTS / 2 && step % 4 == 1) {
			char name[32];

			snprintf(name, sizeof(name), "worker-%u", step);
			log_thread(log, 2, name);
		}
	}
	log_collection(log, ms, ms + 1, step + 1, "G1 full collection pauses (System.gc())");
}

static char *
print(const struct th_profile *profile)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	th_view_json(file, profile);
	fclose(file);
	return text;
}

static char *
print_at_once(const char *path, const struct th_options *options)
{
	struct th_recording *recording;

	assert_null(th_recording_follow(path, &recording));
	struct th_profile *profile = th_profile_create(recording, options, NULL, NULL);
	char *text = print(profile);
	th_profile_destroy(profile);
	th_recording_destroy(recording);
	return text;
}

static void
check_rest(bool is_ring)
{
	char path[] = "/tmp/twinheap-test-rest-XXXXXX";
	struct th_recording *recording;
	struct th_profile *profile;
	struct th_options options;
	struct log_builder log;

	close(mkstemp(path));
	small_log_begin(&log);
	log_thread(&log, 2, "second");
	add_stack(&log, 1, WORK_FRAME(0x10));
	add_stack(&log, 2, WORK_FRAME(0x20));
	add_stack(&log, 3, JAVA_FRAME(1));
	if (is_ring) {
		add_events(&log, STEPS);
		log_keep_past(&log);
	}
	write_file(&log, path);
	th_options_set_defaults(&options);
	options.log = path;
	assert_null(th_recording_follow(path, &recording));
	profile = th_profile_create(recording, &options, NULL, NULL);
	for (uint32_t step = 0; step < STEPS; step++) {
		th_profile_rest(profile);
		th_recording_rest(recording);
		th_recording_rest(recording);
		assert_int_equal(recording->samples[TH_HEAP_NATIVE].items_count, 0);
		assert_int_equal(profile->rows_count, 0);
		/* Every third window adds nothing. */
		if (step % 3 != 2)
			add_events(&log, step);
		write_file(&log, path);
		assert_int_equal(th_recording_update(recording), step % 3 != 2);
		th_profile_renew(profile);
		char *expected = print_at_once(path, &options);
		char *text = print(profile);
		assert_string_equal(text, expected);
		free(text);
		free(expected);
	}
	assert_int_equal(recording->samples[TH_HEAP_NATIVE].items_count,
		(STEPS / 3 * 2 + is_ring) * EVENTS);
	/* What a ring drops while the recording rests cannot be read again. */
	if (is_ring) {
		th_profile_rest(profile);
		th_recording_rest(recording);
		log_header(&log)->ring_from += 8;
		write_file(&log, path);
		assert_false(th_recording_update(recording));
		assert_true(th_recording_is_stale(recording));
	}
	th_profile_destroy(profile);
	th_recording_destroy(recording);
	log_deinit(&log);
	unlink(path);
}

static void
test_a_resting_recording(void **state)
{
	(void)state;
	check_rest(false);
}

static void
test_a_resting_ring(void **state)
{
	(void)state;
	check_rest(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_resting_recording),
		cmocka_unit_test(test_a_resting_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
