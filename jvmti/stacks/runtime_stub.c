/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a code blob is not compiled Java code, and computes the caller from its frame size. */
#include "jvmti/stacks/runtime_stub.h"

#include "jvmti/vm/code_blob.h"
#include "unify/base/atomic.h"
#include "unify/base/return_address.h"
#include "unify/base/safe_read.h"

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

bool
th_runtime_stub_caller(const struct th_hotspot *hotspot, const struct th_java_frame *frame,
	struct th_java_frame *caller_ret)
{
	struct th_safe_read stack;
	int32_t words;

	th_safe_read_init(&stack, (const void *)frame->sp);
	if (!th_hotspot_has_stubs(hotspot) || !find_words(hotspot, frame->pc, &words))
		return false;
	/* frame::sender_for_compiled_frame(): the return address on top, the frame pointer below. */
	caller_ret->sp = frame->sp + (uintptr_t)words * sizeof(uintptr_t);
	if (!th_read_word(&stack, caller_ret->sp - sizeof(uintptr_t), &caller_ret->pc) ||
		!th_read_word(&stack, caller_ret->sp - 2 * sizeof(uintptr_t), &caller_ret->fp))
		return false;
	caller_ret->pc = th_return_address_strip(caller_ret->pc);
	return true;
}
