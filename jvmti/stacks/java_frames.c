/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables without locks.  One holds the code of a pc, in words of which the first depends on the
 * others, so that a mixture of two writers is no entry.  The other holds the methods of a frame.
 */
#include "jvmti/stacks/java_frames.h"

#include "jvmti/vm/code_blob.h"
#include "jvmti/names/methods.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/version.h"
#include "unify/log/log.h"
#include "unify/shared/hash.h"
#include "unify/shared/log_format.h"

#define CODES 4096
#define ENTRIES 4096
/* Methods of a frame that are remembered. */
#define METHODS_MAX 16
/* Words of an interpreted frame below its frame pointer (frame_x86.hpp, frame_aarch64.hpp). */
#define SENDER_SP_WORD 1
#define METHOD_WORD 3
#if defined(__aarch64__)
#	define BCP_WORD 9
#else
#	define BCP_WORD 8
#endif
#define LAST_WORD 9
/* Bits of `layout`; blobs are aligned to 8 bytes. */
#define STUB_BIT 0x10000u
#define NATIVE_BIT 0x8000u
#define WORDS_MAX 0x7fffu

/* Code of a Java method, the interpreter, or a stub of the VM, which is never freed. */
struct code {
	uint64_t check; /* atomic: pc ^ layout ^ id */
	/* atomic: blob << 16 | bits of its kind | words of a frame; 0 words = interpreter */
	uint64_t layout;
	uint64_t id; /* atomic: compilation; address of a stub's name */
};

/* The methods of a frame, the innermost first. */
struct entry {
	uint32_t version;
	uint32_t count;              /* atomic */
	uint64_t key;                /* atomic */
	uint64_t words[METHODS_MAX]; /* atomic: frame words */
};

struct tables {
	struct code codes[CODES];
	struct entry entries[ENTRIES];
};

static struct {
	const struct th_hotspot *hotspot; /* NULL: not used */
	const int64_t *unloaded;          /* classes; NULL: unknown */
	uint64_t recording;               /* ids of methods are those of one recording */
	struct tables *tables;            /* a process without a VM has none */
} memo;

static int32_t
int_at(uintptr_t object, int64_t offset)
{
	return *(const volatile int32_t *)(object + (uintptr_t)offset);
}

/* Code */

static struct code *
code_of(uintptr_t pc)
{
	return &memo.tables->codes[th_hash_mix(pc) % CODES];
}

static uintptr_t
blob_of(const struct code *code)
{
	return code->layout >> 16 & ~(uintptr_t)7;
}

/* Of what is at the blob now. */
static uint64_t
read_id(const struct code *code)
{
	if (code->layout & STUB_BIT)
		return th_field_at(blob_of(code), memo.hotspot->blob_name);
	return (uint32_t)int_at(blob_of(code), memo.hotspot->code_compile_id);
}

/* What was stored is used only while the same compilation, or the same stub, is there. */
static bool
recall(uintptr_t pc, struct code *ret)
{
	const struct code *code = code_of(pc);

	ret->check = th_load_relaxed(&code->check);
	ret->layout = th_load_relaxed(&code->layout);
	ret->id = th_load_relaxed(&code->id);
	if ((ret->check ^ ret->layout ^ ret->id) != pc || !ret->layout)
		return false;
	uint32_t words = ret->layout & WORDS_MAX;
	if (ret->layout & STUB_BIT &&
		(uint32_t)int_at(blob_of(ret), memo.hotspot->blob_frame_size) != words)
		return false;
	return !words || read_id(ret) == ret->id;
}

static void
remember(uintptr_t pc, const struct code *found)
{
	struct code *code = code_of(pc);

	th_store_relaxed(&code->layout, found->layout);
	th_store_relaxed(&code->id, found->id);
	th_store_relaxed(&code->check, pc ^ found->layout ^ found->id);
}

