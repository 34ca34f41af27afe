/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables without locks.  One holds the code of a pc, in words of which the first depends on the
 * others, so that a mixture of two writers is no entry.  The other holds the methods of a frame.
 */
#include "jvmti/frame_memo.h"

#include <stddef.h>

#include "jvmti/code_blob.h"
#include "jvmti/method_ids.h"
#include "jvmti/runtime_stub.h"
#include "jvmti/vm_words.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/version.h"
#include "unify/log/log.h"
#include "unify/shared/hash.h"

#define CODES 4096
#define ENTRIES 4096
/* Methods of a frame: inlined 15 deep (MaxInlineLevel). */
#define METHODS_MAX 16
/* Frames on the stack that are followed. */
#define STEPS_MAX 192
/* One stack in so many is asked for again. */
#define CHECKED 64
/* Words of an interpreted frame below its frame pointer (frame_x86.hpp, frame_aarch64.hpp). */
#define SENDER_SP_WORD 1
#define METHOD_WORD 3
#define MIRROR_WORD 4 /* an object, which a collector may move */
#define LAST_WORD 9
/* At the base of a stack, below which no frame of Java code begins. */
#define FREE_WORDS 64
/* A method in one word: its ID, and the bytecode index + 3, which may be -3. */
#define BCI_BITS 16
#define BCI_LEAST (-3)
#define BCI_MOST ((1 << BCI_BITS) - 1 + BCI_LEAST)

struct code {
	uint64_t check;  /* atomic: pc ^ layout ^ id */
	uint64_t layout; /* atomic: blob << 16 | words of a frame; words: 0 = interpreter */
	uint64_t id;     /* atomic: compilation */
};

/* The methods of a frame, the innermost first. */
struct entry {
	uint32_t version;
	uint32_t count;                /* atomic */
	uint64_t key;                  /* atomic */
	uint64_t methods[METHODS_MAX]; /* atomic: ID << BCI_BITS | bci - BCI_LEAST */
};

struct tables {
	struct code codes[CODES];
	struct entry entries[ENTRIES];
};

static struct {
	const struct th_hotspot *hotspot; /* NULL: not used */
	const int64_t *unloaded;          /* classes; NULL: unknown */
	uint32_t is_wrong;                /* atomic: an answer differed */
	uint32_t found;                   /* atomic: stacks found */
	struct tables *tables;            /* a process without a VM has none */
} memo;

/* A frame of Java code on the stack, and the walk to its callers. */
struct walk {
	uintptr_t sp; /* 0: no more frames */
	uintptr_t fp;
	uintptr_t pc;
	const char *thread;
	uintptr_t base; /* of the stack */
	unsigned steps;
	/* The current frame. */
	uint64_t key;
	uintptr_t blob; /* 0: interpreted */
	uint64_t words; /* of a compiled frame */
};

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

/* What was stored is used only while the same compilation is there. */
static bool
recall(uintptr_t pc, struct code *ret)
{
	const struct code *code = code_of(pc);

	ret->check = th_load_relaxed(&code->check);
	ret->layout = th_load_relaxed(&code->layout);
	ret->id = th_load_relaxed(&code->id);
	if ((ret->check ^ ret->layout ^ ret->id) != pc || !ret->layout)
		return false;
	return !(ret->layout & 0xffff) ||
	       (uint32_t)int_at(ret->layout >> 16, memo.hotspot->code_compile_id) == ret->id;
}

/* A blob of the code cache: its memory stays mapped. */
static bool
find(uintptr_t pc, struct code *ret)
{
	const struct th_hotspot *hotspot = memo.hotspot;
	uintptr_t blob;
	int32_t words = 0;

	if (!th_code_blob_find(hotspot, pc, &blob))
		return false;
	enum th_code_kind kind = th_code_blob_kind(hotspot, blob);
	if (kind != TH_CODE_INTERPRETER &&
		(kind != TH_CODE_METHOD || !th_code_blob_words(hotspot, blob, &words) ||
			words > 0xffff ||
			pc - blob >= (uint32_t)int_at(blob, hotspot->code_stub_offset)))
		return false;
	ret->layout = (uint64_t)blob << 16 | (uint32_t)words;
	ret->id = words ? (uint32_t)int_at(blob, hotspot->code_compile_id) : 0;
	struct code *code = code_of(pc);
	th_store_relaxed(&code->layout, ret->layout);
	th_store_relaxed(&code->id, ret->id);
	th_store_relaxed(&code->check, pc ^ ret->layout ^ ret->id);
	return true;
}

