/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of libFuzzer that targets use, and helpers. */
#ifndef TH_TESTS_FUZZ_H
#define TH_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The target: called with each input; it returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * May change `size` bytes at `data` in a target-specific way; returns the new size, at most
 * `capacity`.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);

/* libFuzzer's own mutation of bytes, for custom mutators. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/*
 * Where fuzz_unwind.c puts its data: at the end of FUZZ_PAGES pages, aligned like linker
 * output.  A module begins where these pages begin.
 */
#define FUZZ_PAGE 4096u
#define FUZZ_PAGES 16u

static inline size_t
fuzz_place(size_t size)
{
	return (FUZZ_PAGES * FUZZ_PAGE - size) & ~(size_t)3;
}

/* A random number below `bound`, which is not 0; `random` is the state. */
static inline unsigned
fuzz_below(unsigned *random, unsigned bound)
{
	*random = *random * 1664525u + 1013904223u;
	return (unsigned)((uint64_t)(*random >> 8) * bound >> 24);
}

#endif
