/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures one stack of native and Java frames and returns its id in the log.
 *
 * Native frames come from unwind.h, or from libunwind.h on demand.  Where they reach code of
 * the JVM, a provider, registered by jvmti/, returns the Java frames and the start of the next
 * older native segment; this module joins the segments.
 */
#ifndef TH_UNIFY_SAMPLE_CAPTURE_H
#define TH_UNIFY_SAMPLE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/unwind/unwind.h"

/* A run of consecutive Java frames, and the native segment below it. */
struct th_java_segment {
	uint32_t begin; /* index into th_java_stack.frames, leaf first */
	uint32_t end;
	bool has_native;            /* `native` is set: the walk continues there */
	struct th_registers native; /* the C++ caller of the VM's call stub */
};

#define TH_JAVA_SEGMENTS_MAX 64
#define TH_NO_JAVA_CODE 1

struct th_java_stack {
	uint64_t *frames; /* space for `capacity` frame words; owned by capture.c */
	void *raw;        /* space for `capacity` items of TH_JAVA_RAW_BYTES; the provider's */
	uint32_t capacity;
	struct th_registers
		top;       /* where the native walk reached the VM's code; pc 0: it did not */
	enum th_heap heap; /* JAVA: the walk runs in a JVMTI callback; else inside malloc */
	uint32_t count;
	uint32_t flags; /* enum th_stack_flag */
	uint32_t segment_count;
	struct th_java_segment segments[TH_JAVA_SEGMENTS_MAX];
};
#define TH_JAVA_RAW_BYTES 16

enum th_java_status {
	TH_JAVA_NONE, /* not a Java thread, or it has no Java frames */
	TH_JAVA_FOUND,
	TH_JAVA_IN_JAVA, /* the VM's code called C without leaving the Java state */
	TH_JAVA_FAILED,
	TH_JAVA_STARTING, /* the VM is starting and cannot be queried */
};

struct th_java_provider {
	/* Addresses of the VM's bounds of the code cache: they hold 0 until it exists. */
	const uintptr_t *code_low;
	const uintptr_t *code_high;
	/* Fills `stack` for the calling thread.  The guard must be held. [in-malloc] */
	enum th_java_status (*walk)(struct th_java_stack *stack);
	/*
	 * A hash of the youngest Java code of the calling thread, in some 50 ns; TH_NO_JAVA_CODE:
	 * it has none; 0: the code does not determine the methods.  [in-malloc]
	 */
	uint64_t (*key)(void);
	/*
	 * The end of the calling thread's stack if the caller runs on it, 0 if it is unknown.
	 * NULL: it always is.  [in-malloc]
	 */
	uintptr_t (*stack_end)(void);
};

/* Sets the maximum number of frames; the root end of deeper stacks is cut. */
void th_capture_start(uint32_t depth);

/* Sets the unwinder of native frames; th_unwind() initially, and in a forked child. */
void th_capture_set_unwinder(th_unwind_function *unwinder);

/*
 * Registers the source of Java frames (`provider` remains the caller's and must outlive its
 * use), or removes it with NULL, and then returns when no capture uses it any more (at most a
 * second).
 */
void th_capture_set_java(const struct th_java_provider *provider);

struct th_captured_stack {
	uint32_t id;   /* 0: it was dropped, and counted */
	bool is_whole; /* no Java frames are missing */
	uint32_t *use; /* for th_stack_log_use() */
};

/*
 * The calling thread's stack (`thread` is its id) as of `registers`.  Within a capture
 * (in_flight.h). [in-malloc]
 */
struct th_captured_stack
th_capture_stack(const struct th_registers *registers, uint32_t thread, enum th_heap heap);

/*
 * The key of the stack (stack_memo.h): a hash of its depth, of the youngest callers as of `registers`,
 * and of the Java code that called them, in 0.3 us; 0: there is none.  Within a capture (in_flight.h).
 * [in-malloc]
 */
uint64_t th_capture_key(const struct th_registers *registers);

/* The id of a stack of one address, the return address of a call; 0 as above. [in-malloc] */
uint32_t th_capture_caller(uintptr_t caller);

/* In a forked child: restores the state before th_capture_start(). */
void th_capture_reset(void);

#endif
