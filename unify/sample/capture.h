/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stack out of native and Java frames, as a number that the log knows.
 *
 * The native frames come from unwind.h, or libunwind.h on demand.  Where they reach code of the JVM, a provider, which
 * jvmti/ registers, says which Java frames stand there and where the next older native segment
 * begins; here the pieces are only joined.
 */
#ifndef TH_UNIFY_SAMPLE_CAPTURE_H
#define TH_UNIFY_SAMPLE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/unwind/unwind.h"

/* A run of Java frames with nothing native between them, and the native run below it. */
struct th_java_segment {
	uint32_t begin; /* index into th_java_stack.frames, leaf first */
	uint32_t end;
	bool has_native;            /* `native` is set: walk on from there */
	struct th_registers native; /* the C++ caller of the VM's call stub */
};

#define TH_JAVA_SEGMENTS_MAX 64

struct th_java_stack {
	uint64_t *frames; /* room for `capacity` frame words; ours */
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

/* Stacks have up to `depth` frames; the root end of deeper ones is cut. */
void th_capture_start(uint32_t depth);

/* Who walks native frames from now on; th_unwind() does at first, and in a forked child. */
void th_capture_set_unwinder(th_unwind_function *unwinder);

/*
 * Registers the source of Java frames (`provider` stays the caller's and must outlive its use),
 * or takes it back with NULL, returning when no capture uses it any more (at most a second).
 */
void th_capture_set_java(const struct th_java_provider *provider);

/*
 * The stack of the calling thread (by its id) as of `registers`; 0: it was dropped, and counted.
 * Within a capture (flight.h). [in-malloc]
 */
uint32_t
th_capture_stack(const struct th_registers *registers, uint32_t thread, enum th_heap heap);

/* The stack that is one address, the return address of a call; 0 as above. [in-malloc] */
uint32_t th_capture_caller(uintptr_t caller);

/* In a forked child: back to the state before th_capture_start(). */
void th_capture_reset(void);

#endif
