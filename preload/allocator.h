/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other allocators in the process, their statistics, and which allocations do not reach the library: an
 * allocator that precedes it, one in the program itself, or an underlying one with functions of
 * its own.
 */
#ifndef TH_PRELOAD_ALLOCATOR_H
#define TH_PRELOAD_ALLOCATOR_H

#include <stdbool.h>

/*
 * Determines the results of the functions below, with the loader's functions and a test
 * allocation.  Once, in the constructor, after th_next_init().
 */
void th_allocator_init(void);

/*
 * Whether the program's malloc reaches us, or will through import slots (late.h).  Determined by a
 * call, because tools such as valgrind redirect functions without leaving a trace. [any]
 */
bool th_allocator_is_seen(void);

/* Whether the program calls our mmap. [any] */
bool th_allocator_mmap_is_seen(void);

/* The underlying malloc, NULL if it is libc's. [any] */
const void *th_allocator_underneath(void);

/* Whether a function belongs to the object that provides the underlying malloc. [any] */
bool th_allocator_is_underneath(const void *function);

/*
 * Logs the underlying malloc, and which allocations are not recorded and why.  Also prints a
 * line on stderr if the C heap is not recorded although the library was preloaded.  Not from
 * the malloc path.
 */
void th_allocator_log(void);

/*
 * Allocators may implement one of their functions with another and call that by its public name,
 * which is ours, for example posix_memalign by memalign: the same block would be counted twice.
 * Finds such functions of the underlying allocator by calling each, and wraps them so that they
 * run under the guard, where inner calls are not counted.  Other functions are unchanged, and
 * malloc and similar functions need no additional instruction.  Once, in the constructor, after
 * th_next_init().
 */
void th_allocator_silence_nested(void);

/*
 * Breakdowns of resident memory include the statistics of the next allocator from now on.  After
 * th_next_init(), once.
 */
void th_allocator_figures_init(void);

#endif
