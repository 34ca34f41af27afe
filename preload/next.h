/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next allocator: the definitions of the allocation functions that follow this library in
 * the program's lookup order, usually libc's.  Every block is freed by the allocator it came
 * from.
 */
#ifndef TH_PRELOAD_NEXT_H
#define TH_PRELOAD_NEXT_H

#include <link.h>
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

/*
 * Before th_next_init() has run, each function first resolves the table and then forwards the
 * call.
 */
extern struct th_next th_next __attribute__((visibility("hidden")));

/*
 * Resolves the table, on the first thread to call it; later calls do nothing.  False:
 * resolution is in progress, on another thread or further up this thread's stack.
 */
bool th_next_init(void);

/*
 * Whether the library was loaded after libc, by dlopen(): no lookup by name finds its definitions
 * first, and it sees the calls of import slots only (slots.h).  After th_next_init(). [any]
 */
bool th_next_is_late(void);

/*
 * The definition of a name that follows the library in lookup order; where it was loaded late, the
 * one in the global scope, because the next one is libc's even if another allocator precedes it.
 * NULL: none.  Clears dlerror.  After th_next_init(), not from the malloc path.
 */
void *th_next_find(const char *name);

/* Whether an address belongs to this library. [any] */
bool th_next_is_ours(const void *address);

/* The object that contains an address; NULL: none.  Not from the malloc path. */
const struct link_map *th_next_object_of(const void *address);

/* Whether an object precedes the library in lookup order. */
bool th_next_is_in_front(const struct link_map *object);

/*
 * Whether `address` is an entry of a procedure linkage table, which only jumps on: a program that
 * is not position-independent and takes the address of a function has one, and every lookup of
 * the name finds it.  Its symbol has an address, but is undefined.
 */
bool th_next_leads_on(const void *address);

/* Whether a function is libc's. [any] */
bool th_next_is_in_libc(const void *function);

/* Whether two functions belong to the same loaded object. [any] */
bool th_next_are_together(const void *one, const void *other);

/* The path of the object that contains an address, in the loader's memory; "": not known. */
const char *th_next_path_of(const void *address);

/*
 * The function that the object containing `caller` would call by that name without this
 * library: the definition in its own scope, as loaded.  NULL: none.  Not from the malloc path.
 */
void *th_next_in_scope_of(const void *caller, const char *name);

/*
 * Whether a block is from the small arena that serves malloc while the next allocator is being
 * resolved.  Such blocks are pinned in the live filter, so free and realloc check them.
 * [in-malloc]
 */
bool th_next_is_bootstrap(const void *block);

/* Usable bytes of such a block. [in-malloc] */
size_t th_next_bootstrap_bytes(const void *block);

#endif
