/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule of breakdowns, simulated: a process that grows all the time, with breakdowns of
 * any cost, must not spend more on them than docs/rss.md states.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unify/resident/schedule.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define MIB (UINT64_C(1) << 20)

struct outcome {
	uint64_t cost; /* nanoseconds, total */
	unsigned taken;
	unsigned late; /* of these, in the later half */
	unsigned looks;
};

/*
 * Polls every millisecond for `seconds`; `rate` is growth in bytes a millisecond, for `grows_for` ns,
 * and the process uses so many processors.
 */
static struct outcome
simulate_growth(
	uint64_t seconds, uint64_t cost, uint64_t rate, uint64_t grows_for, double processors)
{
	struct th_breakdown_plan plan;
	struct outcome outcome = {0, 0, 0, 0};
	enum th_breakdown_reason reason;
	uint64_t resident = 100 * MIB;
	const uint64_t begin = 5 * S;
	const uint64_t end = begin + seconds * S;

	th_breakdown_plan_init(&plan, begin, 0);
	for (uint64_t now = begin; now < end; now += MS) {
		resident += now < begin + grows_for ? rate : 0;
		if (now < plan.next_look)
			continue;
		th_breakdown_plan_looked(&plan, now, resident);
		outcome.looks++;
		if (!th_breakdown_plan_is_due(&plan, now,
			    (uint64_t)(processors * (double)(now - begin)), resident, &reason))
			continue;
		now += cost;
		th_breakdown_plan_taken(&plan, now,
			(uint64_t)(processors * (double)(now - begin)), reason, cost, resident);
		outcome.cost += cost;
		outcome.taken++;
		outcome.late += now > begin + seconds * S / 2;
	}
	return outcome;
}

static struct outcome
simulate_part(uint64_t seconds, uint64_t cost, uint64_t rate, double processors)
{
	return simulate_growth(seconds, cost, rate, seconds * S, processors);
}

static struct outcome
simulate(uint64_t seconds, uint64_t cost, uint64_t rate)
{
	return simulate_part(seconds, cost, rate, 1);
}

static void
test_cost_stays_in_its_bounds(void **state)
{
	static const uint64_t costs[] = {MS, 12 * MS, 205 * MS, 2 * S};

	(void)state;
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		for (uint64_t seconds = 10; seconds <= 1000; seconds *= 10) {
			struct outcome outcome = simulate(seconds, costs[i], MIB);

			/* The credit, the share, and the one that exceeds the credit. */
			assert_true(outcome.cost <= S / 10 + seconds * S / 1000 + costs[i]);
		}
	}
}

/* Of a process that uses little CPU, breakdowns take a part of that, or 1/5000 of the time. */
static void
test_cost_follows_the_cpu_time_of_the_process(void **state)
{
	(void)state;
	for (uint64_t seconds = 10; seconds <= 1000; seconds *= 10) {
		struct outcome half = simulate_part(seconds, 12 * MS, MIB, 0.5);
		struct outcome idle = simulate_part(seconds, 3 * MS, 0, 0);

		assert_true(half.cost <= S / 10 + seconds * S / 2000 + 12 * MS);
		/* Regular ones take half of the credit. */
		assert_true(idle.cost <= S / 20 + seconds * S / 10000 + 3 * MS);
		assert_true(idle.taken >= 4);
	}
}

/* 25 ms and 1/100 of the CPU time: what a program of a second pays is not a tenth of it. */
static void
test_short_programs_pay_for_what_they_use(void **state)
{
	(void)state;
	for (uint64_t seconds = 1; seconds <= 5; seconds++) {
		uint64_t share = seconds * S / 100 + seconds * S / 1000;

		assert_true(simulate(seconds, 3 * MS, MIB).cost <= 25 * MS + share + 3 * MS);
		assert_true(simulate(seconds, 3 * MS, MIB).taken >= 5);
	}
}

static void
test_short_recordings_have_enough_accounts(void **state)
{
	(void)state;
	assert_true(simulate(12, 12 * MS, MIB).taken >= 8);
	/*
	 * No growth: one every two seconds at first, later 50 each time the age grows 2.7-fold.
	 */
	assert_true(simulate(60, 3 * MS, 0).taken >= 15);
	assert_true(simulate(1000, 3 * MS, 0).taken <= 50 + 50 * 3);
}

