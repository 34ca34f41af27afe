/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on the C heap, and the text of the findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/leaks/leaks_fixture.h"

/* Native verdicts */

/*
 * One block each 100 ms, throughout: 100 alive. Old at 2 s are those born by 1 s: 11; old at 10
 * s those born by 9 s: 91, of which 40 were born after 5 s. 80 of 1000 bytes in 8 s are 10,000
 * bytes per second.
 */
static void
test_leak(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_WORK);
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_true(evidence->live_bytes.exact && evidence->live_bytes.estimate == 100 * BLOCK);
	assert_true(evidence->live_objects.estimate == 100);
	assert_float_equal(evidence->growth.estimate, 10000, 1e-6);
	assert_true(evidence->survivors == 1);
	assert_float_equal(evidence->median_age, 5, 1e-9);
	assert_int_equal(evidence->alive_old, 91);
	assert_int_equal(evidence->born_late, 40);
	assert_true(evidence->is_growing);
	assert_true(found.leaks.outcome.leaks);
	assert_true(found.leaks.outcome.bytes == 100 * BLOCK);
	leaks_end(&found, &log);
}

/*
 * The same as samples of an interval of 1000 bytes: blocks of 1000 bytes are sampled with p = 1
 * - exp(-1) and represent 1/p = 1.582 each, so growth is 15,820 bytes per second.
 */
static void
test_sampled_leak(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin_sampled(&log, BLOCK);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_WORK, .to = END_MS, .every = 100, .interval = BLOCK});
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_float_equal(evidence->growth.estimate, 15820, 1);
	assert_true(evidence->growth.low > 10000 && evidence->growth.high < 25000);
	leaks_end(&found, &log);
}

/*
 * Twenty samples are enough. Of three, one is an old one of the later half: a recording seven
 * times as long would have the seven that are significant.
 */
static void
test_few_samples(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin_sampled(&log, BLOCK);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.from = 250,
				.to = END_MS,
				.every = 500,
				.interval = BLOCK});
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
	leaks_begin_sampled(&log, BLOCK);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.from = 2000,
				.to = END_MS,
				.every = 3000,
				.interval = BLOCK});
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_UNCLEAR);
	assert_int_equal(evidence->reason, TH_REASON_FEW_SAMPLES);
	const char *why = th_evidence_explain(evidence);
	assert_non_null(strstr(why, "a recording of about 2 min 00 s would be enough"));
	leaks_end(&found, &log);
}

/* Blocks of a site that is sampled every 50 ms until 4.4 s, and then every 580 ms until `to`. */
static void
add_sparser(struct log_builder *log, uint32_t to)
{
	leaks_begin_sampled(log, BLOCK);
	leaks_add(log, (struct leaks_series){.stack = STACK_WORK,
			       .from = 50,
			       .to = 4400,
			       .every = 50,
			       .interval = BLOCK});
	leaks_add(log, (struct leaks_series){.stack = STACK_WORK,
			       .from = 4400,
			       .to = to,
			       .every = 580,
			       .interval = BLOCK * 580 / 50});
}

/* Six survivors in the later half are too few, but 56 since the warm-up are enough. */
static void
test_growth_since_warm_up_is_leak(void **state)
{
	struct log_builder log;

	(void)state;
	add_sparser(&log, 10000);
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/* The same site, which freed one old block. */
static void
test_growth_with_loss_is_unclear(void **state)
{
	struct log_builder log;

	(void)state;
	add_sparser(&log, 10000);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.from = 2500,
				.to = 2600,
				.every = 100,
				.life = 2000,
				.interval = BLOCK});
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

/* The same site, with growth that ended at 60 % of the time. */
static void
test_growth_before_is_plateau(void **state)
{
	struct log_builder log;

	(void)state;
	add_sparser(&log, 6000);
	leaks_expect(&log, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
}

/* Beside a site that frees what it allocates: the first finding is of the site that does not. */
static void
expect_beside(struct log_builder *log, enum th_verdict verdict, enum th_reason reason)
{
	struct leaks_found found;

	leaks_find(&found, log);
	assert_int_equal(found.findings_count, 2);
	assert_int_equal(found.findings[0].evidence.verdict, verdict);
	assert_int_equal(found.findings[0].evidence.reason, reason);
	assert_int_equal(found.findings[1].evidence.verdict, TH_VERDICT_CHURN);
	if (reason == TH_REASON_IDLE) {
		assert_non_null(strstr(th_outcome_headline(&found.leaks),
			"until the heap is idle and may be a leak or not"));
		assert_non_null(strstr(th_outcome_advice(&found.leaks), "leaks --to 7.45"));
	}
	leaks_end(&found, log);
}

static void
test_start_up_is_plateau(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK, .to = 1000, .every = 10});
	leaks_expect(&log, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
}

/* Three blocks from before the warm-up, none after: they do not grow, however few they are. */
static void
test_few_blocks_of_start_up_are_plateau(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin_sampled(&log, BLOCK);
	leaks_add(
		&log, (struct leaks_series){
			      .stack = STACK_WORK, .to = 300, .every = 100, .interval = BLOCK});
	leaks_expect(&log, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
}

static void
test_filled_to_a_limit_is_plateau(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK, .to = 7500, .every = 50});
	leaks_expect(&log, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
}

