/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/nested.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/next.h"
#include "unify/base/atomic.h"
#include "unify/sample/thread.h"

#define PROBE_ALIGNMENT 64
/*
 * One block from a pool and one mapped separately; multiples of the alignment, because
 * aligned_alloc may require that.
 */
static const size_t probe_sizes[] = {PROBE_ALIGNMENT, 1 << 20};

/*
 * F(name, type, parameters, arguments, expression that gets a block of `size` bytes from
 * `next`)
 */
#define FUNCTIONS(F)                                                                        \
	F(malloc, void *, (size_t size), (size), next.malloc(size))                         \
	F(calloc, void *, (size_t count, size_t size), (count, size), next.calloc(1, size)) \
	F(realloc, void *, (void *block, size_t size), (block, size),                       \
		next.realloc(next.malloc(1), size))                                         \
	F(memalign, void *, (size_t alignment, size_t size), (alignment, size),             \
		next.memalign(PROBE_ALIGNMENT, size))                                       \
	F(aligned_alloc, void *, (size_t alignment, size_t size), (alignment, size),        \
		next.aligned_alloc(PROBE_ALIGNMENT, size))                                  \
	F(posix_memalign, int, (void **block_ret, size_t alignment, size_t size),           \
		(block_ret, alignment, size), get_posix_memalign(size))                     \
	F(valloc, void *, (size_t size), (size), next.valloc(size))                         \
	F(pvalloc, void *, (size_t size), (size), next.pvalloc(size))

/* The functions as found. */
static struct th_next next;

/* Wrappers that call the function under the guard */

#define QUIET(name, type, parameters, arguments, get) \
	static type quiet_##name parameters           \
	{                                             \
		th_guard_enter();                     \
		type result = next.name arguments;    \
		th_guard_leave();                     \
		return result;                        \
	}
FUNCTIONS(QUIET)
#undef QUIET

/* Detection */

static void *
get_posix_memalign(size_t size)
{
	void *block = NULL;

	return next.posix_memalign(&block, PROBE_ALIGNMENT, size) ? NULL : block;
}

/* Whether the function decrements the countdown of the calling thread. */
#define IS_NESTED(name, type, parameters, arguments, get)                                   \
	static bool is_nested_##name(void)                                                  \
	{                                                                                   \
		uint64_t before = th_thread.countdown;                                      \
                                                                                            \
		for (size_t i = 0; i < sizeof(probe_sizes) / sizeof(probe_sizes[0]); i++) { \
			size_t size = probe_sizes[i];                                       \
			next.free(get);                                                     \
		}                                                                           \
		return th_thread.countdown != before;                                       \
	}
FUNCTIONS(IS_NESTED)
#undef IS_NESTED

void
th_nested_silence(void)
{
	next = th_next;
	/* Test allocations are not the program's. */
	th_guard_enter();
#define SILENCE(name, type, parameters, arguments, get) \
	if (is_nested_##name())                         \
		th_store_release(&th_next.name, quiet_##name);
	FUNCTIONS(SILENCE)
#undef SILENCE
	th_guard_leave();
}
