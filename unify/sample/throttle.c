/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate control and plan of the recording in this process.  Producers only count; windows, plan
 * and RATE events belong to the writer.
 */
#include "unify/sample/throttle.h"

#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/plan.h"
#include "unify/sample/rate_control.h"
#include "unify/sample/settings.h"
#include "unify/sample/site_rates.h"
#include "unify/sample/survivors.h"
#include "unify/sample/thread.h"
#include "unify/sample/undecided.h"
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
 * Sites are thinned to this part of the target, somewhat less than that of the rate control,
 * which then has nothing to do.
 */
#define SITES_AIM 0.85
/*
 * Their rates are updated each time the recording has grown by 1/SITES_PART, and at least this often:
 * they are averages over seconds, and a roll reads 100 KiB.
 */
#define SITES_PART 8
#define SITES_NS (TH_NS_PER_S / 2)

static struct {
	struct th_rate rate;
	struct th_site_rates sites[TH_PLAN_HEAPS];
	uint64_t due[TH_PLAN_HEAPS]; /* atomic */
	uint64_t capture_ns[2];      /* atomic: [1] of samples, [0] of other captures */
	struct th_plan plan;         /* the writer's, except for the intervals */
	/* Private to the writer. */
	uint64_t start;
	uint64_t next_survivors; /* when they are counted */
	uint64_t next_sites;     /* when their rates are updated */
	uint64_t rate_logged;    /* time of the last RATE */
	uint64_t due_lately;     /* due in the second before */
	uint64_t due_logged;     /* counts at that time */
	uint64_t kept_logged;
} throttle;

void
th_throttle_start(const struct th_recorder_settings *settings)
{
	const struct th_plan_limits limits = {
		.interval = settings->interval,
		.least_interval = settings->least_interval,
		.most_interval = settings->most_interval,
		.rate = settings->rate,
		.overhead = settings->overhead,
		.burst = settings->burst,
		.saves_space = settings->saves_space,
	};
	uint64_t now = th_clock_now();

	th_rate_init(&throttle.rate, th_plan_init(&throttle.plan, &limits, now));
	throttle.rate_logged = now;
	throttle.start = now;
	throttle.next_survivors = now;
	throttle.next_sites = now;
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		th_site_rates_init(&throttle.sites[i], now);
}

void
th_throttle_reset(void)
{
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		throttle.due[i] = 0;
	throttle.capture_ns[false] = 0;
	throttle.capture_ns[true] = 0;
	throttle.due_logged = 0;
	throttle.kept_logged = 0;
	th_survivors_reset();
	th_undecided_reset();
}

uint64_t
th_throttle_interval(enum th_heap heap)
{
	return th_plan_interval(&throttle.plan, heap);
}

uint64_t
th_throttle_target(void)
{
	return th_load_relaxed(&throttle.rate.target);
}

/* Windows */

uint64_t
th_throttle_due(void)
{
	uint64_t due = 0;

	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		due += th_load_relaxed(&throttle.due[i]);
	return due;
}

/* Once a second, if samples were due.  By the writer. */
static void
log_rate(uint64_t now)
{
	uint64_t due = th_throttle_due();
	uint64_t kept = th_load_relaxed(&throttle.rate.kept);
	struct th_event_rate event = {
		.time = now,
		.interval = th_throttle_interval(TH_HEAP_NATIVE),
		.target = th_load_relaxed(&throttle.rate.target),
		.due = due - throttle.due_logged,
		.kept = kept - throttle.kept_logged,
		.java_interval = th_throttle_interval(TH_HEAP_JAVA),
		.mapped_interval = th_throttle_interval(TH_HEAP_MAPPED),
	};

	if (now - throttle.rate_logged < TH_NS_PER_S)
		return;
	throttle.due_lately = event.due * TH_NS_PER_S / (now - throttle.rate_logged);
	throttle.rate_logged = now;
	if (!event.due || !th_log_append(TH_EVENT_RATE, &event, NULL, 0))
		return;
	throttle.due_logged = due;
	throttle.kept_logged = kept;
}

bool
th_throttle_is_due(uint64_t now)
{
	return th_rate_is_due(&throttle.rate, now);
}

void
th_throttle_roll(uint64_t now)
{
	th_rate_roll(&throttle.rate, now);
	log_rate(now);
}

/* Plan */

/* CPU time of due samples before the decision, kept or not. */
static uint64_t
due_ns(const struct th_plan_figures *figures)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		ns += figures->due[i] * th_plan_due_ns[i];
	return ns;
}

static void
read_times(const struct th_log_header *header, struct th_plan_figures *figures)
{
	/* Not the elapsed time: on a busy machine the thread may wait for a processor meanwhile. */
	uint64_t before = th_clock_read(CLOCK_THREAD_CPUTIME_ID);

	figures->times.process = th_clock_read(CLOCK_PROCESS_CPUTIME_ID);
	figures->times_cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - before;
	figures->times.captures = th_load_relaxed(&throttle.capture_ns[true]);
	figures->times.due = due_ns(figures);
	figures->times.others = th_load_relaxed(&header->counters[TH_COUNTER_SELF_AGENT_NS]) +
				th_load_relaxed(&throttle.capture_ns[false]);
}

