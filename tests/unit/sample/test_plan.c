/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of sampling on simulated processes: bytes per second in each heap, CPU time, costs.
 * All blocks are far below the interval, so what is due is bytes / interval; what is kept is as
 * many as the plan permits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unify/sample/plan.h"

#define SECOND UINT64_C(1000000000)
#define TICK (SECOND / 50)
#define KIB 1024
#define MIB (1024 * KIB)
#define GIB ((uint64_t)1024 * MIB)
#define JAVA (TH_HEAP_JAVA - 1)
#define NATIVE (TH_HEAP_NATIVE - 1)

struct process {
	double bytes[TH_PLAN_HEAPS]; /* per second */
	double cpu;                  /* processors in use */
	double capture_ns;
	double sample_bytes; /* in the log */
	double agent_ns;     /* per second */
};

struct run {
	struct th_plan plan;
	struct th_plan_figures figures;
	struct th_plan_target target;
	uint64_t now;
	double due[TH_PLAN_HEAPS];
	double kept[TH_PLAN_HEAPS];
	double log;
};

/* The defaults. */
static const struct th_plan_limits adaptive = {.interval = 128 * KIB,
	.least_interval = 8 * KIB,
	.most_interval = 64 * MIB,
	.overhead = 10000,
	.burst = 50000000,
	.saves_space = true};

static void
init(struct run *run, const struct th_plan_limits *limits)
{
	*run = (struct run){.now = SECOND};
	run->target.rate = th_plan_init(&run->plan, limits, run->now);
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		run->target.keep[i] = (double)run->target.rate / TH_PLAN_HEAPS;
	run->figures.log_room = GIB;
	th_plan_review(&run->plan, run->now, &run->figures);
}

static double
sum(const double *values)
{
	return values[0] + values[1] + values[2];
}

static void
pass_tick(struct run *run, const struct process *process)
{
	const double part = (double)TICK / SECOND;

	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++) {
		double due = process->bytes[i] * part /
			     (double)th_plan_interval(&run->plan, (enum th_heap)(i + 1));
		double most = run->target.rate ? run->target.keep[i] * part : due;
		double kept = due < most ? due : most;

		run->due[i] += due;
		run->kept[i] += kept;
		run->figures.due[i] = (uint64_t)run->due[i];
		run->figures.times.due += (uint64_t)(due * th_plan_due_ns[i]);
		run->figures.times.captures += (uint64_t)(kept * process->capture_ns);
		run->log += kept * process->sample_bytes;
	}
	run->figures.kept = (uint64_t)sum(run->kept);
	run->figures.times.others += (uint64_t)(process->agent_ns * part);
	run->figures.times.process += (uint64_t)(process->cpu * TICK);
	run->figures.log_bytes = (uint64_t)run->log;
	run->figures.log_room = GIB - run->figures.log_bytes;
	run->now += TICK;
	if (th_plan_is_due(&run->plan, run->now))
		run->target = th_plan_review(&run->plan, run->now, &run->figures);
}

static void
pass(struct run *run, const struct process *process, double seconds)
{
	uint64_t end = run->now + (uint64_t)(seconds * SECOND);

	while (run->now < end)
		pass_tick(run, process);
}

static uint64_t
interval_of(const struct run *run, enum th_heap heap)
{
	return th_plan_interval(&run->plan, heap);
}

static double
spent(const struct run *run)
{
	return (double)(run->figures.times.captures + run->figures.times.due +
			run->figures.times.others);
}

/* A service of 40 MB/s in each heap that uses one processor. */
static const struct process quiet = {{40e6, 40e6, 0}, 1, 4000, 110, 1e6};
/* 3 GB/s on two processors. */
static const struct process heavy = {{2e9, 1e9, 0}, 2, 5000, 110, 2e6};

/* Finer than the first interval, within 20 seconds, and within the budget. */
static void
a_quiet_process_is_sampled_finely(void **state)
{
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &quiet, 20);
	assert_in_range(interval_of(&run, TH_HEAP_JAVA), 8 * KIB, 46 * KIB);
	assert_in_range(interval_of(&run, TH_HEAP_NATIVE), 8 * KIB, 46 * KIB);
	assert_true(spent(&run) <= 50e6 + 0.0105 * (double)run.figures.times.process);
}

/* At every time within the budget; at the end most of it is used, and the interval is steady. */
static void
a_heavy_process_stays_within_the_budget(void **state)
{
	struct run run;

	(void)state;
	init(&run, &adaptive);
	for (int i = 0; i < 60; i++) {
		pass(&run, &heavy, 1);
		assert_true(spent(&run) <= 65e6 + 0.0105 * (double)run.figures.times.process);
	}
	uint64_t interval = interval_of(&run, TH_HEAP_JAVA);
	double before = spent(&run);
	pass(&run, &heavy, 20);
	assert_int_equal(interval_of(&run, TH_HEAP_JAVA), interval);
	assert_true(spent(&run) - before >= 0.005 * 2 * 20 * SECOND);
	assert_true(interval >= 256 * KIB);
}

