/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens when a sample is due: capture one stack out of native and Java frames, intern it,
 * append the sample to the log, keep track of the block.
 *
 * The native frames come from unwind.h.  Where they reach code of the JVM, a provider, which
 * jvmti/ registers, says which Java frames stand there and where the next older native segment
 * begins; the recorder only joins the pieces.
 */
#ifndef TH_UNIFY_RECORDER_H
#define TH_UNIFY_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/log_format.h"
#include "unify/unwind.h"

struct th_thread_record;

struct th_recorder_settings {
	uint64_t interval; /* mean bytes between samples; 0 = every allocation */
	uint64_t rate;     /* samples a second to stay below, both heaps together; 0 = no cap */
	uint64_t rate_free; /* samples that the rate leaves alone, once */
	uint64_t overhead;  /* millionths of the process's CPU time to keep to; 0 = any */
	uint32_t depth;     /* frames per stack; the root end of deeper ones is cut */
	bool native;        /* sample the C heap; what is in force: gate.h */
	bool has_malloc;    /* malloc reaches us: the C heap can be sampled */
	bool mapped;        /* sample mapped memory */
	bool has_mmap;      /* the functions that map memory reach us: follow what they map */
	uint64_t seed;      /* of the samplers that belong to no thread */
	bool java;          /* sample the Java heap */
	const char
		*threads; /* only those whose name matches (expression.h); NULL or "" = all */
};

/* A run of Java frames with nothing native between them, and the native run below it. */
struct th_java_segment {
	uint32_t begin; /* index into th_java_stack.frames, leaf first */
	uint32_t end;
	bool has_native;            /* `native` is set: walk on from there */
	struct th_registers native; /* the C++ caller of the VM's call stub */
};

#define TH_JAVA_SEGMENTS_MAX 64

struct th_java_stack {
	uint64_t *frames; /* room for `capacity` frame words; the recorder's memory */
	void *raw;        /* room for `capacity` items of TH_JAVA_RAW_BYTES, for the provider */
	uint32_t capacity;
	enum th_heap heap; /* JAVA: the walk runs in a JVMTI callback, NATIVE: inside malloc */
	uint32_t count;
	uint32_t flags; /* enum th_stack_flag */
	uint32_t segment_count;
	struct th_java_segment segments[TH_JAVA_SEGMENTS_MAX];
};
#define TH_JAVA_RAW_BYTES 16

enum th_java_status {
	TH_JAVA_NONE, /* not a Java thread, or no Java frame on it */
	TH_JAVA_FOUND,
	TH_JAVA_GC,      /* a collection runs, the VM does not walk stacks */
	TH_JAVA_IN_JAVA, /* compiled code called C without leaving the Java state */
	TH_JAVA_FAILED,
	TH_JAVA_STARTING, /* the VM is not up yet and cannot be asked */
};

struct th_java_provider {
	/* Bounds of the code cache, where the VM keeps them: 0 until it has one. */
	const uintptr_t *code_low;
	const uintptr_t *code_high;
	/* Fills `stack` for the calling thread.  Under the guard. [in-malloc] */
	enum th_java_status (*walk)(struct th_java_stack *stack);
};

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

/* Whether somebody asked for the end (`twinheap ctl stop`), which then is near or past. [any] */
bool th_recorder_is_ending(void);

/*
 * Mean bytes between samples at present: the rate control moves it, never below the setting.
 * [any]
 */
uint64_t th_recorder_interval(void);

/*
 * Lets the rate control look at the time and serves the control page.  Who has a sample due does
 * so, too, where no agent thread does. [any]
 */
void th_recorder_roll(void);

/*
 * From now on, or no longer, a thread calls th_recorder_roll() every 50 ms at least: requests wait
 * for it and are not served inside malloc. [agent-thread]
 */
void th_recorder_set_server(bool has_server);

/* Brings the counters in the log's header up to date. [any] */
void th_recorder_refresh(void);

/* In a forked child: back to the state before th_recorder_start. */
void th_recorder_reset(void);

/*
 * Registers the source of Java frames (`provider` stays the caller's and must outlive its use),
 * or takes it back with NULL, returning when no capture uses it any more (at most a second).
 */
void th_recorder_set_java(const struct th_java_provider *provider);

/*
 * The slow path of every allocation function: this block, which the next allocator returned, took
 * up the countdown of the calling thread.  NULL: it failed, the bytes are given back. Preserves
 * errno. [in-malloc]
 */
void th_recorder_allocated(void *block, size_t size, enum th_alloc_function function);

/*
 * Takes a block that th_live_may_hold() out of the live table, before it is really freed.
 * Returns its sample, 0 if it had none. Preserves errno. [in-malloc]
 */
uint64_t th_recorder_unlink(void *block);

/* The block of that sample was freed. [in-malloc] */
void th_recorder_freed(uint64_t sample);

/* It was not (realloc failed): enters it again. [in-malloc] */
void th_recorder_relink(void *block, uint64_t sample);

/* A Java object that the VM's sampler chose, on the allocating thread. */
struct th_java_object {
	uint64_t size;
	uint64_t interval;
	uint64_t thread_bytes; /* exact; 0 = unknown */
	double keep;           /* from th_recorder_keeps() */
	uint32_t class_id;
	uint32_t flags; /* enum th_java_alloc_flag */
};

/*
 * A sample is due on the calling thread: whether the rate control lets it be recorded, and the
 * probability with which it did.  The guard must be held. [in-malloc]
 */
bool th_recorder_keeps(struct th_thread_record *record, double *keep_ret);

/* Records it; returns the sample's id, 0 if it was dropped.  [jvmti] */
uint64_t th_recorder_java(const struct th_java_object *object);

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
