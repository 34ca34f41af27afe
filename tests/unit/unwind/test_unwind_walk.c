/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of th_unwind other than the frames: ends, registers, limits, fallbacks. */
#include "tests/unit/unwind/unwind_oracle.h"

#include "unify/log/module.h"
#include "unify/shared/log_format.h"
#include "unify/unwind/unwind.h"

#include <alloca.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

/* cmocka.h must follow the headers above. */
#include <cmocka.h>

#define NOINLINE __attribute__((noinline))

/* The interface */

static NOINLINE size_t
walk_here(uint64_t *frames, size_t capacity, const struct th_unwind_limits *limits,
	struct th_registers *registers, enum th_unwind_end *end)
{
	th_registers_here(registers);
	return th_unwind(registers, limits, frames, capacity, end);
}

/* A walk that was cut short can continue from the registers that it returned. */
static void
test_walk_resumes(void **state)
{
	struct th_registers registers;
	uint64_t whole[256];
	uint64_t parts[256];
	enum th_unwind_end end;
	size_t count = walk_here(whole, 256, NULL, &registers, &end);
	size_t found = 0;

	(void)state;
	assert_int_equal(end, TH_UNWIND_BASE);
	end = TH_UNWIND_FULL;
	found = walk_here(parts, 1, NULL, &registers, &end);
	while (end == TH_UNWIND_FULL)
		found += th_unwind(&registers, NULL, parts + found, 1, &end);
	assert_int_equal(end, TH_UNWIND_BASE);
	assert_int_equal(found, count);
	/* The two started at different instructions of this function. */
	assert_memory_equal(parts + 2, whole + 2, (count - 2) * sizeof(*whole));
}

/* The frame in the code range is not written, and the registers are those of this frame. */
static void
test_walk_stops_in_code_range(void **state)
{
	struct th_module *library;
	struct th_unwind_limits limits;
	struct th_registers registers;
	uint64_t frames[256];
	enum th_unwind_end end;
	size_t whole = walk_here(frames, 256, NULL, &registers, &end);
	size_t count;

	(void)state;
	library = th_module_get(th_frame_module(frames[whole - 2]));
	assert_non_null(library);
	limits = (struct th_unwind_limits){
		.code_low = library->start, .code_high = library->end};
	count = walk_here(frames, 256, &limits, &registers, &end);
	assert_int_equal(end, TH_UNWIND_CODE);
	assert_true(count < whole);
	assert_in_range(registers.pc, library->start, library->end - 1);
	assert_int_equal(th_unwind(&registers, &limits, frames, 256, &end), 0);
	assert_int_equal(end, TH_UNWIND_CODE);
	th_unwind(&registers, NULL, frames, 256, &end);
	assert_int_equal(end, TH_UNWIND_BASE);
}

static void
test_errno_is_kept(void **state)
{
	struct th_registers registers = {.pc = 8, .sp = 8};
	uint64_t frames[64];
	enum th_unwind_end end;

	(void)state;
	errno = 4711;
	th_unwind(&registers, NULL, frames, 64, &end);
	walk_here(frames, 64, NULL, &registers, &end);
	assert_int_equal(errno, 4711);
}

static void
test_frames_of_the_library_are_left_out(void **state)
{
	struct th_module *program = th_module_find((uintptr_t)walk_here);
	struct th_registers registers;
	uint64_t frames[256];
	enum th_unwind_end end;
	size_t whole = walk_here(frames, 256, NULL, &registers, &end);
	size_t count;

	(void)state;
	program->is_self = true;
	count = walk_here(frames, 256, NULL, &registers, &end);
	program->is_self = false;
	assert_int_equal(end, TH_UNWIND_BASE);
	assert_in_range(count, 1, whole - 1);
	for (size_t i = 0; i < count; i++)
		assert_int_not_equal(th_frame_module(frames[i]), program->id);
}

/* Code that has no unwind information */

void call_without_information(void (*callback)(void));

/* A function with a frame pointer and without an FDE. */
#if defined(__x86_64__)
__asm__(".text\n"
	"call_without_information:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $64, %rsp\n"
	"	call *%rdi\n"
	"	leave\n"
	"	ret\n");
