/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over garbage end early, without other effects: registers and stack contents are random
 * values that could mislead a walk.  Fixed seed.
 */
#include "tests/unit/unwind/unwind_oracle.h"

#include "unify/base/safe_read.h"
#include "unify/log/module.h"
#include "unify/sample/poisson.h"
#include "unify/unwind/unwind.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* cmocka.h must follow the headers above. */
#include <cmocka.h>

#define PAGE 4096u
#define WALKS 100000
#define CAPACITY 64

/* Three readable pages between two unreadable ones. */
#define ARENA_PAGES 3u

static uint8_t *arena;
static struct th_random chance;

static uint64_t
random_below(uint64_t bound)
{
	return th_random_next(&chance) % bound;
}

static uintptr_t
random_in_module(uintptr_t inside)
{
	struct th_module *module = th_module_find(inside);

	return module->start + random_below(module->end - module->start);
}

/* Into the arena or, one time in ten, the pages around it. */
static uintptr_t
random_in_arena(void)
{
	uintptr_t address = (uintptr_t)arena + random_below(ARENA_PAGES * PAGE);

	if (!random_below(10))
		address += random_below(2) ? PAGE * ARENA_PAGES : -(uintptr_t)PAGE;
	return random_below(8) ? address & -(uintptr_t)8 : address;
}

static uintptr_t
random_word(void)
{
	switch (random_below(10)) {
	case 0:
		return th_random_next(&chance);
	case 1:
		return random_below(4096);
	case 2:
		return (uintptr_t)0 - random_below(1 << 20);
	case 3:
	case 4:
		return random_in_module((uintptr_t)random_word);
	case 5:
	case 6:
		return random_in_module((uintptr_t)printf);
	default:
		return random_in_arena();
	}
}

static void
fill_arena(void)
{
	for (size_t i = 0; i < ARENA_PAGES * PAGE; i += sizeof(uintptr_t)) {
		uintptr_t word = random_word();

		memcpy(arena + i, &word, sizeof(word));
	}
}

static struct th_registers
random_registers(void)
{
	struct th_registers registers = {
		.pc = random_word(),
		.sp = random_below(4) ? random_in_arena() : random_word(),
		.exact = random_below(2),
	};

	for (unsigned i = 0; i < TH_REGISTER_COUNT; i++)
		registers.saved[i] = random_word();
	return registers;
}

static void
test_random_stacks(void **state)
{
	uint64_t frames[CAPACITY + 1];
	size_t longest = 0;
	unsigned ends[4] = {0};

	(void)state;
	frames[CAPACITY] = 0x5aa5;
	for (unsigned i = 0; i < WALKS; i++) {
		struct th_registers registers = random_registers();
		enum th_unwind_end end;
		size_t count;

		if (i % 16 == 0)
			fill_arena();
		count = th_unwind(&registers, NULL, frames, CAPACITY, &end);
		assert_in_range(count, 0, CAPACITY);
		assert_int_equal(frames[CAPACITY], 0x5aa5);
		ends[end]++;
		if (count > longest)
			longest = count;
	}
	/* The garbage can be followed for some frames, and is then recognized. */
	assert_in_range(longest, 4, CAPACITY);
	assert_true(ends[TH_UNWIND_STOPPED] > WALKS / 2);
	assert_int_equal(ends[TH_UNWIND_CODE], 0);
}

static __attribute__((noinline)) void
walk_damaged_copies(volatile uint8_t *above)
{
	struct th_registers here;
	struct th_safe_read memory;
	uint64_t frames[CAPACITY];
	enum th_unwind_end end;
	uintptr_t shift;

	above[0] = 1;
	th_registers_here(&here);
	th_safe_read_init(&memory, NULL);
	assert_true(th_read_bytes(&memory, here.sp, arena, ARENA_PAGES * PAGE));
	shift = (uintptr_t)arena - here.sp;
	for (size_t at = 0; at < 2000; at += sizeof(uintptr_t)) {
		for (unsigned i = 0; i < 20; i++) {
			struct th_registers registers = here;
			uintptr_t word = random_word();
			uintptr_t saved;

			registers.sp += shift;
			registers.saved[TH_REGISTER_FRAME_POINTER] += shift;
			memcpy(&saved, arena + at, sizeof(saved));
			memcpy(arena + at, &word, sizeof(word));
			assert_in_range(th_unwind(&registers, NULL, frames, CAPACITY, &end), 1,
				CAPACITY);
			memcpy(arena + at, &saved, sizeof(saved));
		}
	}
}

/*
 * A valid stack whose words are overwritten with garbage, one at a time, at growing distance.
 */
static void
test_damaged_stack(void **state)
{
	/* The number of bytes that can be copied without passing the end of the stack. */
	volatile uint8_t above[ARENA_PAGES * PAGE];

	(void)state;
	walk_damaged_copies(above);
	assert_int_equal(above[0], 1);
}

