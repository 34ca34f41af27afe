/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM may return without having collected: Serial and Parallel skip a collection while a
 * thread is in a JNI critical section.  Its own counters tell, so a skipped one is tried again.
 */
#include "jvmti/heap/full_collection.h"

#include "jvmti/heap/collections.h"
#include "jvmti/heap/few_followed.h"
#include "unify/base/atomic.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/recording/control.h"
#include "unify/recording/server.h"
#include "unify/resident/breakdown.h"
#include "unify/sample/admission.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/thread_starts.h"
#include "unify/shared/clock.h"

/* Attempts, and the time between two. */
#define ATTEMPTS 50
#define NAP_NS (2 * TH_COLLECTIONS_COUNT_NS)

/*
 * At the end of the VM: a shorter recording gives no verdict, and one whose objects were judged up to
 * the last 1/RECENT_PART of its time needs no collection (leaks.md).
 */
#define EXIT_LEAST_NS (5 * (uint64_t)TH_NS_PER_S)
#define RECENT_PART 4
/* At most 0.4 s, at least 40 ms: a slice of a busy processor is some milliseconds. */
#define CLEANERS_NAP_NS 10000000
#define CLEANERS_NAPS 40
#define QUIET_NAPS 4
/*
 * The HTTP client of JDK 11 and 17 ends its thread up to 3 s after a GC found the client dead: while one
 * ends in each of these naps, the end waits longer.
 */
#define THREADS_NAP_NS 200000000
/* Where so many run, the first may take as long to end, on a busy machine. */
#define THREADS_MANY 64
/* What as many threads held may have shown as alive, so it is judged again. */
#define THREADS_HOLD 8
#define THREADS_WAIT_NS (TH_FULL_COLLECTION_WAIT_S * (uint64_t)TH_NS_PER_S - THREADS_NAP_NS)
/* A signal may be handled without an end; then a later end is another one. */
#define SAME_END_NS (60 * (uint64_t)TH_NS_PER_S)
/* Counted sleeps: they do not elapse while the process is stopped. */
#define WAIT_NAP_NS 1000000
#define WAIT_NAPS (TH_FULL_COLLECTION_WAIT_S * 1000)

/* In place of a time. */
#define WANTED UINT64_MAX

static struct {
	struct th_full_collection_plan plan; /* written before is_served */
	uint64_t begun;
	uint64_t next;
	uint64_t collected;  /* when the last one began, until it is taken; 0: none */
	uint64_t exit_begun; /* when the last one at exit began, */
	uint64_t exit_took;  /* and how long it took */
	uint64_t ended;      /* threads, before it */
	uint32_t is_served;  /* atomic */
	uint64_t exit; /* atomic: when the last one at exit was over, 0: none; or WANTED */
} full;

void
th_full_collection_start(const struct th_full_collection_plan *plan)
{
	full.plan = *plan;
	full.begun = th_clock_now();
	full.next = full.begun + plan->period;
	/* Pairs with the acquire in th_full_collection_at_exit(): the plan is stored. */
	th_store_release(&full.is_served, 1);
}

void
th_full_collection_stop(void)
{
	full.plan.period = 0;
	th_store_release(&full.is_served, 0);
}

static bool
is_awaited(void)
{
	return th_load_acquire(&full.exit) == WANTED;
}

/* Returns after the VM has updated its counters.  `at_exit`: only while somebody waits for it. */
static bool
collect(jvmtiEnv *jvmti, bool at_exit)
{
	uint64_t before = th_collections_old();

	for (int i = 0; i < ATTEMPTS && (!at_exit || is_awaited()); i++) {
		uint64_t begun = th_clock_now();

		if ((*jvmti)->ForceGarbageCollection(jvmti))
			return false;
		th_system_nap(NAP_NS);
		if (th_collections_old() == before)
			continue;
		full.collected = begun;
		th_collections_forced();
		return true;
	}
	return false;
}

uint64_t
th_full_collection_take(void)
{
	uint64_t begun = full.collected;

	full.collected = 0;
	return begun;
}

uint64_t
th_full_collection_next(void)
{
	return full.plan.period ? full.next : UINT64_MAX;
}

/* Resident memory is judged before the collection, so a breakdown is taken first. */
static enum th_control_answer
collect_or_note(jvmtiEnv *jvmti, bool at_exit, uint64_t *begun_ret)
{
	th_breakdown_now(TH_BREAKDOWN_ASKED, true);
	*begun_ret = th_clock_now();
	if (collect(jvmti, at_exit))
		return TH_CONTROL_DONE;
	if (at_exit && !is_awaited())
		return TH_CONTROL_FAILED;
	th_log_note(1, "the VM did not run a requested full collection: a thread may stay in a "
		       "JNI critical section");
	return TH_CONTROL_FAILED;
}

