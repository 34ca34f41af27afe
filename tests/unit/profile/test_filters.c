/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters that all views share, on one log whose every allocation is recorded: the stacks
 * that each option selects, their shape, that selected and excluded stacks add up to the whole,
 * and that every view and export has the same sum.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/views/view_helper.h"

#define END_MS 10000u
#define BLOCKS 100u /* of each native stack, one every 100 ms */
#define BLOCK 1000u

enum { MODULE_WORK = 1, MODULE_OTHER = 2 };
enum { MAIN = 1, DECODE = 2, COPY = 3 };
/* Stacks, leaf first. */
enum {
	STACK_LEAK = 1,  /* libwork.so+0x10 < app.Codec.decode < app.Main.main, on main */
	STACK_FREED = 2, /* libother.so+0x20 < app.Codec.decode < app.Main.main, on worker-1 */
	STACK_C = 3,     /* libwork.so+0x30, on worker-1 */
	STACK_JAVA = 4,  /* java.util.Arrays.copyOf < app.Codec.decode < app.Main.main */
};
/* Bytes. */
#define LEAK (1.0 * BLOCKS * BLOCK)
#define FREED (1.0 * BLOCKS * BLOCK)
#define C 300.0
#define ARRAYS 176.0 /* byte[], on both threads */
#define STRINGS 24.0 /* on main */
#define NATIVE (LEAK + FREED + C)
#define JAVA (ARRAYS + STRINGS)

static void
add_names(struct log_builder *log)
{
	const uint64_t main = th_frame_java(MAIN, TH_BCI_UNKNOWN);
	const uint64_t decode = th_frame_java(DECODE, TH_BCI_UNKNOWN);
	const uint64_t copy = th_frame_java(COPY, TH_BCI_UNKNOWN);
	const uint64_t work = th_frame_native(MODULE_WORK, 0x10);
	const uint64_t other = th_frame_native(MODULE_OTHER, 0x20);
	const uint64_t c = th_frame_native(MODULE_WORK, 0x30);

	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES);
	log_thread(log, 1, "main");
	log_thread(log, 2, "worker-1");
	log_module(log, MODULE_WORK, "/nonexistent/libwork.so");
	log_module(log, MODULE_OTHER, "/nonexistent/libother.so");
	log_method(log, MAIN, "Lapp/Main;", "main");
	log_method(log, DECODE, "Lapp/codec/Codec;", "decode");
	log_method(log, COPY, "Ljava/util/Arrays;", "copyOf");
	log_class(log, 1, "[B");
	log_class(log, 2, "Ljava/lang/String;");
	log_stack(log, STACK_LEAK, (uint64_t[]){work, decode, main}, 3);
	log_stack(log, STACK_FREED, (uint64_t[]){other, decode, main}, 3);
	log_stack(log, STACK_C, &c, 1);
	log_stack(log, STACK_JAVA, (uint64_t[]){copy, decode, main}, 3);
}

static void
add_java(struct log_builder *log, uint32_t thread, uint32_t class, uint64_t size)
{
	log_java(log, (struct log_sample){.ms = 20,
			      .size = size,
			      .thread = thread,
			      .stack = STACK_JAVA,
			      .class = class});
}

static void
build(struct log_builder *log)
{
	log_init(log, 0);
	add_names(log);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct log_sample sample = {
			.ms = 100 * i, .size = BLOCK, .thread = 1, .stack = STACK_LEAK};

		log_native(log, sample);
		sample.thread = 2;
		sample.stack = STACK_FREED;
		log_free(log, 100 * i + 1, log_native(log, sample));
	}
	log_native(log, (struct log_sample){
				.ms = 10, .size = (uint64_t)C, .thread = 2, .stack = STACK_C});
	add_java(log, 1, 1, 96);
	add_java(log, 2, 1, 80);
	add_java(log, 1, 2, 24);
	log_end(log, END_MS);
}

/* The views of the log with one option, or two. */

static struct log_builder built;

static int
set_up(void **state)
{
	(void)state;
	build(&built);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	log_deinit(&built);
	return 0;
}

struct option {
	const char *name;
	const char *value;
};

static void
look(struct shown *shown, struct option option)
{
	show(shown, &built, option.name, option.value, NULL);
}

static double
total(json_t *root, const char *part, const char *heap)
{
	return estimate_of(json_object_get(json_object_get(root, part), heap), "alloc_bytes");
}

