/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/stacks/java_site.h"

#include "jvmti/stacks/java_frames.h"
#include "jvmti/vm/vm_words.h"
#include "unify/sample/capture.h"
#include "unify/shared/hash.h"

/*
 * A site is known by this many return addresses, looked for in this many words, and the paths to
 * it by these.  Inlined calls have none: compiled code reaches further back.
 */
#define NEAR_CALLERS 2
#define NEAR_WORDS 32
#define FAR_CALLERS 8
#define FAR_WORDS 128

static struct {
	const struct th_hotspot *hotspot; /* NULL: no keys */
	bool has_virtual_threads;
	uintptr_t interpreter;       /* its code */
	uintptr_t interpreter_bytes; /* 0: unknown, and there are no keys of stacks */
} site;

static bool
is_interpreter(uintptr_t pc)
{
	return pc - site.interpreter < site.interpreter_bytes;
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
 * The return addresses of the youngest frames, among the words above their stack pointer.  Other
 * words of the stack may look like one, and make two sites of one.
 */
static void
add_callers(struct th_site_key *key, uintptr_t sp, uintptr_t base)
{
	uintptr_t words = (base - sp) / sizeof(uintptr_t);
	unsigned found = 0;

	for (unsigned i = 0; i < FAR_WORDS && i < words && found < FAR_CALLERS; i++) {
		uintptr_t at = sp + i * sizeof(uintptr_t);
		uintptr_t word = th_word_at(at);

		if (!th_hotspot_is_code(site.hotspot, word))
			continue;
		key->far = th_hash_mix(key->far ^ word);
		key->stack = th_hash_mix(key->stack ^ frame_key(at, sp, base));
		if (found++ < NEAR_CALLERS && i < NEAR_WORDS)
			key->near = key->far;
	}
}

/*
 * The youngest frame; 0: unknown.  The older frames of a virtual thread may not be on the stack, so
 * that its keys would tell too little.
 */
static uint64_t
leaf_key(uintptr_t thread, uintptr_t sp, uintptr_t base)
{
	const struct th_hotspot *hotspot = site.hotspot;

	if (!site.interpreter_bytes ||
		th_hotspot_is_virtual(hotspot, thread, site.has_virtual_threads))
		return 0;
	uintptr_t pc = th_field_at(thread, hotspot->last_java_pc);
	if (!pc)
		pc = th_word_at(sp - sizeof(uintptr_t));
	return is_interpreter(pc)
		       ? th_java_frames_interpreted(
				 th_field_at(thread, hotspot->last_java_fp), sp, base)
		       : pc;
}

struct th_site_key
th_java_site_callers(const char *java_thread)
{
	const struct th_hotspot *hotspot = site.hotspot;
	uintptr_t thread = (uintptr_t)java_thread;
	uintptr_t sp = th_field_at(thread, hotspot->last_java_sp);
	uintptr_t base = th_field_at(thread, hotspot->stack_base);
	struct th_site_key key = {0, 0, 0};

	/* Java code that called C directly (critical_downcall.h) has no anchor. */
	if (!sp && th_hotspot_state(hotspot, java_thread) != hotspot->state_in_java)
		key.stack = TH_NO_JAVA_CODE;
	if (!sp || sp & 7 || sp >= base)
		return key;
	uint64_t leaf = leaf_key(thread, sp, base);
	key.stack = leaf ^ (base - sp);
	add_callers(&key, sp, base);
	if (!leaf)
		key.stack = 0;
	return key;
}

/* The depth tells allocations of Java code from those of native functions that it calls. */
struct th_site_key
th_java_site_of_object(const char *thread)
{
	struct th_site_key key = {0, 0, 0};

	if (!site.hotspot)
		return key;
	key = th_java_site_callers(thread);
	if (key.stack)
		key.stack = th_hash_mix(
			key.stack ^ (th_field_at((uintptr_t)thread, site.hotspot->stack_base) -
					    (uintptr_t)__builtin_frame_address(0)));
	return key;
}

bool
th_java_site_start(const struct th_hotspot *hotspot, bool has_virtual_threads)
{
	if (hotspot->stack_base <= 0)
		return false;
	site.has_virtual_threads = has_virtual_threads;
	if (th_hotspot_has_java_frames(hotspot))
		th_hotspot_interpreter(hotspot, &site.interpreter, &site.interpreter_bytes);
	site.hotspot = hotspot;
	return true;
}