/* A blob of the code cache: its memory stays mapped. */
static bool
find(uintptr_t pc, struct code *ret)
{
	struct th_code_blob blob;

	if (!th_code_blob_find(memo.hotspot, pc, &blob) || blob.kind == TH_CODE_UNKNOWN)
		return false;
	if (blob.kind == TH_CODE_INTERPRETER)
		blob.words = 0;
	else if (blob.start % 8 || !blob.words || blob.words > WORDS_MAX)
		return false;
	ret->layout = (uint64_t)blob.start << 16 |
		      (blob.kind > TH_CODE_INTERPRETER ? STUB_BIT : 0) |
		      (blob.kind == TH_CODE_NATIVE ? NATIVE_BIT : 0) | blob.words;
	ret->id = blob.words ? read_id(ret) : 0;
	remember(pc, ret);
	return true;
}

static bool
find_code(uintptr_t pc, struct code *ret)
{
	return recall(pc, ret) || find(pc, ret);
}

/* Frames */

static struct th_stack_part
stack_of(const struct th_frame_walk *walk)
{
	return (struct th_stack_part){walk->thread, walk->sp, walk->base};
}

static bool
is_on_stack(const struct th_frame_walk *walk, uintptr_t address)
{
	const struct th_stack_part stack = stack_of(walk);

	return th_is_frame_address(&stack, address);
}

static void
set_position(struct th_frame_walk *walk, const struct th_java_frame *frame)
{
	walk->sp = frame->sp;
	walk->fp = frame->fp;
	walk->pc = frame->pc;
}

/* frame::sender_for_compiled_frame() */
static bool
leave_compiled(struct th_frame_walk *walk)
{
	uintptr_t sp = walk->sp + walk->words * sizeof(uintptr_t);

	if (!is_on_stack(walk, sp))
		return false;
	walk->sp = sp;
	walk->fp = th_word_at(sp - 2 * sizeof(uintptr_t));
	walk->pc = th_return_address_at(sp - sizeof(uintptr_t));
	return true;
}

/*
 * frame::sender_for_interpreter_frame(): a compiled caller's frame begins at the sender's stack
 * pointer.  On aarch64 that of an interpreted caller is below its expression stack, to which the
 * frame of what it calls belongs.
 */
static bool
leave_interpreted(struct th_frame_walk *walk)
{
	uintptr_t fp = walk->fp;
	uintptr_t sp = th_word_at(fp - SENDER_SP_WORD * sizeof(uintptr_t));

#if defined(__aarch64__)
	if (sp <= fp && !(sp & 15) &&
		walk->base - sp <=
			th_field_at((uintptr_t)walk->thread, memo.hotspot->stack_size))
		sp = fp + 2 * sizeof(uintptr_t);
#endif
	if (!is_on_stack(walk, sp) || sp <= fp)
		return false;
	walk->sp = sp;
	walk->fp = th_word_at(fp);
	walk->pc = th_return_address_at(fp + sizeof(uintptr_t));
	return true;
}

/* Whether the words of an interpreted frame lie on the stack. */
static bool
has_interpreted_words(uintptr_t fp, uintptr_t sp, uintptr_t base)
{
	const struct th_stack_part stack = {.low = sp, .base = base};

	return th_is_frame_address(&stack, fp) && fp - sp >= LAST_WORD * sizeof(uintptr_t);
}

uint64_t
th_java_frames_interpreted(uintptr_t fp, uintptr_t sp, uintptr_t base)
{
	if (!memo.unloaded || !has_interpreted_words(fp, sp, base))
		return 0;
	uint64_t key = th_hash_mix(
		(uint64_t)*memo.unloaded ^ th_word_at(fp - METHOD_WORD * sizeof(uintptr_t)));
	return th_hash_mix(
		       key ^ memo.recording ^ th_word_at(fp - BCP_WORD * sizeof(uintptr_t))) |
	       1;
}

/* A frame that will be deoptimized returns to a handler, and holds the pc where it is. */
static bool
find_original_pc(struct th_frame_walk *walk, uintptr_t blob)
{
	const struct th_hotspot *hotspot = memo.hotspot;
	uint32_t end = (uint32_t)int_at(blob, hotspot->code_stub_offset);
	uintptr_t slot = walk->sp + (uint32_t)int_at(blob, hotspot->code_original_pc);

	if (walk->pc - blob < end)
		return true;
	if (!is_on_stack(walk, slot))
		return false;
	walk->pc = th_word_at(slot);
	return walk->pc - blob < end;
}