/* The same as the load ends: whether it is a limit is not known.  If the load goes on it is one. */
static void
test_end_of_the_load_is_unclear(void **state)
{
	struct log_builder log;

	(void)state;
	for (uint32_t to = 7500; to <= END_MS; to += END_MS - 7500) {
		leaks_begin(&log);
		leaks_add(&log,
			(struct leaks_series){.stack = STACK_WORK, .to = 7500, .every = 50});
		leaks_add(
			&log, (struct leaks_series){
				      .stack = STACK_OTHER, .to = to, .every = 10, .life = 10});
		if (to < END_MS)
			expect_beside(&log, TH_VERDICT_UNCLEAR, TH_REASON_IDLE);
		else
			expect_beside(&log, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
	}
}

/* A short pause before the end is not the end of growth. */
static void
test_short_rest_is_still_leak(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK, .to = 8700, .every = 50});
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/*
 * Fifty blocks at a time, every 2.4 s: the last pause is as long as the earlier ones. If two
 * bursts are missing at the end it is not.
 */
static void
test_bursts_are_a_leak(void **state)
{
	static const struct {
		uint32_t until;
		enum th_verdict verdict;
		enum th_reason reason;
	} cases[] = {
		{8000, TH_VERDICT_LEAK, TH_REASON_GROWS},
		{5000, TH_VERDICT_PLATEAU, TH_REASON_STOPPED},
	};
	struct log_builder log;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		leaks_begin(&log);
		for (uint32_t start = 0; start < cases[i].until; start += 2400)
			leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
						.from = start,
						.to = start + 50,
						.every = 1});
		leaks_expect(&log, cases[i].verdict, cases[i].reason);
	}
}

/* 160 blocks a second at first, then 80, 40, 20, 5 in the last two. */
static const uint32_t slowing[] = {6, 12, 25, 50, 200};

static void
add_slowing(struct log_builder *log, uint32_t stack, uint32_t life)
{
	for (uint32_t i = 0; i < 5; i++)
		leaks_add(log, (struct leaks_series){.stack = stack,
				       .from = 2000 * i,
				       .to = 2000 * (i + 1),
				       .every = slowing[i],
				       .life = life});
}

static void
test_slowing_is_plateau(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	add_slowing(&log, STACK_WORK, 0);
	leaks_expect(&log, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
}

/*
 * The same where the whole heap slows down so: fewer requests, for example.  If the load stays, or stops
 * early, it is no reason.
 */
static void
test_slowing_with_the_load_is_leak(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	add_slowing(&log, STACK_WORK, 0);
	add_slowing(&log, STACK_OTHER, 10);
	expect_beside(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
	leaks_begin(&log);
	add_slowing(&log, STACK_WORK, 0);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_OTHER, .to = END_MS, .every = 10, .life = 10});
	expect_beside(&log, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
	leaks_begin(&log);
	add_slowing(&log, STACK_WORK, 0);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_OTHER, .to = 5000, .every = 5, .life = 10});
	expect_beside(&log, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
}

/* Blocks that stay, and others at a higher rate, between two times. */
static void
add_burst(struct log_builder *log, uint32_t from, uint32_t to)
{
	leaks_add(log, (struct leaks_series){
			       .stack = STACK_WORK, .from = from, .to = to, .every = 50});
	leaks_add(log,
		(struct leaks_series){
			.stack = STACK_OTHER, .from = from, .to = to, .every = 10, .life = 10});
}

/* What grows in each of two bursts is no step: the program did nothing between them. */
static void
test_bursts_are_no_step(void **state)
{
	struct log_builder log;

	(void)state;
	for (int works = 0; works < 2; works++) {
		leaks_begin(&log);
		add_burst(&log, 0, 1000);
		add_burst(&log, 6500, 8500);
		if (works)
			leaks_add(&log, (struct leaks_series){.stack = STACK_OTHER,
						.to = END_MS,
						.every = 5,
						.life = 10});
		expect_beside(&log, works ? TH_VERDICT_PLATEAU : TH_VERDICT_LEAK,
			works ? TH_REASON_STEP : TH_REASON_GROWS);
	}
}

/* What grew as long as the program worked, before the later half, unless that was a short time. */
static void
test_growth_until_the_program_is_idle(void **state)
{
	struct leaks_found found;
	struct log_builder log;

	(void)state;
	for (uint32_t to = 3500; to <= 4500; to += 1000) {
		leaks_begin(&log);
		add_burst(&log, 0, to);
		leaks_find(&found, &log);
		const struct th_listed *suspect = found.leaks.unsettled;
		assert_int_equal(suspect != NULL, to == 4500);
		if (suspect)
			assert_int_equal(suspect->reason, TH_REASON_IDLE);
		leaks_end(&found, &log);
	}
}

