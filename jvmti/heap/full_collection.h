/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full collections of the Java heap, on request (`ctl PID gc`), at regular intervals, or when the
 * VM begins to end: they judge old objects, which otherwise may not happen for hours.  The
 * application stands still meanwhile, or allocates on under a concurrent collector, as at
 * System.gc().
 */
#ifndef TH_JVMTI_HEAP_FULL_COLLECTION_H
#define TH_JVMTI_HEAP_FULL_COLLECTION_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/shared/settings_table.h"

struct th_full_collection_plan {
	uint64_t period; /* ns from the end of one collection to the next; 0 = none */
	enum th_gc_at_exit at_exit;
};

/* From now on it is due, and done when the VM begins to end, as planned. [agent-thread] */
void th_full_collection_start(const struct th_full_collection_plan *plan);

/* Collects, and logs that it did. [agent-thread] */
enum th_control_answer th_full_collection_run(jvmtiEnv *jvmti);

/* The same if a regular one is due. [agent-thread] */
void th_full_collection_turn(jvmtiEnv *jvmti);

/* When a regular one is due (ns); UINT64_MAX: never. [agent-thread] */
uint64_t th_full_collection_next(void);

/*
 * Takes the last requested collection that the VM has done: the time after which it began, so that
 * older objects were judged by it.  0: none since the last call. [agent-thread]
 */
uint64_t th_full_collection_take(void);

/* None is due any more. [agent-thread] */
void th_full_collection_stop(void);

/*
 * The VM begins to end: has the agent thread collect, if the plan says so, and waits until what
 * it found is in the log, for TH_FULL_COLLECTION_WAIT_S at most, or until it is abandoned.  Must be
 * called before the VM stops its collector, which is before VMDeath.  Within a minute only the first
 * call counts.  [jvmti]
 */
#define TH_FULL_COLLECTION_WAIT_S 2
void th_full_collection_at_exit(void);

/*
 * The end is urgent: whoever waits in th_full_collection_at_exit() returns, and the VM is asked for no
 * further collection.  False: nobody waits. [any]
 */
bool th_full_collection_abandon(void);

/*
 * Does that collection, if it is requested and useful, and has `log` log what died.  Waits while threads
 * keep ending because of it; if many did, the heap is collected once more for what they held.
 * [agent-thread]
 */
void th_full_collection_exit_turn(jvmtiEnv *jvmti, void (*log)(void));

/*
 * With TH_GC_AT_EXIT_AUTO: whether a full collection will end in time, as nothing can end it.  `kept`:
 * heap in use after the last collection, bytes; `pause`: mean of the last pauses, ns, 0 = unknown.
 * The slowest, Serial with objects of 40 bytes, took 2.4 s per GiB (docs/limits.md). [any]
 */
#define TH_FULL_COLLECTION_EXIT_BYTES ((uint64_t)512 << 20)
#define TH_FULL_COLLECTION_EXIT_PAUSE ((uint64_t)200000000)
bool th_full_collection_fits(uint64_t kept, uint64_t pause);

#endif
