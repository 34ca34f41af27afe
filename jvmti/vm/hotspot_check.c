/* SPDX-License-Identifier: Apache-2.0 */
/* All reads are checked: with a wrong offset they may go to any address. */
#include "jvmti/vm/hotspot_check.h"

#include "unify/base/safe_read.h"

#define UNKNOWN (-1)
/* Larger than any distance from our frame to the base of a stack. */
#define STACK_MAX ((uintptr_t)4 << 30)
/* More than any thread allocates: 60 GB/s for half a year. */
#define BYTES_MAX (UINT64_C(1) << 60)

static bool
read_word_of(const char *thread, int64_t offset, uintptr_t *ret)
{
	struct th_safe_read memory = {0};

	return th_read_word(&memory, (uintptr_t)(thread + offset), ret);
}

static bool
is_in_native(const struct th_hotspot *hotspot, const char *thread)
{
	struct th_safe_read memory = {0};
	int32_t state;

	return th_read_bytes(&memory, (uintptr_t)(thread + hotspot->thread_state), &state,
		       sizeof(state)) &&
	       state == hotspot->state_in_native;
}

static bool
holds_call_stub(const struct th_hotspot *hotspot)
{
	uintptr_t low = *hotspot->code_low;
	uintptr_t high = *hotspot->code_high;
	uintptr_t stub = *hotspot->call_stub_return;

	return low < high && stub >= low && stub < high;
}

static bool
is_on_stack(const struct th_hotspot *hotspot, const char *thread)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t base;

	return read_word_of(thread, hotspot->stack_base, &base) && here < base &&
	       base - here < STACK_MAX;
}

static bool
has_fair_bytes(const struct th_hotspot *hotspot, const char *thread)
{
	uintptr_t start, top, bytes;

	return read_word_of(thread, hotspot->tlab_start, &start) &&
	       read_word_of(thread, hotspot->tlab_top, &top) &&
	       read_word_of(thread, hotspot->allocated_bytes, &bytes) && start <= top &&
	       top - start < BYTES_MAX && bytes < BYTES_MAX;
}

unsigned
th_hotspot_check(struct th_hotspot *hotspot, JNIEnv *env)
{
	const char *thread = th_hotspot_thread(hotspot, env);
	unsigned faults = 0;

	if (th_hotspot_has_frames(hotspot) && !is_in_native(hotspot, thread)) {
		hotspot->thread_state = UNKNOWN;
		faults |= TH_HOTSPOT_STATE;
	}
	if (hotspot->code_low && hotspot->code_high && hotspot->call_stub_return &&
		!holds_call_stub(hotspot)) {
		hotspot->code_low = NULL;
		hotspot->call_stub_return = NULL;
		faults |= TH_HOTSPOT_CODE_CACHE;
	}
	if (hotspot->env > 0 && hotspot->stack_base > 0 && !is_on_stack(hotspot, thread)) {
		hotspot->stack_base = UNKNOWN;
		faults |= TH_HOTSPOT_STACK;
	}
	if (th_hotspot_has_bytes(hotspot) && !has_fair_bytes(hotspot, thread)) {
		hotspot->allocated_bytes = UNKNOWN;
		faults |= TH_HOTSPOT_TLAB;
	}
	return faults;
}