/* The same where the Java heap shows the load: blocks that stay, and objects at a rate that falls or stays. */
static void
test_slowing_with_the_java_heap_is_leak(void **state)
{
	struct leaks_found found;
	struct log_builder log;

	(void)state;
	for (int falls = 0; falls < 2; falls++) {
		leaks_begin(&log);
		add_slowing(&log, STACK_WORK, 0);
		for (uint32_t i = 0; i < 5; i++)
			leaks_add(&log, (struct leaks_series){.stack = STACK_JAVA,
						.class = CLASS_NODE,
						.from = 2000 * i,
						.to = 2000 * (i + 1),
						.every = falls ? slowing[i] : 10,
						.life = 10});
		leaks_find(&found, &log);
		assert_int_equal(found.leaks.outcome.leaks, falls);
		leaks_end(&found, &log);
	}
}

/*
 * 30 survivors since the warm-up, and one more at the end, beside a load that falls to a quarter of what it
 * was: two or three were to be expected.
 */
static void
test_few_that_follow_the_load_are_a_leak(void **state)
{
	struct log_builder log;

	(void)state;
	for (uint32_t later = 10; later <= 40; later += 30) {
		leaks_begin(&log);
		leaks_add(&log,
			(struct leaks_series){.stack = STACK_WORK, .to = 8000, .every = 200});
		leaks_add(&log,
			(struct leaks_series){
				.stack = STACK_WORK, .from = 9900, .to = END_MS, .every = 100});
		leaks_add(&log,
			(struct leaks_series){
				.stack = STACK_OTHER, .to = 8000, .every = 10, .life = 10});
		leaks_add(&log, (struct leaks_series){.stack = STACK_OTHER,
					.from = 8000,
					.to = END_MS,
					.every = later,
					.life = 10});
		if (later == 40)
			expect_beside(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
		else
			expect_beside(&log, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
	}
}

/* A block every 20 ms until 6 s, and then samples at the given interval. */
static void
expect_after_change(struct leaks_series later, enum th_verdict verdict, enum th_reason reason)
{
	struct log_builder log;

	later.stack = STACK_WORK;
	leaks_begin_sampled(&log, 8 * BLOCK);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_WORK, .to = 6000, .every = 20, .interval = 8 * BLOCK});
	leaks_add(&log, later);
	leaks_expect(&log, verdict, reason);
}

/*
 * A constant leak while the interval grows tenfold: 10 of 220 are in the last
 * quarter of the time, as many as expected. The same number at the same interval is a slowdown.
 */
static void
test_sparser_sampling_is_no_slowing(void **state)
{
	struct leaks_series later = {
		.from = 6000, .to = END_MS, .every = 200, .interval = 8 * BLOCK};

	(void)state;
	expect_after_change(later, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
	later.interval = 80 * BLOCK;
	expect_after_change(later, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/*
 * At a hundred times the interval, three seconds without a sample do not show an end: 1.5 were
 * expected, and the other rules have no evidence either. At the same interval they do.
 */
static void
test_sparser_sampling_is_no_end(void **state)
{
	struct leaks_series later = {
		.from = 6000, .to = 7000, .every = 500, .interval = 8 * BLOCK};

	(void)state;
	expect_after_change(later, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
	later.interval = 800 * BLOCK;
	expect_after_change(later, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

/* A tenth of the growth, sampled ten times as closely, is a slowdown. */
static void
test_slowing_shows_through_closer_sampling(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin_sampled(&log, 8 * BLOCK);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_WORK, .to = 6000, .every = 50, .interval = 80 * BLOCK});
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.from = 6000,
				.to = END_MS,
				.every = 50,
				.interval = 8 * BLOCK});
	leaks_expect(&log, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
}

static void
test_late_start_is_unclear(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_WORK, .from = 7000, .to = END_MS, .every = 20});
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_LATE);
}

static void
test_short_lives_are_churn(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_WORK, .to = END_MS, .every = 10, .life = 500});
	leaks_expect(&log, TH_VERDICT_CHURN, TH_REASON_FREED);
}

/* Sessions of 3 s and a first-in-first-out cache are the same: no growth once it is full. */
static void
test_long_lives_are_churn(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_WORK, .to = END_MS, .every = 10, .life = 3000});
	leaks_expect(&log, TH_VERDICT_CHURN, TH_REASON_FREED);
}

/* Each batch is dropped whole after its 4 s; the log ends in the middle of the third. */
static void
test_saw_is_no_leak(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	for (uint32_t batch = 0; batch < 3; batch++) {
		for (uint32_t ms = 4000 * batch; ms < 4000 * (batch + 1) && ms < END_MS;
			ms += 20)
			leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
						.from = ms,
						.to = ms + 1,
						.every = 1,
						.life = 4000 * (batch + 1) - ms});
	}
	leaks_find(&found, &log);
	assert_false(found.leaks.outcome.leaks);
	leaks_end(&found, &log);
}

/* One block in ten is not freed, the others are freed at once: the line leaks. */
static void
test_rare_leak(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_WORK, .to = END_MS, .every = 10, .life = 5});
	leaks_add_leak(&log, STACK_WORK);
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_float_equal(evidence->survivors, 100.0 / 1100, 1e-9);
	leaks_end(&found, &log);
}

/*
 * One block a second is not freed, four of them in the later half, and a hundred are freed at
 * once. Eight that became old and stayed are significant, so the verdict must not be churn.
 */
