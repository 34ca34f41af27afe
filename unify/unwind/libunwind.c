/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the used part of libunwind's ABI, so that building the library does not need its
 * headers: on x86-64 its context is the ucontext_t of libc, and its cursor 127 words.  A unit
 * test compares both with <libunwind.h>.
 */
#include "unify/unwind/libunwind.h"

#if defined(__x86_64__)

#	include <dlfcn.h>
#	include <errno.h>
#	include <string.h>
#	include <ucontext.h>

#	include "unify/base/safe_read.h"
#	include "unify/log/module.h"
#	include "unify/shared/log_format.h"

/*
 * Maximum frames visited in one walk, including those of this library, which are not written.
 */
#	define STEPS_MAX 65536u
/* unw_init_local2(): pc is the next instruction itself. */
#	define INIT_SIGNAL_FRAME 1
/* unw_caching_policy_t. */
#	define CACHE_NONE 0

struct cursor {
	uint64_t words[127];
};

/* unw_regnum_t: the numbers of DWARF. */
enum {
	REGISTER_SP = 7,
	REGISTER_PC = 16,
};

/* In the order of enum th_register. */
static const int saved_numbers[TH_REGISTER_COUNT] = {3, 6, 12, 13, 14, 15};
static const int saved_in_context[TH_REGISTER_COUNT] = {
	REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15};

/* Written once, by th_libunwind_open(). */
static struct {
	int (*init_local2)(struct cursor *cursor, ucontext_t *context, int flags);
	int (*step)(struct cursor *cursor);
	int (*get_reg)(struct cursor *cursor, int number, uint64_t *ret);
	int (*is_signal_frame)(struct cursor *cursor);
	int (*set_caching_policy)(void *space, int policy);
	void **local_space;
} libunwind;

struct walk {
	struct cursor cursor;
	ucontext_t context; /* the cursor refers to it */
	struct th_safe_read memory;
	struct th_safe_read code;
	struct th_registers registers; /* of the current frame */
};

static uint64_t
get(struct walk *walk, int number)
{
	uint64_t value;

	return libunwind.get_reg(&walk->cursor, number, &value) < 0 ? 0 : value;
}

static bool
begin(struct walk *walk, const struct th_registers *registers)
{
	greg_t *values = walk->context.uc_mcontext.gregs;

	memset(&walk->context, 0, sizeof(walk->context));
	values[REG_RIP] = (greg_t)registers->pc;
	values[REG_RSP] = (greg_t)registers->sp;
	for (int i = 0; i < TH_REGISTER_COUNT; i++)
		values[saved_in_context[i]] = (greg_t)registers->saved[i];
	th_safe_read_init(&walk->memory, __builtin_frame_address(0));
	th_safe_read_init(&walk->code, NULL);
	walk->registers = *registers;
	return libunwind.init_local2(&walk->cursor, &walk->context,
		       registers->exact ? INIT_SIGNAL_FRAME : 0) >= 0;
}

/* Leaves the frame; returns the result of unw_step(): 0 at the base, negative on failure. */
static int
leave(struct walk *walk)
{
	int result = libunwind.step(&walk->cursor);

	walk->registers.pc = get(walk, REGISTER_PC);
	walk->registers.sp = get(walk, REGISTER_SP);
	walk->registers.exact = libunwind.is_signal_frame(&walk->cursor) > 0;
	return result;
}

/* False: pc is not code, or sp not a stack. */
static bool
describe(struct walk *walk, struct th_module **module_ret, uint64_t *frame_ret)
{
	const struct th_registers *at = &walk->registers;
	uintptr_t lookup = at->pc - !at->exact;
	struct th_module *module = th_module_find(lookup);

	*module_ret = module;
	*frame_ret = module ? th_frame_native(module->id, lookup - module->bias)
			    : th_frame_native(0, lookup);
	return (module || th_is_readable(&walk->code, lookup, 1)) &&
	       th_is_readable(&walk->memory, at->sp, sizeof(at->sp));
}

static enum th_unwind_end
run(struct walk *walk, const struct th_unwind_limits *limits, uint64_t *frames, size_t capacity,
	size_t *count_ret)
{
	const struct th_registers *at = &walk->registers;

	for (unsigned i = 0; i < STEPS_MAX; i++) {
		struct th_module *module;
		uint64_t frame;
		bool is_written;
		int result;

		if (!at->pc)
			return TH_UNWIND_BASE;
		if (limits && at->pc >= limits->code_low && at->pc < limits->code_high)
			return TH_UNWIND_CODE;
		if (!describe(walk, &module, &frame))
			return TH_UNWIND_STOPPED;
		is_written = !module || !module->is_self;
		if (is_written && *count_ret == capacity)
			return TH_UNWIND_FULL;
		if (is_written)
			frames[(*count_ret)++] = frame;
		result = leave(walk);
		if (result <= 0)
			return result ? TH_UNWIND_STOPPED : TH_UNWIND_BASE;
		/*
		 * It was a trampoline, which the kernel enters at its start: nothing called it.
		 */
		if (is_written && at->exact)
			frames[*count_ret - 1]++;
	}
	return TH_UNWIND_STOPPED;
}

size_t
th_libunwind_walk(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret)
{
	int saved_errno = errno;
	struct walk walk;
	size_t count = 0;

	*end_ret = TH_UNWIND_STOPPED;
	if (begin(&walk, registers)) {
		*end_ret = run(&walk, limits, frames, capacity, &count);
		for (int i = 0; i < TH_REGISTER_COUNT; i++)
			walk.registers.saved[i] = get(&walk, saved_numbers[i]);
		*registers = walk.registers;
	}
	errno = saved_errno;
	return count;
}

bool
th_libunwind_open(void *(*lookup)(void *library, const char *name))
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	const struct {
		void *pointer_ret;
		const char *name;
	} symbols[] = {
		{&libunwind.init_local2, "_ULx86_64_init_local2"},
		{&libunwind.step, "_ULx86_64_step"},
		{&libunwind.get_reg, "_ULx86_64_get_reg"},
		{&libunwind.is_signal_frame, "_ULx86_64_is_signal_frame"},
		{&libunwind.set_caching_policy, "_ULx86_64_set_caching_policy"},
		{&libunwind.local_space, "_ULx86_64_local_addr_space"},
	};
	struct th_registers registers;
	enum th_unwind_end end;

	if (!library)
		return false;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *address = lookup(library, symbols[i].name);

		if (!address)
			return false;
		memcpy(symbols[i].pointer_ret, &address, sizeof(address));
	}
	libunwind.set_caching_policy(*libunwind.local_space, CACHE_NONE);
	/* The first walk fills libunwind's tables. */
	th_registers_here(&registers);
	th_libunwind_walk(&registers, NULL, NULL, 0, &end);
	return true;
}

#else

bool
th_libunwind_open(void *(*lookup)(void *library, const char *name))
{
	(void)lookup;
	return false;
}

size_t
th_libunwind_walk(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret)
{
	return th_unwind(registers, limits, frames, capacity, end_ret);
}

#endif