/* Frames */

static bool
is_on_stack(const struct walk *walk, uintptr_t address)
{
	return th_has_bytes_at(
		address, (FREE_WORDS + 1) * sizeof(uintptr_t), walk->sp, walk->base);
}

/* frame::sender_for_compiled_frame() */
static bool
leave_compiled(struct walk *walk, uint64_t words)
{
	uintptr_t sp = walk->sp + words * sizeof(uintptr_t);

	if (!is_on_stack(walk, sp))
		return false;
	walk->sp = sp;
	walk->fp = th_word_at(sp - 2 * sizeof(uintptr_t));
	walk->pc = th_word_at(sp - sizeof(uintptr_t));
	return true;
}

/*
 * frame::sender_for_interpreter_frame(): a compiled caller's frame begins at the sender's stack
 * pointer.
 */
static bool
leave_interpreted(struct walk *walk)
{
	uintptr_t fp = walk->fp;
	uintptr_t sp = th_word_at(fp - SENDER_SP_WORD * sizeof(uintptr_t));

	if (!is_on_stack(walk, sp) || sp <= fp)
		return false;
	walk->sp = sp;
	walk->fp = th_word_at(fp);
	walk->pc = th_word_at(fp + sizeof(uintptr_t));
	return true;
}

/*
 * The words that differ between frames of one method at one place are addresses on the stack and
 * the mirror.
 */
uint64_t
th_frame_memo_interpreted(uintptr_t fp, uintptr_t sp, uintptr_t base)
{
	if (!memo.unloaded || fp & 7 || fp < sp || fp - sp < LAST_WORD * sizeof(uintptr_t) ||
		fp >= base || base - fp <= FREE_WORDS * sizeof(uintptr_t))
		return 0;
	uint64_t key = (uint64_t)*memo.unloaded;
	for (unsigned i = METHOD_WORD; i <= LAST_WORD; i++) {
		uintptr_t word = th_word_at(fp - i * sizeof(uintptr_t));

		if (i != MIRROR_WORD && (word < sp || word >= base))
			key = th_hash_mix(key ^ word);
	}
	return key | 1;
}

static bool
set_interpreted(struct walk *walk)
{
	walk->key = th_frame_memo_interpreted(walk->fp, walk->sp, walk->base);
	walk->blob = 0;
	return walk->key;
}

/* To the youngest Java frame beyond a call stub; its stack pointer is 0 if there is none. */
static bool
leave_call_stub(struct walk *walk)
{
	const struct th_hotspot *hotspot = memo.hotspot;
	uintptr_t fp = walk->fp;

	if (!is_on_stack(walk, fp))
		return false;
	uintptr_t wrapper = th_field_at(
		fp, hotspot->entry_frame_wrapper * (int64_t)sizeof(uintptr_t));
	/* javaCalls.hpp: the thread is the wrapper's first field. */
	if (!is_on_stack(walk, wrapper) || th_word_at(wrapper) != (uintptr_t)walk->thread)
		return false;
	uintptr_t anchor = wrapper + (uintptr_t)hotspot->wrapper_last_java_sp;
	uintptr_t sp = th_word_at(anchor);
	if (sp && (!is_on_stack(walk, sp) || sp <= wrapper))
		return false;
	walk->sp = sp;
	if (!sp)
		return true;
	walk->fp = th_field_at(anchor, hotspot->last_java_fp - hotspot->last_java_sp);
	walk->pc = th_field_at(anchor, hotspot->last_java_pc - hotspot->last_java_sp);
	if (!walk->pc)
		walk->pc = th_word_at(sp - sizeof(uintptr_t));
	return true;
}

/* Describes the frame at walk->pc; false: it does not determine its methods. */
static bool
set_frame(struct walk *walk)
{
	struct code code;

	if (!recall(walk->pc, &code) && !find(walk->pc, &code))
		return false;
	walk->words = code.layout & 0xffff;
	if (!walk->words)
		return set_interpreted(walk);
	walk->blob = code.layout >> 16;
	walk->key = th_hash_mix(th_hash_mix(walk->pc) ^ code.id) | 1;
	return true;
}

