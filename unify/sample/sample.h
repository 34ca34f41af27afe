/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way of a due sample into the log, the same for all heaps:
 *
 *   admission   whether the heap and the thread are sampled at present      (the caller, admission.h)
 *   throttle    whether the rate control keeps it, and with which probability        (throttle.h)
 *   capture     its stack, as a number that the log holds                             (capture.h)
 *   name        the thread's, if the log does not hold it yet                          (thread.h)
 *   append      the event, and what its heap follows it by                           (the caller)
 *
 * It runs under the guard, within a capture in flight (in_flight.h), on the allocating thread.
 * Each step counts what it leaves out: due = recorded + thinned + dropped.
 */
#ifndef TH_UNIFY_SAMPLE_SAMPLE_H
#define TH_UNIFY_SAMPLE_SAMPLE_H

#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/unwind/unwind.h"

struct th_thread_record;

/* What the events of all heaps begin with: NATIVE_ALLOC, JAVA_ALLOC, MAPPED_ALLOC. */
struct th_event_alloc {
	struct th_log_record record;
	uint64_t time;
	uint64_t size;
	uint64_t interval;
	double keep;
	uint64_t bytes; /* exact: of the thread, or of the kind of mapping */
	uint32_t thread;
	uint32_t stack;
};

struct th_sample;

/* What differs between the heaps. */
struct th_sample_lane {
	enum th_heap heap;
	/* Completes the event of a sample that the throttle has kept.  NULL: nothing to do. */
	void (*prepare)(struct th_sample *sample);
	/* Writes the event, which is complete.  Returns the sample's id, 0: dropped, counted. */
	uint64_t (*append)(struct th_sample *sample);
};

struct th_sample {
	const struct th_sample_lane *lane;
	struct th_thread_record *record; /* of the calling thread */
	uint64_t now;                    /* ns, read once for everything */
	struct th_event_alloc *event;    /* the beginning of the lane's own event */
	void *data;                      /* the lane's */
};

/*
 * Takes a sample that is due and admitted: fills in time, keep, thread and stack of its event and
 * has the lane append it.  Returns its id; 0: it was thinned out or dropped, and is counted.
 * `registers`: of the function from which the stack is walked. [in-malloc]
 */
uint64_t th_sample_take(struct th_sample *sample, const struct th_registers *registers);

/*
 * The same where nothing may be called that allocates, and nobody may wait: it is always kept, and
 * its stack is the one return address `caller`. [in-malloc]
 */
uint64_t th_sample_take_caller(struct th_sample *sample, uintptr_t caller);

/* A sample is due when recording is over, or not ours: counts it as dropped. [in-malloc] */
void th_sample_drop(void);

/*
 * Work that is due now and then, where no thread of the library does it: `run` is called by
 * th_sample_tick() within a capture, `finish` by th_sample_tick_end() after one.  Neither may wait.
 * Before recording begins.
 */
void th_sample_on_tick(void (*run)(uint64_t now), void (*finish)(void));

/* A sample is due: does that work, if there is any. [in-malloc] */
void th_sample_tick(uint64_t now);
void th_sample_tick_end(void);

#endif