/* Sums of each heap selected by `option`; the rest is left out. */
static void
expect_sums(struct option option, double java, double native)
{
	struct shown shown;

	look(&shown, option);
	json_t *root = show_json(&shown);
	assert_true(total(root, "totals", "java") == java);
	assert_true(total(root, "totals", "native") == native);
	if (java + native == JAVA + NATIVE) {
		assert_true(json_is_null(json_object_get(root, "left_out")));
	} else {
		assert_true(total(root, "left_out", "java") == JAVA - java);
		assert_true(total(root, "left_out", "native") == NATIVE - native);
	}
	json_t *filters = json_object_get(root, "filters");
	assert_int_equal(json_object_size(filters), 1);
	assert_string_equal(
		json_string_value(json_object_get(filters, option.name + 2)), option.value);
	json_decref(root);
	show_end(&shown);
}

static void
test_what_is_kept(void **state)
{
	(void)state;
	expect_sums((struct option){"--class", "byte"}, ARRAYS, 0);
	expect_sums((struct option){"--class", "^$"}, 0, NATIVE);
	expect_sums((struct option){"--thread", "^main$"}, 96 + STRINGS, LEAK);
	expect_sums((struct option){"--include", "decode"}, JAVA, LEAK + FREED);
	expect_sums((struct option){"--exclude", "decode"}, 0, C);
	expect_sums((struct option){"--focus", "decode"}, JAVA, LEAK + FREED);
	expect_sums((struct option){"--focus", "libwork"}, 0, LEAK + C);
	expect_sums((struct option){"--hide", "decode"}, JAVA, NATIVE);
	expect_sums((struct option){"--hide", "."}, JAVA, NATIVE);
	expect_sums((struct option){"--group-by", "library"}, JAVA, NATIVE);
	expect_sums((struct option){"--group-by", "class"}, JAVA, NATIVE);
}

/* Heaps and times that are not requested count neither as shown nor as left out. */
static void
test_heap_and_time_are_no_remainder(void **state)
{
	struct shown shown;

	(void)state;
	show(&shown, &built, "--to", "5", "--include", "libwork.so.0x10", NULL);
	json_t *root = show_json(&shown);
	assert_true(total(root, "totals", "native") == LEAK / 2);
	assert_true(total(root, "left_out", "native") == FREED / 2 + C);
	json_t *filters = json_object_get(root, "filters");
	assert_string_equal(json_string_value(json_object_get(filters, "to")), "5");
	json_decref(root);
	show_end(&shown);
	show(&shown, &built, "--heaps", "java", "--exclude", "main", NULL);
	root = show_json(&shown);
	json_t *native = json_object_get(json_object_get(root, "left_out"), "native");
	assert_true(json_is_null(json_object_get(native, "alloc_bytes")));
	json_decref(root);
	show_end(&shown);
}

/* Shape of stacks */

static void
expect_collapsed(struct option option, const char *expected)
{
	struct shown shown;

	look(&shown, option);
	char *text = show_text(&shown, th_view_collapsed);
	assert_string_equal(text, expected);
	free(text);
	show_end(&shown);
}

static void
test_focus_is_the_root(void **state)
{
	(void)state;
	expect_collapsed((struct option){"--focus", "decode"},
		"app.codec.Codec.decode;java.util.Arrays.copyOf 200\n"
		"app.codec.Codec.decode;libother.so+0x20 100000\n"
		"app.codec.Codec.decode;libwork.so+0x10 100000\n");
	/* The match nearest to the root counts. */
	expect_collapsed((struct option){"--focus", "^app|libother"},
		"app.Main.main;app.codec.Codec.decode;java.util.Arrays.copyOf 200\n"
		"app.Main.main;app.codec.Codec.decode;libother.so+0x20 100000\n"
		"app.Main.main;app.codec.Codec.decode;libwork.so+0x10 100000\n");
}

static void
test_hidden_frames_are_not_there(void **state)
{
	(void)state;
	/* The allocating function is hidden: its caller replaces it. */
	expect_collapsed((struct option){"--hide", "lib|Arrays|main"},
		"main;app.codec.Codec.decode 100120\n"
		"worker-1;[hidden] 300\n"
		"worker-1;app.codec.Codec.decode 100080\n");
}

