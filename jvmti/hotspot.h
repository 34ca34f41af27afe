/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HotSpot tells about itself through the tables it exports for the serviceability agent
 * (vmStructs.cpp): offsets of fields, values of constants, all looked up by name at attach.  A
 * name that is missing switches off what needs it, nothing else.
 */
#ifndef TH_JVMTI_HOTSPOT_H
#define TH_JVMTI_HOTSPOT_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

/* Offsets are in bytes from the start of the JavaThread, -1 where the VM does not tell. */
struct th_hotspot {
	/* Of a JavaThread. */
	int64_t env;             /* its JNIEnv */
	int64_t thread_state;    /* int: one of the states below */
	int64_t last_java_sp;    /* JavaFrameAnchor: the youngest Java frame; 0 = none */
	int64_t last_java_pc;    /* where it will return to; 0 = the VM has not looked it up */
	int64_t last_java_fp;    /* its frame pointer; 0 = not known */
	int64_t allocated_bytes; /* jlong: what retired TLABs and large objects took */
	int64_t tlab_start;      /* current TLAB */
	int64_t tlab_top;
	int64_t tlab_end;   /* where compiled code stops: the next sample, or the real end */
	int64_t stack_base; /* highest address of the thread's stack */
	/* Of a JavaCallWrapper. */
	int64_t wrapper_last_java_sp; /* the saved anchor's */
	int64_t wrapper_callee;       /* Method* that the VM called */
	/* States of a thread. */
	int64_t state_in_native;
	int64_t state_in_java;
	/* Bits 1 << state. */
	uint32_t walkable_states; /* outside of Java code, with frames of Java code below */
	uint32_t
		own_states; /* of these: no other thread reads its stack until it leaves them */
	/* Of an entry frame: words from its frame pointer to the JavaCallWrapper*. */
	int64_t entry_frame_wrapper;
	/* Of a CollectedHeap: its reserved range. */
	int64_t heap_start;
	int64_t heap_words;
	int64_t total_collections; /* unsigned: collections begun */
	/* Of a G1CollectedHeap: its table of regions, by address >> shift. */
	int64_t g1_regions; /* G1HeapRegion** */
	int64_t g1_shift;   /* unsigned */
	/* Of a G1HeapRegion. */
	int64_t g1_tag; /* unsigned: what it is used for */
	int64_t g1_starts_humongous;
	/* The command-line flags. */
	const char *flags;
	uint64_t flag_count;
	uint64_t flag_bytes; /* size of one */
	int64_t flag_name;
	int64_t flag_address;
	/* Of a GrowableArray of pointers. */
	int64_t array_length; /* int */
	int64_t array_data;
	/* Of a CodeHeap: bounds of what it has reserved, and of what of that is committed. */
	int64_t code_heap_start;
	int64_t code_heap_end;
	int64_t code_heap_low;
	int64_t code_heap_high;
	int64_t code_heap_segments; /* its segment map: a byte a segment */
	int64_t code_heap_log2;     /* int: log2 of the bytes of a segment */
	int64_t code_block_header;  /* bytes between a block of it and the CodeBlob inside */
	/* Of a CodeBlob. */
	int64_t blob_name;       /* const char* */
	int64_t blob_frame_size; /* int: words, the return address included; 0 = no frame */
	/* Addresses. */
	const uintptr_t *collected_heap; /* Universe::_collectedHeap */
	const size_t *g1_region_bytes;   /* G1HeapRegion::GrainBytes */
	const uintptr_t *code_heaps;     /* a GrowableArray of CodeHeaps: CodeCache::_heaps */
	const uintptr_t *code_low;       /* bounds of the code cache: 0 until it is there */
	const uintptr_t *code_high;
	const uintptr_t *perf_data;        /* start of the performance counters */
	const uintptr_t *call_stub_return; /* where Java methods called by the VM return to */
};

/* The VM's symbols are looked up by `find_symbol` (dlsym) in `libjvm`. */
struct th_hotspot_source {
	void *(*find_symbol)(void *handle, const char *name);
	void *libjvm;
};

/* Reads the tables.  False: not HotSpot, or a HotSpot without them. */
bool th_hotspot_read(struct th_hotspot *hotspot, const struct th_hotspot_source *source);

/*
 * Learns where in a JavaThread its JNIEnv lies, from the calling thread's own java.lang.Thread.
 * In the live phase. [jvmti]
 */
bool th_hotspot_find_env(struct th_hotspot *hotspot, JNIEnv *env);

/* The JavaThread of a thread's JNIEnv. [in-malloc] */
static inline char *
th_hotspot_thread(const struct th_hotspot *hotspot, JNIEnv *env)
{
	return (char *)env - hotspot->env;
}

/* The value of a command-line flag of the VM, in its own type; NULL: it has none of that name. */
const void *th_hotspot_flag(const struct th_hotspot *hotspot, const char *name);
/* Whether `state` of a thread is among `states`. [in-malloc] */
static inline bool
th_hotspot_is_state(uint32_t states, int32_t state)
{
	return state >= 0 && state < 32 && states >> state & 1;
}

/* True when native samples can get their Java frames. */
bool th_hotspot_has_frames(const struct th_hotspot *hotspot);
/* True when older native segments can be found. */
bool th_hotspot_has_seams(const struct th_hotspot *hotspot);
/* True when the heaps of the code cache can be looked at. */
bool th_hotspot_has_code_heaps(const struct th_hotspot *hotspot);
/* True when blobs of code can be found, and frames of stubs be left (runtime_stub.h). */
bool th_hotspot_has_stubs(const struct th_hotspot *hotspot);
/* True when a thread's exact bytes and its TLAB can be read. */
bool th_hotspot_has_bytes(const struct th_hotspot *hotspot);

/* Exact Java bytes that the JavaThread at `thread` has allocated; it must be the caller's own. */
static inline uint64_t
th_hotspot_bytes(const struct th_hotspot *hotspot, const char *thread)
{
	uintptr_t start = *(const uintptr_t *)(const void *)(thread + hotspot->tlab_start);
	uintptr_t top = *(const uintptr_t *)(const void *)(thread + hotspot->tlab_top);

	return *(const uint64_t *)(const void *)(thread + hotspot->allocated_bytes) +
	       (top - start);
}

#endif