#else
__asm__(".text\n"
	"call_without_information:\n"
	"	stp x29, x30, [sp, #-64]!\n"
	"	mov x29, sp\n"
	"	blr x0\n"
	"	ldp x29, x30, [sp], #64\n"
	"	ret\n");
#endif

static struct {
	uint64_t frames[64];
	size_t count;
	enum th_unwind_end end;
} taken;

static void
take(void)
{
	struct th_registers registers;

	taken.count = walk_here(taken.frames, 64, NULL, &registers, &taken.end);
	__asm__ volatile("" ::: "memory");
}

/* Has a frame pointer, as the caller of that function must have, because its size varies. */
static NOINLINE void
call_by_frame_pointer(size_t bytes)
{
	volatile char *block = alloca(bytes);

	block[0] = 1;
	call_without_information(take);
	block[0] = 2;
}

static bool
contains(uintptr_t low, size_t bytes)
{
	for (size_t i = 0; i < taken.count; i++) {
		struct th_module *module = th_module_get(th_frame_module(taken.frames[i]));
		uintptr_t address = th_frame_offset(taken.frames[i]) +
				    (module ? module->bias : 0);

		if (address >= low && address < low + bytes)
			return true;
	}
	return false;
}

static void
test_frame_pointer_is_followed(void **state)
{
	uint64_t before = th_unwind_frame_pointer_steps();

	(void)state;
	call_by_frame_pointer(100);
	assert_int_equal(taken.end, TH_UNWIND_BASE);
	assert_true(contains((uintptr_t)call_without_information, 32));
	assert_true(contains((uintptr_t)call_by_frame_pointer, 256));
	assert_true(th_unwind_frame_pointer_steps() > before);
}

/* Registers constructed by the test */

/* Looks like code to a walk: in this program, without an FDE. */
static const uint8_t no_information[64] __attribute__((aligned(16)));

static uint64_t
word_of(uintptr_t address)
{
	struct th_module *module = th_module_find(address);

	return th_frame_native(module->id, address - module->bias);
}

/* A frame record is accepted if its return address follows a call. */
static void
test_frame_record(void **state)
{
	uintptr_t after_call = (uintptr_t)__builtin_return_address(0);
	uintptr_t record[] = {0, after_call};
	struct th_registers registers = {
		.pc = (uintptr_t)no_information + 16,
		.sp = (uintptr_t)record,
		.saved[TH_REGISTER_FRAME_POINTER] = (uintptr_t)record,
	};
	struct th_registers again = registers;
	uint64_t frames[8];
	enum th_unwind_end end;

	(void)state;
	assert_true(th_unwind(&registers, NULL, frames, 8, &end) >= 2);
	assert_int_equal(frames[0], word_of((uintptr_t)no_information + 15));
	assert_int_equal(frames[1], word_of(after_call - 1));
	record[1] = (uintptr_t)no_information + 32;
	assert_int_equal(th_unwind(&again, NULL, frames, 8, &end), 1);
	assert_int_equal(end, TH_UNWIND_STOPPED);
}

/* An interrupted stub has no frame: the return address is where the call put it. */
static void
test_interrupted_stub(void **state)
{
	uintptr_t after_call = (uintptr_t)__builtin_return_address(0);
	uintptr_t stack[] = {after_call, 0};
	struct th_registers registers = {
		.pc = (uintptr_t)no_information,
		.sp = (uintptr_t)stack,
		.exact = true,
	};
	uint64_t frames[8];
	enum th_unwind_end end;

	(void)state;
#if defined(__aarch64__)
	registers.saved[TH_REGISTER_X30] = after_call;
#endif
	assert_true(th_unwind(&registers, NULL, frames, 8, &end) >= 2);
	assert_int_equal(frames[0], word_of((uintptr_t)no_information));
	assert_int_equal(frames[1], word_of(after_call - 1));
}

static int
setup(void **state)
{
	(void)state;
	oracle_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk_resumes),
		cmocka_unit_test(test_walk_stops_in_code_range),
		cmocka_unit_test(test_errno_is_kept),
		cmocka_unit_test(test_frames_of_the_library_are_left_out),
		cmocka_unit_test(test_frame_pointer_is_followed),
		cmocka_unit_test(test_frame_record),
		cmocka_unit_test(test_interrupted_stub),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