enum th_control_answer
th_full_collection_run(jvmtiEnv *jvmti)
{
	uint64_t begun;
	enum th_control_answer answer = collect_or_note(jvmti, false, &begun);

	full.next = th_clock_now() + full.plan.period;
	if (answer == TH_CONTROL_DONE)
		th_control_log("gc forced", th_clock_now() - begun);
	return answer;
}

void
th_full_collection_turn(jvmtiEnv *jvmti)
{
	if (full.plan.period && th_clock_now() >= full.next)
		th_full_collection_run(jvmti);
}

/* The end of the VM */

/* Whether all but the last objects were judged. */
static bool
is_judged(uint64_t now)
{
	uint64_t time = th_few_followed_is_used() ? th_few_followed_judged()
						  : th_collections_judged();

	return time && now - time < (now - full.begun) / RECENT_PART;
}

bool
th_full_collection_fits(uint64_t kept, uint64_t pause)
{
	return kept <= TH_FULL_COLLECTION_EXIT_BYTES && pause <= TH_FULL_COLLECTION_EXIT_PAUSE;
}

static bool
fits(void)
{
	if (th_full_collection_fits(th_collections_heap_kept(), th_collections_mean_pause()))
		return true;
	th_log_note(0, "no collection at exit: it might take more than 2 s");
	return false;
}

static bool
is_useful(uint64_t now)
{
	if (full.plan.at_exit == TH_GC_AT_EXIT_ALWAYS)
		return true;
	return th_admission_wants(TH_HEAP_JAVA) && now - full.begun >= EXIT_LEAST_NS &&
	       !is_judged(now) && fits();
}

/*
 * Cleaners and finalizers run on threads of their own, which need a processor.  What they free, and
 * the threads that they end, show what the program has not closed, so the end waits for more of it.
 */
static void
await_cleaners(void)
{
	uint64_t before = th_live_blocks_count() - th_thread_starts_ended();
	int quiet = 0;

	for (int i = 0; i < CLEANERS_NAPS && quiet < QUIET_NAPS && is_awaited(); i++) {
		th_system_nap(CLEANERS_NAP_NS);
		uint64_t now = th_live_blocks_count() - th_thread_starts_ended();
		quiet = now == before ? quiet + 1 : 0;
		before = now;
	}
}

/* Whether that much time is left of the wait for threads. */
static bool
has_time(uint64_t ns)
{
	return is_awaited() && th_clock_now() - full.exit_begun + ns < THREADS_WAIT_NS;
}

/* True: many threads have ended, and the heap was collected once more. */
static bool
await_threads(jvmtiEnv *jvmti)
{
	uint64_t ended = th_thread_starts_ended();
	bool go_on = ended != full.ended || th_thread_starts_alive() >= THREADS_MANY;

	while (go_on && has_time(THREADS_NAP_NS)) {
		uint64_t before = ended;

		th_system_nap(THREADS_NAP_NS);
		ended = th_thread_starts_ended();
		go_on = ended != before;
	}
	return ended - full.ended >= THREADS_HOLD && has_time(2 * full.exit_took) &&
	       collect(jvmti, true);
}

static void
end_wait(void)
{
	/* Pairs with the acquire in is_awaited(): deaths are in the log. */
	th_store_release(&full.exit, th_clock_now());
}

void
th_full_collection_exit_turn(jvmtiEnv *jvmti, void (*log)(void))
{
	if (!is_awaited())
		return;
	/* Threads are judged before it; on a busy machine the last figures are old. */
	th_thread_starts_log();
	full.ended = th_thread_starts_ended();
	if (is_useful(th_clock_now()) &&
		collect_or_note(jvmti, true, &full.exit_begun) == TH_CONTROL_DONE) {
		full.exit_took = th_clock_now() - full.exit_begun;
		await_cleaners();
		th_control_log("gc at exit", th_clock_now() - full.exit_begun);
		log();
		if (await_threads(jvmti))
			log();
	}
	end_wait();
}

bool
th_full_collection_abandon(void)
{
	uint64_t wanted = WANTED;

	return th_cas_acq_rel(&full.exit, &wanted, th_clock_now());
}

/* True: it is wanted, by this call or an earlier one. */
static bool
want_at_exit(void)
{
	uint64_t over = th_load_acquire(&full.exit);

	if (over && over != WANTED && th_clock_now() - over < SAME_END_NS)
		return false;
	th_cas_acq_rel(&full.exit, &over, WANTED);
	return true;
}

void
th_full_collection_at_exit(void)
{
	if (!th_load_acquire(&full.is_served) || full.plan.at_exit == TH_GC_AT_EXIT_NEVER ||
		!want_at_exit())
		return;
	th_server_wake();
	for (int i = 0; i < WAIT_NAPS; i++) {
		if (!is_awaited() || !th_load_acquire(&full.is_served))
			return;
		th_system_nap(WAIT_NAP_NS);
	}
	/* No other thread waits for it, and it does not begin any more. */
	end_wait();
	th_log_note(1, "the collection at exit did not end in time");
}
