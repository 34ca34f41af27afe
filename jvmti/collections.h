/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collections: when, of which kind, and how much of the heap was used after them.
 *
 * The VM tells of start and end from within the collection, where nothing may be asked of it; the
 * agent thread is woken and asks at once.
 */
#ifndef TH_JVMTI_COLLECTIONS_H
#define TH_JVMTI_COLLECTIONS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

struct th_collections_vm {
	const char *perf_data; /* PerfMemory::_start, NULL if unknown */
	/* libjvm's JVM_TotalMemory and JVM_FreeMemory, NULL where it has none. */
	jlong (*total_memory)(void);
	jlong (*free_memory)(void);
};

void th_collections_init(const struct th_collections_vm *vm);

/* The event callbacks. */
void JNICALL th_collections_started(jvmtiEnv *jvmti);
void JNICALL th_collections_finished(jvmtiEnv *jvmti);

/*
 * Writes the COLLECTION records that wait and a HEAP_USE.  True when objects may have died since
 * the last call: collectors that clear references after their pauses are looked at again some
 * time later. [agent-thread]
 */
bool th_collections_log(void);

/* Writes what still waits, at the end. [agent-thread] */
void th_collections_flush(void);

/* Pauses so far. [agent-thread] */
uint32_t th_collections_count(void);

/* When the last pause began; 0 = there was none. [agent-thread] */
uint64_t th_collections_last_start(void);

/* Mean length in nanoseconds of the last 64 pauses; 0 = there were fewer than 16. [agent-thread] */
uint64_t th_collections_mean_pause(void);

/*
 * Under Z with generations: looks whether a collection has ended that promotes all objects before
 * it marks, one on demand or for want of memory.  To be called every turn, since it is told by what
 * was seen at the last call.  True while such a one waits to be taken. [agent-thread]
 */
bool th_collections_watch_full(void);

/*
 * Takes the last of those collections.  Returns a time, at most a turn before it began: objects
 * from before that time were judged by it.  0 = none has ended since the last call. [agent-thread]
 */
uint64_t th_collections_take_full(void);

#endif
