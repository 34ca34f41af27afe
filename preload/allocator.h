/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else allocates here, and what of it goes past us: an allocator in front of us, in the
 * program itself, or underneath with functions of its own.
 */
#ifndef TH_PRELOAD_ALLOCATOR_H
#define TH_PRELOAD_ALLOCATOR_H

#include <stdbool.h>

/*
 * Determines what the functions below return, by the loader's functions and by an allocation.
 * Once, in the constructor, after th_next_init().
 */
void th_allocator_init(void);

/*
 * Whether the program's malloc reaches us: found by a call, since tools such as valgrind redirect
 * functions without a trace. [any]
 */
bool th_allocator_is_seen(void);

/* Whether the program calls our mmap. [any] */
bool th_allocator_mmap_is_seen(void);

/* The underlying malloc, NULL if it is libc's. [any] */
const void *th_allocator_underneath(void);

/* Whether a function belongs to the object whose malloc is underneath. [any] */
bool th_allocator_is_underneath(const void *function);

/*
 * Writes into the log whose malloc is underneath, and what goes unseen and why.  A C heap that is
 * unseen although the library was preloaded is worth a line on stderr too.  Not from the malloc
 * path.
 */
void th_allocator_log(void);

#endif
