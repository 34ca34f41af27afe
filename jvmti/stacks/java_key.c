/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/stacks/java_key.h"

#include "jvmti/stacks/java_frames.h"
#include "jvmti/vm/vm_words.h"
#include "unify/sample/capture.h"
#include "unify/shared/hash.h"

/*
 * This many return addresses, looked for in this many words.  Inlined calls have none: compiled code
 * reaches further back.
 */
#define CALLERS 8
#define WORDS 128

static struct {
	const struct th_hotspot *hotspot; /* NULL: no keys */
	bool has_virtual_threads;
	uintptr_t interpreter;       /* its code */
	uintptr_t interpreter_bytes; /* 0: unknown, and there are no keys of stacks */
} keys;

static bool
is_interpreter(uintptr_t pc)
{
	return pc - keys.interpreter < keys.interpreter_bytes;
}

/*
 * A hash of what determines the frame to which the word at `at` returns: an interpreted frame's
 * pointer is stored below it.
 */
static uint64_t
frame_key(uintptr_t at, uintptr_t sp, uintptr_t base)
{
	uintptr_t pc = th_word_at(at);
	uint64_t key = 0;

	if (is_interpreter(pc) && at > sp)
		key = th_java_frames_interpreted(th_word_at(at - sizeof(uintptr_t)), sp, base);
	return key ? key : pc;
}

/*
 * Adds the return addresses of the youngest frames, among the words above their stack pointer.  Other
 * words of the stack may look like one, and make two keys of one.
 */
static uint64_t
add_callers(uint64_t key, uintptr_t sp, uintptr_t base)
{
	uintptr_t words = (base - sp) / sizeof(uintptr_t);
	unsigned found = 0;

	for (unsigned i = 0; i < WORDS && i < words && found < CALLERS; i++) {
		uintptr_t at = sp + i * sizeof(uintptr_t);

		if (!th_hotspot_is_code(keys.hotspot, th_word_at(at)))
			continue;
		key = th_hash_mix(key ^ frame_key(at, sp, base));
		found++;
	}
	return key;
}

/*
 * The youngest frame; 0: unknown.  The older frames of a virtual thread may not be on the stack, so
 * that its keys would tell too little.
 */
static uint64_t
leaf_key(uintptr_t thread, uintptr_t sp, uintptr_t base)
{
	const struct th_hotspot *hotspot = keys.hotspot;

	if (!keys.interpreter_bytes ||
		th_hotspot_is_virtual(hotspot, thread, keys.has_virtual_threads))
		return 0;
	uintptr_t pc = th_field_at(thread, hotspot->last_java_pc);
	if (!pc)
		pc = th_word_at(sp - sizeof(uintptr_t));
	return is_interpreter(pc)
		       ? th_java_frames_interpreted(
				 th_field_at(thread, hotspot->last_java_fp), sp, base)
		       : pc;
}

uint64_t
th_java_key_of_callers(const char *java_thread)
{
	const struct th_hotspot *hotspot = keys.hotspot;
	uintptr_t thread = (uintptr_t)java_thread;
	uintptr_t sp = th_field_at(thread, hotspot->last_java_sp);
	uintptr_t base = th_field_at(thread, hotspot->stack_base);

	/* Java code that called C directly (critical_downcall.h) has no anchor. */
	if (!sp && th_hotspot_state(hotspot, java_thread) != hotspot->state_in_java)
		return TH_NO_JAVA_CODE;
	if (!sp || sp & 7 || sp >= base)
		return 0;
	uint64_t leaf = leaf_key(thread, sp, base);
	return leaf ? add_callers(leaf ^ (base - sp), sp, base) : 0;
}

/* The depth tells allocations of Java code from those of native functions that it calls. */
uint64_t
th_java_key_of_object(const char *thread)
{
	uint64_t key = keys.hotspot ? th_java_key_of_callers(thread) : 0;

	if (!key)
		return 0;
	return th_hash_mix(key ^ (th_field_at((uintptr_t)thread, keys.hotspot->stack_base) -
					 (uintptr_t)__builtin_frame_address(0)));
}

bool
th_java_key_start(const struct th_hotspot *hotspot, bool has_virtual_threads)
{
	if (hotspot->stack_base <= 0)
		return false;
	keys.has_virtual_threads = has_virtual_threads;
	if (th_hotspot_has_java_frames(hotspot))
		th_hotspot_interpreter(hotspot, &keys.interpreter, &keys.interpreter_bytes);
	keys.hotspot = hotspot;
	return true;
}
