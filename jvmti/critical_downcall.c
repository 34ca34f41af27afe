/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/critical_downcall.h"

#include <string.h>

#include "jvmti/code_blob.h"
#include "unify/base/safe_read.h"

/* DowncallLinker::make_downcall_stub(). */
#define STUB_NAME "nep_invoker_blob"

/* The words of the stub's frame; false: it is none, or was interrupted, and may be without it. */
static bool
find_words(const struct th_hotspot *hotspot, const struct th_registers *registers,
	int32_t *words_ret)
{
	uintptr_t blob;

	return registers->pc && !registers->exact && th_hotspot_has_stubs(hotspot) &&
	       th_code_blob_find(hotspot, registers->pc, &blob) &&
	       th_code_blob_is_named(hotspot, blob, STUB_NAME) &&
	       th_code_blob_words(hotspot, blob, words_ret);
}

static void
set_registers(ucontext_t *context, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	mcontext_t *machine = &context->uc_mcontext;

	memset(context, 0, sizeof(*context));
#if defined(__x86_64__)
	machine->gregs[REG_RIP] = (greg_t)pc;
	machine->gregs[REG_RSP] = (greg_t)sp;
	machine->gregs[REG_RBP] = (greg_t)fp;
#elif defined(__aarch64__)
	machine->pc = pc;
	machine->sp = sp;
	machine->regs[29] = fp;
#endif
}

bool
th_critical_downcall_context(
	const struct th_hotspot *hotspot, const struct th_registers *registers, ucontext_t *ret)
{
	struct th_safe_read stack;
	uintptr_t pc, fp;
	int32_t words;

	if (!find_words(hotspot, registers, &words))
		return false;
	/* frame::sender_for_compiled_frame(): the return address on top, the frame pointer below. */
	uintptr_t sp = registers->sp + (uintptr_t)words * sizeof(uintptr_t);
	th_safe_read_init(&stack, (const void *)registers->sp);
	if (!th_read_word(&stack, sp - sizeof(uintptr_t), &pc) ||
		!th_read_word(&stack, sp - 2 * sizeof(uintptr_t), &fp) ||
		!th_hotspot_is_code(hotspot, pc))
		return false;
	/*
	 * The VM searches for a description of the frame beyond the pc of a context
	 * (is_decipherable_compiled_frame()), and that of a call is at its return address.
	 */
	set_registers(ret, pc - 1, sp, fp);
	return true;
}