/* Describes the frame at walk->pc; false: it is none of Java code. */
static bool
set_frame(struct th_frame_walk *walk)
{
	struct code code;

	if (!find_code(walk->pc, &code) || code.layout & STUB_BIT)
		return false;
	walk->words = code.layout & WORDS_MAX;
	walk->is_native = code.layout & NATIVE_BIT;
	walk->blob = blob_of(&code);
	if (!walk->words) {
		walk->key = th_java_frames_interpreted(walk->fp, walk->sp, walk->base);
		return has_interpreted_words(walk->fp, walk->sp, walk->base);
	}
	if (!walk->is_native && !find_original_pc(walk, walk->blob))
		return false;
	walk->key = th_hash_mix(th_hash_mix(walk->pc ^ memo.recording) ^ code.id) | 1;
	return true;
}

/* A sample in compiled code is taken below a stub of the VM, whose frame has no methods. */
static bool
leave_stub(struct th_frame_walk *walk)
{
	struct th_java_frame caller;
	struct code code;

	if (!find_code(walk->pc, &code) || !(code.layout & STUB_BIT) ||
		!th_stub_caller(walk->sp, code.layout & WORDS_MAX, &caller) ||
		!is_on_stack(walk, caller.sp))
		return false;
	set_position(walk, &caller);
	return true;
}

static bool
set_youngest(struct th_frame_walk *walk)
{
	if (set_frame(walk))
		return true;
	return leave_stub(walk) && walk->pc != *memo.hotspot->call_stub_return &&
	       set_frame(walk);
}

bool
th_frame_walk_begin(
	struct th_frame_walk *walk, const char *thread, const struct th_java_frame *top)
{
	const struct th_hotspot *hotspot = memo.hotspot;
	uintptr_t object = (uintptr_t)thread;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (!hotspot || th_field_at(object, hotspot->unpacking))
		return false;
	*walk = (struct th_frame_walk){
		.sp = top ? top->sp : th_field_at(object, hotspot->last_java_sp),
		.fp = top ? top->fp : th_field_at(object, hotspot->last_java_fp),
		.pc = top ? top->pc : th_field_at(object, hotspot->last_java_pc),
		.thread = thread,
		.base = th_field_at(object, hotspot->stack_base),
	};
	/* A handler may run on another stack; below ours there may be guard pages. */
	bool is_here = here < walk->base &&
		       walk->base - here < th_field_at(object, hotspot->stack_size);
	if (!walk->sp || !is_on_stack(walk, walk->sp) ||
		walk->base - walk->sp > th_field_at(object, hotspot->stack_size) ||
		(is_here && walk->sp < here))
		return false;
	if (!walk->pc)
		walk->pc = th_return_address_at(walk->sp - sizeof(uintptr_t));
	return walk->pc != *hotspot->call_stub_return && set_youngest(walk);
}

/* Beyond native code that has called Java code. */
static enum th_frame_step
leave_segment(struct th_frame_walk *walk, struct th_registers *native_ret)
{
	const uintptr_t call_stub = *memo.hotspot->call_stub_return;
	const struct th_stack_part stack = stack_of(walk);
	const struct th_java_frame frame = {walk->sp, walk->fp, walk->pc};
	struct th_entry_frame entry;

	if (!(walk->pc == call_stub
			    ? th_call_stub_read(memo.hotspot, &stack, walk->fp, &entry)
			    : th_upcall_stub_read(memo.hotspot, &stack, &frame, &entry)))
		return TH_STEP_UNKNOWN;
	*native_ret = entry.native;
	if (!entry.older.sp)
		return TH_STEP_END;
	set_position(walk, &entry.older);
	/* A segment has a frame. */
	return walk->pc != call_stub && set_youngest(walk) ? TH_STEP_SEGMENT : TH_STEP_UNKNOWN;
}

enum th_frame_step
th_frame_walk_next(struct th_frame_walk *walk, struct th_registers *native_ret)
{
	if (!(walk->words ? leave_compiled(walk) : leave_interpreted(walk)))
		return TH_STEP_UNKNOWN;
	if (walk->pc != *memo.hotspot->call_stub_return && set_frame(walk))
		return TH_STEP_FRAME;
	return leave_segment(walk, native_ret);
}

