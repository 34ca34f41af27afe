/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables without locks.  One holds the code of a pc, in words of which the first depends on the
 * others, so that a mixture of two writers is no entry.  The other holds answers; whoever writes
 * one makes its version odd, and readers compare the version before and after.
 */
#include "jvmti/walk_memo.h"

#include <stddef.h>

#include "jvmti/code_blob.h"
#include "jvmti/perf_data.h"
#include "jvmti/runtime_stub.h"
#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/shared/hash.h"

#define CODES 4096
#define ANSWERS 1024
/* Deeper stacks are not remembered. */
#define FRAMES_MAX 120
/* Frames on the stack that are followed: inlined methods have none of their own. */
#define STEPS_MAX 192
/* One answer in so many is asked for again. */
#define CHECKED 64
/* Words of an interpreted frame below its frame pointer (frame_x86.hpp, frame_aarch64.hpp). */
#define INTERPRETED_WORDS 10
#define INTERPRETED_SENDER_SP 1
/* The mirror: an object, which a collector may move. */
#define INTERPRETED_MIRROR 4
/* Of a frame in one word: the method, and its bytecode index + 3, which may be -3. */
#define BCI_BITS 16
#define BCI_LEAST (-3)
#define BCI_MOST ((1 << BCI_BITS) - 1 + BCI_LEAST)

struct code {
	uint64_t check;  /* atomic: pc ^ layout ^ id */
	uint64_t layout; /* atomic: blob << 16 | words of a frame; words: 0 = interpreter */
	uint64_t id;     /* atomic: compilation */
};

struct answer {
	uint32_t version; /* atomic: odd while it is written */
	uint32_t count;
	uint64_t key;
	uint64_t frames[FRAMES_MAX]; /* method << BCI_BITS | bci - BCI_LEAST */
};

static struct {
	const struct th_hotspot *hotspot; /* NULL: not used */
	const int64_t *unloaded;          /* classes; NULL: unknown */
	uint32_t is_wrong;                /* atomic: an answer differed */
	uint32_t found;                   /* atomic: answers found */
	struct code codes[CODES];
	struct answer answers[ANSWERS];
} memo;

/* A frame, and the hash of those before it. */
struct walk {
	uintptr_t sp;
	uintptr_t fp;
	uintptr_t pc;
	const char *thread;
	uintptr_t base; /* of the stack */
	uint64_t key;
};

static uintptr_t
word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

static uintptr_t
field_at(uintptr_t object, int64_t offset)
{
	return word_at(object + (uintptr_t)offset);
}

static int32_t
int_at(uintptr_t object, int64_t offset)
{
	return *(const volatile int32_t *)(object + (uintptr_t)offset);
}

static void
mix(struct walk *walk, uint64_t word)
{
	walk->key = th_hash_mix(walk->key ^ word);
}

/* Code */

static struct code *
code_of(uintptr_t pc)
{
	return &memo.codes[th_hash_mix(pc) % CODES];
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
	return address >= walk->sp && address + 64 * sizeof(uintptr_t) < walk->base &&
	       !(address & 7);
}

/* frame::sender_for_compiled_frame() */
static bool
leave_compiled(struct walk *walk, uint64_t words)
{
	uintptr_t sp = walk->sp + words * sizeof(uintptr_t);

	if (!is_on_stack(walk, sp))
		return false;
	walk->sp = sp;
	walk->fp = word_at(sp - 2 * sizeof(uintptr_t));
	walk->pc = word_at(sp - sizeof(uintptr_t));
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

	if (!memo.unloaded || !is_on_stack(walk, fp) ||
		fp - walk->sp < (INTERPRETED_WORDS - 1) * sizeof(uintptr_t))
		return false;
	for (unsigned i = INTERPRETED_SENDER_SP; i <= INTERPRETED_WORDS; i++)
		if (i != INTERPRETED_MIRROR && fp - i * sizeof(uintptr_t) >= walk->sp)
			mix(walk, word_at(fp - i * sizeof(uintptr_t)));
	uintptr_t sp = word_at(fp - INTERPRETED_SENDER_SP * sizeof(uintptr_t));
	if (!is_on_stack(walk, sp) || sp <= fp)
		return false;
	walk->sp = sp;
	walk->fp = word_at(fp);
	walk->pc = word_at(fp + sizeof(uintptr_t));
	return true;
}

/* To the youngest Java frame beyond a call stub; its stack pointer is 0 if there is none. */
static bool
leave_call_stub(struct walk *walk)
{
	const struct th_hotspot *hotspot = memo.hotspot;
	uintptr_t fp = walk->fp;

	if (!is_on_stack(walk, fp))
		return false;
	uintptr_t wrapper = field_at(
		fp, hotspot->entry_frame_wrapper * (int64_t)sizeof(uintptr_t));
	/* javaCalls.hpp: the thread is the wrapper's first field. */
	if (!is_on_stack(walk, wrapper) || word_at(wrapper) != (uintptr_t)walk->thread)
		return false;
	uintptr_t anchor = wrapper + (uintptr_t)hotspot->wrapper_last_java_sp;
	uintptr_t sp = word_at(anchor);
	if (sp && (!is_on_stack(walk, sp) || sp <= wrapper))
		return false;
	walk->sp = sp;
	if (!sp)
		return true;
	walk->fp = field_at(anchor, hotspot->last_java_fp - hotspot->last_java_sp);
	walk->pc = field_at(anchor, hotspot->last_java_pc - hotspot->last_java_sp);
	if (!walk->pc)
		walk->pc = word_at(sp - sizeof(uintptr_t));
	return true;
}

