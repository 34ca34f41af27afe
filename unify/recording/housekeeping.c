/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/recording/housekeeping.h"

#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/log/ring.h"
#include "unify/recording/control.h"
#include "unify/recording/server.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/sample.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"

/*
 * Bytes of a ring that a thread with a sample due reads, to copy what stays: some 0.2 ms, every
 * 10 ms, or at each sample that is due when the ring is nearly full.  Every 10 ms keeps up with
 * 30,000 samples a second.
 */
#define RING_STEP (64u << 10)
#define PERIOD_NS 10000000

static struct {
	struct th_spinlock working; /* held by one thread at a time: the throttle's writer */
	uint32_t has_server;        /* atomic */
	uint32_t is_ending;         /* atomic */
	uint64_t next; /* ns, atomic: a thread with a sample due does not look before */
	uint64_t due;  /* the server's: samples due before its last run */
	void (*end)(void);
} housekeeping;

static void
serve(uint64_t now)
{
	if (th_control_poll(now))
		th_store_relaxed(&housekeeping.is_ending, 1);
}

/*
 * Called by threads with a sample due.  They adapt the intervals themselves, or a surge would pass
 * while the server sleeps; requests are left to it.
 * A child that shares the process's memory comes here as well.
 */
static void
look(uint64_t now)
{
	bool has_server = th_load_relaxed(&housekeeping.has_server);
	enum th_ring_urgency urgency = th_ring_urgency();

	if (has_server)
		th_server_wake_by(now, th_log_needs_preparation() || urgency
					       ? now
					       : now + TH_HOUSEKEEPING_BUSY_NS);
	if (urgency == TH_RING_NOW && th_log_is_ours())
		th_ring_step(RING_STEP);
	if (now < th_load_relaxed(&housekeeping.next) || !th_log_is_ours() ||
		!th_trylock(&housekeeping.working))
		return;
	th_store_relaxed(&housekeeping.next, now + PERIOD_NS);
	th_throttle_review(now);
	if (!has_server) {
		th_ring_step(RING_STEP);
		serve(now);
	}
	th_unlock(&housekeeping.working);
}

static void
end_if_requested(void)
{
	if (th_housekeeping_is_ending() && !th_load_relaxed(&housekeeping.has_server) &&
		th_log_is_owner())
		housekeeping.end();
}

void
th_housekeeping_start(void (*end)(void))
{
	housekeeping.end = end;
	th_sample_on_tick(look, end_if_requested);
}

/* Whether samples were due since the last call. */
static bool
has_new_samples(void)
{
	uint64_t before = housekeeping.due;

	housekeeping.due = th_throttle_due();
	return housekeeping.due != before;
}

bool
th_housekeeping_run(void)
{
	uint64_t now = th_clock_now();
	bool is_busy;

	if (th_in_flight_state() != TH_IN_FLIGHT_OPEN ||
		!th_lock_bounded(&housekeeping.working))
		return true;
	is_busy = has_new_samples();
	th_throttle_review(now);
	serve(now);
	th_unlock(&housekeeping.working);
	return is_busy;
}

void
th_housekeeping_set_server(bool has_server)
{
	struct th_log_header *header = th_log_header();

	if (has_server)
		th_server_start();
	else
		th_server_stop();
	th_store_relaxed(&housekeeping.has_server, has_server);
	if (header)
		th_store_relaxed(&header->has_server, has_server);
}

bool
th_housekeeping_is_ending(void)
{
	return th_load_relaxed(&housekeeping.is_ending);
}

void
th_housekeeping_reset(void)
{
	housekeeping.working.held = 0;
	housekeeping.has_server = 0;
	housekeeping.is_ending = 0;
	housekeeping.next = 0;
	housekeeping.due = 0;
	th_server_reset();
}