/* A sample in compiled code is taken below a stub of the VM, whose frame has no methods. */
static void
leave_stub(struct walk *walk)
{
	const struct th_java_frame frame = {walk->sp, walk->fp, walk->pc};
	struct th_java_frame caller;

	if (!th_runtime_stub_is_known(walk->pc) ||
		!th_runtime_stub_caller(memo.hotspot, &frame, &caller) ||
		!is_on_stack(walk, caller.sp))
		return;
	walk->sp = caller.sp;
	walk->fp = caller.fp;
	walk->pc = caller.pc;
}

/* To the youngest frame; false: the stack is left to the VM. */
static bool
begin(struct walk *walk, const char *thread)
{
	const struct th_hotspot *hotspot = memo.hotspot;
	uintptr_t object = (uintptr_t)thread;

	if (!hotspot || th_load_relaxed(&memo.is_wrong))
		return false;
	*walk = (struct walk){
		.sp = th_field_at(object, hotspot->last_java_sp),
		.fp = th_field_at(object, hotspot->last_java_fp),
		.pc = th_field_at(object, hotspot->last_java_pc),
		.thread = thread,
		.base = th_field_at(object, hotspot->stack_base),
	};
	if (!walk->sp || !is_on_stack(walk, walk->sp) ||
		walk->base - walk->sp > th_field_at(object, hotspot->stack_size))
		return false;
	if (!walk->pc)
		walk->pc = th_word_at(walk->sp - sizeof(uintptr_t));
	leave_stub(walk);
	return walk->pc != *hotspot->call_stub_return && set_frame(walk);
}

/* To the caller; false: the stack is left to the VM. */
static bool
next(struct walk *walk)
{
	const uintptr_t call_stub = *memo.hotspot->call_stub_return;

	if (++walk->steps == STEPS_MAX ||
		!(walk->blob ? leave_compiled(walk, walk->words) : leave_interpreted(walk)))
		return false;
	if (walk->pc == call_stub && !leave_call_stub(walk))
		return false;
	/* A segment has a frame. */
	return !walk->sp || (walk->pc != call_stub && set_frame(walk));
}

/* Entries */

static struct entry *
entry_of(uint64_t key)
{
	return &memo.tables->entries[(key >> 32) % ENTRIES];
}

static uint64_t
pack(const struct th_call_frame *frame)
{
	return (uint64_t)(uintptr_t)frame->method << BCI_BITS |
	       (uint32_t)(frame->bci - BCI_LEAST);
}

/* A method without an ID has one later. */
static bool
can_be_packed(const struct th_call_frame *frame)
{
	return frame->method && frame->bci >= BCI_LEAST && frame->bci <= BCI_MOST &&
	       !((uint64_t)(uintptr_t)frame->method >> (64 - BCI_BITS));
}

static struct th_call_frame
unpack(uint64_t word)
{
	return (struct th_call_frame){
		.bci = (jint)(word & ((1 << BCI_BITS) - 1)) + BCI_LEAST,
		.method = (jmethodID)(uintptr_t)(word >> BCI_BITS),
	};
}

/* The number of methods of a frame; 0: not known. */
static uint32_t
read_entry(uint64_t key, uint64_t *methods)
{
	const struct entry *entry = entry_of(key);
	uint32_t version = th_version_read(&entry->version);
	uint32_t count = th_load_relaxed(&entry->count);

	if (th_load_relaxed(&entry->key) != key || count > METHODS_MAX)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		methods[i] = th_load_relaxed(&entry->methods[i]);
	return th_version_is_still(&entry->version, version) ? count : 0;
}

static void
write_entry(uint64_t key, const struct th_call_frame *frames, uint32_t count)
{
	struct entry *entry = entry_of(key);
	uint32_t version;

	for (uint32_t i = 0; i < count; i++)
		if (!can_be_packed(&frames[i]))
			return;
	if (!th_version_begin(&entry->version, &version))
		return;
	th_store_relaxed(&entry->key, key);
	th_store_relaxed(&entry->count, count);
	for (uint32_t i = 0; i < count; i++)
		th_store_relaxed(&entry->methods[i], pack(&frames[i]));
	th_version_end(&entry->version, version);
}

/* Stacks */

jint
th_frame_memo_find(const char *thread, struct th_call_frame *frames, uint32_t capacity)
{
	uint64_t methods[METHODS_MAX];
	uint32_t used = 0;
	struct walk walk;

	if (!begin(&walk, thread))
		return -1;
	while (walk.sp) {
		uint32_t count = read_entry(walk.key, methods);

		if (!count || used + count >= capacity)
			return -1;
		for (uint32_t i = 0; i < count; i++)
			frames[used++] = unpack(methods[i]);
		if (!next(&walk))
			return -1;
	}
	if (th_add_relaxed(&memo.found, 1) % CHECKED == CHECKED - 1)
		return -1;
	th_log_count(TH_COUNTER_JAVA_WALKS_REMEMBERED, 1);
	return (jint)used;
}