static void
test_rare_survivors_are_no_churn(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin_sampled(&log, BLOCK);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.to = END_MS,
				.every = 10,
				.life = 5,
				.interval = BLOCK});
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_WORK, .to = END_MS, .every = 1000, .interval = BLOCK});
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

/* Two of a thousand stayed: chance explains them, but the sentence states their upper limit. */
static void
test_churn_says_what_it_may_hide(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin_sampled(&log, BLOCK);
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.to = END_MS,
				.every = 10,
				.life = 5,
				.interval = BLOCK});
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.from = 3000,
				.to = END_MS,
				.every = 4000,
				.interval = BLOCK});
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_CHURN);
	const char *why = th_evidence_explain(evidence);
	assert_non_null(strstr(why, "do not grow significantly, by at most "));
	leaks_end(&found, &log);
}

/*
 * Forty blocks that stay, born between 1 and 5 s, and from then on as many die after 2 s as are
 * born: old blocks grew, but not in the later half, and the sentence states both.
 */
static void
test_growth_that_turned_over_says_so(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_WORK, .from = 1000, .to = 4900, .every = 100});
	leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
				.from = 1000,
				.to = END_MS,
				.every = 100,
				.life = 4050});
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	const char *why = th_evidence_explain(evidence);
	assert_int_equal(evidence->verdict, TH_VERDICT_PLATEAU);
	assert_int_equal(evidence->reason, TH_REASON_STEADY);
	assert_non_null(strstr(why, "but not significantly in the later half of that time"));
	assert_null(strstr(why, "does not grow significantly"));
	leaks_end(&found, &log);
}

/*
 * A leak beside a cache of the same kind of block that frees old entries: half of each. If the
 * entries live for 2 s, only the leak has blocks of 3 s and more, and none of these was freed.
 * Entries that live for 4 s are too old for that.
 */
static void
test_turnover(void **state)
{
	static const struct {
		uint32_t life;
		enum th_verdict verdict;
		enum th_reason reason;
	} cases[] = {
		{2000, TH_VERDICT_LEAK, TH_REASON_GROWS},
		{4000, TH_VERDICT_UNCLEAR, TH_REASON_TURNOVER},
	};
	struct log_builder log;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		leaks_begin(&log);
		leaks_add_leak(&log, STACK_WORK);
		leaks_add(&log, (struct leaks_series){.stack = STACK_WORK,
					.to = END_MS,
					.every = 100,
					.life = cases[i].life});
		leaks_expect(&log, cases[i].verdict, cases[i].reason);
	}
}

/* A buffer that is twice as large each time it is full, until `to`; the larger block replaces the other. */
static void
add_buffer(struct log_builder *log, uint32_t to, uint64_t grows_by)
{
	uint64_t before = 0;

	leaks_begin(log);
	for (uint32_t ms = 100, size = BLOCK; ms <= to; ms *= 2, size = size * grows_by / 2) {
		uint64_t block = log_native(
			log, (struct log_sample){
				     .ms = ms, .size = size, .thread = 1, .stack = STACK_WORK});
		if (before)
			log_free(log, ms, before);
		before = block;
	}
}

static void
expect_of_buffer(uint32_t to, uint64_t grows_by, enum th_verdict verdict, enum th_reason reason)
{
	struct log_builder log;

	add_buffer(&log, to, grows_by);
	leaks_expect(&log, verdict, reason);
}

static void
test_enlarged(void **state)
{
	(void)state;
	expect_of_buffer(9000, 4, TH_VERDICT_UNCLEAR, TH_REASON_ENLARGED);
	expect_of_buffer(5000, 4, TH_VERDICT_CHURN, TH_REASON_FREED);
	expect_of_buffer(9000, 2, TH_VERDICT_CHURN, TH_REASON_FREED);
}

/* What doubles when the load has doubled did so after half of it, whenever that was. */
static void
test_enlarged_by_load(void **state)
{
	struct leaks_found found;
	struct log_builder log;

	(void)state;
	for (uint32_t busy = 4000; busy <= END_MS; busy += END_MS - 4000) {
		add_buffer(&log, 5000, 4);
		leaks_add(&log,
			(struct leaks_series){
				.stack = STACK_OTHER, .to = busy, .every = 10, .life = 10});
		leaks_find(&found, &log);
		const struct th_listed *suspect = found.leaks.unsettled;
		assert_int_equal(suspect != NULL, busy < END_MS);
		if (suspect)
			assert_int_equal(suspect->reason, TH_REASON_ENLARGED);
		leaks_end(&found, &log);
	}
}

/* Memory of the VM itself may grow, but is never called a leak. */
static void
test_vm_is_never_a_leak(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_VM);
	leaks_find(&found, &log);
	const struct th_finding *finding = leaks_only_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_UNCLEAR);
	assert_int_equal(finding->evidence.reason, TH_REASON_INTERNAL);
	const char *name = found.leaks.places.items[finding->place].internal;
	assert_int_equal(strncmp(name, "[JVM-internal] ", 15), 0);
	leaks_end(&found, &log);
}

