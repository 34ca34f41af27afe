/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts by the course of growth: steps, pauses of a busy program, leaks beside much churn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/leaks/leaks_fixture.h"

/* Steps */

/*
 * A data set that is kept in memory from 4.5 s to 9 s of 10 s: no survivors in the 2.5 s since
 * the warm-up nor in the last second, which is shorter than the pause that a leak may have at
 * its end. The same growth from the start is a leak, and so is one that does not end.
 */
static void
test_a_step_is_no_leak(void **state)
{
	static const struct {
		uint32_t from;
		uint32_t to;
		enum th_verdict verdict;
		enum th_reason reason;
	} cases[] = {
		{4500, 9000, TH_VERDICT_PLATEAU, TH_REASON_STEP},
		{0, 9000, TH_VERDICT_LEAK, TH_REASON_GROWS},
		{4500, END_MS, TH_VERDICT_LEAK, TH_REASON_GROWS},
	};
	struct log_builder log;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		leaks_begin(&log);
		leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
					.from = cases[i].from,
					.to = cases[i].to,
					.every = 20});
		leaks_expect(&log, cases[i].verdict, cases[i].reason);
	}
}

static void
test_a_step_says_when(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_WORK, .from = 4500, .to = 9000, .every = 20});
	leaks_find(&found, &log);
	const char *why = th_evidence_explain(&leaks_only_finding(&found)->evidence);
	expect_text(why, "grew only from 4.5 s to 8.98 s of 10 s");
	leaks_end(&found, &log);
}

/* Four survivors of the start-up do not make a step of the last third a leak. */
static void
test_a_few_early_blocks_do_not_spread_a_step(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK, .to = 2000, .every = 500});
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_WORK, .from = 7000, .to = END_MS, .every = 20});
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_LATE);
}

/* The verdict on growth from the start to 9 s, beside garbage of another function to `busy`. */
static void
expect_beside_garbage(uint32_t busy, enum th_verdict verdict, enum th_reason reason)
{
	struct log_builder log;
	struct leaks_found found;

	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK, .to = 9000, .every = 50});
	leaks_add(&log,
		(struct leaks_series){.stack = STACK_C, .to = busy, .every = 10, .life = 1});
	leaks_find(&found, &log);
	for (size_t i = 0; i < found.findings_count; i++) {
		const struct th_evidence *evidence = &found.findings[i].evidence;

		if (evidence->live_samples) {
			assert_int_equal(evidence->verdict, verdict);
			assert_int_equal(evidence->reason, reason);
		}
	}
	leaks_end(&found, &log);
}

/*
 * A pause of the last second is the program's own if nothing else is allocated in it either. If
 * the rest goes on, growth has stopped: 141 survivors since the warm-up leave the last eighth
 * out with p = 0.87^141 = 1e-8.
 */
static void
test_a_pause_of_a_busy_program(void **state)
{
	(void)state;
	expect_beside_garbage(9000, TH_VERDICT_LEAK, TH_REASON_GROWS);
	expect_beside_garbage(END_MS, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
}

/* Churn */

/*
 * Of 2,700 samples 98.7 % are freed: most at once, one in 18 after 1.2 s, which is old. The
 * other 35 stay, and those that are 3 s old show it.
 */
static void
test_a_leak_in_much_churn(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin_sampled(&log, 8 * BLOCK);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.to = END_MS,
				.every = 4,
				.life = 20,
				.interval = 8 * BLOCK});
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.to = END_MS,
				.every = 70,
				.life = 1200,
				.interval = 8 * BLOCK});
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.from = 100,
				.to = END_MS,
				.every = 280,
				.interval = 8 * BLOCK});
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_true(evidence->survivors < 0.03);
	leaks_end(&found, &log);
}

/*
 * The same leak and its churn at an interval of 1000, while another function fills the heap's
 * log at 400,000 for a second. The site itself was never sampled that sparsely, so no freed old
 * blocks can hide there.
 */
static void
test_sparse_samples_elsewhere_hide_nothing_here(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin_sampled(&log, BLOCK);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.to = END_MS,
				.every = 5,
				.life = 20,
				.interval = BLOCK});
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.from = 100,
				.to = END_MS,
				.every = 280,
				.interval = BLOCK});
	leaks_add(&log, (struct leaks_series){.stack = STACK_C,
				.from = 3000,
				.to = 4000,
				.every = 10,
				.life = 1,
				.interval = 400 * BLOCK});
	leaks_find(&found, &log);
	assert_int_equal(found.findings[0].evidence.verdict, TH_VERDICT_LEAK);
	assert_int_equal(found.findings[0].place_count, 1);
	leaks_end(&found, &log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_step_is_no_leak),
		cmocka_unit_test(test_a_step_says_when),
		cmocka_unit_test(test_a_few_early_blocks_do_not_spread_a_step),
		cmocka_unit_test(test_a_pause_of_a_busy_program),
		cmocka_unit_test(test_a_leak_in_much_churn),
		cmocka_unit_test(test_sparse_samples_elsewhere_hide_nothing_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