/* A frame record that points at itself must not be followed forever. */
static void
test_circle(void **state)
{
	uintptr_t *words = (uintptr_t *)arena;
	struct th_registers registers = {.sp = (uintptr_t)arena};
	uint64_t frames[CAPACITY];
	enum th_unwind_end end;
	uintptr_t after_call = (uintptr_t)__builtin_return_address(0);

	(void)state;
	for (size_t i = 0; i < ARENA_PAGES * PAGE / sizeof(*words); i += 2) {
		words[i] = (uintptr_t)arena;
		words[i + 1] = after_call;
	}
	/* In no module, so that only the frame pointer can be used. */
	registers.pc = (uintptr_t)arena + 8;
	registers.saved[TH_REGISTER_FRAME_POINTER] = (uintptr_t)arena;
	assert_in_range(th_unwind(&registers, NULL, frames, CAPACITY, &end), 1, CAPACITY);
	assert_int_not_equal(end, TH_UNWIND_CODE);
}

/* The return from a signal handler, as data: it is recognized, never executed. */
#if defined(__x86_64__)
static const uint8_t signal_return[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#	define SIGNAL_FRAME_PC 168
#else
static const uint32_t signal_return[] = {0xd2801168, 0xd4000001};
#	define SIGNAL_FRAME_PC 568
#endif

/*
 * A signal frame may be anywhere, so the interrupted code may be the same signal frame again.
 */
static void
test_circle_of_signal_frames(void **state)
{
	uintptr_t *words = (uintptr_t *)arena;
	struct th_registers registers = {
		.pc = (uintptr_t)signal_return, .sp = (uintptr_t)arena};
	uint64_t frames[CAPACITY];
	enum th_unwind_end end;
	size_t count;

	struct th_registers behind = registers;

	(void)state;
	/*
	 * A return address just after its start is looked up at the same address, and is not a
	 * trampoline.
	 */
	behind.pc++;
	th_unwind(&behind, NULL, frames, CAPACITY, &end);
	registers.exact = true;
	for (size_t i = 0; i < PAGE / sizeof(*words); i++)
		words[i] = (uintptr_t)arena;
	words[SIGNAL_FRAME_PC / sizeof(*words)] = (uintptr_t)signal_return;
	count = th_unwind(&registers, NULL, frames, CAPACITY, &end);
	assert_int_equal(end, TH_UNWIND_STOPPED);
	/* It was followed for some frames. */
	assert_in_range(count, 2, CAPACITY / 2);
}

static void
test_readable(void **state)
{
	uintptr_t start = (uintptr_t)arena;
	uintptr_t end = start + ARENA_PAGES * PAGE;
	struct th_safe_read memory;
	uintptr_t word;

	(void)state;
	th_safe_read_init(&memory, NULL);
	assert_false(th_is_readable(&memory, 0, 1));
	assert_false(th_is_readable(&memory, start - 1, 1));
	assert_false(th_is_readable(&memory, start - 1, 2));
	assert_true(th_is_readable(&memory, start, 1));
	assert_true(th_is_readable(&memory, start, ARENA_PAGES * PAGE));
	assert_int_equal(memory.low, start);
	assert_int_equal(memory.high, end);
	assert_false(th_is_readable(&memory, start, ARENA_PAGES * PAGE + 1));
	assert_false(th_is_readable(&memory, end, 1));
	assert_false(th_is_readable(&memory, UINTPTR_MAX - 3, 8));
	assert_false(th_is_readable(&memory, UINTPTR_MAX - 3, 4));
	assert_true(th_read_word(&memory, end - 8, &word));
	assert_false(th_read_word(&memory, end - 4, &word));
	assert_false(th_read_word(&memory, start + 1, &word));
	assert_true(th_read_bytes(&memory, start + 1, &word, sizeof(word)));
	/* A range that is not adjacent to the previous one replaces it. */
	assert_true(th_is_readable(&memory, (uintptr_t)&memory, sizeof(memory)));
	assert_true(memory.low <= (uintptr_t)&memory && (uintptr_t)&memory < memory.high);
	assert_true(th_is_readable(&memory, start, 1));
}

static sigset_t
blocked_signals(void)
{
	sigset_t blocked;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	return blocked;
}

/* The probe calls sigprocmask. */
static void
test_readable_leaves_the_signal_mask(void **state)
{
	struct th_safe_read memory = {0};
	sigset_t before;
	sigset_t after;

	(void)state;
	memset(arena, 0xff, PAGE);
	before = blocked_signals();
	assert_true(th_is_readable(&memory, (uintptr_t)arena, 8));
	after = blocked_signals();
	assert_memory_equal(&before, &after, 8);
}

static int
setup(void **state)
{
	uint8_t *pages;

	(void)state;
	th_random_seed(&chance, 20240607);
	oracle_init();
	pages = mmap(
		NULL, (ARENA_PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	arena = pages + PAGE;
	assert_int_equal(mprotect(arena, ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readable),
		cmocka_unit_test(test_readable_leaves_the_signal_mask),
		cmocka_unit_test(test_random_stacks),
		cmocka_unit_test(test_damaged_stack),
		cmocka_unit_test(test_circle),
		cmocka_unit_test(test_circle_of_signal_frames),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
