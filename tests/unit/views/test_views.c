/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of small logs: sums calculated by hand, filters, and the output of summary, tree and
 * others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/log/small_log.h"
#include "tests/unit/views/view_helper.h"

/* Numbers */

static void
test_rows_by_hand(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_build(&log);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	assert_int_equal(json_array_size(json_object_get(root, "stacks")), 5);
	json_t *row = row_with_frame(root, "libwork.so+0x10");
	assert_true(estimate_of(row, "alloc_bytes") == 1500);
	assert_true(estimate_of(row, "alloc_objects") == 2);
	assert_true(limit_of(row, "alloc_bytes", 0) == 1500);
	assert_true(is_exact(row, "alloc_bytes") && is_exact(row, "alloc_objects"));
	/* The largest of the Java rows comes first: byte[] on main. */
	row = row_with_frame(root, "java.util.Arrays.copyOf");
	assert_string_equal(json_string_value(json_object_get(row, "class")), "byte[]");
	assert_string_equal(json_string_value(json_object_get(row, "thread")), "main");
	assert_true(estimate_of(row, "alloc_bytes") == 96);
	json_t *java_total = json_object_get(json_object_get(root, "totals"), "java");
	json_t *native_total = json_object_get(json_object_get(root, "totals"), "native");
	assert_true(estimate_of(java_total, "alloc_bytes") == 200);
	assert_true(estimate_of(java_total, "alloc_objects") == 4);
	assert_true(estimate_of(native_total, "alloc_bytes") == 1800);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* Two stack ids with equal frames form one row. */
static void
test_equal_stacks_are_one_row(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_begin(&log);
	add_stack(&log, 1, JVM_FRAME(1), JVM_FRAME(2), JAVA_FRAME(1));
	add_stack(&log, 2, JVM_FRAME(9), JVM_FRAME(2), JAVA_FRAME(1));
	small_log_native(&log, 1, 1, 10);
	small_log_native(&log, 1, 2, 30);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	assert_int_equal(json_array_size(json_object_get(root, "stacks")), 1);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

static void
expect_collapsed(const char *expected, const char *option, const char *argument)
{
	struct log_builder log;
	struct shown shown;

	small_log_build(&log);
	show(&shown, &log, option, argument, NULL);
	char *text = show_text(&shown, th_view_collapsed);
	assert_string_equal(text, expected);
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

#define MAIN_NATIVE "main;app.Main.main;app.Codec.decode;libwork.so+0x10 1500\n"
#define MAIN_JAVA "main;app.Main.main;app.Codec.decode;java.util.Arrays.copyOf 120\n"
#define WORKER_JAVA "worker-1;app.Main.main;app.Codec.decode;java.util.Arrays.copyOf 80\n"
#define WORKER_NATIVE "worker-1;libwork.so+0x20 300\n"

static void
test_collapsed_and_filters(void **state)
{
	(void)state;
	expect_collapsed(MAIN_JAVA MAIN_NATIVE WORKER_JAVA WORKER_NATIVE, NULL, NULL);
	expect_collapsed(MAIN_JAVA WORKER_JAVA, "--heaps", "java");
	expect_collapsed(MAIN_NATIVE WORKER_NATIVE, "--heaps", "native");
	expect_collapsed(WORKER_JAVA WORKER_NATIVE, "--thread", "^worker-[0-9]+$");
	expect_collapsed(MAIN_JAVA WORKER_JAVA, "--include", "Arrays\\.copyOf|nothing");
	expect_collapsed(WORKER_NATIVE, "--exclude", "decode");
	expect_collapsed(MAIN_JAVA WORKER_JAVA, "--from", "0.02");
	expect_collapsed(MAIN_NATIVE WORKER_NATIVE, "--to", "0.02");
	expect_collapsed("", "--from", "10");
	expect_collapsed("main;app.Main.main;app.Codec.decode;java.util.Arrays.copyOf 3\n"
			 "main;app.Main.main;app.Codec.decode;libwork.so+0x10 2\n"
			 "worker-1;app.Main.main;app.Codec.decode;java.util.Arrays.copyOf 1\n"
			 "worker-1;libwork.so+0x20 1\n",
		"--value", "alloc-objects");
	expect_collapsed("[java heap];" MAIN_JAVA "[java heap];" WORKER_JAVA
			 "[native heap];" MAIN_NATIVE "[native heap];" WORKER_NATIVE,
		"--annotate", NULL);
}

/* A filtered total is the sum of the remaining rows, not the heap's total. */
static void
test_filtered_total(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_build(&log);
	show(&shown, &log, "--thread", "worker", NULL);
	json_t *root = show_json(&shown);
	json_t *totals = json_object_get(root, "totals");
	assert_true(estimate_of(json_object_get(totals, "java"), "alloc_bytes") == 80);
	assert_true(estimate_of(json_object_get(totals, "native"), "alloc_bytes") == 300);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* Names from the application cannot corrupt an output format. */
static void
test_odd_names(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_begin(&log);
	log_thread(&log, 1, "a;b\n\x1b[31m\xff\xed\xa0\x80 \xc3\xa9");
	add_stack(&log, 1, WORK_FRAME(1));
	small_log_native(&log, 1, 1, 10);
	show(&shown, &log, NULL);
	char *text = show_text(&shown, th_view_collapsed);
	assert_string_equal(
		text, "a:b  [31m\xef\xbf\xbd\xef\xbf\xbd \xc3\xa9;libwork.so+0x1 10\n");
	free(text);
	json_decref(show_json(&shown));
	show_end(&shown);
	log_deinit(&log);
}

/* Text views */

static void
test_summary(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_build(&log);
	log_header(&log)->counters[TH_COUNTER_DROPPED_STACKS_FULL] = 1234;
	log_header(&log)->counters[TH_COUNTER_SAMPLES_DUE] = 5234;
	log_header(&log)->counters[TH_COUNTER_NATIVE_SAMPLES] = 4000;
	log_header(&log)->counters[TH_COUNTER_DROPPED_THREADS_FULL] = 5;
	log_header(&log)->counters[TH_COUNTER_JAVA_STACK_BELOW] = 200;
	log_header(&log)->counters[TH_COUNTER_JAVA_STACK_FOUND] = 100;
	log_add_fields(&log, TH_EVENT_NOTE, LOG_U64(LOG_START), LOG_U32(1), LOG_TEXT("mind"));
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, false);
	expect_text(text, "app -x a b\n");
	expect_text(text, "A VM 25.0.3+9-LTS\n");
	expect_text(text, "Java heap        200 B  exact ");
	expect_text(text, "native heap   1.76 KiB  exact ");
	expect_text(text, " 88.0 %      176 B  exact             byte[] in "
			  "java.util.Arrays.copyOf < app.Codec.decode\n");
	expect_text(text, " libwork.so+0x10 < app.Codec.decode\n");
	expect_text(text, "  5,234 samples were due: 4,000 recorded, 1,234 lost\n");
	assert_null(strstr(text, "do not add up"));
	expect_text(text, "warning: 1,234 samples lost: the stack table is full\n");
	expect_text(text, "warning: 5 threads not sampled");
	expect_text(text, "warning: 50.0 % of the native samples taken below Java");
	expect_text(text, "warning: mind\n");
	expect_text(text, "  twinheap tree ");
	free(text);
	text = show_summary(&shown, true);
	size_t lines = 0;
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_in_range(lines, 6, 12);
	expect_text(text, "Java heap: 200 B allocated (exact), 4 samples; 200 B live at the "
			  "end (exact)\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

/* A due sample that is neither recorded nor lost is an error of the recording. */
static void
test_counters_that_do_not_add_up(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_build(&log);
	log_header(&log)->counters[TH_COUNTER_SAMPLES_DUE] = 6;
	log_header(&log)->counters[TH_COUNTER_JAVA_SAMPLES] = 5;
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, false);
	expect_text(text, "  6 samples were due: 5 recorded, 0 lost\n");
	expect_text(text, "warning: these counters do not add up\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_summary_of_a_log_without_end(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	log_init(&log, 1000);
	log_thread(&log, 1, "main");
	log_add_hole(&log, 80);
	small_log_native(&log, 1, 1, 10);
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, false);
	expect_text(text, "the log has no end");
	expect_text(text, "1 unfinished records skipped");
	expect_text(text, "Java heap    not recorded\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_approximate_shares_are_said(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	log_init(&log, 1000);
	log_jvm(&log, 11, TH_JVM_SAMPLED_ALLOC | TH_JVM_SHARES_APPROXIMATE);
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, true);
	expect_text(text, "shares of them approximate");
	expect_text(text, "twinheap dump ");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

/* One sample in a hundred may be missing without a warning. */
static void
test_missed_samples_are_said(void **state)
{
	struct log_builder log;

	(void)state;
	for (uint64_t missed = 10; missed <= 11; missed++) {
		struct shown shown;

		log_init(&log, 1000);
		log_jvm(&log, 17, TH_JVM_SAMPLED_ALLOC);
		log_header(&log)->counters[TH_COUNTER_JAVA_SAMPLES] = 990;
		log_header(&log)->counters[TH_COUNTER_JAVA_MISSED] = missed;
		show(&shown, &log, NULL);
		char *text = show_summary(&shown, true);
		assert_int_equal(
			strstr(text, "passed over 11 of 1,001 samples") != NULL, missed == 11);
		free(text);
		show_end(&shown);
		log_deinit(&log);
	}
}

static void
test_tree(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_build(&log);
	show(&shown, &log, "--min", "20", NULL);
	char *text = show_text(&shown, th_view_tree);
	expect_text(text, "100.0 %     200 B  exact                100.0 %  1.76 KiB  exact"
			  "                all\n");
	/* A chain of calls is printed at one depth; branches of a fork are indented. */
	/* Threads are merged. */
	assert_null(strstr(text, "main\n  "));
	assert_null(strstr(text, "thread"));
	expect_text(text, "100.0 %     200 B  exact                 83.3 %  1.46 KiB  exact"
			  "                app.Codec.decode\n");
	expect_text(text, "  libwork.so+0x10\n");
	expect_text(text, "omitted: 1 branches below 20 %; --min 0 shows all\n"
			  "  0.0 % of the Java heap, 16.7 % of the native heap\n");
	free(text);
	show_end(&shown);
	show(&shown, &log, "--min", "0", NULL);
	text = show_text(&shown, th_view_tree);
	expect_text(text, "libwork.so+0x20");
	assert_null(strstr(text, "omitted"));
	free(text);
	show_end(&shown);
	show(&shown, &log, "--threads", NULL);
	text = show_text(&shown, th_view_tree);
	expect_text(text, " thread \"main\"\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

/* One sample of 100 bytes represents 4 KiB, but 500 were allocated. */
static void
test_parts_of_counted_bytes(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	log_init(&log, 4096);
	log_thread(&log, 1, "main");
	log_module(&log, 1, "/nonexistent/libwork.so");
	log_stack(&log, 1, (uint64_t[]){th_frame_native(1, 0x10)}, 1);
	log_native(&log, (struct log_sample){.ms = 10,
				 .size = 100,
				 .interval = 4096,
				 .thread_bytes = 100,
				 .thread = 1,
				 .stack = 1});
	log_thread_bytes(&log, 90, TH_HEAP_NATIVE, 1, 500);
	log_end(&log, 100);
	show(&shown, &log, "--min", "0", NULL);
	char *text = show_text(&shown, th_view_tree);
	expect_text(text, "     500 B  exact                all\n");
	expect_text(text, "     500 B  139 .. 500 B         libwork.so+0x10\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

/*
 * Forty functions of a library call the application: the middle of them is left out, and they do not
 * take its lines.
 */
static void
test_libraries_in_tree(void **state)
{
	enum { DEPTH = 40, STACK = 50 };
	uint64_t frames[DEPTH + 2];
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_begin(&log);
	for (uint32_t i = 0; i < DEPTH; i++) {
		char name[16];

		snprintf(name, sizeof(name), "run%u", i);
		log_method(&log, 100 + i, "Ljavax/servlet/Chain;", name);
		frames[DEPTH + 1 - i] = th_frame_java(100 + i, 0);
	}
	log_method(&log, 90, "Lapp/Shop;", "buy");
	log_method(&log, 91, "Lapp/Shop;", "pay");
	frames[1] = th_frame_java(90, 0);
	frames[0] = th_frame_java(91, 0);
	log_stack(&log, STACK, frames, DEPTH + 2);
	small_log_native(&log, 1, STACK, 100000);
	log_end(&log, 100);
	show(&shown, &log, "--top", "6", NULL);
	char *text = show_text(&shown, th_view_tree);
	expect_text(text, "Chain.run1\n");
	expect_text(text, " (36 more)\n");
	expect_text(text, "Chain.run38\n");
	expect_text(text, "app.Shop.buy\n");
	expect_text(text, "app.Shop.pay\n");
	assert_null(strstr(text, "Chain.run2\n"));
	free(text);
	show_end(&shown);
	show(&shown, &log, "--min", "0", NULL);
	text = show_text(&shown, th_view_tree);
	expect_text(text, "Chain.run20\n");
	assert_null(strstr(text, " more)"));
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

/* Of each heap the nodes with the largest shares, and the parents of these. */
static void
test_top_of_tree(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_build(&log);
	show(&shown, &log, "--top", "1", NULL);
	char *text = show_text(&shown, th_view_tree);
	expect_text(text, "all\n");
	expect_text(text, "app.Main.main\n");
	assert_null(strstr(text, "app.Codec.decode"));
	expect_text(text, "or beyond --top; --min 0 shows all\n");
	free(text);
	show_end(&shown);
	/* With all of them, as many as there are. */
	show(&shown, &log, "--top", "1000", "--min", "0", NULL);
	text = show_text(&shown, th_view_tree);
	expect_text(text, "libwork.so+0x20");
	assert_null(strstr(text, "omitted"));
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_by_hand),
		cmocka_unit_test(test_equal_stacks_are_one_row),
		cmocka_unit_test(test_collapsed_and_filters),
		cmocka_unit_test(test_filtered_total),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_counters_that_do_not_add_up),
		cmocka_unit_test(test_summary_of_a_log_without_end),
		cmocka_unit_test(test_approximate_shares_are_said),
		cmocka_unit_test(test_missed_samples_are_said),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_top_of_tree),
		cmocka_unit_test(test_parts_of_counted_bytes),
		cmocka_unit_test(test_libraries_in_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