static void
test_groups_are_roots(void **state)
{
	(void)state;
	expect_collapsed((struct option){"--group-by", "package"},
		"app.codec;app.Main.main;app.codec.Codec.decode;java.util.Arrays.copyOf 200\n"
		"app.codec;app.Main.main;app.codec.Codec.decode;libother.so+0x20 100000\n"
		"app.codec;app.Main.main;app.codec.Codec.decode;libwork.so+0x10 100000\n"
		"libwork.so;libwork.so+0x30 300\n");
	expect_collapsed((struct option){"--group-by", "library"},
		"(Java);app.Main.main;app.codec.Codec.decode;java.util.Arrays.copyOf 200\n"
		"libother.so;app.Main.main;app.codec.Codec.decode;libother.so+0x20 100000\n"
		"libwork.so;app.Main.main;app.codec.Codec.decode;libwork.so+0x10 100000\n"
		"libwork.so;libwork.so+0x30 300\n");
	expect_collapsed((struct option){"--group-by", "class"},
		"(native memory);app.Main.main;app.codec.Codec.decode;libother.so+0x20 100000\n"
		"(native memory);app.Main.main;app.codec.Codec.decode;libwork.so+0x10 100000\n"
		"(native memory);libwork.so+0x30 300\n"
		"byte[];app.Main.main;app.codec.Codec.decode;java.util.Arrays.copyOf 176\n"
		"java.lang.String;app.Main.main;app.codec.Codec.decode;java.util.Arrays.copyOf "
		"24\n");
	expect_collapsed((struct option){"--group-by", "thread"},
		"main;app.Main.main;app.codec.Codec.decode;java.util.Arrays.copyOf 120\n"
		"main;app.Main.main;app.codec.Codec.decode;libwork.so+0x10 100000\n"
		"worker-1;app.Main.main;app.codec.Codec.decode;java.util.Arrays.copyOf 80\n"
		"worker-1;app.Main.main;app.codec.Codec.decode;libother.so+0x20 100000\n"
		"worker-1;libwork.so+0x30 300\n");
}

static void
test_all_together(void **state)
{
	struct shown shown;

	(void)state;
	show(&shown, &built, "--focus", "app", "--hide", "main", "--group-by", "library",
		"--exclude", "libother", NULL);
	char *text = show_text(&shown, th_view_collapsed);
	assert_string_equal(text, "(Java);app.codec.Codec.decode;java.util.Arrays.copyOf 200\n"
				  "libwork.so;app.codec.Codec.decode;libwork.so+0x10 100000\n");
	free(text);
	show_end(&shown);
}

/* All views have the same sums */

static double
collapsed_sum(const struct shown *shown)
{
	char *text = show_text(shown, th_view_collapsed);
	double sum = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		sum += atof(strrchr(line, ' '));
	free(text);
	return sum;
}

static double
json_sum(const struct shown *shown)
{
	json_t *root = show_json(shown);
	json_t *row;
	size_t i;
	double sum = 0;

	json_array_foreach(json_object_get(root, "stacks"), i, row)
		sum += estimate_of(row, "alloc_bytes");
	json_decref(root);
	return sum;
}

/* Of the first two profiles, the bytes of both heaps. */
static double
speedscope_sum(const struct shown *shown)
{
	char *text = show_text(shown, th_view_speedscope);
	json_t *root = json_loads(text, 0, NULL);
	double sum = 0;

	assert_non_null(root);
	for (size_t i = 0; i < 2; i++)
		sum += json_number_value(json_object_get(
			json_array_get(json_object_get(root, "profiles"), i), "endValue"));
	json_decref(root);
	free(text);
	return sum;
}

static void
test_views_agree(void **state)
{
	static const struct option options[] = {{"--class", "byte"}, {"--thread", "worker"},
		{"--include", "other"}, {"--exclude", "Arrays"}, {"--focus", "decode"},
		{"--hide", "app"}, {"--hide", "."}, {"--group-by", "package"},
		{"--group-by", "library"}, {"--group-by", "class"}, {"--group-by", "thread"},
		{"--from", "3"}, {"--to", "3"}};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct shown shown;

		look(&shown, options[i]);
		double sum = json_sum(&shown);
		assert_true(sum > 0);
		assert_true(collapsed_sum(&shown) == sum);
		assert_true(speedscope_sum(&shown) == sum);
		show_end(&shown);
	}
}

/* Frees the text. */
static void
expect_in(char *text, const char *part)
{
	expect_text(text, part);
	free(text);
}

