/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each operator is handled in one of three ways.
 *
 *   counted    the next definition is the allocator's own: counted like malloc, then passed on
 *   passed on  it belongs to another library, such as libstdc++, and calls malloc, which counts
 *   stand-in   there is none.  Where no C++ runtime is in the global scope (a Java VM with a
 *              static one, and a JNI library that brings another), that library's calls are
 *              bound to us nevertheless: malloc and free serve them, as in libstdc++.
 *
 * The last two occur in processes that inherit LD_PRELOAD but do not have the allocator.
 */
#include "preload/operators.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "preload/allocator.h"
#include "preload/entry.h"
#include "preload/next.h"
#include "unify/base/atomic.h"
#include "unify/sample/live_blocks.h"

#define PROBE_ALIGNMENT 64

static struct th_operators next;

/* Counted forms.  The countdown is decremented after the block is allocated: new may throw. */

#define N(name, symbol, parameters, arguments, alignment, ...)                             \
	static SLOW void *due_##name parameters                                            \
	{                                                                                  \
		th_thread.countdown += size;                                               \
		return th_entry_take(next.name arguments, size, TH_FUNCTION_NEW);          \
	}                                                                                  \
	static void *count_##name parameters                                               \
	{                                                                                  \
		return th_entry_is_due(size) ? due_##name arguments : next.name arguments; \
	}
TH_OPERATORS_NEW(N)
#undef N

#define D(name, symbol, parameters, arguments)                                            \
	static void count_##name parameters                                               \
	{                                                                                 \
		if (UNLIKELY(th_live_blocks_may_hold(block)) && !th_entry_release(block)) \
			return;                                                           \
		next.name arguments;                                                      \
	}
TH_OPERATORS_DELETE(D)
#undef D

/* Counted forms for import slots (late.c) */

#define N(name, symbol, parameters, arguments, ...)                                     \
	static void *late_##name parameters                                             \
	{                                                                               \
		return th_entry_take_fresh(next.name arguments, size, TH_FUNCTION_NEW); \
	}
TH_OPERATORS_NEW(N)
#undef N

/* Stand-ins */

static void *
allocate(size_t size, size_t alignment)
{
	void *block = NULL;

	size = size ? size : 1;
	if (!alignment)
		return malloc(size);
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	return posix_memalign(&block, alignment, size) ? NULL : block;
}

/* Out of memory: the caller's runtime has its own handlers and exceptions. */
#define N(name, symbol, parameters, arguments, alignment, ...)                     \
	static void *stand_in_##name parameters                                    \
	{                                                                          \
		void *block = allocate(size, alignment);                           \
		void *found, *(*real)parameters;                                   \
                                                                                   \
		if (block)                                                         \
			return block;                                              \
		found = th_next_in_scope_of(__builtin_return_address(0), #symbol); \
		memcpy(&real, &found, sizeof(real));                               \
		return real ? real arguments : NULL;                               \
	}
TH_OPERATORS_NEW(N)
#undef N

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define D(name, symbol, parameters, arguments) \
	static void stand_in_##name parameters \
	{                                      \
		free(block);                   \
	}
TH_OPERATORS_DELETE(D)
#undef D
#pragma GCC diagnostic pop

/* Resolution */

/* May return before resolution is complete: another thread is resolving. */
#define N(name, symbol, parameters, arguments, alignment, ...)                          \
	static SLOW void *start_##name parameters                                       \
	{                                                                               \
		th_operators_init();                                                    \
		return th_operators.name == start_##name ? stand_in_##name arguments    \
							 : th_operators.name arguments; \
	}
TH_OPERATORS_NEW(N)
#undef N

#define D(name, symbol, parameters, arguments)                                          \
	static SLOW void start_##name parameters                                        \
	{                                                                               \
		th_operators_init();                                                    \
		return th_operators.name == start_##name ? stand_in_##name arguments    \
							 : th_operators.name arguments; \
	}
TH_OPERATORS_DELETE(D)
#undef D

EXPORT struct th_operators th_operators = {
#define N(name, ...) .name = start_##name,
	TH_OPERATORS_NEW(N)
#undef N
#define D(name, ...) .name = start_##name,
		TH_OPERATORS_DELETE(D)
#undef D
};

/* Whether the definition found is the allocator's own. */
static bool
is_own(const void *found)
{
	return found && th_allocator_is_underneath(found);
}

/*
 * Whether an operator of the allocator itself calls a function that we count: jemalloc's
 * aligned forms call aligned_alloc, its others call none.
 */
#define N(name, symbol, parameters, arguments, alignment_or_0, counterpart, its_arguments) \
	static SLOW bool is_counted_##name(void)                                           \
	{                                                                                  \
		const size_t size = 1, alignment = PROBE_ALIGNMENT;                        \
		const char nothrow = 0, *tag = &nothrow;                                   \
                                                                                           \
		(void)alignment, (void)tag;                                                \
		th_guard_enter();                                                          \
		uint64_t before = th_thread.countdown;                                     \
		void *block = next.name arguments;                                         \
		bool is_counted = th_thread.countdown != before;                           \
		if (next.counterpart)                                                      \
			next.counterpart its_arguments;                                    \
		th_guard_leave();                                                          \
		return is_counted;                                                         \
	}
TH_OPERATORS_NEW(N)
#undef N

/*
 * Each operator is resolved separately: where an allocator lacks a form, libstdc++'s calls
 * another form.
 */
static void
resolve(void)
{
	void *found;

#define N(name, symbol, ...)                       \
	found = th_forward_find_operator(#symbol); \
	memcpy(&next.name, &found, sizeof(found));
	TH_OPERATORS_NEW(N)
	TH_OPERATORS_DELETE(N)
#undef N
#define N(name, ...)                                                                 \
	memcpy(&found, &next.name, sizeof(found));                                   \
	th_store_release(&th_operators.name, !found ? stand_in_##name                \
					     : is_own(found) && !is_counted_##name() \
						     ? count_##name                  \
						     : next.name);
	TH_OPERATORS_NEW(N)
#undef N
#define D(name, ...)                                                           \
	memcpy(&found, &next.name, sizeof(found));                             \
	th_store_release(&th_operators.name, !found          ? stand_in_##name \
					     : is_own(found) ? count_##name    \
							     : next.name);
	TH_OPERATORS_DELETE(D)
#undef D
}

void
th_operators_init(void)
{
	static unsigned char resolved; /* atomic */

	if (!th_forward_find_operator || th_load_acquire(&resolved) || !th_next_init())
		return;
	/* Two threads may reach this point; both find the same definitions. */
	resolve();
	th_store_release(&resolved, 1);
}

void
th_operators_each_late(void (*add)(const char *symbol, const void *original, const void *ours))
{
	void *found, *ours;

#define ADD(name, symbol, function)                        \
	found = th_next_find(#symbol);                     \
	if (is_own(found)) {                               \
		__typeof(next.name) late = function;       \
                                                           \
		memcpy(&next.name, &found, sizeof(found)); \
		memcpy(&ours, &late, sizeof(ours));        \
		add(#symbol, found, ours);                 \
	}
#define N(name, symbol, ...) ADD(name, symbol, late_##name)
	TH_OPERATORS_NEW(N)
#undef N
#define D(name, symbol, ...) ADD(name, symbol, count_##name)
	TH_OPERATORS_DELETE(D)
#undef D
}
