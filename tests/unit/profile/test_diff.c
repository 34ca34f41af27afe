/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between logs small enough to count by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/views/view_helper.h"

/* The sides of a comparison; stacks are methods called by app.Main.main. */
struct compared {
	struct shown sides[2];
	struct th_leak_sites places[2];
	struct th_diff diff;
};

static void
begin(struct log_builder *log, uint64_t interval)
{
	log_init(log, interval);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES);
	log_thread(log, 1, "main");
	log_module(log, 1, "/nonexistent/libwork.so");
	log_method(log, 1, "Lapp/Main;", "main");
	log_method(log, 2, "Lapp/Main;", "one");
	log_method(log, 3, "Lapp/Main;", "two");
	for (uint32_t i = 2; i <= 3; i++) {
		const uint64_t frames[] = {
			th_frame_java(i, TH_BCI_UNKNOWN), th_frame_java(1, TH_BCI_UNKNOWN)};

		log_stack(log, i, frames, 2);
	}
}

static uint64_t
native(struct log_builder *log, uint32_t ms, uint32_t stack, uint64_t size, uint64_t interval)
{
	return log_native(log, (struct log_sample){.ms = ms,
				       .size = size,
				       .interval = interval,
				       .thread = 1,
				       .stack = stack});
}

static void
compare(struct compared *compared)
{
	for (int i = 0; i < 2; i++)
		th_leak_sites_init(&compared->places[i], compared->sides[i].profile);
	th_diff_init(&compared->diff, &compared->places[0], &compared->places[1]);
}

static void
compare_logs(struct compared *compared, const struct log_builder *old_log,
	const struct log_builder *new_log)
{
	show(&compared->sides[0], old_log, "--value", "live-bytes", NULL);
	show(&compared->sides[1], new_log, "--value", "live-bytes", NULL);
	compare(compared);
}

/* Two snapshots of one recording, as the tool does it: one load, two profiles. */
static void
compare_moments(struct compared *compared, const struct log_builder *log, const char *value,
	const char *old_at, const char *new_at)
{
	show(&compared->sides[0], log, "--value", value, "--at", old_at, NULL);
	show(&compared->sides[1], log, "--value", value, "--at", new_at, NULL);
	th_profile_destroy(compared->sides[1].profile);
	compared->sides[1].profile = th_profile_create(
		compared->sides[0].recording, &compared->sides[1].options, NULL, NULL);
	compare(compared);
}

static void
compared_end(struct compared *compared)
{
	th_diff_deinit(&compared->diff);
	for (int i = 0; i < 2; i++)
		th_leak_sites_deinit(&compared->places[i]);
	/* The second profile may be of the first recording. */
	show_end(&compared->sides[1]);
	show_end(&compared->sides[0]);
}

/* The allocating function of a difference. */
static const char *
leaf_of(const struct compared *compared, const struct th_difference *difference)
{
	const struct th_leak_sites *places = &compared->places[difference->side];

	return th_frames_function_name(places->profile->frames,
		places->ways.items[places->items[difference->place].way].function);
}

static void
require(const struct compared *compared, size_t index, const char *leaf,
	enum th_sampling_change kind, double change)
{
	const struct th_difference *item = &compared->diff.items[index];

	assert_true(index < compared->diff.items_count);
	assert_string_equal(leaf_of(compared, item), leaf);
	assert_int_equal(item->kind, kind);
	assert_float_equal(item->change.estimate, change, 1e-6);
}

/* one: 300 bytes and 500, two: 100 and nothing; largest change first. */
static void
test_two_logs(void **state)
{
	struct log_builder logs[2];
	struct compared compared;

	(void)state;
	begin(&logs[0], 0);
	native(&logs[0], 10, 2, 300, 0);
	native(&logs[0], 10, 3, 100, 0);
	begin(&logs[1], 0);
	native(&logs[1], 10, 2, 500, 0);
	compare_logs(&compared, &logs[0], &logs[1]);
	assert_int_equal(compared.diff.items_count, 2);
	require(&compared, 0, "app.Main.one", TH_CHANGE_GREW, 200);
	require(&compared, 1, "app.Main.two", TH_CHANGE_GONE, -100);
	assert_false(compared.diff.items[0].may_be_chance);
	assert_true(compared.diff.totals[TH_HEAP_NATIVE].change.estimate == 100);
	assert_true(compared.diff.totals[TH_HEAP_NATIVE].old_value.estimate == 400);
	compared_end(&compared);
	log_deinit(&logs[0]);
	log_deinit(&logs[1]);
}

