/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of HotSpot, read at attach from the tables it exports for the serviceability agent
 * (vmStructs.cpp): offsets of fields and values of constants, looked up by name.  A missing
 * name disables only the features that need it.
 */
#ifndef TH_JVMTI_VM_HOTSPOT_H
#define TH_JVMTI_VM_HOTSPOT_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Offsets are in bytes from the start of the structure named above the group; -1: not exported.
 */
struct th_hotspot {
	/* JavaThread */
	int64_t env;             /* its JNIEnv */
	int64_t thread_state;    /* int: one of the states below */
	int64_t last_java_sp;    /* JavaFrameAnchor: the youngest Java frame; 0 = none */
	int64_t last_java_pc;    /* where it will return to; 0 = not yet determined by the VM */
	int64_t last_java_fp;    /* its frame pointer; 0 = unknown */
	int64_t allocated_bytes; /* jlong: bytes of retired TLABs and large objects */
	int64_t tlab_start;      /* current TLAB */
	int64_t tlab_top;
	int64_t tlab_end; /* limit for compiled code: the next sample, or the real end */
	int64_t tlab_desired_size;       /* size_t, words: of the thread's next TLAB */
	int64_t tlab_refill_waste_limit; /* size_t, words: the fields after it are not exported */
	int64_t stack_base;              /* highest address of the thread's stack */
	int64_t stack_size;
	/* Handles, pointers to an oop: equal unless a virtual thread is mounted. */
	int64_t thread_object;
	int64_t virtual_thread;
	int64_t unpacking; /* a pointer; not NULL while frames are laid out after deoptimization */
	/* JavaCallWrapper */
	int64_t wrapper_last_java_sp; /* last_java_sp of the saved anchor */
	/* Thread states. */
	int64_t state_in_native;
	int64_t state_in_java;
	/* Bits 1 << state. */
	uint32_t walkable_states; /* outside Java code, with Java frames below */
	/* Entry frame: words from its frame pointer to the JavaCallWrapper*. */
	int64_t entry_frame_wrapper;
	/* CollectedHeap: its reserved range. */
	int64_t heap_start;
	int64_t heap_words;
	int64_t total_collections; /* unsigned: collections begun */
	/* G1CollectedHeap: its table of regions, indexed by address >> shift. */
	int64_t g1_regions; /* G1HeapRegion** */
	int64_t g1_shift;   /* unsigned */
	/* G1HeapRegion */
	int64_t g1_tag; /* unsigned: region type */
	int64_t g1_starts_humongous;
	/* Command-line flags. */
	const char *flags;
	uint64_t flag_count;
	uint64_t flag_bytes; /* size of one flag */
	int64_t flag_name;
	int64_t flag_address;
	/* GrowableArray of pointers */
	int64_t array_length; /* int */
	int64_t array_data;
	/* CodeHeap: bounds of the reserved range, and of its committed part. */
	int64_t code_heap_start;
	int64_t code_heap_end;
	int64_t code_heap_low;
	int64_t code_heap_high;
	int64_t code_heap_segments; /* its segment map: one byte per segment */
	int64_t code_heap_log2;     /* int: log2 of the segment size in bytes */
	/* bytes between the start of a block and the CodeBlob inside it */
	int64_t code_block_header;
	/* CodeBlob */
	int64_t blob_name;        /* const char* */
	int64_t blob_frame_size;  /* int: words, including the return address; 0 = no frame */
	int64_t blob_bytes;       /* int: its size */
	int64_t blob_code;        /* the address of its code, up to 22 */
	int64_t blob_code_offset; /* int: from its start to its code, from 23 on */
	int64_t blob_data;        /* int: offset of its data */
	int64_t blob_mutable;     /* an address, from 25 on */
	int64_t blob_relocation_size; /* int: where the metadata begin in it */
	/* nmethod */
	int64_t code_method;     /* Method* */
	int64_t code_compile_id; /* int: each compilation has its own */
	int64_t code_stub_offset; /* int: where the code ends, and its handlers begin, from its CodeBlob */
	int64_t code_original_pc; /* int: from the stack pointer, the pc of a frame to deoptimize */
	int64_t code_immutable; /* the address that the offsets of scopes are from, from 23 on */
	int64_t code_pcs;       /* int: offset of the table of PcDesc */
	int64_t code_pcs_end;   /* int */
	int64_t code_scopes;    /* the address of the scopes, up to 22 */
	int64_t code_scopes_offset; /* int: from 23 on */
	int64_t code_metadata; /* int: offset from the CodeBlob, up to 22; u2, from its data: 23, 24 */
	/* Method, and its fixed part, which its bytecodes follow */
	int64_t method_fixed;     /* ConstMethod* */
	int64_t method_access;    /* u2: access flags */
	int64_t fixed_bytes;      /* size of the type */
	int64_t fixed_pool;       /* ConstantPool* */
	int64_t fixed_flags;      /* u2 */
	uint32_t fixed_has_lines; /* the flag: a line number table follows the bytecodes */
	int64_t fixed_code_bytes; /* u2: of its bytecodes */
	int64_t fixed_name;       /* u2: index in the pool */
	int64_t fixed_signature;  /* u2 */
	/* ConstantPool, followed by its entries */
	int64_t pool_bytes;   /* size of the type */
	int64_t pool_length;  /* int */
	int64_t pool_holder;  /* InstanceKlass* */
	int64_t pool_source;  /* u2: index of the name of the source file, from 15 on */
	int64_t class_source; /* the same in InstanceKlass */
	int64_t class_name;   /* Klass: Symbol* */
	/* Symbol */
	int64_t symbol_length; /* u2 */
	int64_t symbol_text;
	/* Addresses. */
	const uintptr_t *collected_heap; /* Universe::_collectedHeap */
	const size_t *g1_region_bytes;   /* G1HeapRegion::GrainBytes */
	const uintptr_t *code_heaps;     /* a GrowableArray of CodeHeaps: CodeCache::_heaps */
	const uintptr_t *code_low;       /* bounds of the code cache: 0 until it exists */
	const uintptr_t *code_high;
	const uintptr_t *perf_data;        /* start of the performance counters */
	const uintptr_t *call_stub_return; /* return address of Java methods called by the VM */
	const uintptr_t *interpreter_code; /* a StubQueue: AbstractInterpreter::_code */
	int64_t queue_start;
	int64_t queue_bytes;                /* int */
	const uintptr_t *global_references; /* OopStorage of JNI: JNIHandles::_global_handles */
	const uintptr_t *weak_references;   /* JNIHandles::_weak_global_handles */
	const void *export_flag;            /* JvmtiExport::_can_post_on_exceptions, a byte */
};