/* To the caller; false: the frame has no key. */
static bool
leave(struct walk *walk)
{
	struct code code;

	if (walk->pc == *memo.hotspot->call_stub_return)
		return leave_call_stub(walk);
	if (!recall(walk->pc, &code) && !find(walk->pc, &code))
		return false;
	mix(walk, walk->pc);
	mix(walk, code.id);
	return code.layout & 0xffff ? leave_compiled(walk, code.layout & 0xffff)
				    : leave_interpreted(walk);
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

uint64_t
th_walk_memo_key(const char *thread)
{
	const struct th_hotspot *hotspot = memo.hotspot;

	if (!hotspot || th_load_relaxed(&memo.is_wrong))
		return 0;
	struct walk walk = {
		.sp = field_at((uintptr_t)thread, hotspot->last_java_sp),
		.fp = field_at((uintptr_t)thread, hotspot->last_java_fp),
		.pc = field_at((uintptr_t)thread, hotspot->last_java_pc),
		.thread = thread,
		.base = field_at((uintptr_t)thread, hotspot->stack_base),
		.key = memo.unloaded ? (uint64_t)*memo.unloaded : 0,
	};

	if (!walk.sp || !is_on_stack(&walk, walk.sp))
		return 0;
	if (!walk.pc)
		walk.pc = word_at(walk.sp - sizeof(uintptr_t));
	leave_stub(&walk);
	for (unsigned i = 0; i < STEPS_MAX && walk.sp; i++)
		if (!leave(&walk))
			return 0;
	return walk.sp ? 0 : walk.key | 1;
}

/* Answers */

static struct answer *
answer_of(uint64_t key)
{
	return &memo.answers[(key >> 32) % ANSWERS];
}

static jint
read_answer(const struct answer *answer, struct th_call_frame *frames, uint32_t capacity)
{
	uint32_t count = answer->count;

	if (count > capacity || count > FRAMES_MAX)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t word = th_load_relaxed(&answer->frames[i]);

		frames[i].bci = (jint)(word & ((1 << BCI_BITS) - 1)) + BCI_LEAST;
		frames[i].method = (jmethodID)(uintptr_t)(word >> BCI_BITS);
	}
	return (jint)count;
}

jint
th_walk_memo_find(uint64_t key, struct th_call_frame *frames, uint32_t capacity)
{
	const struct answer *answer = answer_of(key);
	uint32_t version = th_load_acquire(&answer->version);

	if (!key || version % 2 || th_load_relaxed(&answer->key) != key)
		return -1;
	jint count = read_answer(answer, frames, capacity);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (th_load_relaxed(&answer->version) != version)
		return -1;
	if (th_add_relaxed(&memo.found, 1) % CHECKED == CHECKED - 1)
		return -1;
	th_log_count(TH_COUNTER_JAVA_WALKS_REMEMBERED, 1);
	return count;
}

static uint64_t
pack(const struct th_call_frame *frame)
{
	return (uint64_t)(uintptr_t)frame->method << BCI_BITS |
	       (uint32_t)(frame->bci - BCI_LEAST);
}

static bool
can_be_packed(const struct th_call_frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!frames[i].method || frames[i].bci < BCI_LEAST ||
			frames[i].bci > BCI_MOST ||
			(uint64_t)(uintptr_t)frames[i].method >> (64 - BCI_BITS))
			return false;
	return count && count <= FRAMES_MAX;
}

/* Under an odd version. */
static void
check(const struct answer *answer, const struct th_call_frame *frames, uint32_t count)
{
	bool is_same = answer->count == count;

	for (uint32_t i = 0; is_same && i < count; i++)
		is_same = answer->frames[i] == pack(&frames[i]);
	if (is_same)
		return;
	th_store_relaxed(&memo.is_wrong, 1);
	th_log_count(TH_COUNTER_JAVA_WALKS_WRONG, 1);
}

/* Under an odd version. */
static void
write_answer(
	struct answer *answer, uint64_t key, const struct th_call_frame *frames, uint32_t count)
{
	th_store_relaxed(&answer->key, key);
	th_store_relaxed(&answer->count, count);
	for (uint32_t i = 0; i < count; i++)
		th_store_relaxed(&answer->frames[i], pack(&frames[i]));
}

void
th_walk_memo_store(uint64_t key, const struct th_call_frame *frames, uint32_t count)
{
	struct answer *answer = answer_of(key);
	uint32_t version = th_load_relaxed(&answer->version);

	if (!key || version % 2 || !can_be_packed(frames, count) ||
		!th_cas_acq_rel(&answer->version, &version, version + 1))
		return;
	if (answer->key == key)
		check(answer, frames, count);
	else
		write_answer(answer, key, frames, count);
	th_store_release(&answer->version, version + 2);
}

void
th_walk_memo_start(const struct th_hotspot *hotspot)
{
	if (!th_hotspot_has_compiled_frames(hotspot))
		return;
	if (hotspot->perf_data)
		memo.unloaded = th_perf_data_long(
			(const char *)*hotspot->perf_data, "java.cls.unloadedClasses");
	memo.hotspot = hotspot;
}