/* Strings that a Java line interns are its own, although the VM holds them. */
static void
test_interned_strings_are_the_callers(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	log_add_fields(&log, TH_EVENT_NATIVE_FRAME, LOG_U64(0x10), LOG_U32(MODULE_VM),
		LOG_U32(0), LOG_U32(0), LOG_U32(0), LOG_TEXT("JVM_InternString"), LOG_TEXT(""));
	leaks_add_leak(&log, STACK_VM);
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/* A C program has no Java line: its function is the site. */
static void
test_leak_without_java(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_C);
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/* Sites */

/* Two functions of a library, called by one line: one leak, which is listed once. */
static void
test_one_line_is_one_finding(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_WORK);
	leaks_add_leak(&log, STACK_OTHER);
	leaks_find(&found, &log);
	const struct th_finding *finding = leaks_only_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_LEAK);
	assert_int_equal(finding->place_count, 2);
	assert_true(finding->evidence.live_bytes.estimate == 200 * BLOCK);
	const struct th_leak_site *place = &found.leaks.places.items[finding->place];
	uint32_t frame = th_leak_sites_creator_frame(&found.leaks.places, place);
	const struct th_frames *frames = found.shown.profile->frames;
	assert_int_equal(th_frames_get(frames, frame)->line, 10);
	assert_string_equal(
		th_frames_string(frames, th_frames_function_of(frames, frame)->name),
		"app.Work.work");
	leaks_end(&found, &log);
}

/* A native method has no line to change: its caller is the creator. */
static void
test_creator_is_not_native(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_NATIVE);
	leaks_find(&found, &log);
	const struct th_leak_site *place =
		&found.leaks.places.items[leaks_only_finding(&found)->place];
	uint32_t frame = th_leak_sites_creator_frame(&found.leaks.places, place);
	const struct th_frames *frames = found.shown.profile->frames;
	assert_string_equal(
		th_frames_string(frames, th_frames_function_of(frames, frame)->name),
		"app.Work.work");
	leaks_end(&found, &log);
}

/*
 * A jar with two package prefixes, called by the program through another jar: the line of the program
 * is named, and stays in the stack.
 */
static void
test_library_of_two_prefixes(void **state)
{
	enum { METHOD_SHELL = 100, METHOD_UNIT, METHOD_SERVER, STACK_SHELL = 100, UNITS = 20 };
	struct log_builder log;
	struct leaks_found found;
	uint64_t stack[UNITS + 4];

	(void)state;
	leaks_begin(&log);
	log_method(&log, METHOD_SHELL, "Lgroovy/lang/Shell;", "parse");
	log_method(&log, METHOD_UNIT, "Lorg/codehaus/groovy/Unit;", "compile");
	log_method(&log, METHOD_SERVER, "Lorg/jetty/Server;", "handle");
	log_code_source(&log, TH_CODE_SOURCE_PROGRAM, "app", "file:/srv/app.jar");
	log_code_source(&log, 0, "groovy/lang", "file:/srv/lib/groovy.jar");
	log_code_source(&log, 0, "org/codehaus/groovy", "file:/srv/lib/groovy.jar");
	log_code_source(&log, 0, "org/jetty", "file:/srv/lib/jetty.jar");
	for (uint32_t i = 1; i <= UNITS; i++)
		stack[i] = th_frame_java(METHOD_UNIT, 0);
	stack[0] = th_frame_java(METHOD_SHELL, 0);
	stack[UNITS + 1] = th_frame_java(METHOD_WORK, 0);
	stack[UNITS + 2] = th_frame_java(METHOD_SERVER, 0);
	stack[UNITS + 3] = th_frame_java(METHOD_MAIN, 0);
	log_stack(&log, STACK_SHELL, stack, UNITS + 4);
	leaks_add_leak(&log, STACK_SHELL);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "native, groovy.lang.Shell.parse (Source.java:10), called from "
			  "app.Work.work (Source.java:10)\n");
	expect_text(text, "              < 10 more\n"
			  "              < app.Work.work (Source.java:10)\n"
			  "              < org.jetty.Server.handle (Source.java:10)\n"
			  "              < app.Main.main (Source.java:10)\n");
	free(text);
	leaks_end(&found, &log);
}

/*
 * What a library allocates for one object when it is made and when it is used, in a method that the
 * maker calls, is one leak; the use in a method elsewhere is another one.
 */
