/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead budget on simulated processes: a load in bytes per second, with a cost per
 * sample, in a process with a given CPU usage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unify/sample/overhead_budget.h"

#define SECOND UINT64_C(1000000000)
#define LIMIT 10000 /* 1 % */
#define INTERVAL 524288
#define SAMPLE_NS 5000

struct process {
	double bytes_per_s;
	double sample_ns;
	double cpu; /* processors in use */
	double agent_ns;
};

struct run {
	struct th_budget budget;
	struct th_budget_times times;
	uint64_t now;
	uint64_t interval;
	double share; /* in the last second */
};

static void
begin(struct run *run, uint64_t limit, uint64_t interval)
{
	*run = (struct run){.now = SECOND, .interval = interval};
	th_budget_init(&run->budget, limit, interval);
	if (limit)
		th_budget_look(&run->budget, run->now, &run->times);
}

static void
pass_second(struct run *run, const struct process *process)
{
	double gap = run->interval ? (double)run->interval : 100;
	double captures = process->bytes_per_s / gap * process->sample_ns;

	run->share = (captures + process->agent_ns) / (process->cpu * SECOND);
	run->times.captures += (uint64_t)captures;
	run->times.agent += (uint64_t)process->agent_ns;
	run->times.process += (uint64_t)(process->cpu * SECOND);
	run->now += SECOND;
	if (th_budget_is_due(&run->budget, run->now))
		run->interval = th_budget_look(&run->budget, run->now, &run->times);
}

static void
pass(struct run *run, const struct process *process, unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++)
		pass_second(run, process);
}

/* 20 GB/s: 40,000 samples a second, 19 % of a processor. */
static const struct process heavy = {20e9, SAMPLE_NS, 1, 0};
static const struct process light = {100e6, SAMPLE_NS, 1, 0};

/* One second over the budget, then within it; the interval is not higher than necessary. */
static void
a_heavy_load(void **state)
{
	struct run run;

	(void)state;
	begin(&run, LIMIT, INTERVAL);
	pass_second(&run, &heavy);
	assert_true(run.share > 0.15);
	for (int i = 0; i < 100; i++) {
		pass_second(&run, &heavy);
		if (i >= 1)
			assert_true(run.share <= 0.0101 && run.share > 0.004);
	}
}

/* A load within the budget changes nothing. */
static void
a_light_load(void **state)
{
	struct run run;

	(void)state;
	begin(&run, LIMIT, INTERVAL);
	for (int i = 0; i < 100; i++) {
		pass_second(&run, &light);
		assert_int_equal(run.interval, INTERVAL);
	}
}

/* After a return to a light load the interval returns to the configured one, and not below. */
static void
up_and_back(void **state)
{
	struct run run;

	(void)state;
	begin(&run, LIMIT, INTERVAL);
	pass(&run, &heavy, 10);
	assert_true(run.interval > 10 * INTERVAL);
	pass(&run, &light, 12);
	assert_int_equal(run.interval, INTERVAL);
}

/* Without a budget there are no checks. */
static void
no_budget(void **state)
{
	struct run run;

	(void)state;
	begin(&run, 0, INTERVAL);
	pass(&run, &heavy, 10);
	assert_int_equal(run.interval, INTERVAL);
	assert_false(th_budget_is_due(&run.budget, UINT64_MAX));
}

/* The fixed cost of the agent thread must not raise the interval forever. */
static void
an_agent_that_is_too_expensive(void **state)
{
	const struct process process = {10e6, SAMPLE_NS, 0.05, 0.02 * SECOND};
	struct run run;

	(void)state;
	begin(&run, LIMIT, INTERVAL);
	pass(&run, &process, 100);
	assert_true(run.interval < 4 * INTERVAL);
}

/* If every allocation is recorded, the budget raises the interval, and later returns to 0. */
static void
every_allocation(void **state)
{
	struct run run;

	(void)state;
	begin(&run, LIMIT, 0);
	pass(&run, &light, 20);
	assert_true(run.interval >= 1024);
	assert_true(run.share < 0.0101);
	pass(&run, &(const struct process){1000, SAMPLE_NS, 1, 0}, 20);
	assert_int_equal(run.interval, 0);
}

/* An idle process is not throttled, whatever the ratio of two small numbers. */
static void
an_idle_process(void **state)
{
	const struct process process = {100e6, SAMPLE_NS, 0.001, 0};
	struct run run;

	(void)state;
	begin(&run, LIMIT, INTERVAL);
	pass(&run, &process, 100);
	assert_int_equal(run.interval, INTERVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heavy_load),
		cmocka_unit_test(a_light_load),
		cmocka_unit_test(up_and_back),
		cmocka_unit_test(no_budget),
		cmocka_unit_test(an_agent_that_is_too_expensive),
		cmocka_unit_test(every_allocation),
		cmocka_unit_test(an_idle_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
