/* SPDX-License-Identifier: Apache-2.0 */
/* One mapping from which an allocator cuts its blocks, on any thread and in signal handlers. */
#ifndef TH_TESTS_ARENA_H
#define TH_TESTS_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define ARENA_BYTES ((size_t)4 << 30)

static uintptr_t arena; /* atomic, 0: not mapped yet */
static uintptr_t used;  /* atomic */

static uintptr_t
get_arena(void)
{
	uintptr_t expected = 0;
	uintptr_t found = __atomic_load_n(&arena, __ATOMIC_ACQUIRE);

	if (found)
		return found;
	found = (uintptr_t)mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (__atomic_compare_exchange_n(
		    &arena, &expected, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return found;
	munmap((void *)found, ARENA_BYTES);
	return expected;
}

#endif
