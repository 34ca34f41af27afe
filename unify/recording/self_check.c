/* SPDX-License-Identifier: Apache-2.0 */
/* The walk runs through a chain of three functions that record their own return addresses. */
#include "unify/recording/self_check.h"

#include <stddef.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline))
/* Prevents a tail call, so that the caller's frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")
#define FUNCTIONS 3
#define FRAMES_MAX 32

struct known_stack {
	th_unwind_function *walk;
	uintptr_t returns[FUNCTIONS]; /* innermost first */
	bool is_good;
};

/* Walks until it finds `wanted`; the frame there is the caller of a known function. */
static bool
walks_to(th_unwind_function *walk, const struct th_registers *from, uintptr_t wanted,
	uintptr_t *sp_ret)
{
	const struct th_unwind_limits limits = {.code_low = wanted, .code_high = wanted + 1};
	struct th_registers registers = *from;
	uint64_t frames[FRAMES_MAX];
	enum th_unwind_end end;

	walk(&registers, &limits, frames, FRAMES_MAX, &end);
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
		if (!walks_to(stack->walk, &registers, stack->returns[i], &sp) || sp <= last)
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
th_self_check_walk(th_unwind_function *walk)
{
	struct known_stack stack = {.walk = walk};

	outermost(&stack);
	return stack.is_good;
}
