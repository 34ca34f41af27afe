/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full collections of the Java heap, on request (`ctl PID gc`) or at regular intervals: they
 * judge old objects, which otherwise may not happen for hours.  The application stands still
 * meanwhile, or allocates on under a concurrent collector, as at System.gc().
 */
#ifndef TH_JVMTI_FULL_COLLECTION_H
#define TH_JVMTI_FULL_COLLECTION_H

#include <jvmti.h>
#include <stdint.h>

/* `period` in nanoseconds, from the end of one collection to the next; 0 = on request only. */
void th_full_collection_start(uint64_t period);

/* Collects if it is due or was requested.  Not under a lock. [agent-thread] */
void th_full_collection_turn(jvmtiEnv *jvmti);

/* When a regular one is due (ns); UINT64_MAX: never. [agent-thread] */
uint64_t th_full_collection_next(void);

/* Refuses further requests. [agent-thread] */
void th_full_collection_stop(void);

#endif
