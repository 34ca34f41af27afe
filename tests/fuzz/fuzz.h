/* SPDX-License-Identifier: Apache-2.0 */
/* What a target has of libFuzzer, and what it needs besides. */
#ifndef TH_TESTS_FUZZ_H
#define TH_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The target: called with each input; it returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* May change `size` bytes at `data` in its own way; returns the new size, at most `capacity`. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);

/* libFuzzer's own change of bytes, for custom mutators. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/*
 * Where fuzz_unwind.c puts its data: at the end of so many pages, aligned as linkers align it.
 * A module begins where these pages do.
 */
#define FUZZ_PAGE 4096u
#define FUZZ_PAGES 16u

static inline size_t
fuzz_place(size_t size)
{
	return (FUZZ_PAGES * FUZZ_PAGE - size) & ~(size_t)3;
}

/* A number below `bound`, which is not 0; `random` is the state. */
static inline unsigned
fuzz_below(unsigned *random, unsigned bound)
{
	*random = *random * 1664525u + 1013904223u;
	return (unsigned)((uint64_t)(*random >> 8) * bound >> 24);
}

#endif
