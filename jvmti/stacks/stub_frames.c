/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/stacks/stub_frames.h"

#include <string.h>

#include "jvmti/vm/code_blob.h"
#include "jvmti/vm/vm_words.h"
#include "unify/base/atomic.h"
#include "unify/base/safe_read.h"

/* At the base of a stack, below which no frame of Java code begins. */
#define FREE_WORDS 64
/* UpcallLinker::make_upcall_stub(), DowncallLinker::make_downcall_stub(). */
#define UPCALL_NAME "upcall_stub"
#define DOWNCALL_NAME "nep_invoker_blob"
/* Runtime stubs */

/* Compiled code allocates through some ten stubs, each with one call. */
#define KNOWN_MAX 64

/* A stub, by the return address of its call.  Written once. */
struct known {
	uintptr_t claimed; /* atomic: the pc, or 0 = free */
	uintptr_t pc;      /* atomic: the same once the other fields are written */
	uintptr_t blob;
	uintptr_t name; /* const char*, of the VM's own text */
	int32_t words;
};

/*
 * Finding a blob takes 1 us, most of it to prove that memory can be read.  Stubs of the VM are
 * never freed; should other code ever be in their place, it has another name or another start.
 */
static struct known known[KNOWN_MAX];

static struct known *
slot_of(uintptr_t pc)
{
	return &known[pc * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

bool
th_runtime_stub_is_known(uintptr_t pc)
{
	return pc && th_load_relaxed(&slot_of(pc)->pc) == pc;
}

/* A blob once found stays mapped: the code cache does not shrink. */
static bool
recall(const struct th_hotspot *hotspot, uintptr_t pc, int32_t *words_ret)
{
	const struct known *slot = slot_of(pc);

	/* Pairs with the release in remember(). */
	if (th_load_acquire(&slot->pc) != pc)
		return false;
	*words_ret = slot->words;
	return *(const uintptr_t *)(slot->blob + (uintptr_t)hotspot->blob_name) == slot->name &&
	       *(const int32_t *)(slot->blob + (uintptr_t)hotspot->blob_frame_size) ==
		       slot->words;
}

static void
remember(const struct th_hotspot *hotspot, uintptr_t pc, uintptr_t blob, int32_t words)
{
	struct known *slot = slot_of(pc);
	uintptr_t before = 0;

	if (!th_cas_acq_rel(&slot->claimed, &before, pc))
		return;
	slot->blob = blob;
	slot->name = *(const uintptr_t *)(blob + (uintptr_t)hotspot->blob_name);
	slot->words = words;
	th_store_release(&slot->pc, pc);
}

/* The size of the frame at `pc`, if that is in a runtime stub. */
static bool
find_words(const struct th_hotspot *hotspot, uintptr_t pc, int32_t *words_ret)
{
	uintptr_t blob;

	if (recall(hotspot, pc, words_ret))
		return true;
	if (!th_code_blob_find(hotspot, pc, &blob) ||
		th_code_blob_kind(hotspot, blob) != TH_CODE_OTHER ||
		!th_code_blob_words(hotspot, blob, words_ret))
		return false;
	remember(hotspot, pc, blob, *words_ret);
	return true;
}

/* The caller of a frame of so many words.  All reads are checked. */
static bool
read_caller(uintptr_t sp, int32_t words, struct th_java_frame *ret)
{
	struct th_safe_read stack;

	th_safe_read_init(&stack, (const void *)sp);
	/* frame::sender_for_compiled_frame(): the return address on top, the frame pointer below. */
	ret->sp = sp + (uintptr_t)words * sizeof(uintptr_t);
	if (!th_read_word(&stack, ret->sp - sizeof(uintptr_t), &ret->pc) ||
		!th_read_word(&stack, ret->sp - 2 * sizeof(uintptr_t), &ret->fp))
		return false;
	ret->pc = th_return_address_strip(ret->pc);
	return true;
}

bool
th_runtime_stub_caller(const struct th_hotspot *hotspot, const struct th_java_frame *frame,
	struct th_java_frame *caller_ret)
{
	int32_t words;

	return th_hotspot_has_stubs(hotspot) && find_words(hotspot, frame->pc, &words) &&
	       read_caller(frame->sp, words, caller_ret);
}

/* Critical downcalls */

/* A frame that was interrupted may be without its words. */
bool
th_critical_downcall_caller(const struct th_hotspot *hotspot,
	const struct th_registers *registers, struct th_java_frame *ret)
{
	uintptr_t blob;
	int32_t words;

	return registers->pc && !registers->exact && th_hotspot_has_stubs(hotspot) &&
	       th_code_blob_find(hotspot, registers->pc, &blob) &&
	       th_code_blob_is_named(hotspot, blob, DOWNCALL_NAME) &&
	       th_code_blob_words(hotspot, blob, &words) &&
	       read_caller(registers->sp, words, ret) && th_hotspot_is_code(hotspot, ret->pc);
}

/* Entry frames */

bool
th_is_frame_address(const struct th_stack_part *stack, uintptr_t address)
{
	return !(address & 7) && address >= stack->low && address < stack->base &&
	       stack->base - address > FREE_WORDS * sizeof(uintptr_t);
}

/*
 * frame_CPU.hpp and stubGenerator_CPU.cpp: registers saved by the call stub for its caller, C++ code of
 * the VM.
 */
static void
read_call_stub_caller(uintptr_t fp, struct th_registers *registers)
{
	memset(registers, 0, sizeof(*registers));
	registers->pc = th_return_address_at(fp + sizeof(uintptr_t));
	registers->sp = fp + 2 * sizeof(uintptr_t);
	registers->saved[TH_REGISTER_FRAME_POINTER] = th_word_at(fp);
#if defined(__x86_64__)
	registers->saved[TH_REGISTER_RBX] = th_word_at(fp - 7 * sizeof(uintptr_t));
	registers->saved[TH_REGISTER_R12] = th_word_at(fp - 8 * sizeof(uintptr_t));
	registers->saved[TH_REGISTER_R13] = th_word_at(fp - 9 * sizeof(uintptr_t));
	registers->saved[TH_REGISTER_R14] = th_word_at(fp - 10 * sizeof(uintptr_t));
	registers->saved[TH_REGISTER_R15] = th_word_at(fp - 11 * sizeof(uintptr_t));
#elif defined(__aarch64__)
	for (unsigned i = 0; i < TH_REGISTER_X29; i++) /* x19 to x28 */
		registers->saved[i] = th_word_at(fp - (9 + i) * sizeof(uintptr_t));
#endif
}

/* The frame of a JavaFrameAnchor; false: its stack pointer is not that of an older frame. */
static bool
read_anchor(const struct th_hotspot *hotspot, const struct th_stack_part *stack,
	uintptr_t anchor, struct th_java_frame *ret)
{
	uintptr_t sp = th_word_at(anchor);

	*ret = (struct th_java_frame){.sp = sp};
	if (!sp)
		return true;
	if (!th_is_frame_address(stack, sp) || sp <= anchor)
		return false;
	ret->fp = th_field_at(anchor, hotspot->last_java_fp - hotspot->last_java_sp);
	ret->pc = th_field_at(anchor, hotspot->last_java_pc - hotspot->last_java_sp);
	if (!ret->pc)
		ret->pc = th_return_address_at(sp - sizeof(uintptr_t));
	return true;
}

bool
th_call_stub_read(const struct th_hotspot *hotspot, const struct th_stack_part *stack,
	uintptr_t fp, struct th_entry_frame *ret)
{
	const int64_t slot = hotspot->entry_frame_wrapper * (int64_t)sizeof(uintptr_t);

	if (!th_is_frame_address(stack, fp))
		return false;
	uintptr_t wrapper = th_field_at(fp, slot);
	/* javaCalls.hpp: the thread is the wrapper's first field. */
	if (!th_is_frame_address(stack, wrapper) ||
		th_word_at(wrapper) != (uintptr_t)stack->thread ||
		!read_anchor(hotspot, stack, wrapper + (uintptr_t)hotspot->wrapper_last_java_sp,
			&ret->older))
		return false;
	read_call_stub_caller(fp, &ret->native);
	return true;
}

/*
 * UpcallStub::FrameData: an anchor, and the thread, somewhere in the frame.  The thread may also be in a
 * register of the caller that the stub has saved.
 */
static bool
find_upcall_anchor(const struct th_hotspot *hotspot, const struct th_stack_part *stack,
	uintptr_t sp, uintptr_t end, struct th_java_frame *ret)
{
	const uintptr_t bytes = 3 * sizeof(uintptr_t);

	for (uintptr_t at = sp + bytes; at < end; at += sizeof(uintptr_t))
		if (th_word_at(at) == (uintptr_t)stack->thread &&
			read_anchor(hotspot, stack, at - bytes, ret) && ret->sp)
			return true;
	return false;
}

/* The stub keeps a frame pointer, and no frame size is given. */
bool
th_upcall_stub_read(const struct th_hotspot *hotspot, const struct th_stack_part *stack,
	const struct th_java_frame *frame, struct th_entry_frame *ret)
{
	uintptr_t fp = frame->fp;
	uintptr_t blob;

	if (!th_code_blob_find(hotspot, frame->pc, &blob) ||
		!th_code_blob_is_named(hotspot, blob, UPCALL_NAME) ||
		!th_is_frame_address(stack, fp) ||
		!find_upcall_anchor(hotspot, stack, frame->sp, fp, &ret->older))
		return false;
	/* Other registers of the caller are not known. */
	ret->native = (struct th_registers){
		.pc = th_return_address_at(fp + sizeof(uintptr_t)),
		.sp = fp + 2 * sizeof(uintptr_t),
	};
	ret->native.saved[TH_REGISTER_FRAME_POINTER] = th_word_at(fp);
	return true;
}