/*
 * At 100 ms 300 bytes of `one` are alive, at 300 ms 500 others. Blocks alive at both times add
 * nothing.
 */
static void
test_two_moments(void **state)
{
	struct log_builder log;
	struct compared compared;

	(void)state;
	begin(&log, 0);
	native(&log, 10, 3, 1000, 0);
	uint64_t first = native(&log, 20, 2, 300, 0);
	log_free(&log, 200, first);
	native(&log, 210, 2, 500, 0);
	log_end(&log, 1000);
	compare_moments(&compared, &log, "live-bytes", "0.1", "0.3");
	assert_true(compared.diff.is_one_recording);
	require(&compared, 0, "app.Main.one", TH_CHANGE_GREW, 200);
	require(&compared, 1, "app.Main.two", TH_CHANGE_NONE, 0);
	compared_end(&compared);
	compare_moments(&compared, &log, "alloc-bytes", "0.1", "0.3");
	require(&compared, 0, "app.Main.one", TH_CHANGE_GREW, 500);
	compared_end(&compared);
	log_deinit(&log);
}

/*
 * Ten samples of small blocks on both sides: in two recordings +1 is not significant; in one
 * recording the ten that stayed are irrelevant, and twelve new ones are significant.
 */
static void
test_chance(void **state)
{
	struct log_builder logs[2];
	struct compared compared;

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin(&logs[i], 1000);
		for (int k = 0; k < 10 + i; k++)
			native(&logs[i], 10, 2, 10, 1000);
	}
	compare_logs(&compared, &logs[0], &logs[1]);
	assert_true(compared.diff.items[0].may_be_chance);
	assert_true(compared.diff.items[0].change.low < 0);
	assert_true(compared.diff.items[0].change.high > 0);
	compared_end(&compared);
	for (int k = 0; k < 12; k++)
		native(&logs[0], 500, 2, 10, 1000);
	log_end(&logs[0], 1000);
	compare_moments(&compared, &logs[0], "live-bytes", "0.1", "end");
	assert_false(compared.diff.items[0].may_be_chance);
	/*
	 * 12 samples of 1005 bytes less nothing: 12 samples are at least 6.5, nothing is at
	 * most 3.7, so the lower limit is 12 - hypot(5.5, 3.7) = 5.4. 22 less 10 would have
	 * been 0.6.
	 */
	assert_float_equal(compared.diff.items[0].change.estimate, 12 * 1005, 1);
	assert_float_equal(compared.diff.items[0].change.low, 5400, 100);
	compared_end(&compared);
	log_deinit(&logs[0]);
	log_deinit(&logs[1]);
}

/* Significant changes come first, whatever their size. */
static void
test_order(void **state)
{
	struct log_builder logs[2];
	struct compared compared;

	(void)state;
	begin(&logs[0], 1000);
	begin(&logs[1], 1000);
	native(&logs[1], 10, 2, 10, 1000);
	native(&logs[1], 10, 3, 500, 0);
	native(&logs[1], 10, 3, 500, 0);
	native(&logs[1], 10, 3, 4000, 100);
	compare_logs(&compared, &logs[0], &logs[1]);
	assert_int_equal(compared.diff.items_count, 2);
	assert_string_equal(leaf_of(&compared, &compared.diff.items[0]), "app.Main.two");
	assert_false(compared.diff.items[0].may_be_chance);
	assert_true(compared.diff.items[1].may_be_chance);
	compared_end(&compared);
	log_deinit(&logs[0]);
	log_deinit(&logs[1]);
}

/* The startup code of Java differs between versions and is not a difference of the program. */
static void
test_launcher_does_not_matter(void **state)
{
	struct log_builder logs[2];
	struct compared compared;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		const uint64_t frames[] = {th_frame_java(2, TH_BCI_UNKNOWN),
			th_frame_java(1, TH_BCI_UNKNOWN), th_frame_native(1, 0x10 + i)};

		begin(&logs[i], 0);
		log_stack(&logs[i], 9, frames, 3);
		native(&logs[i], 10, 9, 100, 0);
	}
	compare_logs(&compared, &logs[0], &logs[1]);
	assert_int_equal(compared.diff.items_count, 1);
	require(&compared, 0, "app.Main.one", TH_CHANGE_NONE, 0);
	compared_end(&compared);
	log_deinit(&logs[0]);
	log_deinit(&logs[1]);
}

