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

struct process {
	double bytes; /* per second, all heaps but the Java heap */
	double cpu;   /* processors in use */
	double capture_ns;
	double sample_bytes; /* in the log */
	double agent_ns;     /* per second */
	double java_bytes;   /* per second */
};

struct run {
	struct th_plan plan;
	struct th_plan_figures figures;
	uint64_t now;
	double native;
	double java;
	double log;
};

/* The defaults. */
static const struct th_plan_limits adaptive = {.interval = 1024 * KIB,
	.least_interval = 32 * KIB,
	.overhead = 10000,
	.saves_space = true};

static void
init(struct run *run, const struct th_plan_limits *limits)
{
	*run = (struct run){.now = SECOND};
	th_plan_init(&run->plan, limits, run->now);
	run->figures.log_room = GIB;
	th_plan_review(&run->plan, run->now, &run->figures);
}

static void
pass_tick(struct run *run, const struct process *process)
{
	const double part = (double)TICK / SECOND;

	double native = process->bytes * part /
			(double)th_plan_interval(&run->plan, TH_HEAP_NATIVE);
	double java = process->java_bytes * part /
		      (double)th_plan_interval(&run->plan, TH_HEAP_JAVA);
	double due = native + java;

	run->native += native;
	run->java += java;
	run->figures.native = (uint64_t)run->native;
	run->figures.java = (uint64_t)run->java;
	run->figures.due = (uint64_t)(run->native + run->java);
	run->figures.times.samples += (uint64_t)(due * process->capture_ns);
	run->log += due * process->sample_bytes;
	run->figures.times.others += (uint64_t)(process->agent_ns * part);
	run->figures.times.process += (uint64_t)(process->cpu * TICK);
	run->figures.log_bytes = (uint64_t)run->log;
	run->figures.log_room = GIB - run->figures.log_bytes;
	run->now += TICK;
	if (th_plan_is_due(&run->plan, run->now))
		th_plan_review(&run->plan, run->now, &run->figures);
}

static void
pass(struct run *run, const struct process *process, double seconds)
{
	uint64_t end = run->now + (uint64_t)(seconds * SECOND);

	while (run->now < end)
		pass_tick(run, process);
}

static uint64_t
interval_of(const struct run *run)
{
	return th_plan_interval(&run->plan, TH_HEAP_NATIVE);
}

static double
spent(const struct run *run)
{
	return (double)(run->figures.times.samples + run->figures.times.others);
}

/* A service of 80 MB/s that uses one processor. */
static const struct process quiet = {80e6, 1, 5000, 110, 1e6, 0};
/* 3 GB/s on two processors. */
static const struct process heavy = {3e9, 2, 6000, 110, 2e6, 0};

/* Finer than the first interval, within 20 seconds, and within the budget. */
static void
a_quiet_process_is_sampled_finely(void **state)
{
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &quiet, 20);
	assert_in_range(interval_of(&run), 32 * KIB, 46 * KIB);
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
	uint64_t interval = interval_of(&run);
	double before = spent(&run);
	pass(&run, &heavy, 20);
	assert_int_equal(interval_of(&run), interval);
	assert_true(spent(&run) - before >= 0.005 * 2 * 20 * SECOND);
	assert_true(interval >= 256 * KIB);
}

/* The log is never full, however long the recording, and grows while it can. */
static void
the_log_lasts(void **state)
{
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &heavy, 3600);
	/* An eighth in the first ten minutes, then 1 - 6^(-1/8) of the rest. */
	assert_true(run.log <= 0.33 * (double)GIB);
	assert_true(run.log >= 0.05 * (double)GIB);
	pass(&run, &heavy, 9 * 3600);
	assert_true(run.log <= 0.53 * (double)GIB);
	assert_true(run.plan.wanted >= 2);
}

/* Idle for minutes, then full load: not at the smallest interval. */
static void
an_idle_heap_is_not_sampled_finely(void **state)
{
	const struct process idle = {0, 0.01, 5000, 110, 1e6, 0};
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &heavy, 20);
	pass(&run, &idle, 300);
	assert_int_equal(interval_of(&run), 1024 * KIB);
	pass(&run, &quiet, 20);
	pass(&run, &idle, 20);
	assert_int_equal(interval_of(&run), 1024 * KIB);
}