/* Native churn of 100 times the bytes takes no samples away from the Java heap's half. */
static void
one_heap_does_not_thin_the_other(void **state)
{
	const struct process both = {{40e6, 4e9, 0}, 2, 5000, 110, 2e6};
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &both, 30);
	double java = run.kept[JAVA];
	double native = run.kept[NATIVE];
	pass(&run, &both, 30);
	java = run.kept[JAVA] - java;
	native = run.kept[NATIVE] - native;
	assert_true(java >= 0.8 * native);
	assert_true(interval_of(&run, TH_HEAP_JAVA) < interval_of(&run, TH_HEAP_NATIVE) / 32);
}

/* A heap without load leaves its half to the other. */
static void
an_unused_share_is_not_lost(void **state)
{
	const struct process java = {{2e9, 0, 0}, 2, 5000, 110, 2e6};
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &java, 30);
	double before = spent(&run);
	pass(&run, &java, 30);
	assert_true(spent(&run) - before >= 0.005 * 2 * 30 * SECOND);
}

/* The log is never full, however long the recording, and grows while it can. */
static void
the_log_lasts(void **state)
{
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &heavy, 3600);
	/* 1 - 6^(-1/8) of it. */
	assert_true(run.log <= 0.3 * (double)GIB);
	assert_true(run.log >= 0.05 * (double)GIB);
	pass(&run, &heavy, 9 * 3600);
	assert_true(run.log <= 0.5 * (double)GIB);
	assert_true(run.target.rate >= 2);
}

/* Idle for minutes, then full load: not at the smallest interval. */
static void
an_idle_heap_is_not_sampled_finely(void **state)
{
	const struct process idle = {{0, 0, 0}, 0.01, 4000, 110, 1e6};
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &heavy, 20);
	pass(&run, &idle, 300);
	assert_int_equal(interval_of(&run, TH_HEAP_JAVA), 128 * KIB);
	pass(&run, &quiet, 20);
	pass(&run, &idle, 20);
	assert_int_equal(interval_of(&run, TH_HEAP_JAVA), 128 * KIB);
}

/* 4 GB alive at 8 KiB would be 500,000 blocks in the tables. */
static void
live_blocks_limit_the_interval(void **state)
{
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &quiet, 20);
	assert_true(interval_of(&run, TH_HEAP_NATIVE) < 64 * KIB);
	run.figures.live_blocks = 4096 * 6;
	pass(&run, &quiet, 2);
	assert_int_equal(interval_of(&run, TH_HEAP_NATIVE), 512 * KIB);
	assert_true(interval_of(&run, TH_HEAP_JAVA) < 64 * KIB);
}

/* A given interval without a limit stays; with a budget it is raised, and returns. */
static void
a_given_interval(void **state)
{
	struct th_plan_limits limits = {
		.interval = 16 * KIB, .least_interval = 16 * KIB, .most_interval = INT32_MAX};
	struct run run;

	(void)state;
	init(&run, &limits);
	pass(&run, &heavy, 10);
	assert_int_equal(interval_of(&run, TH_HEAP_JAVA), 16 * KIB);
	assert_int_equal(run.target.rate, 0);
	limits.overhead = 10000;
	init(&run, &limits);
	pass(&run, &heavy, 10);
	assert_true(interval_of(&run, TH_HEAP_JAVA) > 256 * KIB);
	pass(&run, &(const struct process){{1e6, 1e6, 0}, 1, 4000, 110, 1e6}, 60);
	assert_int_equal(interval_of(&run, TH_HEAP_JAVA), 16 * KIB);
}

/* Every allocation is recorded: raised only by a budget, and back to 0. */
static void
every_allocation(void **state)
{
	struct th_plan_limits limits = {.most_interval = INT32_MAX, .rate = 300};
	struct th_plan plan;
	struct th_plan_figures figures = {.log_room = GIB};
	uint64_t now = SECOND;

	(void)state;
	for (int with_budget = 0; with_budget < 2; with_budget++) {
		limits.overhead = with_budget ? 10000 : 0;
		th_plan_init(&plan, &limits, now);
		for (int i = 0; i < 100; i++, now += SECOND / 10) {
			figures.due[JAVA] += 100000;
			figures.times.process += SECOND / 10;
			th_plan_review(&plan, now, &figures);
		}
		assert_int_equal(th_plan_interval(&plan, TH_HEAP_JAVA) > 0, with_budget);
		for (int i = 0; i < 1000; i++, now += SECOND / 10) {
			figures.times.process += SECOND / 10;
			th_plan_review(&plan, now, &figures);
		}
		assert_int_equal(th_plan_interval(&plan, TH_HEAP_JAVA), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_process_is_sampled_finely),
		cmocka_unit_test(a_heavy_process_stays_within_the_budget),
		cmocka_unit_test(one_heap_does_not_thin_the_other),
		cmocka_unit_test(an_unused_share_is_not_lost),
		cmocka_unit_test(the_log_lasts),
		cmocka_unit_test(an_idle_heap_is_not_sampled_finely),
		cmocka_unit_test(live_blocks_limit_the_interval),
		cmocka_unit_test(a_given_interval),
		cmocka_unit_test(every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
