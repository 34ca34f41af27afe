/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/throttle.h"

#include "unify/base/atomic.h"
#include "unify/sample/overhead_budget.h"
#include "unify/shared/clock.h"
#include "unify/recording/control.h"
#include "unify/sample/in_flight.h"
#include "unify/log/log.h"
#include "unify/sample/rate_control.h"
#include "unify/recording/recorder.h"
#include "unify/sample/thread.h"

static struct {
	struct th_rate rate;
	struct th_budget budget;    /* of the rate's writer */
	struct th_spinlock rolling; /* of the rate's writer */
	uint32_t has_server;        /* atomic: requests wait for the agent thread */
	uint32_t is_ending;         /* atomic: the end was asked for */
	uint64_t rate_logged;       /* when a RATE was written; of the rate's writer */
	uint64_t due_logged;        /* the rate's counts then */
	uint64_t kept_logged;
} pace;

void
th_throttle_start(const struct th_recorder_settings *settings)
{
	th_rate_init(&pace.rate, settings->rate, settings->interval);
	th_rate_set_credit(&pace.rate, settings->rate_free);
	th_budget_init(&pace.budget, settings->overhead, settings->interval);
	pace.rate_logged = th_clock_now();
}

void
th_throttle_reset(void)
{
	pace.rolling.held = 0;
	pace.due_logged = 0;
	pace.kept_logged = 0;
	pace.has_server = 0;
	pace.is_ending = 0;
}

uint64_t
th_throttle_interval(void)
{
	return th_rate_interval(&pace.rate);
}

bool
th_throttle_is_ending(void)
{
	return th_load_relaxed(&pace.is_ending);
}

void
th_throttle_set_server(bool has_server)
{
	struct th_log_header *header = th_log_header();

	th_store_relaxed(&pace.has_server, has_server);
	if (header)
		th_store_relaxed(&header->has_server, has_server);
}

bool
th_throttle_has_server(void)
{
	return th_load_relaxed(&pace.has_server);
}

/* Once a second, when anything was due.  Of the rate's writer. */
static void
log_rate(uint64_t now)
{
	uint64_t due = th_load_relaxed(&pace.rate.population);
	uint64_t kept = th_load_relaxed(&pace.rate.kept);
	struct th_event_rate event = {
		.time = now,
		.interval = th_rate_interval(&pace.rate),
		.target = th_load_relaxed(&pace.rate.target),
		.due = due - pace.due_logged,
		.kept = kept - pace.kept_logged,
	};

	if (now - pace.rate_logged < TH_NS_PER_S)
		return;
	pace.rate_logged = now;
	if (!event.due || !th_log_append(TH_EVENT_RATE, &event, NULL, 0))
		return;
	pace.due_logged = due;
	pace.kept_logged = kept;
}

/* Lets the interval keep to the overhead budget, once a second. */
static void
keep_budget(uint64_t now)
{
	const struct th_log_header *header = th_log_header();

	/* The interval may have been set anew. */
	pace.budget.configured = pace.rate.configured_interval;
	if (!th_budget_is_due(&pace.budget, now) || !header)
		return;
	struct th_budget_times times = {
		.captures = th_load_relaxed(&header->counters[TH_COUNTER_SELF_CAPTURE_NS]),
		.agent = th_load_relaxed(&header->counters[TH_COUNTER_SELF_AGENT_NS]),
		.process = th_clock_read(CLOCK_PROCESS_CPUTIME_ID),
	};
	if (times.process)
		th_rate_set_floor(&pace.rate, th_budget_look(&pace.budget, now, &times));
}

static void
serve(uint64_t now)
{
	if (th_control_poll(&pace.rate, now))
		th_store_relaxed(&pace.is_ending, 1);
}

void
th_throttle_look(uint64_t now)
{
	if (!th_rate_is_due(&pace.rate, now) || !th_trylock(&pace.rolling))
		return;
	th_rate_roll(&pace.rate, now);
	keep_budget(now);
	if (!th_load_relaxed(&pace.has_server))
		serve(now);
	log_rate(now);
	th_unlock(&pace.rolling);
}

void
th_throttle_roll(void)
{
	uint64_t now = th_clock_now();

	if (th_in_flight_state() != TH_IN_FLIGHT_OPEN ||
		!th_lock_bounded(&pace.rolling, TH_LOCK_SPINS * 64))
		return;
	th_rate_roll(&pace.rate, now);
	keep_budget(now);
	serve(now);
	log_rate(now);
	th_unlock(&pace.rolling);
}

bool
th_throttle_keeps(struct th_thread_record *record, uint64_t now, double *keep_ret)
{
	th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
	*keep_ret = th_rate_count(&pace.rate, now);
	if (*keep_ret < 1 && th_random_unit(&record->random) > *keep_ret) {
		th_log_count(TH_COUNTER_RATE_THINNED, 1);
		return false;
	}
	th_rate_keep(&pace.rate);
	return true;
}
