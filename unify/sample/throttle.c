/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate control and overhead budget of the recording in this process.  Producers only count;
 * windows, budget and RATE events belong to the rate's writer.
 */
#include "unify/sample/throttle.h"

#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/sample/overhead_budget.h"
#include "unify/sample/rate_control.h"
#include "unify/sample/settings.h"
#include "unify/sample/thread.h"
#include "unify/shared/clock.h"

static struct {
	struct th_rate rate;
	struct th_budget budget; /* private to the rate's writer */
	uint64_t rate_logged;    /* time of the last RATE; private to the rate's writer */
	uint64_t due_logged;     /* the rate's counts at that time */
	uint64_t kept_logged;
} throttle;

void
th_throttle_start(const struct th_recorder_settings *settings)
{
	th_rate_init(&throttle.rate, settings->rate, settings->interval);
	th_rate_set_credit(&throttle.rate, settings->rate_free);
	th_budget_init(&throttle.budget, settings->overhead, settings->interval);
	throttle.rate_logged = th_clock_now();
}

void
th_throttle_reset(void)
{
	throttle.due_logged = 0;
	throttle.kept_logged = 0;
}

uint64_t
th_throttle_interval(void)
{
	return th_rate_interval(&throttle.rate);
}

struct th_rate *
th_throttle_rate(void)
{
	return &throttle.rate;
}

/* Once a second, if samples were due.  By the rate's writer. */
static void
log_rate(uint64_t now)
{
	uint64_t due = th_load_relaxed(&throttle.rate.population);
	uint64_t kept = th_load_relaxed(&throttle.rate.kept);
	struct th_event_rate event = {
		.time = now,
		.interval = th_rate_interval(&throttle.rate),
		.target = th_load_relaxed(&throttle.rate.target),
		.due = due - throttle.due_logged,
		.kept = kept - throttle.kept_logged,
	};

	if (now - throttle.rate_logged < TH_NS_PER_S)
		return;
	throttle.rate_logged = now;
	if (!event.due || !th_log_append(TH_EVENT_RATE, &event, NULL, 0))
		return;
	throttle.due_logged = due;
	throttle.kept_logged = kept;
}

/* Once a second, keeps the interval within the overhead budget. */
static void
keep_budget(uint64_t now)
{
	const struct th_log_header *header = th_log_header();

	/* The interval may have been changed. */
	throttle.budget.configured = throttle.rate.configured_interval;
	if (!th_budget_is_due(&throttle.budget, now) || !header)
		return;
	struct th_budget_times times = {
		.captures = th_load_relaxed(&header->counters[TH_COUNTER_SELF_CAPTURE_NS]),
		.agent = th_load_relaxed(&header->counters[TH_COUNTER_SELF_AGENT_NS]),
		.process = th_clock_read(CLOCK_PROCESS_CPUTIME_ID),
	};
	if (times.process)
		th_rate_set_floor(
			&throttle.rate, th_budget_look(&throttle.budget, now, &times));
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
	keep_budget(now);
	log_rate(now);
}

bool
th_throttle_keeps(struct th_thread_record *record, uint64_t now, double *keep_ret)
{
	th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
	*keep_ret = th_rate_count(&throttle.rate, now);
	if (*keep_ret < 1 && th_random_unit(&record->random) > *keep_ret) {
		th_log_count(TH_COUNTER_RATE_THINNED, 1);
		return false;
	}
	th_rate_keep(&throttle.rate);
	return true;
}
