/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of HotSpot, read at attach from the tables it exports for the serviceability agent
 * (vmStructs.cpp): offsets of fields and values of constants, looked up by name.  A missing
 * name disables only the features that need it.
 */
#ifndef TH_JVMTI_VM_HOTSPOT_H
#define TH_JVMTI_VM_HOTSPOT_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "unify/base/return_address.h"

/*
 * Fields: int64_t, offsets in bytes from the start of their type; -1: not exported.
 *   F(member, type, field)
 *   N(member, type, field)                       that not all releases have
 *   E(member, type, older type, field)           that older releases have in another type
 *   I(member, type, field, inner type, field)    of a field of a field
 */
/* clang-format off */
#define TH_HOTSPOT_FIELDS(F, N, E, I) \
	/* JavaThread; its anchor is that of the youngest Java frame */ \
	F(thread_state, "JavaThread", "_thread_state") /* int: one of the states below */ \
	I(last_java_sp, "JavaThread", "_anchor", "JavaFrameAnchor", "_last_Java_sp") /* 0 = none */ \
	/* 0 = not determined yet */ \
	I(last_java_pc, "JavaThread", "_anchor", "JavaFrameAnchor", "_last_Java_pc") \
	I(last_java_fp, "JavaThread", "_anchor", "JavaFrameAnchor", "_last_Java_fp") /* 0 = unknown */ \
	/* jlong: bytes of retired TLABs and large objects */ \
	F(allocated_bytes, "Thread", "_allocated_bytes") \
	I(tlab_start, "Thread", "_tlab", "ThreadLocalAllocBuffer", "_start") /* current TLAB */ \
	I(tlab_top, "Thread", "_tlab", "ThreadLocalAllocBuffer", "_top") \
	I(tlab_end, "Thread", "_tlab", "ThreadLocalAllocBuffer", "_end") /* or the next sample */ \
	/* size_t, words: of the next one */ \
	I(tlab_desired_size, "Thread", "_tlab", "ThreadLocalAllocBuffer", "_desired_size") \
	/* size_t, words: the fields after it are not exported */ \
	I(tlab_refill_waste_limit, "Thread", "_tlab", "ThreadLocalAllocBuffer", "_refill_waste_limit") \
	/* highest address of the thread's stack */ \
	E(stack_base, "JavaThread", "Thread", "_stack_base") \
	E(stack_size, "JavaThread", "Thread", "_stack_size") \
	/* Handles, pointers to an oop: equal unless a virtual thread is mounted. */ \
	F(thread_object, "JavaThread", "_threadObj") \
	N(virtual_thread, "JavaThread", "_vthread") \
	/* a pointer; not NULL while frames are laid out after deoptimization */ \
	F(unpacking, "JavaThread", "_vframe_array_head") \
	/* of the saved anchor */ \
	I(wrapper_last_java_sp, "JavaCallWrapper", "_anchor", "JavaFrameAnchor", "_last_Java_sp") \
	/* CollectedHeap: its reserved range. */ \
	I(heap_start, "CollectedHeap", "_reserved", "MemRegion", "_start") \
	I(heap_words, "CollectedHeap", "_reserved", "MemRegion", "_word_size") \
	F(total_collections, "CollectedHeap", "_total_collections") /* unsigned: collections begun */ \
	/* Command-line flags. */ \
	F(flag_name, "JVMFlag", "_name") \
	F(flag_address, "JVMFlag", "_addr") \
	/* GrowableArray of pointers */ \
	E(array_length, "GrowableArrayBase", "GenericGrowableArray", "_len") /* int */ \
	F(array_data, "GrowableArray<int>", "_data") \
	/* CodeHeap: bounds of the reserved range, and of its committed part. */ \
	I(code_heap_start, "CodeHeap", "_memory", "VirtualSpace", "_low_boundary") \
	I(code_heap_end, "CodeHeap", "_memory", "VirtualSpace", "_high_boundary") \
	I(code_heap_low, "CodeHeap", "_memory", "VirtualSpace", "_low") \
	I(code_heap_high, "CodeHeap", "_memory", "VirtualSpace", "_high") \
	/* its segment map: one byte per segment */ \
	I(code_heap_segments, "CodeHeap", "_segmap", "VirtualSpace", "_low") \
	/* int: log2 of the segment size in bytes */ \
	F(code_heap_log2, "CodeHeap", "_log2_segment_size") \
	F(queue_start, "StubQueue", "_stub_buffer") \
	F(queue_bytes, "StubQueue", "_buffer_limit") /* int */ \
	/* CodeBlob */ \
	F(blob_name, "CodeBlob", "_name") /* const char* */ \
	F(blob_frame_size, "CodeBlob", "_frame_size") /* int: words, with the return address */ \
	F(blob_bytes, "CodeBlob", "_size") /* int: its size */ \
	N(blob_code, "CodeBlob", "_code_begin") /* the address of its code, up to 22 */ \
	/* int: from its start to its code, from 23 on */ \
	N(blob_code_offset, "CodeBlob", "_code_offset") \
	N(blob_data, "CodeBlob", "_data_offset") /* int: offset of its data */ \
	N(blob_mutable, "CodeBlob", "_mutable_data") /* an address, from 25 on */ \
	/* int: where the metadata begin in it */ \
	N(blob_relocation_size, "CodeBlob", "_relocation_size") \
	/* nmethod; _method was of CompiledMethod up to 22 */ \
	E(code_method, "nmethod", "CompiledMethod", "_method") /* Method* */ \
	F(code_compile_id, "nmethod", "_compile_id") /* int: each compilation has its own */ \
	/* int: where code ends and its handlers begin, from the blob */ \
	F(code_stub_offset, "nmethod", "_stub_offset") \
	/* int: from sp, the pc of a frame to deoptimize */ \
	F(code_original_pc, "nmethod", "_orig_pc_offset") \
	/* the address that the offsets of scopes are from, from 23 on */ \
	N(code_immutable, "nmethod", "_immutable_data") \
	F(code_pcs, "nmethod", "_scopes_pcs_offset") /* int: offset of the table of PcDesc */ \
	/* the address of the scopes, up to 22 */ \
	N(code_scopes, "CompiledMethod", "_scopes_data_begin") \
	N(code_scopes_offset, "nmethod", "_scopes_data_offset") /* int: from 23 on */ \
	/* int: from the CodeBlob, up to 22; u2, from its data: 23, 24 */ \
	N(code_metadata, "nmethod", "_metadata_offset") \
	/* Method, and its fixed part, which its bytecodes follow */ \
	F(method_fixed, "Method", "_constMethod") /* ConstMethod* */ \
	F(method_access, "Method", "_access_flags") /* u2: access flags */ \
	F(fixed_pool, "ConstMethod", "_constants") /* ConstantPool* */ \
	F(fixed_code_bytes, "ConstMethod", "_code_size") /* u2: of its bytecodes */ \
	F(fixed_name, "ConstMethod", "_name_index") /* u2: index in the pool */ \
	F(fixed_signature, "ConstMethod", "_signature_index") /* u2 */ \
	/* ConstantPool, followed by its entries */ \
	F(pool_length, "ConstantPool", "_length") /* int */ \
	F(pool_holder, "ConstantPool", "_pool_holder") /* InstanceKlass* */ \
	/* u2: of the name of the source file, from 15 on */ \
	N(pool_source, "ConstantPool", "_source_file_name_index") \
	N(class_source, "InstanceKlass", "_source_file_name_index") /* the same */ \
	F(class_name, "Klass", "_name") /* Symbol* */ \
	F(symbol_length, "Symbol", "_length") /* u2 */ \
	F(symbol_text, "Symbol", "_body")
