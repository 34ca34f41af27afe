/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of the recording in this process.  Producers only count. */
#include "unify/sample/throttle.h"

#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/sample/live_blocks.h"
#include "unify/shared/clock.h"
#include "unify/shared/hash.h"

/*
 * Reading the clock of a thread takes two system calls per capture, a tenth of it, so one in
 * MEASURED is measured and stands for all.
 */
#define MEASURED 16
/*
 * A capture that takes longer is not like the 15 others: it grew the log or mapped a table, or
 * the clock of a virtual machine includes time in which it did not run.
 */
#define USUAL_NS 200000

/*
 * What a sample takes outside its capture: 1.5 us in the VM's slow path and event for a Java object,
 * 0.5 us at the free of a block.
 */
#define OUTSIDE_NS 1000

static struct {
	uint64_t samples_ns; /* atomic: of SELF_CAPTURE_NS, that of samples */
	struct th_plan plan; /* the writer's, except for the interval */
	/* Private to the writer. */
	uint64_t rate_logged; /* time of the last RATE */
	uint64_t due_lately;  /* due in the second before */
	uint64_t due_logged;  /* count at that time */
} throttle;

void
th_throttle_start(const struct th_plan_limits *limits)
{
	uint64_t now = th_clock_now();

	th_plan_init(&throttle.plan, limits, now);
	throttle.rate_logged = now;
}

void
th_throttle_reset(void)
{
	throttle.samples_ns = 0;
	throttle.due_logged = 0;
}

uint64_t
th_throttle_interval(enum th_heap heap)
{
	return th_plan_interval(&throttle.plan, heap);
}

bool
th_throttle_is_adaptive(void)
{
	return th_plan_is_adaptive(&throttle.plan);
}

static uint64_t
counter(const struct th_log_header *header, enum th_log_counter counter)
{
	return header ? th_load_relaxed(&header->counters[counter]) : 0;
}

uint64_t
th_throttle_due(void)
{
	return counter(th_log_header(), TH_COUNTER_SAMPLES_DUE);
}

/* Once a second, if samples were due.  By the writer. */
static void
log_rate(uint64_t now)
{
	uint64_t due = th_throttle_due();
	struct th_event_rate event = {
		.time = now,
		.interval = th_throttle_interval(TH_HEAP_NATIVE),
		.target = (uint64_t)throttle.plan.wanted,
		.due = due - throttle.due_logged,
	};

	if (now - throttle.rate_logged < TH_NS_PER_S)
		return;
	throttle.due_lately = event.due * TH_NS_PER_S / (now - throttle.rate_logged);
	throttle.rate_logged = now;
	if (event.due && th_log_append(TH_EVENT_RATE, &event, NULL, 0))
		throttle.due_logged = due;
}

/* Plan */

/* That of the process only when the budget looks at it. */
static void
read_times(const struct th_log_header *header, uint64_t now, struct th_plan_figures *figures)
{
	uint64_t captures = counter(header, TH_COUNTER_SELF_CAPTURE_NS);

	figures->times.samples = th_load_relaxed(&throttle.samples_ns);
	figures->times.others = counter(header, TH_COUNTER_SELF_AGENT_NS);
	if (captures > figures->times.samples)
		figures->times.others += captures - figures->times.samples;
	if (!th_budget_is_due(&throttle.plan.budget, now))
		return;
	/* Not the elapsed time: on a busy machine the thread may wait for a processor meanwhile. */
	uint64_t before = th_clock_read(CLOCK_THREAD_CPUTIME_ID);
	figures->times.process = th_clock_read(CLOCK_PROCESS_CPUTIME_ID);
	figures->times_cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - before;
}

static void
get_figures(const struct th_log_header *header, uint64_t now, struct th_plan_figures *figures)
{
	figures->due = th_throttle_due();
	figures->native = counter(header, TH_COUNTER_NATIVE_SAMPLES);
	figures->java = counter(header, TH_COUNTER_JAVA_SAMPLES);
	figures->log_bytes = th_load_relaxed(&header->tail);
	figures->ring_bytes = header->ring_bytes;
	if (header->most_bytes > figures->log_bytes)
		figures->log_room = header->most_bytes - figures->log_bytes;
	if (throttle.plan.limits.saves_space)
		figures->live_blocks = th_live_blocks_count();
	if (throttle.plan.limits.overhead)
		read_times(header, now, figures);
}

void
th_throttle_review(uint64_t now)
{
	const struct th_log_header *header = th_log_header();
	struct th_plan_figures figures = {.log_bytes = 0};

	if (!header || !th_plan_is_due(&throttle.plan, now))
		return;
	get_figures(header, now, &figures);
	th_plan_review(&throttle.plan, now, &figures);
	log_rate(now);
}

void
th_throttle_set_interval(uint64_t interval)
{
	th_plan_set_interval(&throttle.plan, interval);
}

void
th_throttle_set_rate(uint64_t rate)
{
	throttle.plan.limits.rate = rate;
	throttle.plan.next = 0;
	th_throttle_review(th_clock_now());
}

void
th_throttle_show(struct th_log_control *control)
{
	th_store_relaxed(&control->interval, th_throttle_interval(TH_HEAP_NATIVE));
	th_store_relaxed(&control->due, throttle.due_lately);
}

/* The cost of captures */

/* Captures that one which begins at `now` stands for; 0: it is not measured. */
static uint64_t
measured_weight(uint64_t now)
{
	if (th_throttle_due() <= TH_THROTTLE_MEASURED)
		return 1;
	return th_hash_mix(now) % MEASURED ? 0 : MEASURED;
}

uint64_t
th_throttle_capture_begins(uint64_t now)
{
	/* The clock's lowest bits hold the weight: 0, 1 or MEASURED. */
	uint64_t weight = measured_weight(now);

	return weight ? th_clock_read(CLOCK_THREAD_CPUTIME_ID) / 32 * 32 + weight : 0;
}

void
th_throttle_capture_ends(uint64_t begun, bool is_sample)
{
	uint64_t weight = begun % 32;
	uint64_t now = weight ? th_clock_read(CLOCK_THREAD_CPUTIME_ID) : 0;

	if (now <= begun)
		return;
	uint64_t ns = now - (begun - weight);
	uint64_t usual = ns < USUAL_NS ? ns : USUAL_NS;
	ns = usual * weight + (ns - usual) + (is_sample ? OUTSIDE_NS * weight : 0);
	th_log_count(TH_COUNTER_SELF_CAPTURE_NS, ns);
	if (is_sample)
		th_add_relaxed(&throttle.samples_ns, ns);
}