/* Entries */

static struct entry *
entry_of(uint64_t key)
{
	return &memo.tables->entries[(key >> 32) % ENTRIES];
}

/* The number of methods of a frame; 0: not known. */
static uint32_t
read_entry(uint64_t key, uint64_t *words)
{
	const struct entry *entry = entry_of(key);
	uint32_t version = th_version_read(&entry->version);
	uint32_t count = th_load_relaxed(&entry->count);

	if (!key || th_load_relaxed(&entry->key) != key || count > METHODS_MAX)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		words[i] = th_load_relaxed(&entry->words[i]);
	return th_version_is_still(&entry->version, version) ? count : 0;
}

/* A method without an id may have one later. */
static void
write_entry(uint64_t key, const uint64_t *words, uint32_t count)
{
	struct entry *entry = entry_of(key);
	uint32_t version;

	for (uint32_t i = 0; i < count; i++)
		if (!th_frame_method(words[i]))
			return;
	if (!key || count > METHODS_MAX || !th_version_begin(&entry->version, &version))
		return;
	th_store_relaxed(&entry->key, key);
	th_store_relaxed(&entry->count, count);
	for (uint32_t i = 0; i < count; i++)
		th_store_relaxed(&entry->words[i], words[i]);
	th_version_end(&entry->version, version);
}

/* Methods */

static uint64_t
word_of(const struct th_vm_method *method, int32_t bci)
{
	uint32_t id = th_methods_id(memo.hotspot, method);

	if (method->access & TH_ACCESS_NATIVE)
		return th_frame_java(id, TH_BCI_NATIVE);
	/* Before the first bytecode: at the entry of a synchronized method. */
	return th_frame_java(id, bci > 0 ? (uint32_t)bci : 0);
}

static uint32_t
read_scopes(const struct th_frame_walk *walk, uint64_t *words)
{
	struct th_scope scopes[TH_FRAME_METHODS_MAX];
	struct th_vm_method method;
	uint32_t count = th_scopes_read(
		memo.hotspot, walk->blob, walk->pc, scopes, TH_FRAME_METHODS_MAX);

	for (uint32_t i = 0; i < count; i++) {
		if (!th_vm_method_read(memo.hotspot, scopes[i].method, &method))
			return 0;
		words[i] = word_of(&method, scopes[i].bci);
	}
	return count;
}

/* Of the wrapper of a native method. */
static uint32_t
read_wrapper(const struct th_frame_walk *walk, uint64_t *words)
{
	struct th_vm_method method;

	if (!th_vm_method_read(
		    memo.hotspot, th_field_at(walk->blob, memo.hotspot->code_method), &method))
		return 0;
	words[0] = word_of(&method, 0);
	return 1;
}

static uint32_t
read_interpreted(const struct th_frame_walk *walk, uint64_t *words)
{
	uintptr_t at = th_word_at(walk->fp - METHOD_WORD * sizeof(uintptr_t));
	uintptr_t bcp = th_word_at(walk->fp - BCP_WORD * sizeof(uintptr_t));
	struct th_vm_method method;

	if (!th_vm_method_read(memo.hotspot, at, &method))
		return 0;
	words[0] = word_of(&method,
		bcp - method.bytecodes < method.bytes ? (int32_t)(bcp - method.bytecodes) : 0);
	return 1;
}

uint32_t
th_frame_walk_methods(const struct th_frame_walk *walk, uint64_t words[TH_FRAME_METHODS_MAX])
{
	uint32_t count = read_entry(walk->key, words);

	if (count)
		return count;
	if (!walk->words)
		count = read_interpreted(walk, words);
	else if (walk->is_native)
		count = read_wrapper(walk, words);
	else
		count = read_scopes(walk, words);
	if (count)
		write_entry(walk->key, words, count);
	return count;
}

void
th_java_frames_start(const struct th_hotspot *hotspot, const int64_t *unloaded)
{
	bool is_used = th_hotspot_has_java_frames(hotspot) &&
		       th_memory_map_once(&memo.tables, sizeof(*memo.tables));

	memo.unloaded = unloaded;
	memo.recording = th_hash_mix(memo.recording + 1);
	memo.hotspot = is_used ? hotspot : NULL;
}
