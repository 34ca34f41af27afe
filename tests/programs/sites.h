/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation sites of a test program, and their true figures: TH_SITE(name) defines a function
 * name(bytes) that allocates one block and counts it. print_sites() prints the counts, one JSON
 * object per line, in the format of the harness.  Counting is safe in any thread and in any
 * signal handler.
 */
#ifndef TESTS_PROGRAMS_SITES_H
#define TESTS_PROGRAMS_SITES_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct site {
	const char *name;
	unsigned long objects;
	unsigned long bytes;
};

static inline void
count_block(struct site *site, size_t bytes)
{
	__atomic_fetch_add(&site->objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->bytes, bytes, __ATOMIC_RELAXED);
}

/* Reports show the function's name, so it is neither inlined nor a tail call. */
#define TH_SITE(name)                                             \
	static struct site name##_truth = {#name, 0, 0};          \
	__attribute__((noinline)) static void *name(size_t bytes) \
	{                                                         \
		void *block = malloc(bytes);                      \
		__asm__ volatile("" : "+r"(block) : : "memory");  \
		count_block(&name##_truth, bytes);                \
		return block;                                     \
	}

static inline void
allocate_and_free(void *(*site)(size_t bytes), int blocks, size_t bytes)
{
	for (int i = 0; i < blocks; i++)
		free(site(bytes));
}

static inline void
print_site(const struct site *site)
{
	printf("{\"site\": \"%s\", \"heap\": \"native\", \"objects\": %lu, \"bytes\": %lu}\n",
		site->name, site->objects, site->bytes);
}

#endif
