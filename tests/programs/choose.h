/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that are the same in every run of a program. */
#ifndef TESTS_PROGRAMS_CHOOSE_H
#define TESTS_PROGRAMS_CHOOSE_H

#include <stdint.h>

/*
 * A random number from 0 to `count` - 1, by xorshift64 (Marsaglia 2003).  For one thread at a
 * time.
 */
static inline uint64_t
choose(uint64_t count)
{
	static uint64_t state = 42;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % count;
}

#endif