/*
 * `find_symbol` (dlsym) looks up the VM's symbols in `libjvm`.  `miss` is called for each name that
 * every supported release exports and this VM does not; `type` is NULL for symbols and constants.
 */
struct th_hotspot_source {
	void *(*find_symbol)(void *handle, const char *name);
	void *libjvm;
	void (*miss)(const char *type, const char *name);
};

/* A function of libjvm; NULL: missed. */
void *th_hotspot_symbol(const struct th_hotspot_source *source, const char *name);

/* Reads the tables.  False: not HotSpot, or HotSpot without the tables. */
bool th_hotspot_read(struct th_hotspot *hotspot, const struct th_hotspot_source *source);

/*
 * Finds the offset of the JNIEnv in a JavaThread, from the calling thread's own
 * java.lang.Thread.  In the live phase. [jvmti]
 */
bool th_hotspot_find_env(struct th_hotspot *hotspot, JNIEnv *env);

/* The JavaThread of a thread's JNIEnv. [in-malloc] */
static inline char *
th_hotspot_thread(const struct th_hotspot *hotspot, JNIEnv *env)
{
	return (char *)env - hotspot->env;
}

/* The value of a command-line flag of the VM, in its own type; NULL: no such flag. */
const void *th_hotspot_flag(const struct th_hotspot *hotspot, const char *name);
/* Whether `state` of a thread is one of `states`. [in-malloc] */
static inline bool
th_hotspot_is_state(uint32_t states, int32_t state)
{
	return state >= 0 && state < 32 && states >> state & 1;
}

/* True when native samples can get their Java frames. */
bool th_hotspot_has_frames(const struct th_hotspot *hotspot);
/* True when the older native segments of a stack can be found. */
bool th_hotspot_has_seams(const struct th_hotspot *hotspot);
/* True when the heaps of the code cache can be read. */
bool th_hotspot_has_code_heaps(const struct th_hotspot *hotspot);
/* True when code blobs can be found and stub frames unwound (stub_frames.h). */
bool th_hotspot_has_stubs(const struct th_hotspot *hotspot);
/* True when Java frames can be walked (java_frames.h). */
bool th_hotspot_has_java_frames(const struct th_hotspot *hotspot);
/* The state of a JavaThread. [any] */
int32_t th_hotspot_state(const struct th_hotspot *hotspot, const char *thread);

/*
 * Whether a virtual thread is mounted on the JavaThread: its frames that are still in the heap are not
 * on the stack.  The words of both handles may differ for a moment while a collector moves
 * the object.  `otherwise`: the answer if the VM does not export them. [any]
 */
bool th_hotspot_is_virtual(const struct th_hotspot *hotspot, uintptr_t thread, bool otherwise);

/* Whether `word` is in the code cache. [any] */
static inline bool
th_hotspot_is_code(const struct th_hotspot *hotspot, uintptr_t word)
{
	return word - *hotspot->code_low < *hotspot->code_high - *hotspot->code_low;
}

/* The range of the interpreter's code, which exists; 0 bytes: unknown. */
void th_hotspot_interpreter(
	const struct th_hotspot *hotspot, uintptr_t *low_ret, uintptr_t *bytes_ret);

/* True when a thread's exact bytes and its TLAB can be read. */
bool th_hotspot_has_bytes(const struct th_hotspot *hotspot);

#endif
