/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each check calls the functions in th_self_check_parts with inputs of known result.  The walk
 * runs through a chain of three functions that record their own return addresses.
 */
#include "unify/recording/self_check.h"

#include "unify/sample/live_blocks.h"
#include "unify/sample/thread.h"

#define NOINLINE __attribute__((noinline))
/* Prevents a tail call, so that the caller's frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")
/*
 * Upper bound for the static TLS of all objects loaded at start; glibc's surplus for later ones
 * is 1,664 bytes.
 */
#define STATIC_TLS_MAX (64u << 20)
#define FUNCTIONS 3
#define FRAMES_MAX 32

/* The real parts */

static bool
take(uint64_t *countdown, uint64_t size)
{
	return th_countdown_take(countdown, size);
}

static NOINLINE void *
thread_state(void)
{
	return &th_thread;
}

static bool
may_hold(const void *block)
{
	return th_live_blocks_may_hold(block);
}

const struct th_self_check_parts th_self_check_parts = {
	.take = take,
	.thread_state = thread_state,
	.walk = th_unwind,
	.insert = th_live_blocks_insert,
	.may_hold = may_hold,
	.remove = th_live_blocks_remove,
};

/* Countdown */

static bool
counts_down(const struct th_self_check_parts *parts)
{
	uint64_t countdown = 100;

	return !parts->take(&countdown, 40) && countdown == 60 &&
	       !parts->take(&countdown, 59) && countdown == 1 && parts->take(&countdown, 1) &&
	       parts->take(&countdown, 16);
}

/* Static TLS lies near the thread pointer on every supported processor. */
static bool
is_static_tls(const struct th_self_check_parts *parts)
{
	intptr_t distance = (intptr_t)((char *)parts->thread_state() -
				       (char *)__builtin_thread_pointer());

	return distance > -(intptr_t)STATIC_TLS_MAX && distance < (intptr_t)STATIC_TLS_MAX;
}

bool
th_self_check_countdown(const struct th_self_check_parts *parts)
{
	return counts_down(parts) && is_static_tls(parts);
}

/* Walk */

struct known_stack {
	const struct th_self_check_parts *parts;
	uintptr_t returns[FUNCTIONS]; /* innermost first */
	bool is_good;
};

/* Walks until it finds `wanted`; the frame there is the caller of a known function. */
static bool
walks_to(const struct th_self_check_parts *parts, const struct th_registers *from,
	uintptr_t wanted, uintptr_t *sp_ret)
{
	const struct th_unwind_limits limits = {.code_low = wanted, .code_high = wanted + 1};
	struct th_registers registers = *from;
	uint64_t frames[FRAMES_MAX];
	enum th_unwind_end end;

	parts->walk(&registers, &limits, frames, FRAMES_MAX, &end);
	*sp_ret = registers.sp;
	return end == TH_UNWIND_CODE && registers.pc == wanted;
}

static NOINLINE void
innermost(struct known_stack *stack)
{
	struct th_registers registers;
	uintptr_t sp, last;

	stack->returns[0] = (uintptr_t)__builtin_return_address(0);
	th_registers_here(&registers);
	last = registers.sp;
	stack->is_good = true;
	for (int i = 0; i < FUNCTIONS; i++) {
		if (!walks_to(stack->parts, &registers, stack->returns[i], &sp) || sp <= last)
			stack->is_good = false;
		last = sp;
	}
	STAY();
}

static NOINLINE void
middle(struct known_stack *stack)
{
	stack->returns[1] = (uintptr_t)__builtin_return_address(0);
	innermost(stack);
	STAY();
}

static NOINLINE void
outermost(struct known_stack *stack)
{
	stack->returns[2] = (uintptr_t)__builtin_return_address(0);
	middle(stack);
	STAY();
}

bool
th_self_check_walk(const struct th_self_check_parts *parts)
{
	struct known_stack stack = {.parts = parts};

	outermost(&stack);
	return stack.is_good;
}

/* Live table */

bool
th_self_check_live(const struct th_self_check_parts *parts)
{
	static char block; /* no allocator returns this address */
	const uint64_t sample = 8;
	uintptr_t address = (uintptr_t)&block;

	bool is_in = parts->insert(address, sample) && parts->may_hold(&block);
	bool is_found = parts->remove(address) == sample;

	return is_in && is_found && !parts->remove(address);
}
