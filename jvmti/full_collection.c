/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM may return without having collected: Serial and Parallel skip a collection while a
 * thread is in a JNI critical section.  Its own counters tell, so a skipped one is tried again.
 */
#include "jvmti/full_collection.h"

#include <stdbool.h>

#include "jvmti/collections.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/recording/control.h"
#include "unify/shared/clock.h"

/* Attempts, and the time between two. */
#define ATTEMPTS 50
#define NAP_NS (2 * TH_COLLECTIONS_COUNT_NS)

static struct {
	uint64_t period; /* ns; 0 = none */
	uint64_t next;
} full;

void
th_full_collection_start(uint64_t period)
{
	full.period = period;
	full.next = th_clock_now() + period;
	th_control_set_collects(true);
}

void
th_full_collection_stop(void)
{
	full.period = 0;
	th_control_set_collects(false);
}

/* Returns after the VM has updated its counters. */
static bool
collect(jvmtiEnv *jvmti)
{
	uint64_t before = th_collections_old();

	for (int i = 0; i < ATTEMPTS; i++) {
		if ((*jvmti)->ForceGarbageCollection(jvmti))
			return false;
		th_system_nap(NAP_NS);
		if (th_collections_old() != before)
			break;
	}
	th_collections_watch_full();
	return th_collections_old() != before;
}

uint64_t
th_full_collection_next(void)
{
	return full.period ? full.next : UINT64_MAX;
}

static enum th_control_answer
collect_or_note(jvmtiEnv *jvmti)
{
	if (collect(jvmti))
		return TH_CONTROL_DONE;
	th_log_note(1, "the VM did not run a requested full collection: a thread may stay in a "
		       "JNI critical section");
	return TH_CONTROL_FAILED;
}

void
th_full_collection_turn(jvmtiEnv *jvmti)
{
	if (th_control_wants_collection())
		th_control_collected(collect_or_note(jvmti));
	else if (full.period && th_clock_now() >= full.next)
		collect_or_note(jvmti);
	else
		return;
	full.next = th_clock_now() + full.period;
}