/* Static fields of pointer size: their addresses; NULL: not exported. */
#define TH_HOTSPOT_STATIC_FIELDS(A) \
	A(collected_heap, "Universe", "_collectedHeap") \
	A(code_heaps, "CodeCache", "_heaps") /* a GrowableArray of CodeHeaps */ \
	A(code_low, "CodeCache", "_low_bound") /* bounds of the code cache: 0 until it exists */ \
	A(code_high, "CodeCache", "_high_bound") \
	A(perf_data, "PerfMemory", "_start") /* start of the performance counters */ \
	/* of Java methods called by the VM */ \
	A(call_stub_return, "StubRoutines", "_call_stub_return_address") \
	A(interpreter_code, "AbstractInterpreter", "_code") /* a StubQueue */ \
	A(global_references, "JNIHandles", "_global_handles") /* OopStorage of JNI */ \
	A(weak_references, "JNIHandles", "_weak_global_handles") \
	A(export_flag, "JvmtiExport", "_can_post_on_exceptions") /* a byte */
/* clang-format on */

struct th_hotspot {
	uint32_t release; /* feature release: 17, 21, ...; 0: not known yet */
#define F(member, ...) int64_t member;
	TH_HOTSPOT_FIELDS(F, F, F, F)
#undef F
#define A(member, ...) const uintptr_t *member;
	TH_HOTSPOT_STATIC_FIELDS(A)
#undef A
	int64_t env; /* JavaThread: its JNIEnv */
	/* Thread states. */
	int64_t state_in_native;
	int64_t state_in_java;
	/* Bits 1 << state. */
	uint32_t walkable_states; /* outside Java code, with Java frames below */
	/* Entry frame: words from its frame pointer to the JavaCallWrapper*. */
	int64_t entry_frame_wrapper;
	/* G1CollectedHeap: its table of regions, indexed by address >> shift. */
	int64_t g1_regions; /* G1HeapRegion** */
	int64_t g1_shift;   /* unsigned */
	/* G1HeapRegion */
	int64_t g1_tag; /* unsigned: region type */
	int64_t g1_starts_humongous;
	const size_t *g1_region_bytes; /* the address of G1HeapRegion::GrainBytes */
	/* Command-line flags. */
	const char *flags;
	uint64_t flag_count;
	uint64_t flag_bytes; /* size of one flag */
	/* bytes between the start of a block of a CodeHeap and the CodeBlob inside it */
	int64_t code_block_header;
	int64_t code_pcs_end;     /* nmethod, int: offset of the end of the table of PcDesc */
	int64_t fixed_bytes;      /* size of ConstMethod */
	int64_t fixed_flags;      /* ConstMethod: u2 */
	uint32_t fixed_has_lines; /* the flag: a line number table follows the bytecodes */
	int64_t pool_bytes;       /* size of ConstantPool */
};

