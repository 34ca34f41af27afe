/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording by import slots has not seen, from a log in which every allocation is a sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/profile/unseen.h"
#include "report/views/view.h"
#include "tests/unit/views/view_helper.h"

#define USED 1000000
#define BLOCK 100000
/* In the heap: a header of 8 bytes, rounded up to 16. */
#define CHUNK 100016
#define PAST 3000000

static uint64_t
add_block(struct log_builder *log, uint32_t ms)
{
	return log_native(log, (struct log_sample){.ms = ms,
				       .size = BLOCK,
				       .interval = 0,
				       .thread = 1,
				       .thread_bytes = 1,
				       .stack = 1});
}

static void
add_figures(struct log_builder *log, uint32_t number, uint32_t ms, uint64_t used,
	uint64_t mapped, const char *allocator)
{
	log_add_fields(log, TH_EVENT_ALLOCATOR, LOG_U64(used), LOG_U64(mapped), LOG_U64(used),
		LOG_U64(0), LOG_U64(0), LOG_U32(number), LOG_TEXT(allocator));
	log_add_fields(log, TH_EVENT_ACCOUNT, LOG_U64(LOG_START + ms * UINT64_C(1000000)),
		LOG_U64(1), LOG_U64(1), LOG_U64(0), LOG_U64(0), LOG_U32(number), LOG_U32(1),
		LOG_U32(0), LOG_U32(1), LOG_U32(1));
}

/* One block from before the first breakdown; then three, of which one is freed; `grown` in all. */
static void
build(struct log_builder *log, int64_t grown, const char *allocator)
{
	const uint64_t frame = th_frame_native(1, 0x10);
	uint64_t freed;

	log_init(log, 0);
	log_thread(log, 1, "main");
	log_module(log, 1, "/lib/x.so");
	log_stack(log, 1, &frame, 1);
	add_block(log, 5);
	add_figures(log, 1, 10, USED, BLOCK, allocator);
	add_block(log, 20);
	freed = add_block(log, 21);
	add_block(log, 22);
	log_free(log, 23, freed);
	log_add_fields(log, TH_EVENT_SLOT_COPIES, LOG_U64(LOG_START + 24000000), LOG_U64(2),
		LOG_TEXT("/lib/libcopy.so"));
	add_figures(log, 2, 40, (uint64_t)(USED + grown), BLOCK, allocator);
	log_header(log)->counters[TH_COUNTER_SLOTS] = 60;
	log_header(log)->counters[TH_COUNTER_SLOT_OBJECTS] = 12;
	log_header(log)->counters[TH_COUNTER_SLOT_SEARCHED] = 15;
	log_header(log)->counters[TH_COUNTER_NATIVE_SAMPLES] = 4;
	log_header(log)->counters[TH_COUNTER_SAMPLES_DUE] = 4;
	log_end(log, 50);
}

static void
test_growth_beyond_what_was_seen(void **state)
{
	struct th_health health = {0};
	struct th_unseen unseen;
	struct log_builder log;
	struct shown shown;

	(void)state;
	build(&log, 2 * CHUNK + PAST, "libc.so.6");
	show(&shown, &log, NULL);
	assert_true(th_unseen_find(shown.profile, &unseen));
	assert_true(unseen.has_growth);
	assert_true(unseen.grown == 2 * CHUNK + PAST);
	assert_true(unseen.seen.estimate == 2 * CHUNK);
	assert_true(unseen.at_least == PAST);
	assert_true(th_unseen_is_notable(&unseen));
	th_health_add_profile(&health, shown.profile);
	assert_int_equal(health.lines_count, 1);
	assert_true(health.lines[0].is_warning);
	expect_text(health.lines[0].text,
		"calls by 2 pointers to allocation functions in the data of objects "
		"(libcopy.so 2); 0 of 4 sampled blocks");
	expect_text(health.lines[0].text, "at least 2.86 MiB was not");
	th_health_deinit(&health);
	json_t *root = show_json(&shown);
	json_t *slots = json_object_get(root, "import_slots");
	assert_true(json_number_value(json_object_get(
			    json_object_get(slots, "growth"), "unseen_at_least")) == PAST);
	assert_int_equal(json_array_size(json_object_get(slots, "pointers")), 1);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* Growth that was seen is no warning, nor is a heap from which more was freed. */
static void
test_growth_that_was_seen(void **state)
{
	static const int64_t grown[] = {2 * CHUNK, CHUNK, -CHUNK};

	(void)state;
	for (size_t i = 0; i < sizeof(grown) / sizeof(grown[0]); i++) {
		struct th_unseen unseen;
		struct log_builder log;
		struct shown shown;

		build(&log, grown[i], "libc.so.6");
		show(&shown, &log, NULL);
		assert_true(th_unseen_find(shown.profile, &unseen));
		assert_true(unseen.at_least == 0);
		assert_false(th_unseen_is_notable(&unseen));
		show_end(&shown);
		log_deinit(&log);
	}
}

static void
test_what_cannot_be_measured(void **state)
{
	struct th_health health = {0};
	struct th_unseen unseen;
	struct log_builder log;
	struct shown shown;

	(void)state;
	build(&log, PAST, "libjemalloc.so.2");
	log_header(&log)->counters[TH_COUNTER_LIVE_REUSED] = 1;
	show(&shown, &log, NULL);
	assert_true(th_unseen_find(shown.profile, &unseen));
	assert_false(unseen.has_growth);
	assert_true(th_unseen_is_notable(&unseen)); /* one of four blocks was freed unseen */
	th_health_add_profile(&health, shown.profile);
	expect_text(health.lines[0].text, "the growth of the C heap was not measured");
	th_health_deinit(&health);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_a_preloaded_library_misses_nothing(void **state)
{
	struct th_health health = {0};
	struct th_unseen unseen;
	struct log_builder log;
	struct shown shown;

	(void)state;
	build(&log, PAST, "libc.so.6");
	log_header(&log)->counters[TH_COUNTER_SLOTS] = 0;
	log_header(&log)->counters[TH_COUNTER_SLOT_SEARCHED] = 0;
	show(&shown, &log, NULL);
	assert_false(th_unseen_find(shown.profile, &unseen));
	th_health_add_profile(&health, shown.profile);
	assert_int_equal(health.lines_count, 0);
	json_t *root = show_json(&shown);
	assert_true(json_is_null(json_object_get(root, "import_slots")));
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth_beyond_what_was_seen),
		cmocka_unit_test(test_growth_that_was_seen),
		cmocka_unit_test(test_what_cannot_be_measured),
		cmocka_unit_test(test_a_preloaded_library_misses_nothing),
	};

	return cmocka_run_group_tests_name("unseen", tests, NULL, NULL);
}