static void
test_filters_are_said(void **state)
{
	struct shown shown;

	(void)state;
	show(&shown, &built, "--focus", "deco.*", "--group-by", "library", NULL);
	expect_in(show_summary(&shown, false), "only --focus 'deco.*' --group-by library\n");
	expect_in(
		show_summary(&shown, false), "excluded from the native heap: 300 B (exact)\n");
	expect_in(show_summary(&shown, false), "native heap: by library\n");
	expect_in(show_summary(&shown, false),
		" 50.0 %   97.7 KiB  exact             libother.so\n");
	expect_in(show_text(&shown, th_view_tree), "only --focus 'deco.*' --group-by");
	expect_in(
		show_text(&shown, th_view_speedscope), "(--focus 'deco.*' --group-by library)");
	show_end(&shown);
}

/* Leaks */

static char *
leaks_text(struct shown *shown, bool as_json)
{
	struct th_leaks leaks;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	th_leaks_init(&leaks, shown->profile);
	if (as_json)
		th_view_leaks_json(file, &leaks);
	else
		th_view_leaks(file, &leaks);
	fclose(file);
	th_leaks_deinit(&leaks);
	return text;
}

/* Partial recordings */

static void
log_change(struct log_builder *log, uint64_t second, const char *name, uint64_t value,
	const char *text)
{
	log_add_fields(log, TH_EVENT_CONTROL, LOG_U64(LOG_START + second * 1000000000),
		LOG_U64(value), LOG_TEXT(name), LOG_TEXT(text));
}

/* Ten seconds in which the sampled heaps change. */
static void
build_changing(struct log_builder *log)
{
	log_init(log, 0);
	log_add_fields(log, TH_EVENT_SETTING, LOG_TEXT("TWINHEAP_HEAPS"), LOG_TEXT("all"));
	add_names(log);
	log_native(log, (struct log_sample){
				.ms = 10, .size = (uint64_t)C, .thread = 2, .stack = STACK_C});
	log_change(log, 1, "paused", 1, "");
	log_change(log, 3, "paused", 0, "");
	log_change(log, 4, "heaps", 1u << TH_HEAP_JAVA | 1u << TH_HEAP_MAPPED, "java,mapped");
	log_change(log, 8, "paused", 1, "");
	log_change(log, 9, "stop", 0, "");
	log_end(log, END_MS);
}

static void
expect_json(const json_t *part, const char *expected)
{
	char *text = json_dumps(part, JSON_COMPACT | JSON_REAL_PRECISION(6));

	assert_string_equal(text, expected);
	free(text);
}

static void
test_recorded_part_is_said(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	build_changing(&log);
	show(&shown, &log, "--focus", "work", NULL);
	json_t *root = show_json(&shown);
	expect_json(json_object_get(root, "recorded"),
		"{\"heaps\":[\"java\",\"native\",\"mapped\"],"
		"\"pauses\":[{\"from_s\":1.0,\"to_s\":3.0},{\"from_s\":8.0,\"to_s\":10.0}],"
		"\"changes\":[{\"from_s\":4.0,\"heaps\":[\"java\",\"mapped\"]}],"
		"\"stopped_s\":9.0,"
		"\"sampled_s\":{\"java\":6.0,\"native\":2.0,\"mapped\":6.0}}");
	json_decref(root);
	char *text = leaks_text(&shown, true);
	root = json_loads(text, 0, NULL);
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(root, "recorded"), "pauses")),
		2);
	json_decref(root);
	free(text);
	expect_in(show_text(&shown, th_view_speedscope),
		"(--focus work; "
		"paused for 4.0 s of 10.0 s: allocations in that time are not counted; "
		"sampled from 4 s on: Java heap, mapped; ");
	show_end(&shown);
	log_deinit(&log);
	/* All of it, from the start to the end. */
	show(&shown, &built, NULL);
	root = show_json(&shown);
	expect_json(json_object_get(root, "recorded"),
		"{\"heaps\":[\"java\",\"native\"],\"pauses\":[],"
		"\"changes\":[],\"stopped_s\":null,"
		"\"sampled_s\":{\"java\":10.0,\"native\":10.0,\"mapped\":0.0}}");
	json_decref(root);
	show_end(&shown);
}

/* The first finding, by its JSON; the caller owns the root. */
static json_t *
first_finding(struct option option, json_t **root_ret)
{
	struct shown shown;

	look(&shown, option);
	char *text = leaks_text(&shown, true);
	*root_ret = json_loads(text, 0, NULL);
	assert_non_null(*root_ret);
	free(text);
	show_end(&shown);
	return json_array_get(json_object_get(*root_ret, "findings"), 0);
}