static void
get_figures(const struct th_log_header *header, struct th_plan_figures *figures)
{
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		figures->due[i] = th_load_relaxed(&throttle.due[i]);
	figures->kept = th_load_relaxed(&throttle.rate.kept);
	figures->log_bytes = th_load_relaxed(&header->tail);
	figures->ring_bytes = header->ring_bytes;
	if (header->most_bytes > figures->log_bytes)
		figures->log_room = header->most_bytes - figures->log_bytes;
	if (throttle.plan.limits.saves_space)
		figures->live_blocks = th_live_blocks_count();
	if (throttle.plan.limits.overhead)
		read_times(header, figures);
}

/* Once a second, if there is something to thin. */
static void
count_survivors(uint64_t now)
{
	if (now < throttle.next_survivors)
		return;
	throttle.next_survivors = now + TH_NS_PER_S;
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		if (throttle.sites[i].drops)
			th_survivors_count((enum th_heap)(i + TH_HEAP_JAVA), throttle.start,
				now, &throttle.sites[i]);
}

/* Also before the interval of a heap changes: counts are in units of the old one. */
static void
roll_sites(uint64_t now, const struct th_plan_target *target)
{
	uint64_t spacing = (now - throttle.start) / SITES_PART;
	bool is_due = now >= throttle.next_sites;

	if (is_due)
		throttle.next_sites = now + (spacing < SITES_NS ? spacing : SITES_NS);
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++) {
		struct th_site_rates *sites = &throttle.sites[i];

		if (is_due || target->factor[i] != 1)
			th_site_rates_roll(sites, now, target->keep[i] * SITES_AIM);
		if (target->factor[i] != 1)
			th_site_rates_rescale(sites, target->factor[i]);
	}
}

void
th_throttle_review(uint64_t now)
{
	const struct th_log_header *header = th_log_header();
	struct th_plan_figures figures = {.log_bytes = 0};

	if (!header || !th_plan_is_due(&throttle.plan, now))
		return;
	get_figures(header, &figures);
	struct th_plan_target target = th_plan_review(&throttle.plan, now, &figures);
	th_rate_set_target(&throttle.rate, target.rate);
	if (target.all_factor < 1)
		th_rate_rescale(&throttle.rate, target.all_factor);
	count_survivors(now);
	roll_sites(now, &target);
}

void
th_throttle_set_interval(uint64_t interval)
{
	th_plan_set_interval(&throttle.plan, interval);
}

void
th_throttle_set_rate(uint64_t rate)
{
	th_plan_set_rate(&throttle.plan, rate);
	throttle.plan.next = 0;
	th_throttle_review(th_clock_now());
}

void
th_throttle_show(struct th_log_control *control)
{
	th_store_relaxed(&control->interval, th_throttle_interval(TH_HEAP_NATIVE));
	th_store_relaxed(&control->java_interval, th_throttle_interval(TH_HEAP_JAVA));
	th_store_relaxed(&control->due, throttle.due_lately);
	th_store_relaxed(&control->kept, th_load_relaxed(&throttle.rate.second_kept));
}

/* Samples */

bool
th_throttle_needs_sites(void)
{
	return th_load_relaxed(&throttle.rate.target);
}

static bool
draw(struct th_thread_record *record, double probability)
{
	return probability >= 1 || th_random_unit(&record->random) <= probability;
}

/* The rate control sees what is left by the sites: it depends on earlier samples only, too. */
static struct th_throttle_choice
choose(struct th_thread_record *record, enum th_heap heap, struct th_site_key site,
	uint64_t now)
{
	struct th_throttle_choice choice = {.of_site = 1};

	if (th_throttle_needs_sites())
		choice.of_site = th_site_rates_count(&throttle.sites[heap - 1], site);
	if (!draw(record, choice.of_site))
		return choice;
	double of_rate = th_rate_count(&throttle.rate, now);
	choice.keep = choice.of_site * of_rate;
	choice.is_kept = draw(record, of_rate);
	return choice;
}

struct th_throttle_choice
th_throttle_choose(struct th_thread_record *record, enum th_heap heap, struct th_site_key site,
	uint64_t now)
{
	struct th_throttle_choice choice;

	th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
	th_add_relaxed(&throttle.due[heap - 1], 1);
	choice = choose(record, heap, site, now);
	if (choice.is_kept)
		th_rate_keep(&throttle.rate);
	else
		th_log_count(TH_COUNTER_RATE_THINNED, 1);
	return choice;
}

/* Captures that one which begins at `now` stands for; 0: it is not measured. */
static uint64_t
measured_weight(uint64_t now)
{
	if (th_load_relaxed(&throttle.rate.kept) <= TH_THROTTLE_MEASURED)
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
	ns = usual * weight + (ns - usual);
	th_log_count(TH_COUNTER_SELF_CAPTURE_NS, ns);
	th_add_relaxed(&throttle.capture_ns[is_sample], ns);
}
