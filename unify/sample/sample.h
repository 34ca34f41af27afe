/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline from a due sample to the log, the same for all heaps:
 *
 *   admission   whether the heap is sampled at present  (the caller, admission.h)
 *   stack       known by its key, or captured, as an id in the log  (stack_memo.h, capture.h)
 *   name        the thread's, if the log does not have it yet   (thread.h)
 *   append      the event, and the tracking of its heap         (the caller)
 *
 * It runs under the guard, within a capture in flight (in_flight.h), on the allocating thread.
 * Each step counts the samples that it drops: due = recorded + dropped.
 */
#ifndef TH_UNIFY_SAMPLE_SAMPLE_H
#define TH_UNIFY_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/unwind/unwind.h"

struct th_thread_record;

/* Common first fields of the events of all heaps: NATIVE_ALLOC, JAVA_ALLOC, MAPPED_ALLOC. */
struct th_event_alloc {
	struct th_log_record record;
	uint64_t time;
	uint64_t size;
	uint64_t interval;
	uint64_t bytes; /* exact total: of the thread, or of the kind of mapping */
	uint32_t thread;
	uint32_t stack;
};

struct th_sample;

/* The heap-specific steps. */
struct th_sample_lane {
	enum th_heap heap;
	/* The key of its stack (stack_memo.h); 0: there is none.  NULL: th_capture_key(). */
	uint64_t (*key)(const struct th_sample *sample);
	/* For each sample, before its stack is captured.  NULL: nothing to do. */
	void (*prepare)(struct th_sample *sample);
	/*
	 * What samples with one key of a stack have in common besides the stack: `detail`.  NULL:
	 * nothing.
	 */
	uint32_t (*detail)(const struct th_sample *sample);
	/* Writes the complete event.  Returns the id of the sample; 0: dropped, counted. */
	uint64_t (*append)(struct th_sample *sample);
};

struct th_sample {
	const struct th_sample_lane *lane;
	struct th_thread_record
		*record;              /* of the calling thread; NULL only without registers */
	uint64_t now;                 /* ns, read once for all steps */
	uintptr_t caller;             /* a return address, see th_sample_take() */
	struct th_event_alloc *event; /* the start of the lane's own event */
	uint32_t detail;              /* of the lane; written by th_sample_take() */
	void *data;                   /* private to the lane */
};

/*
 * Takes a sample that is due and admitted: sets time, thread and stack of its event and
 * lets the lane append it.  Returns its id; 0: it was dropped, and counted.
 * `registers`: of the function at which the walk starts; NULL in contexts in which nothing may
 * allocate or wait: its stack is then sample->caller. [in-malloc]
 */
uint64_t th_sample_take(struct th_sample *sample, const struct th_registers *registers);

/*
 * The id of the calling thread's stack, for something else than a sample; 0: it was dropped, and counted.
 * `salt`: a random number of the caller, by which its keys differ from those of samples; 0: its stack is
 * captured in any case.  Within a capture in flight, under the guard. [any]
 */
uint32_t th_sample_stack(
	const struct th_registers *registers, enum th_heap heap, uint64_t salt, uint64_t now);

/*
 * Counts a sample as dropped that is due when recording has ended or the log belongs to another
 * process. [in-malloc]
 */
void th_sample_drop(void);

/*
 * Registers periodic work for processes without a library thread: th_sample_tick() calls `run`
 * within a capture, th_sample_tick_end() calls `finish` after one.  Neither may wait.  Before
 * recording begins.
 */
void th_sample_on_tick(void (*run)(uint64_t now), void (*finish)(void));

/* Runs the periodic work, if any; called when a sample is due. [in-malloc] */
void th_sample_tick(uint64_t now);
void th_sample_tick_end(void);

#endif
