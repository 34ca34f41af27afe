/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording as a whole, and samples of mapped memory and of the Java heap; those of the C heap:
 * native.h.  For each, one stack is captured (capture.h), if the pace allows it (pace.h), and the
 * sample is appended to the log.
 */
#ifndef TH_UNIFY_RECORDING_RECORDER_H
#define TH_UNIFY_RECORDING_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

struct th_recorder_settings {
	uint64_t interval; /* mean bytes between samples; 0 = every allocation */
	uint64_t rate;     /* samples a second to stay below, both heaps together; 0 = no cap */
	uint64_t rate_free;  /* samples that the rate leaves alone, once */
	uint64_t overhead;   /* millionths of the process's CPU time to keep to; 0 = any */
	uint32_t depth;      /* frames per stack; the root end of deeper ones is cut */
	bool native;         /* sample the C heap; what is in force: gate.h */
	bool has_malloc;     /* malloc reaches us: the C heap can be sampled */
	bool mapped;         /* sample mapped memory */
	bool has_mmap;       /* the functions that map memory reach us: follow what they map */
	uint64_t seed;       /* of the samplers that belong to no thread */
	bool java;           /* sample the Java heap */
	const char *threads; /* only those whose name matches (glob.h); NULL or "" = all */
};

/*
 * Lets the first sample that is due begin the recording: `begin` is to call th_recorder_start(), or
 * th_recorder_stop().  For a process that is to create no log before it has a sample.
 */
void th_recorder_wait(const struct th_recorder_settings *settings, void (*begin)(void));

/*
 * Maps the tables and begins to record into the log, which must be there: the calling thread at
 * once, others that were there before when they have allocated some MiB.  False: no memory.
 * Not from the malloc path.
 */
bool th_recorder_start(const struct th_recorder_settings *settings);

/* Ends recording; captures in flight are waited for, at most a second. [any] */
void th_recorder_stop(void);

/*
 * Ends recording for good: serves a last request, writes the exact bytes of all threads and closes
 * the log.  Once; under the guard, not within a capture. [any]
 */
void th_recorder_end(void);

/* Brings the counters in the log's header up to date. [any] */
void th_recorder_refresh(void);

/* In a forked child: back to the state before th_recorder_start. */
void th_recorder_reset(void);

/* A Java object that the VM's sampler chose, on the allocating thread. */
struct th_java_object {
	uint64_t size;
	uint64_t interval;
	uint64_t thread_bytes; /* exact; 0 = unknown */
	double keep;           /* from th_throttle_keeps() */
	uint32_t class_id;
	uint32_t flags; /* enum th_java_alloc_flag */
	uint32_t stack; /* set by th_recorder_java(): its id in the log */
};

/* Records an object; returns the sample's id, 0 if it was dropped.  [jvmti] */
uint64_t th_recorder_java(struct th_java_object *object);

/*
 * A piece of mapped memory is due: fills in time, keep, thread and stack and records it.  Returns
 * the sample's id, 0 if it was dropped or thinned out.  `caller` is the return address of the
 * function that mapped it.  An arena of the allocator behind malloc may come while that holds its
 * locks: nothing is called then that could allocate, and the caller is all of the stack. The guard
 * must be held. [in-malloc]
 */
uint64_t th_recorder_mapped(struct th_event_mapped_alloc *event, uintptr_t caller);

/* What th_recorder_start was given. [any] */
const struct th_recorder_settings *th_recorder_settings(void);

#endif