/* Reads of the VM's objects and of stacks, which must be mapped. */

/* [any] */
static inline uintptr_t
th_word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/*
 * A return address, without its authentication code, with which code of the VM stores it on aarch64 with
 * -XX:UseBranchProtection. [any]
 */
static inline uintptr_t
th_return_address_at(uintptr_t address)
{
	return th_return_address_strip(th_word_at(address));
}

/* The field at `offset` of an object: a JavaThread, for example. [any] */
static inline uintptr_t
th_field_at(uintptr_t object, int64_t offset)
{
	return th_word_at(object + (uintptr_t)offset);
}

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

/* Finds the offset of the JNIEnv in a JavaThread; `thread` calls.  In the live phase. [jvmti] */
bool th_hotspot_find_env(struct th_hotspot *hotspot, JNIEnv *env, jthread thread);

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

/* True when Java stacks can be asked for, and native ones end at the code cache. */
bool th_hotspot_has_frames(const struct th_hotspot *hotspot);
/* True when the heaps of the code cache can be read. */
bool th_hotspot_has_code_heaps(const struct th_hotspot *hotspot);
/* True when code blobs can be found and stub frames unwound (stub_frames.h). */
bool th_hotspot_has_stubs(const struct th_hotspot *hotspot);
/* True when Java frames can be walked (java_frames.h), and native segments below them found. */
bool th_hotspot_has_java_frames(const struct th_hotspot *hotspot);
/* The state of a JavaThread. [any] */
int32_t th_hotspot_state(const struct th_hotspot *hotspot, const char *thread);

/*
 * Whether a virtual thread is mounted on the JavaThread: its frames that are still in the heap are not
 * on the stack.  The words of both handles may differ for a moment while a collector moves
 * the object. [any]
 */
bool th_hotspot_is_virtual(const struct th_hotspot *hotspot, uintptr_t thread);

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

/*
 * Checks the fields of `hotspot` against facts known from other sources, on the calling thread, which
 * is in native code and whose JNIEnv has been found.  A field that fails becomes unknown, which disables
 * the features that need it, and is passed to `report`, as a text. [jvmti]
 */
void
th_hotspot_check(struct th_hotspot *hotspot, JNIEnv *env, void (*report)(const char *fault));

#endif