static void
test_object_of_a_library(void **state)
{
	enum {
		METHOD_PREPARE = 100,
		METHOD_EXECUTE,
		METHOD_LOOK_UP,
		METHOD_COUNT,
		METHOD_ELSEWHERE
	};
	enum { STACK_PREPARE = 100, STACK_EXECUTE, STACK_ELSEWHERE };
	const uint64_t prepare[] = {th_frame_java(METHOD_PREPARE, 0),
		th_frame_java(METHOD_LOOK_UP, 0), th_frame_java(METHOD_MAIN, 0)};
	const uint64_t execute[] = {th_frame_java(METHOD_EXECUTE, 0),
		th_frame_java(METHOD_COUNT, 0), th_frame_java(METHOD_LOOK_UP, 0),
		th_frame_java(METHOD_MAIN, 0)};
	const uint64_t other[] = {th_frame_java(METHOD_EXECUTE, 0),
		th_frame_java(METHOD_ELSEWHERE, 0), th_frame_java(METHOD_MAIN, 0)};
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	log_method(&log, METHOD_PREPARE, "Lorg/sqlite/DB;", "prepare");
	log_method(&log, METHOD_EXECUTE, "Lorg/sqlite/DB;", "execute");
	log_method(&log, METHOD_LOOK_UP, "Lapp/Orders;", "lookUp");
	log_method(&log, METHOD_COUNT, "Lapp/Orders;", "count");
	log_method(&log, METHOD_ELSEWHERE, "Lapp/Orders;", "other");
	log_code_source(&log, TH_CODE_SOURCE_PROGRAM, "app", "file:/srv/app.jar");
	log_code_source(&log, 0, "org/sqlite", "file:/srv/lib/sqlite.jar");
	log_stack(&log, STACK_PREPARE, prepare, 3);
	log_stack(&log, STACK_EXECUTE, execute, 4);
	log_stack(&log, STACK_ELSEWHERE, other, 3);
	leaks_add_leak(&log, STACK_PREPARE);
	leaks_add_leak(&log, STACK_EXECUTE);
	leaks_add_leak(&log, STACK_ELSEWHERE);
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.outcome.leaks, 2);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "         and    native, org.sqlite.DB.");
	free(text);
	leaks_end(&found, &log);
}

/*
 * Sites too small to be judged separately are judged together: 4 in the later half are not
 * enough.
 */
static void
test_small_places_together(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add(
		&log, (struct leaks_series){.stack = STACK_WORK, .to = END_MS, .every = 1000});
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	leaks_begin(&log);
	leaks_add(
		&log, (struct leaks_series){.stack = STACK_WORK, .to = END_MS, .every = 1000});
	leaks_add(
		&log, (struct leaks_series){.stack = STACK_OTHER, .to = END_MS, .every = 1000});
	leaks_find(&found, &log);
	assert_int_equal(leaks_only_finding(&found)->evidence.verdict, TH_VERDICT_LEAK);
	leaks_end(&found, &log);
}

/* Outputs */

/*
 * Beside a leak of its line, a site with three survivors since the warm-up and none in the last
 * 5.5 of 8 s: by chance with p = 0.31^3 = 0.03, and one of two sites that are tested. With nine
 * it has stopped.
 */
static void
test_pause_of_a_small_place(void **state)
{
	static const uint32_t every[] = {500, 150};
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		leaks_begin(&log);
		leaks_add_leak(&log, STACK_WORK);
		leaks_add(&log,
			(struct leaks_series){.stack = STACK_OTHER, .to = 1500, .every = 500});
		leaks_add(&log, (struct leaks_series){.stack = STACK_OTHER,
					.from = 3500,
					.to = 4700,
					.every = every[i]});
		leaks_find(&found, &log);
		assert_int_equal(found.findings_count, i + 1);
		assert_int_equal(found.findings[0].evidence.verdict, TH_VERDICT_LEAK);
		assert_int_equal(found.findings[0].place_count, 2 - i);
		leaks_end(&found, &log);
	}
}

static void
test_text(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_WORK);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "1 leak, 9.77 KiB/s, at least 97.7 KiB, in 10.0 s\n");
	expect_text(text, "leak     native, app.Work.work (Source.java:10)\n");
	expect_text(text, "97.7 KiB (exact) live, median age 5.0 s\n");
	expect_text(text, "why    grew by 9.77 KiB/s (exact) from 2 s to 10 s");
	expect_text(text, "by     libwork.so+0x10\n");
	expect_text(text, "< app.Main.main (Source.java:10)\n");
	free(text);
	leaks_end(&found, &log);
}

/* A leak that is freed by an exit handler is one, as of the moment before. */
static void
test_released_at_exit(void **state)
{
	struct log_builder log;
	struct leaks_found found;
	uint64_t blocks[99];

	(void)state;
	leaks_begin(&log);
	for (uint32_t i = 0; i < 99; i++)
		blocks[i] = log_native(&log, (struct log_sample){.ms = 100 * i,
						     .size = BLOCK,
						     .thread = 1,
						     .stack = STACK_WORK});
	log_add_fields(&log, TH_EVENT_TEARDOWN, LOG_U64(LOG_START + UINT64_C(9850000000)),
		LOG_U32(TH_TEARDOWN_EXIT), LOG_TEXT(""));
	for (uint32_t i = 0; i < 99; i++)
		log_free(&log, 9860, blocks[i]);
	leaks_find(&found, &log);
	assert_int_equal(leaks_only_finding(&found)->evidence.verdict, TH_VERDICT_LEAK);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "1 leak, 9.79 KiB/s, at least 96.7 KiB, in 9.8 s\n"
			  "judged at 9.85 s, before the process's exit handlers ran\n");
	expect_text(text, "later  released only at exit: 100 % of it was freed after 9.85 s");
	free(text);
	text = leaks_print(&found, th_view_leaks_json);
	expect_text(text, "\"released_only_at_exit\":true");
	expect_text(text, "\"judged\": {\"at_s\":9.8");
	free(text);
	leaks_end(&found, &log);
}