static void
end_use(void)
{
	th_store_relaxed(&memo.is_wrong, 1);
	th_log_count(TH_COUNTER_JAVA_WALKS_WRONG, 1);
}

static bool
is_same(const uint64_t *methods, const struct th_call_frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!can_be_packed(&frames[i]) || methods[i] != pack(&frames[i]))
			return false;
	return true;
}

/* What is known of a stack, from one of its frames on. */
struct rest {
	uint32_t known;   /* methods of known frames */
	uint32_t unknown; /* frames whose methods are not known, at least one each */
	uint64_t is_known[STEPS_MAX / 64];
};

static bool
count_rest(const char *thread, struct rest *rest)
{
	uint64_t methods[METHODS_MAX];
	struct walk walk;

	*rest = (struct rest){.known = 0};
	if (!begin(&walk, thread))
		return false;
	while (walk.sp) {
		uint32_t count = read_entry(walk.key, methods);

		rest->known += count;
		rest->unknown += !count;
		rest->is_known[walk.steps / 64] |= (uint64_t)(count > 0) << walk.steps % 64;
		if (!next(&walk))
			return false;
	}
	return true;
}

/*
 * The number of methods of a compiled frame, at most `most`, if there is one place among `frames`
 * for the method that it was compiled for, which is its last; else 0.
 */
static uint32_t
divide(const struct th_call_frame *frames, uint32_t most, jmethodID root)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < most && i < METHODS_MAX; i++) {
		if (frames[i].method != root)
			continue;
		if (found)
			return 0;
		found = i + 1;
	}
	return found;
}

/* The methods of an unknown frame, of which `most` can be its own; 0: undecided. */
static uint32_t
own_methods(const struct walk *walk, const struct th_call_frame *frames, uint32_t most,
	bool is_last_unknown)
{
	const struct th_hotspot *hotspot = memo.hotspot;
	jmethodID root;

	if (!walk->blob)
		return !is_last_unknown || most == 1 ? 1 : 0;
	if (!th_method_ids_read(
		    hotspot, th_field_at(walk->blob, hotspot->code_method), &root) ||
		!root)
		return 0;
	if (!is_last_unknown)
		return divide(frames, most, root);
	return most <= METHODS_MAX && frames[most - 1].method == root ? most : 0;
}

/* Of the first frame of `count`, before `rest`. */
static uint32_t
learn_frame(const struct walk *walk, const struct th_call_frame *frames, uint32_t count,
	const struct rest *rest)
{
	if (rest->known + rest->unknown >= count)
		return 0;
	uint32_t own = own_methods(
		walk, frames, count - rest->known - rest->unknown, !rest->unknown);

	if (own)
		write_entry(walk->key, frames, own);
	return own;
}

void
th_frame_memo_learn(const char *thread, const struct th_call_frame *frames, uint32_t count)
{
	uint64_t methods[METHODS_MAX];
	struct rest rest;
	struct walk walk;
	uint32_t used = 0;

	if (!count_rest(thread, &rest) || !begin(&walk, thread))
		return;
	while (walk.sp && used < count) {
		bool was_known = rest.is_known[walk.steps / 64] >> walk.steps % 64 & 1;
		uint32_t own = read_entry(walk.key, methods);

		/* Another frame, of this stack or another thread, may have taken the entry. */
		if (was_known != (own > 0))
			return;
		if (own && (own > count - used || !is_same(methods, frames + used, own))) {
			end_use();
			return;
		}
		rest.known -= own;
		rest.unknown -= !own;
		if (!own)
			own = learn_frame(&walk, frames + used, count - used, &rest);
		if (!own || !next(&walk))
			return;
		used += own;
	}
}

void
th_frame_memo_start(const struct th_hotspot *hotspot, const int64_t *unloaded)
{
	bool is_used = th_hotspot_has_compiled_frames(hotspot) &&
		       th_memory_map_once(&memo.tables, sizeof(*memo.tables));

	memo.unloaded = unloaded;
	memo.hotspot = is_used ? hotspot : NULL;
}
