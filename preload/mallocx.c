/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each entry of th_mallocx is in one of three states: start_* (resolves on the first call),
 * counted (jemalloc is the next allocator), or a stand-in on top of malloc (there is no
 * jemalloc).
 */
#include "preload/mallocx.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "preload/allocator.h"
#include "preload/entry.h"
#include "preload/next.h"
#include "unify/base/atomic.h"
#include "unify/sample/live_blocks.h"

/* The low bits of jemalloc's flags are the binary logarithm of the alignment. */
#define FLAG_ALIGNMENT 63
#define FLAG_ZERO 64

static struct th_mallocx next;

/* Counted forms.  Where the library was loaded late, frees may go past it. */

static void *
count_mallocx(size_t size, int flags)
{
	return th_entry_take_fresh(next.mallocx(size, flags), size, TH_FUNCTION_MALLOCX);
}

/* Like realloc: a free of the old block and an allocation of the whole new one. */
static void *
count_rallocx(void *block, size_t size, int flags)
{
	uint64_t sample = UNLIKELY(th_live_blocks_may_hold(block)) ? th_native_unlink(block)
								   : 0;
	void *moved = next.rallocx(block, size, flags);

	if (!moved) {
		th_native_relink(block, sample);
		return NULL;
	}
	th_native_freed(sample);
	return th_entry_take_fresh(moved, size, TH_FUNCTION_MALLOCX);
}

/*
 * Resizes in place, or leaves the block as it is; returns its size.  A block whose size changed
 * counts as freed and newly allocated.
 */
static size_t
count_xallocx(void *block, size_t size, size_t extra, int flags)
{
	size_t before = th_next.malloc_usable_size(block);
	size_t after = next.xallocx(block, size, extra, flags);

	if (after == before)
		return after;
	if (th_live_blocks_may_hold(block))
		th_entry_release(block);
	th_entry_take(block, size, TH_FUNCTION_MALLOCX);
	return after;
}

static void
count_dallocx(void *block, int flags)
{
	if (UNLIKELY(th_live_blocks_may_hold(block)) && !th_entry_release(block))
		return;
	next.dallocx(block, flags);
}

static void
count_sdallocx(void *block, size_t size, int flags)
{
	if (UNLIKELY(th_live_blocks_may_hold(block)) && !th_entry_release(block))
		return;
	next.sdallocx(block, size, flags);
}

/*
 * Stand-ins, for a process that inherits LD_PRELOAD but has no jemalloc: they implement the
 * functions with malloc, which counts.
 */

static void *
stand_in_mallocx(size_t size, int flags)
{
	size_t alignment = (size_t)1 << (flags & FLAG_ALIGNMENT);
	void *block = alignment > sizeof(void *) ? memalign(alignment, size) : malloc(size);

	return block && flags & FLAG_ZERO ? memset(block, 0, size) : block;
}

static void *
stand_in_rallocx(void *block, size_t size, int flags)
{
	size_t old = malloc_usable_size(block);
	char *moved = stand_in_mallocx(size, flags);

	if (!moved)
		return NULL;
	memcpy(moved, block, old < size ? old : size);
	free(block);
	return moved;
}

static size_t
stand_in_xallocx(void *block, size_t size, size_t extra, int flags)
{
	(void)size;
	(void)extra;
	(void)flags;
	return malloc_usable_size(block);
}

static void
stand_in_dallocx(void *block, int flags)
{
	(void)flags;
	free(block);
}

static void
stand_in_sdallocx(void *block, size_t size, int flags)
{
	(void)size;
	(void)flags;
	free(block);
}

/* Resolution.  Stand-ins used before it return blocks that the allocator also accepts. */

#define X(name, type, parameters, arguments)                                        \
	static type start_##name parameters                                         \
	{                                                                           \
		th_mallocx_init();                                                  \
		return th_mallocx.name == start_##name ? stand_in_##name arguments  \
						       : th_mallocx.name arguments; \
	}
TH_MALLOCX(X)
#undef X

EXPORT struct th_mallocx th_mallocx = {
#define X(name, ...) .name = start_##name,
	TH_MALLOCX(X)
#undef X
};

void
th_mallocx_init(void)
{
	static unsigned char resolved; /* atomic */
	void *found;

	if (!th_forward_find_mallocx || th_load_acquire(&resolved) || !th_next_init())
		return;
		/* Two threads may reach this point; both find the same definitions. */
#define X(name, ...)                               \
	found = th_forward_find_mallocx(#name);    \
	memcpy(&next.name, &found, sizeof(found)); \
	th_store_release(&th_mallocx.name, found ? count_##name : stand_in_##name);
	TH_MALLOCX(X)
#undef X
	th_store_release(&resolved, 1);
}

#define ADD(name)                                                 \
	do {                                                      \
		found = th_next_find(#name);                      \
		if (!found || !th_allocator_is_underneath(found)) \
			return;                                   \
		memcpy(&next.name, &found, sizeof(found));        \
		__typeof(next.name) late = count_##name;          \
		memcpy(&ours, &late, sizeof(ours));               \
		add(#name, found, ours);                          \
	} while (0)

void
th_mallocx_each_late(void (*add)(const char *symbol, const void *original, const void *ours))
{
	void *found, *ours;

	ADD(dallocx);
	ADD(sdallocx);
	ADD(rallocx);
	ADD(mallocx);
	ADD(xallocx);
}
