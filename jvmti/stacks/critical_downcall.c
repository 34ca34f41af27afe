/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/stacks/critical_downcall.h"

#include "jvmti/vm/code_blob.h"
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

bool
th_critical_downcall_caller(const struct th_hotspot *hotspot,
	const struct th_registers *registers, struct th_java_frame *ret)
{
	struct th_safe_read stack;
	int32_t words;

	if (!find_words(hotspot, registers, &words))
		return false;
	/* frame::sender_for_compiled_frame(): the return address on top, the frame pointer below. */
	ret->sp = registers->sp + (uintptr_t)words * sizeof(uintptr_t);
	th_safe_read_init(&stack, (const void *)registers->sp);
	return th_read_word(&stack, ret->sp - sizeof(uintptr_t), &ret->pc) &&
	       th_read_word(&stack, ret->sp - 2 * sizeof(uintptr_t), &ret->fp) &&
	       th_hotspot_is_code(hotspot, ret->pc);
}
