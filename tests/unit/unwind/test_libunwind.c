/* SPDX-License-Identifier: Apache-2.0 */
/* The walk by libunwind returns the same as th_unwind(), and its ABI is as declared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#if defined(__x86_64__)
#	define UNW_LOCAL_ONLY
#	include <libunwind.h>
#endif

#include "tests/unit/unwind/unwind_oracle.h"
#include "unify/log/module.h"
#include "unify/unwind/libunwind.h"

#define FRAMES_MAX 64
#define NOINLINE __attribute__((noinline))
/* Prevents a tail call, so that the caller's frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")

#if defined(__x86_64__)
_Static_assert(sizeof(unw_cursor_t) == 127 * sizeof(uint64_t), "the cursor");
_Static_assert(sizeof(unw_context_t) == sizeof(ucontext_t), "the context");
_Static_assert(UNW_X86_64_RSP == 7 && UNW_X86_64_RIP == 16, "sp and pc");
_Static_assert(UNW_X86_64_RBX == 3 && UNW_X86_64_RBP == 6 && UNW_X86_64_R12 == 12 &&
		       UNW_X86_64_R15 == 15,
	"saved registers");
_Static_assert(UNW_INIT_SIGNAL_FRAME == 1 && UNW_CACHE_NONE == 0, "constants");
#endif

struct walk {
	struct th_registers registers;
	uint64_t frames[FRAMES_MAX];
	size_t count;
	enum th_unwind_end end;
};

static void
run(th_unwind_function *walker, const struct th_registers *from,
	const struct th_unwind_limits *limits, size_t capacity, struct walk *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->registers = *from;
	ret->count = walker(&ret->registers, limits, ret->frames, capacity, &ret->end);
}

/* Both walks from the caller's frame: same frames, same end, same frame at the end. */
static NOINLINE void
compare(const struct th_unwind_limits *limits, size_t capacity, struct walk *ret)
{
	struct th_registers registers;
	struct walk theirs;

	th_registers_here(&registers);
	run(th_unwind, &registers, limits, capacity, ret);
	errno = EXDEV;
	run(th_libunwind_walk, &registers, limits, capacity, &theirs);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(theirs.end, ret->end);
	assert_int_equal(theirs.count, ret->count);
	assert_memory_equal(theirs.frames, ret->frames, ret->count * sizeof(ret->frames[0]));
	if (ret->end != TH_UNWIND_BASE)
		assert_memory_equal(&theirs.registers, &ret->registers,
			offsetof(struct th_registers, exact));
}

static NOINLINE void
descend(unsigned levels, const struct th_unwind_limits *limits, size_t capacity,
	struct walk *ret)
{
	if (levels)
		descend(levels - 1, limits, capacity, ret);
	else
		compare(limits, capacity, ret);
	STAY();
}

static void
test_whole_stack(void **state)
{
	struct walk walk;

	(void)state;
	descend(20, NULL, FRAMES_MAX, &walk);
	assert_int_equal(walk.end, TH_UNWIND_BASE);
	assert_true(walk.count >= 20);
}

static void
test_no_room(void **state)
{
	struct walk walk;

	(void)state;
	descend(20, NULL, 7, &walk);
	assert_int_equal(walk.end, TH_UNWIND_FULL);
	assert_int_equal(walk.count, 7);
}

/* As at the code cache of a VM: a walk can continue from the registers at the end. */
static void
test_stops_at_code(void **state)
{
	struct th_unwind_limits limits;
	struct walk walk;
	uintptr_t here = (uintptr_t)__builtin_return_address(0);

	(void)state;
	limits = (struct th_unwind_limits){.code_low = here, .code_high = here + 1};
	descend(20, &limits, FRAMES_MAX, &walk);
	assert_int_equal(walk.end, TH_UNWIND_CODE);
	assert_int_equal(walk.registers.pc, here);
}

static void
handle(int number)
{
	struct walk walk;

	(void)number;
	descend(3, NULL, FRAMES_MAX, &walk);
	assert_int_equal(walk.end, TH_UNWIND_BASE);
}

static void
test_through_a_signal(void **state)
{
	struct sigaction action = {.sa_handler = handle};
	struct sigaction before;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

#if defined(__x86_64__)
/* Addresses that are neither code nor stack end the walk. */
static void
test_garbage(void **state)
{
	struct th_registers registers = {.pc = 0x10, .sp = 0x10};
	struct walk walk;

	(void)state;
	run(th_libunwind_walk, &registers, NULL, FRAMES_MAX, &walk);
	assert_int_equal(walk.end, TH_UNWIND_STOPPED);
	assert_int_equal(walk.count, 0);
	registers.pc = (uintptr_t)test_garbage;
	run(th_libunwind_walk, &registers, NULL, FRAMES_MAX, &walk);
	assert_int_equal(walk.end, TH_UNWIND_STOPPED);
	assert_int_equal(walk.count, 0);
}
#endif

static int
set_up(void **state)
{
	(void)state;
	oracle_init();
#if defined(__x86_64__)
	assert_true(th_libunwind_open(dlsym));
#endif
	return 0;
}

static void *
find_nothing(void *library, const char *name)
{
	(void)library;
	(void)name;
	return NULL;
}

static void
test_library_without_its_functions(void **state)
{
	(void)state;
	assert_false(th_libunwind_open(find_nothing));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_stack),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_stops_at_code),
		cmocka_unit_test(test_through_a_signal),
#if defined(__x86_64__)
		cmocka_unit_test(test_garbage),
#endif
		cmocka_unit_test(test_library_without_its_functions),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
