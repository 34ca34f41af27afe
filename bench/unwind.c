/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a native frame: th_unwind with warm and cold caches, compared with libgcc's
 * backtrace and libunwind's unw_step and unw_backtrace.  Each figure is the best of several
 * runs.
 */
#include "unify/log/module.h"
#include "unify/shared/log_format.h"
#include "unify/unwind/cache.h"
#include "unify/unwind/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#	define UNW_LOCAL_ONLY
#	include <libunwind.h>
#endif

#define NOINLINE __attribute__((noinline))
#define FRAMES_MAX 256
#define RUNS 7

static double
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Walkers: each walks the stack of its caller and returns the number of frames */

static size_t
walk_twinheap(void)
{
	struct th_registers registers;
	uint64_t frames[FRAMES_MAX];
	enum th_unwind_end end;

	th_registers_here(&registers);
	return th_unwind(&registers, NULL, frames, FRAMES_MAX, &end);
}

static size_t
walk_libgcc(void)
{
	void *frames[FRAMES_MAX];

	return (size_t)backtrace(frames, FRAMES_MAX);
}

#if defined(__x86_64__)
static struct {
	int (*getcontext)(unw_context_t *context);
	int (*init_local)(unw_cursor_t *cursor, unw_context_t *context);
	int (*step)(unw_cursor_t *cursor);
	int (*get_reg)(unw_cursor_t *cursor, int number, unw_word_t *ret);
	int (*backtrace)(void **frames, int capacity);
} libunwind;

static size_t
walk_libunwind_step(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;
	size_t count = 0;

	libunwind.getcontext(&context);
	libunwind.init_local(&cursor, &context);
	do {
		libunwind.get_reg(&cursor, UNW_REG_IP, &pc);
		count++;
	} while (libunwind.step(&cursor) > 0);
	return count;
}

static size_t
walk_libunwind_backtrace(void)
{
	void *frames[FRAMES_MAX];

	return (size_t)libunwind.backtrace(frames, FRAMES_MAX);
}

static bool
open_libunwind(void)
{
	void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	*(void **)&libunwind.getcontext = dlsym(handle, "_Ux86_64_getcontext");
	*(void **)&libunwind.init_local = dlsym(handle, "_ULx86_64_init_local");
	*(void **)&libunwind.step = dlsym(handle, "_ULx86_64_step");
	*(void **)&libunwind.get_reg = dlsym(handle, "_ULx86_64_get_reg");
	*(void **)&libunwind.backtrace = dlsym(handle, "unw_backtrace");
	return libunwind.step && libunwind.backtrace;
}
#endif

/* Warm */

struct measurement {
	const char *name;
	size_t (*walk)(void);
	unsigned repeats;
};

static NOINLINE void
measure(const struct measurement *measurement)
{
	double best = 1e300;
	size_t frames = measurement->walk();

	for (unsigned run = 0; run < RUNS; run++) {
		double start = now_ns();
		double each;

		for (unsigned i = 0; i < measurement->repeats; i++)
			measurement->walk();
		each = (now_ns() - start) / measurement->repeats;
		if (each < best)
			best = each;
	}
	printf("%-24s %4zu frames %10.0f ns %8.1f ns/frame\n", measurement->name, frames, best,
		best / (double)frames);
}

static const struct measurement measurements[] = {
	{"th_unwind", walk_twinheap, 20000},
	{"backtrace (libgcc)", walk_libgcc, 2000},
#if defined(__x86_64__)
	{"unw_step", walk_libunwind_step, 500},
	{"unw_backtrace", walk_libunwind_backtrace, 20000},
#endif
};

static int
measure_all(const void *left, const void *right)
{
	static bool done;
	size_t count = sizeof(measurements) / sizeof(*measurements);

	(void)left;
	(void)right;
#if defined(__x86_64__)
	if (!libunwind.step)
		count -= 2;
#endif
	for (size_t i = 0; i < count && !done; i++)
		measure(&measurements[i]);
	done = true;
	return 0;
}

/* Frames of 50 to 400 bytes, some of them in libc. */
static NOINLINE int
descend(int depth)
{
	volatile char block[48 + depth % 4 * 110];
	int values[2] = {1, 0};

	block[0] = 1;
	if (depth)
		return descend(depth - 1) + block[0];
	qsort(values, 2, sizeof(*values), measure_all);
	return block[0];
}

/* Cold */

/* The cost of a pc that was not seen before: search, interpretation, store. */
static void
measure_cold(const char *name, const void *inside)
{
	const struct th_module *module = th_module_find((uintptr_t)inside);
	const uint8_t *header = module->eh_frame_hdr;
	uint32_t count;
	double start;
	unsigned found = 0;

	memcpy(&count, header + 8, sizeof(count));
	start = now_ns();
	for (uint32_t i = 0; i < count; i++) {
		int32_t distance;
		struct th_fde fde;
		struct th_cfi_row row;
		struct th_rule rule;
		uintptr_t pc;

		memcpy(&distance, header + 12 + 8 * (size_t)i, sizeof(distance));
		pc = (uintptr_t)(header + distance);
		if (!th_fde_find(module, pc, &fde))
			continue;
		/* After the prologue, like return addresses. */
		pc += (fde.end - fde.start) / 2;
		if (!th_cfi_row(&fde, pc, &row))
			continue;
		th_rule_from_row(&row, &rule);
		th_rule_store(th_frame_native(module->id, pc), &rule);
		found++;
	}
	printf("%-24s %4u functions %21.1f ns/frame\n", name, found,
		(now_ns() - start) / found);
}

int
main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 20;

	th_unwind_init();
	th_module_find((uintptr_t)main)->is_self = false;
#if defined(__x86_64__)
	open_libunwind();
#endif
	descend(depth);
	measure_cold("cold, first pass", (void *)(uintptr_t)printf);
	measure_cold("cold, second pass", (void *)(uintptr_t)printf);
	return 0;
}
