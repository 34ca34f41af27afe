/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `leaks` as a whole: its first line, its members in the JSON, its status. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/leaks/leaks_work.h"
#include "tests/unit/leaks/leaks_fixture.h"

#define INTERVAL (8 * BLOCK)

/* The first line of the text. */
static void
expect_headline(const struct leaks_found *found, const char *line)
{
	char *text = leaks_print(found, th_view_leaks);

	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, line);
	free(text);
}

/* Garbage in both heaps; the last GC is a full one unless `kind` says otherwise. */
static void
add_garbage(struct log_builder *log, const char *kind)
{
	leaks_begin_sampled(log, INTERVAL);
	leaks_add(log, (struct leaks_series){.stack = STACK_WORK,
			       .to = END_MS,
			       .every = 50,
			       .life = 10,
			       .interval = INTERVAL});
	for (uint32_t i = 1; i <= 9; i++) {
		leaks_collect(log, 1000 * i, i, kind);
		for (uint32_t ms = 1000 * (i - 1); ms < 1000 * i; ms += 50)
			leaks_add(log, (struct leaks_series){.stack = STACK_JAVA,
					       .class = CLASS_BYTES,
					       .from = ms,
					       .to = ms + 1,
					       .every = 1,
					       .life = 1000 * i + 2 - ms,
					       .interval = INTERVAL});
	}
}

/*
 * Native: 11.1 intervals of 8,000 bytes in the 4 s of the later half. Java was judged until 9
 * s, so the later half has 3.5 s, in which 10.9 are enough.
 */
static void
test_none(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	add_garbage(&log, FULL);
	leaks_find(&found, &log);
	expect_headline(&found, "no leak above 21.7 KiB/s native, 24.4 KiB/s Java, in 10.0 s");
	struct th_outcome outcome = found.leaks.outcome;
	assert_int_equal(outcome.verdict, TH_OUTCOME_NONE);
	assert_null(th_outcome_advice(&found.leaks));
	leaks_end(&found, &log);
}

static void
test_java_heap_not_judged(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	add_garbage(&log, YOUNG);
	leaks_find(&found, &log);
	expect_headline(&found, "inconclusive after 10.0 s: the Java heap was not judged: no "
				"recent old-generation GC");
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "twinheap ctl PID gc");
	expect_text(text, "or record with --gc-every 30s");
	expect_text(text, "no recent old-generation GC; no verdict on leaks\n");
	free(text);
	leaks_end(&found, &log);
}

/* A native leak is an answer, whatever is not known of the Java heap. */
static void
test_found(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_WORK);
	leaks_add_leak(&log, STACK_C);
	leaks_find(&found, &log);
	expect_headline(&found, "2 leaks, together 19.5 KiB/s, at least 195 KiB, in 10.0 s");
	leaks_end(&found, &log);
}

/* Two large blocks that are allocated together. */
static void
expect_of_two(uint32_t ms, const char *headline)
{
	struct log_builder log;
	struct leaks_found found;

	leaks_begin_sampled(&log, BLOCK);
	for (uint32_t i = 0; i < 2; i++)
		log_native(&log, (struct log_sample){.ms = ms + i,
					 .size = 1000 * BLOCK,
					 .interval = BLOCK,
					 .thread = 1,
					 .stack = STACK_C});
	leaks_find(&found, &log);
	const char *text = th_outcome_headline(&found.leaks);
	assert_memory_equal(text, headline, strlen(headline));
	leaks_end(&found, &log);
}

/* What is allocated once, after the warm-up, is no growth if nothing of it follows in the later half. */
static void
test_once(void **state)
{
	(void)state;
	expect_of_two(3000, "no leak above");
	expect_of_two(7000, "inconclusive");
}

/* Growth that began late may be larger than the limit. */
static void
test_unclear_growth(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin_sampled(&log, INTERVAL);
	leaks_add(&log, (struct leaks_series){.stack = STACK_C,
				.from = 7500,
				.to = END_MS,
				.every = 10,
				.interval = INTERVAL});
	leaks_find(&found, &log);
	expect_headline(&found, "inconclusive after 10.0 s: libwork.so+0x10, native, grows by "
				"about 157 KiB/s and may be a leak or not");
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "to decide: record for 22.0 s\n");
	free(text);
	leaks_end(&found, &log);
}

static void
test_json(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	add_garbage(&log, YOUNG);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks_json);
	json_t *root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_string_equal(
		json_string_value(json_object_get(root, "verdict")), "inconclusive");
	const json_t *limits = json_object_get(root, "detection_limits_bytes_per_s");
	assert_true(json_is_null(json_object_get(limits, "java")));
	assert_float_equal(
		json_real_value(json_object_get(limits, "native")), 11.1 * INTERVAL / 4, 100);
	assert_non_null(json_string_value(json_object_get(root, "reason")));
	assert_non_null(json_string_value(json_object_get(root, "advice")));
	json_decref(root);
	free(text);
	leaks_end(&found, &log);
}

static void
expect_status(struct leaks_found *found, enum th_fail_on fail_on, uint64_t limit, int status)
{
	found->shown.options.fail_on = fail_on;
	found->shown.options.limit = limit;
	th_leaks_conclude(&found->leaks);
	assert_int_equal(th_leaks_status(&found->leaks), status);
}

static void
test_status(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	add_garbage(&log, YOUNG);
	leaks_find(&found, &log);
	expect_status(&found, TH_FAIL_NEVER, 0, 0);
	expect_status(&found, TH_FAIL_LEAK, 0, TH_STATUS_INCONCLUSIVE);
	expect_status(&found, TH_FAIL_BYTES, 0, TH_STATUS_INCONCLUSIVE);
	leaks_end(&found, &log);
	add_garbage(&log, FULL);
	leaks_find(&found, &log);
	expect_status(&found, TH_FAIL_LEAK, 0, 0);
	expect_status(&found, TH_FAIL_LEAK, 20 << 10, TH_STATUS_LIMIT);
	const char *advice = th_outcome_advice(&found.leaks);
	/* 24.4 / 20 times as long, and a tenth more; 8,000 bytes divided by the same. */
	assert_string_equal(advice, "record for 13.4 s, or with -i 5k");
	expect_status(&found, TH_FAIL_LEAK, 30 << 10, 0);
	leaks_end(&found, &log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_java_heap_not_judged),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_unclear_growth),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
