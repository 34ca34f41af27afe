/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of a small log is checked against its schema. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/log/small_log.h"
#include "tests/unit/views/view_helper.h"

static void
require_figures(json_t *object)
{
	static const char *const names[] = {
		"alloc_bytes", "alloc_objects", "live_bytes", "live_objects", "temp_bytes"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_t *figure = json_object_get(object, names[i]);
		double low = limit_of(object, names[i], 0);
		double high = limit_of(object, names[i], 1);

		assert_true(json_is_real(json_object_get(figure, "estimate")));
		assert_int_equal(json_array_size(json_object_get(figure, "ci95")), 2);
		assert_true(json_is_integer(json_object_get(figure, "samples")));
		assert_true(low <= estimate_of(object, names[i]));
		assert_true(high >= estimate_of(object, names[i]));
	}
}

static void
require_frame(json_t *frame)
{
	const char *kind = json_string_value(json_object_get(frame, "kind"));

	assert_int_equal(json_object_size(frame), 5);
	assert_true(json_is_string(json_object_get(frame, "name")));
	assert_true(!strcmp(kind, "java") || !strcmp(kind, "native") || !strcmp(kind, "vm"));
	assert_non_null(json_object_get(frame, "module"));
	assert_non_null(json_object_get(frame, "file"));
	assert_non_null(json_object_get(frame, "line"));
}

static void
require_row(json_t *row)
{
	json_t *frame;
	size_t i;

	assert_int_equal(json_object_size(row), 10);
	assert_true(json_is_string(json_object_get(row, "heap")));
	assert_true(json_is_string(json_object_get(row, "thread")));
	require_figures(row);
	assert_true(json_array_size(json_object_get(row, "frames")) > 0);
	json_array_foreach(json_object_get(row, "frames"), i, frame) require_frame(frame);
}

static void
test_json_schema(void **state)
{
	struct log_builder log;
	struct shown shown;
	json_t *row;
	size_t i;

	(void)state;
	small_log_build(&log);
	log_header(&log)->counters[TH_COUNTER_DROPPED_LOG_FULL] = 7;
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	int pid;
	int complete;
	int version;
	double duration;
	const char *jvm;
	json_t *command;
	assert_int_equal(json_unpack(root, "{s:i, s:{s:i, s:o, s:s, s:b, s:F !}}", "twinheap",
				 &version, "process", "pid", &pid, "command", &command, "jvm",
				 &jvm, "complete", &complete, "duration_s", &duration),
		0);
	assert_int_equal(version, 1);
	assert_int_equal(pid, 4711);
	assert_true(complete);
	assert_string_equal(jvm, "25.0.3+9-LTS");
	assert_true(fabs(duration - 0.1) < 1e-9);
	assert_int_equal(json_array_size(command), 3);
	assert_string_equal(json_string_value(json_array_get(command, 2)), "a b");
	int interval;
	int rate;
	int java_samples;
	int native_samples;
	int full;
	assert_int_equal(json_unpack(root, "{s:{s:i, s:i, s:i, s:i, s:{s:i}}}", "sampling",
				 "interval_bytes", &interval, "rate_target", &rate,
				 "java_samples", &java_samples, "native_samples",
				 &native_samples, "dropped", "log_full", &full),
		0);
	assert_int_equal(java_samples, 4);
	assert_int_equal(native_samples, 3);
	assert_int_equal(full, 7);
	assert_int_equal(json_object_size(root), 10);
	require_figures(json_object_get(json_object_get(root, "totals"), "java"));
	require_figures(json_object_get(json_object_get(root, "totals"), "native"));
	json_array_foreach(json_object_get(root, "stacks"), i, row) require_row(row);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_json_lines(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_begin(&log);
	/* The table of log_method(): line 10 from bytecode 0, line 11 from 5. */
	add_stack(&log, 1, th_frame_java(2, 4), th_frame_java(1, 5));
	small_log_native(&log, 1, 1, 10);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	json_t *frames = json_object_get(
		json_array_get(json_object_get(root, "stacks"), 0), "frames");
	json_t *main_frame = json_array_get(frames, 0);
	json_t *leaf = json_array_get(frames, 1);
	assert_int_equal(json_integer_value(json_object_get(main_frame, "line")), 11);
	assert_int_equal(json_integer_value(json_object_get(leaf, "line")), 10);
	assert_string_equal(json_string_value(json_object_get(leaf, "file")), "Source.java");
	assert_string_equal(json_string_value(json_object_get(leaf, "kind")), "java");
	assert_true(json_is_null(json_object_get(leaf, "module")));
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* The figures of a heap that was not recorded are null. */
static void
test_json_of_one_heap(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	log_init(&log, 0);
	log_thread(&log, 1, "main");
	small_log_native(&log, 1, 1, 10);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	json_t *java_total = json_object_get(json_object_get(root, "totals"), "java");
	assert_true(json_is_null(json_object_get(java_total, "alloc_bytes")));
	assert_true(json_is_null(json_object_get(json_object_get(root, "process"), "jvm")));
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_schema),
		cmocka_unit_test(test_json_lines),
		cmocka_unit_test(test_json_of_one_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
