/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/stacks/stub_frames.h"

#include <string.h>

#include "jvmti/vm/code_blob.h"
#include "unify/base/safe_read.h"

/* At the base of a stack, below which no frame of Java code begins. */
#define FREE_WORDS 64
/* Runtime stubs */

bool
th_stub_caller(uintptr_t sp, uint32_t words, struct th_java_frame *ret)
{
	struct th_safe_read stack;

	th_safe_read_init(&stack, (const void *)sp);
	/* frame::sender_for_compiled_frame(): the return address on top, the frame pointer below. */
	ret->sp = sp + words * sizeof(uintptr_t);
	if (!th_read_word(&stack, ret->sp - sizeof(uintptr_t), &ret->pc) ||
		!th_read_word(&stack, ret->sp - 2 * sizeof(uintptr_t), &ret->fp))
		return false;
	ret->pc = th_return_address_strip(ret->pc);
	return true;
}

/* Critical downcalls */

/* A frame that was interrupted may be without its words. */
bool
th_critical_downcall_caller(const struct th_hotspot *hotspot,
	const struct th_registers *registers, struct th_java_frame *ret)
{
	struct th_code_blob blob;

	return registers->pc && !registers->exact && th_hotspot_has_stubs(hotspot) &&
	       th_code_blob_find(hotspot, registers->pc, &blob) &&
	       blob.kind == TH_CODE_DOWNCALL && blob.words &&
	       th_stub_caller(registers->sp, blob.words, ret) &&
	       th_hotspot_is_code(hotspot, ret->pc);
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
	struct th_code_blob blob;

	if (!th_code_blob_find(hotspot, frame->pc, &blob) || blob.kind != TH_CODE_UPCALL ||
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