/*
 * Unnamed functions of a library are combined into one line. Of a stack of seventeen lines thirteen
 * are shown, those of the application among them: what is left out is of the Java runtime.
 */
static void
test_text_of_a_deep_stack(void **state)
{
	enum { STACK_DEEP = 100, NAMELESS = 3, PUTS = 14, FRAMES = NAMELESS + PUTS + 2 };
	struct log_builder log;
	struct leaks_found found;
	uint64_t stack[FRAMES];

	(void)state;
	for (uint32_t i = 0; i < FRAMES; i++)
		stack[i] = i < NAMELESS ? th_frame_native(MODULE_WORK, 0x10 * (i + 1))
					: th_frame_java(METHOD_PUT, 0);
	stack[FRAMES - 2] = th_frame_java(METHOD_WORK, 0);
	stack[FRAMES - 1] = th_frame_java(METHOD_MAIN, 0);
	leaks_begin(&log);
	log_stack(&log, STACK_DEEP, stack, FRAMES);
	leaks_add_leak(&log, STACK_DEEP);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "by     libwork.so+0x10 and 2 more without names\n"
			  "              < java.util.HashMap.put");
	expect_text(text, "              < 4 more\n"
			  "              < app.Work.work (Source.java:10)\n"
			  "              < app.Main.main (Source.java:10)\n");
	free(text);
	leaks_end(&found, &log);
}

/* A program without Java has no creator line: the stack is printed all the same. */
static void
test_text_of_a_leak_without_java(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_C);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "1 leak, 9.77 KiB/s, at least 97.7 KiB, in 10.0 s\n");
	expect_text(text, "by     libwork.so+0x10\n");
	free(text);
	leaks_end(&found, &log);
}

/* Files that are opened, read and not closed: libc allocates in two ways for the one that opens them. */
static void
test_leak_through_libc(void **state)
{
	enum { MODULE_LIBC = 3, STACK_OPEN = 100, STACK_READ };
	const uint64_t client = th_frame_native(MODULE_WORK, 0x100);
	const uint64_t opens[] = {th_frame_native(MODULE_LIBC, 0x10), client};
	const uint64_t reads[] = {
		th_frame_native(MODULE_LIBC, 0x20), th_frame_native(MODULE_LIBC, 0x30), client};
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	log_module(&log, MODULE_LIBC, "/nonexistent/libc.so.6");
	log_stack(&log, STACK_OPEN, opens, 2);
	log_stack(&log, STACK_READ, reads, 3);
	leaks_add_leak(&log, STACK_OPEN);
	leaks_add_leak(&log, STACK_READ);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "1 leak, 19.5 KiB/s, ");
	expect_text(text, "\nleak     native, libwork.so+0x100\n");
	free(text);
	leaks_end(&found, &log);
}

static void
test_text_without_leak(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin_sampled(&log, 8000);
	leaks_add(
		&log, (struct leaks_series){
			      .stack = STACK_WORK, .to = 1000, .every = 100, .interval = 8000});
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	/*
	 * Seven survivors in the four seconds of the later half are significant, or eleven in seven,
	 * and of 11.1 expected in the later half enough are sampled with sufficient probability.
	 */
	expect_text(text, "no leak above 21.7 KiB/s native, ");
	expect_text(text, "detection limit: 21.7 KiB/s");
	expect_text(text, "\nother sites: 1 stopped growing (--all)\n");
	free(text);
	found.shown.options.lists_all = true;
	text = leaks_print(&found, th_view_leaks);
	expect_text(text, "plateau  native, app.Work.work (Source.java:10)\n");
	free(text);
	leaks_end(&found, &log);
}

static void
require_keys(json_t *object, const char *const *keys)
{
	for (; *keys; keys++) {
		if (!json_object_get(object, *keys))
			fail_msg("no key %s", *keys);
	}
}

static void
test_json(void **state)
{
	static const char *const keys[] = {"verdict", "heap", "class", "thread", "frames",
		"live_bytes", "live_objects", "growth_bytes_per_s", "survivors_per_allocation",
		"median_age_s", "collections_survived", "still_growing", "owner", "why", NULL};
	static const char *const owner_keys[] = {"class", "frames", "state", NULL};
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_peers(&log, 3000);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks_json);
	json_t *root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "twinheap")), 1);
	json_t *finding = json_array_get(json_object_get(root, "findings"), 0);
	require_keys(finding, keys);
	assert_string_equal(json_string_value(json_object_get(finding, "verdict")), "leak");
	assert_true(estimate_of(finding, "live_bytes") == 40 * BLOCK);
	json_t *owner = json_object_get(finding, "owner");
	require_keys(owner, owner_keys);
	assert_string_equal(json_string_value(json_object_get(owner, "state")), "collected");
	assert_string_equal(json_string_value(json_object_get(owner, "class")), "app.Peer");
	json_decref(root);
	free(text);
	leaks_end(&found, &log);
}

