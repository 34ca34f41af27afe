/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares walks.  Each unwinder's frames are converted to addresses inside the instruction
 * that the frame is executing, so that return addresses and interrupted instructions are
 * comparable.
 */
#include "tests/unit/unwind/unwind_oracle.h"

#include "unify/log/module.h"
#include "unify/shared/log_format.h"
#include "unify/unwind/callers.h"
#include "unify/unwind/fde.h"
#include "unify/unwind/unwind.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define FRAMES_MAX 1024
/* Maximum differences printed per run: one cause often shows in a thousand places. */
#define REPORTS_MAX 20

/* Addresses inside the instruction that each frame is executing, leaf first. */
struct frames {
	size_t count;
	uintptr_t address[FRAMES_MAX];
};

/* A frame in the format of the other two unwinders. */
struct raw_frames {
	size_t count;
	uintptr_t pc[FRAMES_MAX];
	bool exact[FRAMES_MAX];
};

static struct oracle_counts counts;

/* The three walks */

static void
walk_ours(struct th_registers *registers, struct frames *ret)
{
	uint64_t words[FRAMES_MAX];
	enum th_unwind_end end;

	ret->count = th_unwind(registers, NULL, words, FRAMES_MAX, &end);
	for (size_t i = 0; i < ret->count; i++) {
		struct th_module *module = th_module_get(th_frame_module(words[i]));

		ret->address[i] = th_frame_offset(words[i]) + (module ? module->bias : 0);
	}
}

/* Return addresses minus one; a trampoline, which precedes an exact frame, unchanged. */
static void
to_addresses(const struct raw_frames *raw, struct frames *ret)
{
	ret->count = raw->count;
	for (size_t i = 0; i < raw->count; i++) {
		bool is_trampoline = i + 1 < raw->count && raw->exact[i + 1];

		ret->address[i] = raw->pc[i] - !(raw->exact[i] || is_trampoline);
	}
}

static _Unwind_Reason_Code
add_frame(struct _Unwind_Context *context, void *closure)
{
	struct raw_frames *raw = closure;
	int exact = 0;

	if (raw->count == FRAMES_MAX)
		return _URC_END_OF_STACK;
	raw->pc[raw->count] = _Unwind_GetIPInfo(context, &exact);
	raw->exact[raw->count] = exact;
	/* The frame after the first one on aarch64, where no register is undefined. */
	if (raw->pc[raw->count])
		raw->count++;
	return _URC_NO_REASON;
}

static __attribute__((noinline)) void
walk_libgcc(struct frames *ret)
{
	struct raw_frames raw = {.count = 0};

	_Unwind_Backtrace(add_frame, &raw);
	to_addresses(&raw, ret);
}

/* The names of libunwind's functions contain that of the processor. */
#if defined(__x86_64__)
#	define LOCAL(name) "_ULx86_64_" name
#	define IS_TRAMPOLINE false
#else
#	define LOCAL(name) "_ULaarch64_" name
#	define IS_TRAMPOLINE true
#endif

static struct {
	int (*getcontext)(unw_context_t *context); /* on aarch64 a macro */
	int (*init_local)(unw_cursor_t *cursor, unw_context_t *context);
	int (*step)(unw_cursor_t *cursor);
	int (*get_reg)(unw_cursor_t *cursor, int number, unw_word_t *ret);
	int (*is_signal_frame)(unw_cursor_t *cursor);
} libunwind;

static __attribute__((noinline)) void
walk_libunwind(struct frames *ret)
{
	struct raw_frames raw = {.count = 0};
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t before = 0;
	bool follows_signal = false, is_signal;
	unw_word_t pc, sp;

#if defined(__x86_64__)
	libunwind.getcontext(&context);
#else
	unw_getcontext(&context);
#endif
	libunwind.init_local(&cursor, &context);
	do {
		libunwind.get_reg(&cursor, UNW_REG_IP, &pc);
		libunwind.get_reg(&cursor, UNW_REG_SP, &sp);
		/* On aarch64 it repeats the first frame of a context that was made. */
		if (!pc || raw.count == FRAMES_MAX ||
			(raw.count && pc == raw.pc[raw.count - 1] && sp == before))
			break;
		before = sp;
		raw.pc[raw.count] = pc;
		/* On aarch64 it is the trampoline, before the interrupted frame. */
		is_signal = libunwind.is_signal_frame(&cursor) > 0;
		raw.exact[raw.count++] = IS_TRAMPOLINE ? follows_signal : is_signal;
		follows_signal = is_signal;
	} while (libunwind.step(&cursor) > 0);
	to_addresses(&raw, ret);
}

bool
oracle_has_libunwind(void)
{
	return libunwind.step;
}

