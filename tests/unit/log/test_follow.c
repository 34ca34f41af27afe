/* SPDX-License-Identifier: Apache-2.0 */
/* A log is loaded as it is when it is followed: the same samples, names and figures of damage. */
#include "report/log/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/log/log_builder.h"

/* Several mebibytes. */
#define SAMPLES 60000

/* Descriptions, names and a type that is described late are between the samples. */
static void
add_samples(struct log_builder *log)
{
	uint64_t frame = th_frame_java(1, 2);

	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct log_sample sample = {.ms = i / 10,
			.size = 16 + i % 1000,
			.interval = 4096,
			.thread_bytes = 100u * i,
			.thread = 1 + i % 5,
			.stack = 1 + i % 777,
			.class = 1 + i % 11};
		uint64_t id = i % 2 ? log_native(log, sample) : log_java(log, sample);

		if (i % 6 == 1)
			log_free(log, i / 10, id);
		if (i % 100 == 0)
			log_stack(log, 1 + i / 100, &frame, 1);
		if (i % 1000 == 0)
			log_thread(log, 1 + i % 5, i % 2000 ? "even" : "odd");
		if (i % 20000 == 19999)
			log_add_hole(log, 64);
		if (i == SAMPLES / 2)
			log_describe_type(log, 4000, "unheard_of", "Unheard of");
		if (i % 10000 == 0)
			log_add_fields(log, 4000, LOG_U64(i));
	}
}

static void
assert_same_samples(const struct th_samples *a, const struct th_samples *b)
{
	assert_int_equal(a->items_count, b->items_count);
	for (size_t i = 0; i < a->items_count; i++)
		assert_memory_equal(&a->items[i], &b->items[i], sizeof(a->items[i]));
}

static void
assert_same(const struct th_recording *a, const struct th_recording *b)
{
	assert_int_equal(a->records, b->records);
	assert_int_equal(a->records_end, b->records_end);
	assert_int_equal(a->unknown, b->unknown);
	assert_int_equal(a->undecodable, b->undecodable);
	assert_int_equal(a->torn, b->torn);
	assert_int_equal(a->damaged, b->damaged);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->stacks_count, b->stacks_count);
	assert_int_equal(a->thread_names_count, b->thread_names_count);
	assert_int_equal(a->frees_count, b->frees_count);
	assert_memory_equal(a->frees, b->frees, a->frees_count * sizeof(*a->frees));
	assert_same_samples(&a->samples[TH_HEAP_JAVA], &b->samples[TH_HEAP_JAVA]);
	assert_same_samples(&a->samples[TH_HEAP_NATIVE], &b->samples[TH_HEAP_NATIVE]);
}

/* A follower waits once at each hole. */
static struct th_recording *
follow(const char *path)
{
	struct th_recording *recording;
	int idle = 0;

	assert_null(th_recording_follow(path, &recording));
	while (idle < 3)
		idle = th_recording_update(recording) ? 0 : idle + 1;
	return recording;
}

static void
test_following_reads_all_records(void **state)
{
	struct log_builder log;
	struct th_recording *loaded;

	(void)state;
	log_init(&log, 4096);
	add_samples(&log);
	log_end(&log, SAMPLES);
	char *path = log_save(&log);
	assert_null(th_recording_load(path, &loaded));
	struct th_recording *followed = follow(path);
	assert_int_equal(loaded->samples[TH_HEAP_NATIVE].items_count, SAMPLES / 2);
	assert_int_equal(loaded->torn, SAMPLES / 20000);
	assert_int_equal(loaded->unknown, SAMPLES / 10000);
	assert_true(loaded->is_complete);
	assert_same(loaded, followed);
	th_recording_destroy(loaded);
	th_recording_destroy(followed);
	unlink(path);
	free(path);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_following_reads_all_records),
	};

	return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