/*
 * A service that reaches its size of 450 MiB in seven seconds: what leaks, or does not, shows in the
 * later half of the recording, however long it is.
 */
static void
test_the_later_half_has_accounts(void **state)
{
	(void)state;
	for (uint64_t seconds = 20; seconds <= 3600; seconds += 20) {
		struct outcome outcome = simulate_growth(seconds, 4 * MS, MIB / 20, 7 * S, 0.4);

		if (outcome.late < (seconds < 30 ? 2 : 3))
			fail_msg("%llu s: %u of %u", (unsigned long long)seconds, outcome.late,
				outcome.taken);
	}
}

static void
test_looks_are_once_a_second_in_the_end(void **state)
{
	(void)state;
	assert_int_equal(simulate(1, MS, 1).looks, 10);
	/*
	 * 16 while the time grows 2.7-fold, from 1.6 s to 16 s, and one per second from there
	 * on.
	 */
	assert_in_range(simulate(100, MS, 1).looks, 130, 145);
	/* A process that stands still: after 0.1, 0.2, 0.4 and 0.8 s, then one per second. */
	assert_in_range(simulate(5, MS, 0).looks, 7, 9);
	assert_in_range(simulate(100, MS, 0).looks, 100, 105);
}

/* From 100 MiB to a terabyte: a geometric series of breakdowns, and ten looks a second. */
static void
test_fast_growth_stays_in_its_bounds(void **state)
{
	struct outcome outcome = simulate(1000, 3 * MS, MIB);

	(void)state;
	/* ln(1 TB / 100 MiB) / ln 1.05 = 189; 50 regular ones while the age grows 2.7-fold. */
	assert_true(outcome.taken <= 189 + 50 * 7);
	assert_true(outcome.looks <= 10 * 1000 + 1);
}

/*
 * 300 MiB for ten minutes, then a peak of 900 MiB that takes two seconds to rise, lasts half a
 * second and takes two to fall.  The largest breakdown misses at most 5 % of it, and what grew
 * during the pause after the one before it (0.3 s of 12 ms each).
 */
static void
test_a_peak_has_an_account(void **state)
{
	struct th_breakdown_plan plan;
	enum th_breakdown_reason reason;
	uint64_t highest = 0;

	(void)state;
	for (uint64_t start = 600 * S; start < 602 * S; start += 100 * MS) {
		highest = 0;
		th_breakdown_plan_init(&plan, 0, 0);
		for (uint64_t now = 0; now < 610 * S; now += 20 * MS) {
			uint64_t since = now > start ? now - start : 0;
			uint64_t part = since < 2 * S ? since
					: since < 2500 * MS
						? 2 * S
						: (since < 4500 * MS ? 4500 * MS - since : 0);
			uint64_t resident = 300 * MIB + 600 * MIB * part / (2 * S);

			if (now < plan.next_look)
				continue;
			th_breakdown_plan_looked(&plan, now, resident);
			if (!th_breakdown_plan_is_due(&plan, now, now, resident, &reason))
				continue;
			th_breakdown_plan_taken(&plan, now, now, reason, 12 * MS, resident);
			highest = resident > highest ? resident : highest;
		}
		assert_true(highest >= 850 * MIB);
	}
}

static void
test_none_after_giving_up(void **state)
{
	struct th_breakdown_plan plan;
	enum th_breakdown_reason reason;

	(void)state;
	th_breakdown_plan_init(&plan, 0, 0);
	assert_true(th_breakdown_plan_is_due(&plan, 3 * S, 0, 100 * MIB, &reason));
	th_breakdown_plan_give_up(&plan);
	assert_false(th_breakdown_plan_is_due(&plan, 900 * S, 0, 900 * MIB, &reason));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost_stays_in_its_bounds),
		cmocka_unit_test(test_cost_follows_the_cpu_time_of_the_process),
		cmocka_unit_test(test_short_programs_pay_for_what_they_use),
		cmocka_unit_test(test_short_recordings_have_enough_accounts),
		cmocka_unit_test(test_the_later_half_has_accounts),
		cmocka_unit_test(test_looks_are_once_a_second_in_the_end),
		cmocka_unit_test(test_fast_growth_stays_in_its_bounds),
		cmocka_unit_test(test_a_peak_has_an_account),
		cmocka_unit_test(test_none_after_giving_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
