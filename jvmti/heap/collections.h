/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collections: their times and kinds, and the heap in use after them.
 *
 * The VM reports the start and end from within the collection, where no JVMTI or JNI function
 * may be called.  The callbacks wake the agent thread, which then queries the VM.
 */
#ifndef TH_JVMTI_HEAP_COLLECTIONS_H
#define TH_JVMTI_HEAP_COLLECTIONS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/heap/collector.h"

void th_collections_init(enum th_collector collector);

/* The event callbacks. */
void JNICALL th_collections_started(jvmtiEnv *jvmti);
void JNICALL th_collections_finished(jvmtiEnv *jvmti);

/*
 * Writes the pending COLLECTION records, and a HEAP_USE at most ten times a second: one that is
 * left out is written by a later call.  True when objects may have died since the last call.  For
 * a collector that clears references after its pauses, it returns true again some time later.
 * [agent-thread]
 */
bool th_collections_log(void);

/* Also the HEAP_USE that was left out last. [agent-thread] */
void th_collections_log_all(void);

/* When the next th_collections_log() is due (ns). [agent-thread] */
uint64_t th_collections_next(uint64_t now);

/*
 * Writes the pending COLLECTION records, at the end of the recording also on another thread after
 * the agent thread has ended.
 */
void th_collections_flush(void);

/*
 * Collections so far that judged old objects, by the VM's own counters, which are up to date
 * TH_COLLECTIONS_COUNT_NS after the end of one; pauses, if the VM has no such counters.
 * [agent-thread]
 */
#define TH_COLLECTIONS_COUNT_NS 10000000
uint64_t th_collections_old(void);

/*
 * Bytes in use after the last collection, or now if that is less; 0: this VM does not export them.
 * [agent-thread]
 */
uint64_t th_collections_heap_kept(void);

/*
 * Objects and class loaders made before this time (ns) were judged; 0: none were, or this VM has no
 * counters by kind. [agent-thread]
 */
uint64_t th_collections_judged(void);

/* The pauses that are not logged yet belong to a requested full collection. [agent-thread] */
void th_collections_forced(void);

/* Pauses so far. [agent-thread] */
uint32_t th_collections_count(void);

/*
 * Mean length of the last 64 pauses in nanoseconds; 0: fewer than 16 so far, or they process no
 * references. [agent-thread]
 */
uint64_t th_collections_mean_pause(void);

#endif
