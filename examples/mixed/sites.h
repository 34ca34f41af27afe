/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native allocation sites of this example: one function each, never inlined, named after
 * what it does, so that a profiler can distinguish them by name and a test knows in advance
 * what each of them allocates.
 */
#ifndef MIXED_SITES_H
#define MIXED_SITES_H

#include <stddef.h>

/* Keeps the compiler from removing a block, or from turning the call before into a jump. */
#define MIXED_KEEP(block) __asm__ volatile("" : "+r"(block) : : "memory")

#ifdef __clang__
#	define MIXED_NOINLINE __attribute__((noinline))
#else
#	define MIXED_NOINLINE __attribute__((noinline, noclone))
#endif

struct mixed_site {
	const char *function; /* its name in stacks */
	size_t size;          /* total bytes allocated by one call */
	size_t calls;         /* blocks allocated by one call */
	void *(*allocate)(void);
	void (*release)(void *block);
};

/* The table, in the order of sites.c; ends with a NULL function. */
extern const struct mixed_site mixed_sites[];

/* `operator new`, in a separate file because it needs a C++ compiler. */
void *mixed_new_4096(void);
void mixed_delete(void *block);

#endif
