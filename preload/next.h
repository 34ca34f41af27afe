/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next allocator: whatever defines the allocation functions behind us in the program's
 * lookup order, usually libc.  Every block goes back to where it came from.
 */
#ifndef TH_PRELOAD_NEXT_H
#define TH_PRELOAD_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct th_next {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
	int (*posix_memalign)(void **block_ret, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	size_t (*malloc_usable_size)(void *block);
	void *(*sbrk)(intptr_t increment);
	int (*brk)(void *address);
};

/* Before th_next_init() has run, each function resolves first and then forwards. */
extern struct th_next th_next __attribute__((visibility("hidden")));

/*
 * Resolves all of it.  Whoever comes first, on any thread; later calls do nothing.  False: not
 * done yet, by another thread or by this one further up its stack.
 */
bool th_next_init(void);

/* Whether two functions belong to one loaded object. [any] */
bool th_next_are_together(const void *one, const void *other);

/*
 * What the object that contains `caller` would call by that name without the library: the
 * definition in its own scope, as it was loaded.  NULL: there is none.  Not from the malloc path.
 */
void *th_next_in_scope_of(const void *caller, const char *name);

/*
 * Whether a block came from the small arena that serves malloc while the next allocator is being
 * looked up.  Such blocks are pinned in the live filter, so free and realloc ask. [in-malloc]
 */
bool th_next_is_bootstrap(const void *block);

/* Usable bytes of such a block. [in-malloc] */
size_t th_next_bootstrap_bytes(const void *block);

#endif