/* The site of a stack of the fixture, at which there is one sample. */
static const struct th_leak_site *
place_of(const struct leaks_found *found, enum th_heap heap, size_t index)
{
	const struct th_leak_sites *places = &found->leaks.places;

	return &places->items[th_leak_sites_of(places, heap, index)];
}

/*
 * Prefixes consist of functions: lines are ignored, and a shortened prefix equals another one.
 */
static void
test_ways(void **state)
{
	struct log_builder log;
	struct leaks_found found;
	struct log_sample sample = {.ms = 1, .size = BLOCK, .thread = 1};
	uint32_t function;

	(void)state;
	leaks_begin(&log);
	sample.stack = STACK_OTHER;
	log_native(&log, sample);
	sample.stack = STACK_JAVA;
	sample.class = CLASS_BYTES;
	log_java(&log, sample);
	sample.stack = STACK_LINE;
	log_java(&log, sample);
	leaks_find(&found, &log);
	const struct th_path_prefixes *ways = &found.leaks.places.ways;
	uint32_t java = place_of(&found, TH_HEAP_JAVA, 0)->way;
	assert_ptr_not_equal(
		place_of(&found, TH_HEAP_JAVA, 0), place_of(&found, TH_HEAP_JAVA, 1));
	assert_int_equal(java, place_of(&found, TH_HEAP_JAVA, 1)->way);
	assert_int_equal(java, place_of(&found, TH_HEAP_NATIVE, 0)->creator);
	struct th_path_prefix_cursor step = th_path_prefixes_last(
		ways, place_of(&found, TH_HEAP_NATIVE, 0)->way);
	assert_true(th_path_prefixes_step(&step, &function));
	assert_int_equal(th_path_prefixes_left(&step), java);
	assert_true(th_path_prefixes_step(&step, &function));
	assert_int_equal(function, ways->items[java].function);
	/* No sample ends in main alone. */
	assert_int_equal(th_path_prefixes_left(&step), TH_NO_WAY);
	assert_true(th_path_prefixes_step(&step, &function));
	assert_int_equal(th_path_prefixes_left(&step), 0);
	assert_false(th_path_prefixes_step(&step, &function));
	leaks_end(&found, &log);
}

/* Without any sample there is no output, and no crash. */
static void
test_empty_log(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_find(&found, &log);
	assert_int_equal(found.findings_count, 0);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "no leak found");
	free(text);
	leaks_end(&found, &log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leak),
		cmocka_unit_test(test_sampled_leak),
		cmocka_unit_test(test_few_samples),
		cmocka_unit_test(test_growth_since_warm_up_is_leak),
		cmocka_unit_test(test_growth_with_loss_is_unclear),
		cmocka_unit_test(test_growth_before_is_plateau),
		cmocka_unit_test(test_start_up_is_plateau),
		cmocka_unit_test(test_few_blocks_of_start_up_are_plateau),
		cmocka_unit_test(test_filled_to_a_limit_is_plateau),
		cmocka_unit_test(test_end_of_the_load_is_unclear),
		cmocka_unit_test(test_short_rest_is_still_leak),
		cmocka_unit_test(test_bursts_are_a_leak),
		cmocka_unit_test(test_slowing_is_plateau),
		cmocka_unit_test(test_slowing_with_the_load_is_leak),
		cmocka_unit_test(test_bursts_are_no_step),
		cmocka_unit_test(test_growth_until_the_program_is_idle),
		cmocka_unit_test(test_slowing_with_the_java_heap_is_leak),
		cmocka_unit_test(test_few_that_follow_the_load_are_a_leak),
		cmocka_unit_test(test_sparser_sampling_is_no_slowing),
		cmocka_unit_test(test_sparser_sampling_is_no_end),
		cmocka_unit_test(test_slowing_shows_through_closer_sampling),
		cmocka_unit_test(test_late_start_is_unclear),
		cmocka_unit_test(test_short_lives_are_churn),
		cmocka_unit_test(test_long_lives_are_churn),
		cmocka_unit_test(test_saw_is_no_leak),
		cmocka_unit_test(test_rare_leak),
		cmocka_unit_test(test_rare_survivors_are_no_churn),
		cmocka_unit_test(test_churn_says_what_it_may_hide),
		cmocka_unit_test(test_growth_that_turned_over_says_so),
		cmocka_unit_test(test_turnover),
		cmocka_unit_test(test_enlarged),
		cmocka_unit_test(test_enlarged_by_load),
		cmocka_unit_test(test_vm_is_never_a_leak),
		cmocka_unit_test(test_interned_strings_are_the_callers),
		cmocka_unit_test(test_leak_without_java),
		cmocka_unit_test(test_one_line_is_one_finding),
		cmocka_unit_test(test_creator_is_not_native),
		cmocka_unit_test(test_library_of_two_prefixes),
		cmocka_unit_test(test_object_of_a_library),
		cmocka_unit_test(test_small_places_together),
		cmocka_unit_test(test_pause_of_a_small_place),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_released_at_exit),
		cmocka_unit_test(test_text_of_a_deep_stack),
		cmocka_unit_test(test_text_of_a_leak_without_java),
		cmocka_unit_test(test_leak_through_libc),
		cmocka_unit_test(test_text_without_leak),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_empty_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