static void
test_views(void **state)
{
	struct log_builder logs[2];
	struct compared compared;
	char *text = NULL;
	size_t length;

	(void)state;
	begin(&logs[0], 0);
	native(&logs[0], 10, 3, 100, 0);
	begin(&logs[1], 0);
	native(&logs[1], 10, 2, 500, 0);
	compare_logs(&compared, &logs[0], &logs[1]);
	FILE *file = open_memstream(&text, &length);
	th_view_diff(file, &compared.diff);
	fclose(file);
	expect_text(text, "      0 B      500 B      +500 B  exact                  new    "
			  "app.Main.one\n");
	expect_text(text, "    100 B        0 B      -100 B  exact                  gone   "
			  "app.Main.two\n");
	expect_text(text, "2 of 2 stacks changed significantly\n");
	free(text);
	file = open_memstream(&text, &length);
	th_view_diff_json(file, &compared.diff);
	fclose(file);
	json_t *root = json_loads(text, 0, NULL);
	assert_non_null(root);
	json_t *first = json_array_get(json_object_get(root, "differences"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "kind")), "new");
	assert_true(json_is_false(json_object_get(first, "may_be_chance")));
	assert_true(estimate_of(first, "change") == 500);
	assert_int_equal(json_array_size(json_object_get(first, "frames")), 2);
	json_decref(root);
	free(text);
	compared_end(&compared);
	log_deinit(&logs[0]);
	log_deinit(&logs[1]);
}

/* The suffix of an operand is a time only if it can be parsed as one. */
static void
test_moments_of_operands(void **state)
{
	static const struct {
		const char *operand;
		const char *log;
		enum th_at at;
		double seconds;
	} cases[] = {
		{"a.thl", "a.thl", TH_AT_END, 0},
		{"a.thl@end", "a.thl", TH_AT_END, 0},
		{"a.thl@peak", "a.thl", TH_AT_PEAK, 0},
		{"a.thl@12s", "a.thl", TH_AT_SECONDS, 12},
		{"a.thl@1.5", "a.thl", TH_AT_SECONDS, 1.5},
		{"me@host.thl", "me@host.thl", TH_AT_END, 0},
		{"me@host@3s", "me@host", TH_AT_SECONDS, 3},
		{"a@s", "a@s", TH_AT_END, 0},
		{"a@", "a@", TH_AT_END, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct th_options options = {.at = TH_AT_END};
		char *log = th_options_split_moment(cases[i].operand, &options);

		assert_string_equal(log, cases[i].log);
		assert_int_equal(options.at, cases[i].at);
		assert_true(options.at_seconds == cases[i].seconds);
		free(log);
	}
}

/* A log with a block of a function without a name. */
static void
begin_nameless(struct log_builder *log, const char *path, const char *build_id, uint64_t size)
{
	const uint64_t frames[] = {th_frame_native(5, 0x123)};

	begin(log, 0);
	log_add_fields(log, TH_EVENT_MODULE, LOG_U64(0x10000), LOG_U64(0x20000),
		LOG_U64(0x10000), LOG_U32(5), LOG_TEXT(path), LOG_TEXT(build_id));
	log_stack(log, 9, frames, 1);
	native(log, 10, 9, size, 0);
}

/* A library that has another name in every run is the same by its build id. */
static void
test_libraries_of_one_build(void **state)
{
	static const struct {
		const char *paths[2];
		const char *build_ids[2];
		size_t stacks;
	} cases[] = {
		{{"/tmp/lib123456789.so", "/tmp/lib987654321.so"}, {"", ""}, 1},
		{{"/tmp/tmpabcx.so", "/tmp/tmpabcy.so"}, {"", ""}, 2},
		{{"/tmp/tmpabcx.so", "/tmp/tmpabcy.so"}, {"ab12", "ab12"}, 1},
		{{"/tmp/tmpabcx.so", "/tmp/tmpabcx.so"}, {"ab12", "ab13"}, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct log_builder logs[2];
		struct compared compared;

		for (int side = 0; side < 2; side++)
			begin_nameless(&logs[side], cases[i].paths[side],
				cases[i].build_ids[side], 100 + (uint64_t)side);
		compare_logs(&compared, &logs[0], &logs[1]);
		assert_int_equal(compared.diff.items_count, cases[i].stacks);
		compared_end(&compared);
		log_deinit(&logs[0]);
		log_deinit(&logs[1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libraries_of_one_build),
		cmocka_unit_test(test_two_logs),
		cmocka_unit_test(test_two_moments),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_launcher_does_not_matter),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_moments_of_operands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
