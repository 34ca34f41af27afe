/* SPDX-License-Identifier: Apache-2.0 */
/* The overhead budget on simulated processes: what is spent follows the allowance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unify/sample/plan.h"

#define SECOND UINT64_C(1000000000)
#define PERIOD TH_BUDGET_PERIOD_NS
#define LIMIT 10000 /* 1 % */
#define BURST 50000000

struct process {
	double cpu;    /* processors in use */
	double demand; /* ns per second that captures would like */
	double agent;  /* ns per second */
};

struct run {
	struct th_budget budget;
	struct th_budget_times times;
	uint64_t now;
	double allowance;
};

static void
begin(struct run *run, uint64_t limit)
{
	*run = (struct run){.now = SECOND};
	th_budget_init(&run->budget, limit);
	run->allowance = th_budget_look(&run->budget, run->now, &run->times, 0);
}

static double
seconds_of(uint64_t ns)
{
	return (double)ns / SECOND;
}

static void
pass(struct run *run, const struct process *process, double seconds)
{
	for (uint64_t end = run->now + (uint64_t)(seconds * SECOND); run->now < end;
		run->now += PERIOD) {
		double used = process->demand < run->allowance ? process->demand
							       : run->allowance;

		run->times.samples += (uint64_t)(used * seconds_of(PERIOD));
		run->times.others += (uint64_t)(process->agent * seconds_of(PERIOD));
		run->times.process += (uint64_t)(process->cpu * PERIOD);
		run->allowance = th_budget_look(
			&run->budget, run->now + PERIOD, &run->times, 0);
	}
}

static double
spent(const struct run *run)
{
	return (double)(run->times.samples + run->times.others);
}

/* 1 % and the burst: never more, and in the long run all of it. */
static void
a_busy_process(void **state)
{
	const struct process process = {2, 1e9, 2e6};
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	for (int i = 0; i < 60; i++) {
		pass(&run, &process, 1);
		double limit = BURST + 0.01 * (double)run.times.process;

		assert_true(spent(&run) <= limit * 1.02);
		assert_true(i < 2 || spent(&run) >= limit * 0.9);
	}
}

/* The burst is used early: a second of a short program is sampled well. */
static void
a_short_process(void **state)
{
	const struct process process = {1, 1e9, 0};
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	pass(&run, &process, 1);
	assert_true(spent(&run) >= 0.6 * BURST);
}

/* What was not used does not add up without bound. */
static void
a_quiet_time_saves_the_burst_only(void **state)
{
	const struct process quiet = {1, 0, 0};
	const struct process busy = {1, 1e9, 0};
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	pass(&run, &quiet, 100);
	pass(&run, &busy, 10);
	assert_true(spent(&run) <= BURST + 0.01 * 11 * SECOND);
}

/* Load that changes from one second to the next: errors of the forecast are made up for. */
static void
a_changing_process(void **state)
{
	const struct process busy = {2, 1e9, 1e6};
	const struct process idle = {0.1, 1e9, 0};
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	for (int i = 0; i < 50; i++) {
		pass(&run, &busy, 0.7);
		pass(&run, &idle, 1.3);
	}
	assert_true(spent(&run) <= BURST + 0.0115 * (double)run.times.process);
}

/* The agent thread counts in full: what it takes is missing for samples. */
static void
an_agent_that_takes_most(void **state)
{
	const struct process process = {1, 1e9, 8e6};
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	pass(&run, &process, 5);
	double before = spent(&run);
	double cpu = (double)run.times.process;
	pass(&run, &process, 60);
	double share = (spent(&run) - before) / ((double)run.times.process - cpu);
	assert_true(share >= 0.0095 && share <= 0.0102);
}

static void
pass_with_bursts(struct run *run, unsigned count)
{
	const struct process process = {1, 1e9, 0};

	for (unsigned i = 0; i < count; i++) {
		run->times.others += 30000000;
		pass(run, &process, 6);
	}
}

/*
 * What the agent thread takes at once, half of the budget, counts as well, and does not stop samples
 * for long.
 */
static void
an_agent_that_takes_much_at_times(void **state)
{
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	pass_with_bursts(&run, 1);
	assert_true(run.allowance >= 0.004 * SECOND);
	pass_with_bursts(&run, 4);
	double before = spent(&run);
	double cpu = (double)run.times.process;
	pass_with_bursts(&run, 20);
	double share = (spent(&run) - before) / ((double)run.times.process - cpu);
	assert_true(share >= 0.0095 && share <= 0.0105);
}

/* What was owed after the first 5 s is not repaid. */
static void
an_expensive_start(void **state)
{
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	run.times.samples = SECOND / 2;
	pass(&run, &(const struct process){1, 0, 0}, 6);
	assert_true(run.allowance >= 0.0099 * SECOND);
}

/* In an idle process samples may take 2 ms in a second, whatever the agent thread takes. */
static void
an_idle_process(void **state)
{
	const struct process process = {0.001, 1e9, 1e6};
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	pass(&run, &process, 100);
	assert_true(run.allowance >= 0.002 * SECOND && run.allowance <= 0.0021 * SECOND);
}

/*
 * A process of so many threads that reading its CPU time takes 2 ms: every 4 s.  Once may be by
 * chance.
 */
static void
times_that_are_expensive(void **state)
{
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	assert_true(th_budget_is_due(&run.budget, run.now + PERIOD));
	th_budget_look(&run.budget, run.now, &run.times, 2000000);
	assert_true(th_budget_is_due(&run.budget, run.now + PERIOD));
	th_budget_look(&run.budget, run.now, &run.times, 2000000);
	assert_false(th_budget_is_due(&run.budget, run.now + 39 * SECOND / 10));
	assert_true(th_budget_is_due(&run.budget, run.now + 4 * SECOND));
}

/* However long that took: the allowance of a burst must not last. */
static void
an_allowance_does_not_last(void **state)
{
	struct run run;

	(void)state;
	begin(&run, LIMIT);
	th_budget_look(&run.budget, run.now, &run.times, SECOND);
	th_budget_look(&run.budget, run.now, &run.times, SECOND);
	assert_true(th_budget_is_due(&run.budget, run.now + 5 * SECOND));
}

/* Without a budget there is nothing to do. */
static void
no_budget(void **state)
{
	struct th_budget budget;

	(void)state;
	th_budget_init(&budget, 0);
	assert_false(th_budget_is_due(&budget, UINT64_MAX));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_process),
		cmocka_unit_test(a_short_process),
		cmocka_unit_test(a_quiet_time_saves_the_burst_only),
		cmocka_unit_test(a_changing_process),
		cmocka_unit_test(an_agent_that_takes_most),
		cmocka_unit_test(an_agent_that_takes_much_at_times),
		cmocka_unit_test(an_expensive_start),
		cmocka_unit_test(an_idle_process),
		cmocka_unit_test(times_that_are_expensive),
		cmocka_unit_test(an_allowance_does_not_last),
		cmocka_unit_test(no_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