/* 4 GB alive at 32 KiB would be 125,000 blocks in the tables. */
static void
live_blocks_limit_the_interval(void **state)
{
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &quiet, 20);
	assert_true(interval_of(&run) < 64 * KIB);
	run.figures.live_blocks = 4096 * 4;
	pass(&run, &quiet, 2);
	assert_in_range(interval_of(&run), 512 * KIB, 725 * KIB);
}

/* A given interval without a limit stays; with a budget it is raised, and returns. */
static void
a_given_interval(void **state)
{
	struct th_plan_limits limits = {.interval = 16 * KIB, .least_interval = 16 * KIB};
	struct run run;

	(void)state;
	init(&run, &limits);
	pass(&run, &heavy, 10);
	assert_int_equal(interval_of(&run), 16 * KIB);
	limits.overhead = 10000;
	init(&run, &limits);
	pass(&run, &heavy, 10);
	assert_true(interval_of(&run) > 256 * KIB);
	pass(&run, &(const struct process){2e6, 1, 5000, 110, 1e6, 0}, 60);
	assert_int_equal(interval_of(&run), 16 * KIB);
}

/* Every allocation is recorded: raised by a rate or a budget, and back to 0. */
static void
every_allocation(void **state)
{
	struct th_plan_limits limits = {.rate = 300};
	struct th_plan plan;
	struct th_plan_figures figures = {.log_room = GIB};
	uint64_t now = SECOND;

	(void)state;
	for (int with_budget = 0; with_budget < 2; with_budget++) {
		limits.overhead = with_budget ? 10000 : 0;
		th_plan_init(&plan, &limits, now);
		for (int i = 0; i < 100; i++, now += SECOND / 10) {
			figures.due += 100000;
			figures.times.process += SECOND / 10;
			th_plan_review(&plan, now, &figures);
		}
		assert_true(th_plan_interval(&plan, TH_HEAP_NATIVE) > 0);
		for (int i = 0; i < 1000; i++, now += SECOND / 10) {
			figures.times.process += SECOND / 10;
			th_plan_review(&plan, now, &figures);
		}
		assert_int_equal(th_plan_interval(&plan, TH_HEAP_NATIVE), 0);
	}
}

/* Samples of the Java heap for each one of the C heap, in a minute. */
static double
java_per_native(struct run *run, const struct process *process)
{
	double native = run->native, java = run->java;

	pass(run, process, 60);
	return (run->java - java) / (run->native - native);
}

/* 640 MB/s of Java objects and 20 MB/s of blocks, and then the other way round. */
static void
heaps_have_equally_many_samples(void **state)
{
	const struct process mixed = {20e6, 1, 5000, 110, 1e6, 640e6};
	const struct process native = {640e6, 1, 5000, 110, 1e6, 20e6};
	struct run run;

	(void)state;
	init(&run, &adaptive);
	pass(&run, &mixed, 30);
	double ratio = java_per_native(&run, &mixed);
	assert_true(ratio > 0.5 && ratio < 2.1);
	assert_true(spent(&run) <= 50e6 + 0.0105 * (double)run.figures.times.process);
	pass(&run, &native, 30);
	ratio = java_per_native(&run, &native);
	assert_true(ratio > 0.47 && ratio < 2);
}

/* A given interval is that of both heaps where the budget allows it. */
static void
a_given_interval_is_that_of_both(void **state)
{
	const struct th_plan_limits limits = {
		.interval = 512 * KIB, .least_interval = 512 * KIB, .overhead = 10000};
	struct run run;

	(void)state;
	init(&run, &limits);
	pass(&run, &(const struct process){1e6, 1, 5000, 110, 1e6, 200e6}, 120);
	assert_int_equal(interval_of(&run), 512 * KIB);
	assert_int_equal(th_plan_interval(&run.plan, TH_HEAP_JAVA), 512 * KIB);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_process_is_sampled_finely),
		cmocka_unit_test(a_heavy_process_stays_within_the_budget),
		cmocka_unit_test(the_log_lasts),
		cmocka_unit_test(an_idle_heap_is_not_sampled_finely),
		cmocka_unit_test(live_blocks_limit_the_interval),
		cmocka_unit_test(a_given_interval),
		cmocka_unit_test(every_allocation),
		cmocka_unit_test(heaps_have_equally_many_samples),
		cmocka_unit_test(a_given_interval_is_that_of_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