static void
expect_leak(struct option option, const char *frames)
{
	json_t *root;
	json_t *finding = first_finding(option, &root);
	char *names = frame_names(finding);

	assert_string_equal(json_string_value(json_object_get(finding, "verdict")), "leak");
	assert_string_equal(names, frames);
	assert_true(estimate_of(finding, "live_bytes") == LEAK);
	free(names);
	json_decref(root);
}

/* Hidden frames are used for verdicts. */
static void
test_verdicts_see_whole_stacks(void **state)
{
	(void)state;
	expect_leak((struct option){"--thread", "main"},
		"app.Main.main app.codec.Codec.decode libwork.so+0x10");
	expect_leak((struct option){"--focus", "libwork"}, "libwork.so+0x10");
	expect_leak((struct option){"--hide", "codec"}, "app.Main.main libwork.so+0x10");
	expect_leak((struct option){"--hide", "."}, "[hidden]");
}

static void
test_leaks_by_group(void **state)
{
	json_t *root;
	json_t *finding = first_finding((struct option){"--group-by", "library"}, &root);
	struct shown shown;

	(void)state;
	assert_string_equal(json_string_value(json_object_get(finding, "group")), "libwork.so");
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(root, "filters"), "group-by")),
		"library");
	json_decref(root);
	look(&shown, (struct option){"--group-by", "library"});
	expect_in(leaks_text(&shown, false),
		"leak     native, libwork.so: app.codec.Codec.decode");
	show_end(&shown);
}

/* Allocations before --from are not growth after it. */
static void
test_leaks_of_a_part(void **state)
{
	json_t *root;
	json_t *finding = first_finding((struct option){"--from", "5"}, &root);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(finding, "verdict")), "leak");
	assert_true(estimate_of(finding, "live_bytes") == LEAK / 2);
	/* Seconds are those of the recording: the warm-up is a fifth of the chosen part. */
	assert_non_null(strstr(json_string_value(json_object_get(finding, "why")),
		"from 6 s to 10 s and is still growing"));
	json_decref(root);
	finding = first_finding((struct option){"--to", "5"}, &root);
	assert_string_equal(json_string_value(json_object_get(finding, "verdict")), "leak");
	assert_true(estimate_of(finding, "live_bytes") == LEAK / 2);
	json_decref(root);
	/* Outside the recording there are no findings. */
	finding = first_finding((struct option){"--from", "50"}, &root);
	assert_null(finding);
	json_decref(root);
}

/* Differences */

static void
test_difference_by_group(void **state)
{
	struct shown sides[2];
	struct th_leak_sites places[2];
	struct th_diff diff;

	(void)state;
	for (int i = 0; i < 2; i++) {
		show(&sides[i], &built, "--value", "live-bytes", "--group-by", "library",
			"--at", i ? "end" : "5.05", NULL);
		th_leak_sites_init(&places[i], sides[i].profile);
	}
	th_diff_init(&diff, &places[0], &places[1]);
	/* What grew, what stayed: libwork.so with both of its stacks, Java. */
	assert_int_equal(diff.items_count, 2);
	const struct th_difference *first = &diff.items[0];
	const struct th_leak_site *place = &places[first->side].items[first->place];
	assert_string_equal(th_frames_function_name(sides[first->side].profile->frames,
				    places[first->side].ways.items[place->way].function),
		"libwork.so");
	assert_true(first->new_value.estimate == LEAK + C);
	assert_true(first->change.estimate > 0.45 * LEAK);
	th_diff_deinit(&diff);
	for (int i = 0; i < 2; i++) {
		th_leak_sites_deinit(&places[i]);
		show_end(&sides[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_heap_and_time_are_no_remainder),
		cmocka_unit_test(test_focus_is_the_root),
		cmocka_unit_test(test_hidden_frames_are_not_there),
		cmocka_unit_test(test_groups_are_roots),
		cmocka_unit_test(test_all_together),
		cmocka_unit_test(test_views_agree),
		cmocka_unit_test(test_filters_are_said),
		cmocka_unit_test(test_recorded_part_is_said),
		cmocka_unit_test(test_verdicts_see_whole_stacks),
		cmocka_unit_test(test_leaks_by_group),
		cmocka_unit_test(test_leaks_of_a_part),
		cmocka_unit_test(test_difference_by_group),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