static void
open_libunwind(void)
{
	void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return;
	*(void **)&libunwind.getcontext = dlsym(handle, "_Ux86_64_getcontext");
	*(void **)&libunwind.init_local = dlsym(handle, LOCAL("init_local"));
	*(void **)&libunwind.get_reg = dlsym(handle, LOCAL("get_reg"));
	*(void **)&libunwind.is_signal_frame = dlsym(handle, LOCAL("is_signal_frame"));
	*(void **)&libunwind.step = dlsym(handle, LOCAL("step"));
}

/* Comparison */

static void
print_frame(const struct frames *frames, size_t i)
{
	Dl_info info;

	if (i >= frames->count)
		fprintf(stderr, " %-40s", "-");
	else if (dladdr((void *)frames->address[i], &info) && info.dli_sname)
		fprintf(stderr, " %-30s+%-9zx", info.dli_sname,
			frames->address[i] - (uintptr_t)info.dli_saddr);
	else
		fprintf(stderr, " %-40zx", frames->address[i]);
}

static void
report(const char *what, const struct frames *ours, const struct frames *theirs,
	const char *oracle, size_t first)
{
	if (counts.differences++ >= REPORTS_MAX)
		return;
	fprintf(stderr, "%s: frame %zu differs from %s\n", what, first, oracle);
	for (size_t i = first > 3 ? first - 3 : 0; i < first + 4; i++) {
		fprintf(stderr, "  %3zu", i);
		print_frame(ours, i);
		/* Theirs has one more: the function that walked. */
		print_frame(theirs, i + 1);
		fprintf(stderr, "\n");
	}
}

/* Without it libgcc ends its walk; th_unwind() uses heuristics. */
static bool
has_information(uintptr_t address)
{
	struct th_module *module = th_module_find(address);
	struct th_fde fde;

	return module && th_fde_find(module, address, &fde);
}

/* Frame 0 of `ours` is oracle_check, as is frame 1 of `theirs`, at another pc in it. */
static void
compare(const char *what, const struct frames *ours, const struct frames *theirs,
	const char *oracle)
{
	size_t i = 1;

	while (i < ours->count && i + 1 < theirs->count &&
		ours->address[i] == theirs->address[i + 1])
		i++;
	counts.frames += i - 1;
	if (i > counts.deepest)
		counts.deepest = i;
	if (i + 1 == theirs->count && i < ours->count && !has_information(ours->address[i - 1]))
		counts.given_up++;
	else if (i < ours->count || i + 1 < theirs->count || ours->count < 2)
		report(what, ours, theirs, oracle, i);
}

__attribute__((noinline)) void
oracle_check_libgcc(const char *what)
{
	struct th_registers registers;
	struct frames ours;
	struct frames theirs;

	th_registers_here(&registers);
	walk_ours(&registers, &ours);
	walk_libgcc(&theirs);
	counts.checks++;
	compare(what, &ours, &theirs, "libgcc");
}

/* Twice: what the first call found is used by the second, and by those at the same depth. */
static void
check_callers(const char *what, const struct th_registers *registers, const struct frames *ours)
{
	const struct th_unwind_limits none = {0};
	uintptr_t callers[TH_CALLERS_MAX];

	for (int i = 0; i < 2; i++) {
		size_t count = th_unwind_callers(registers, &none, registers->sp, callers);
		size_t same = 0;

		while (same < count && same < ours->count &&
			callers[same] - ours->address[same] <= 1)
			same++;
		if (same != count ||
			count != (ours->count < TH_CALLERS_MAX ? ours->count : TH_CALLERS_MAX))
			report(what, ours, ours, "callers", same);
	}
}

__attribute__((noinline)) void
oracle_check(const char *what)
{
	struct th_registers registers;
	struct th_registers start;
	struct frames ours;
	struct frames theirs;

	th_registers_here(&registers);
	start = registers;
	walk_ours(&registers, &ours);
	check_callers(what, &start, &ours);
	walk_libgcc(&theirs);
	counts.checks++;
	compare(what, &ours, &theirs, "libgcc");
	if (!oracle_has_libunwind())
		return;
	walk_libunwind(&theirs);
	compare(what, &ours, &theirs, "libunwind");
}

struct oracle_counts
oracle_take_counts(void)
{
	struct oracle_counts taken = counts;

	counts = (struct oracle_counts){0};
	return taken;
}

/* Preparation */

void
oracle_init(void)
{
	struct th_module *program;

	if (!th_module_init() || !(program = th_module_find((uintptr_t)oracle_init))) {
		fprintf(stderr, "the unwinder cannot be used\n");
		exit(EXIT_FAILURE);
	}
	program->is_self = false;
	open_libunwind();
}
