/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped memory is counted without sampling: if the count is of the time of the view and covers
 * everything shown, it is printed in place of the estimate, and only then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/views/view_helper.h"

#define MIB (UINT64_C(1) << 20)
#define INTERVAL (MIB / 2)
#define LIBRARY 1
#define STACK 1

static uint64_t
at(uint32_t ms)
{
	return LOG_START + ms * UINT64_C(1000000);
}

/* A mapping that was sampled with probability 0.86, so its weight is 1.16. */
static uint64_t
add_mapping(struct log_builder *log, uint32_t ms, uint64_t total)
{
	return log_add_fields(log, TH_EVENT_MAPPED_ALLOC, LOG_U64(at(ms)), LOG_U64(MIB),
		LOG_U64(INTERVAL), LOG_U64(total), LOG_U32(1), LOG_U32(STACK),
		LOG_U64(0x7f0000000000), LOG_U32(LIBRARY), LOG_U32(TH_FUNCTION_MMAP),
		LOG_U32(TH_MAPPED_TRACKED));
}

static void
add_use(struct log_builder *log, uint32_t ms, uint64_t accessible, uint64_t reserved)
{
	log_add_fields(log, TH_EVENT_MAPPED_USE, LOG_U64(at(ms)), LOG_U64(accessible),
		LOG_U64(accessible), LOG_U64(MIB), LOG_U64(reserved), LOG_U64(7 * MIB));
}

/* 20 MiB at 1 s, 50 MiB at 2 s; one of three samples is unmapped. */
static void
begin(struct log_builder *log)
{
	const uint64_t frames[] = {th_frame_native(LIBRARY, 0x1000)};

	log_init(log, INTERVAL);
	log_thread(log, 1, "main");
	log_module(log, LIBRARY, "/opt/libapp.so");
	log_stack(log, STACK, frames, 1);
	add_mapping(log, 500, 20 * MIB);
	uint64_t gone = add_mapping(log, 600, 21 * MIB);
	log_add_fields(log, TH_EVENT_MAPPED_END, LOG_U64(at(800)), LOG_U64(gone), LOG_U64(MIB),
		LOG_U64(0x7f0000000000), LOG_U32(1));
	add_use(log, 1000, 20 * MIB, 300 * MIB);
	add_mapping(log, 1500, 50 * MIB);
	add_use(log, 2000, 50 * MIB, 400 * MIB);
}

/* Whether the live bytes are exactly 50 MiB; with two options of the command line. */
static bool
is_counted(const struct log_builder *log, const char *option, const char *value)
{
	struct shown shown;

	show(&shown, log, option, value, NULL);
	json_t *json = show_json(&shown);
	json_t *mapped = json_object_get(json_object_get(json, "totals"), "mapped");
	bool counted = is_exact(mapped, "live_bytes") &&
		       estimate_of(mapped, "live_bytes") == 50.0 * MIB;
	json_decref(json);
	show_end(&shown);
	return counted;
}

static void
test_live_bytes_are_counted(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	log_end(&log, 2001);
	assert_true(is_counted(&log, NULL, NULL));
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, false);
	assert_non_null(strstr(text, "total mapped: 50.0 MiB accessible, 1.00 MiB of it files; "
				     "400 MiB more reserved; 7.00 MiB released"));
	free(text);
	json_t *json = show_json(&shown);
	json_t *use = json_object_get(
		json_object_get(json_object_get(json, "totals"), "mapped"), "use");
	assert_int_equal(json_integer_value(json_object_get(use, "reserved")), 400 * MIB);
	assert_int_equal(json_integer_value(json_object_get(use, "returned")), 7 * MIB);
	json_decref(json);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_of_a_part_they_are_estimated(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	log_end(&log, 2001);
	assert_false(is_counted(&log, "--include", "app"));
	assert_false(is_counted(&log, "--thread", "main"));
	assert_false(is_counted(&log, "--from", "0.7"));
	assert_false(is_counted(&log, "--at", "1.2"));
	log_deinit(&log);
}

static void
test_without_the_last_word_they_are_estimated(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	assert_false(is_counted(&log, NULL, NULL));
	log_deinit(&log);
}

/* Mappings made in a pause are in the sums, but not in samples. */
static void
test_after_a_pause_they_are_estimated(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	log_add_fields(&log, TH_EVENT_CONTROL, LOG_U64(at(1200)), LOG_U64(1),
		LOG_TEXT("paused"), LOG_TEXT(""));
	log_end(&log, 2001);
	assert_false(is_counted(&log, NULL, NULL));
	log_deinit(&log);
}

/* Printed with the earlier time. */
static void
test_sums_of_an_earlier_moment(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	log_end(&log, 2001);
	show(&shown, &log, "--at", "1.2", NULL);
	char *text = show_summary(&shown, false);
	assert_non_null(strstr(text, "total mapped: 20.0 MiB accessible"));
	assert_non_null(strstr(text, "so far (at 1 s)\n"));
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live_bytes_are_counted),
		cmocka_unit_test(test_of_a_part_they_are_estimated),
		cmocka_unit_test(test_without_the_last_word_they_are_estimated),
		cmocka_unit_test(test_after_a_pause_they_are_estimated),
		cmocka_unit_test(test_sums_of_an_earlier_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
