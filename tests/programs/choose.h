/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chance that is the same in every run of a program.
 */
#ifndef TESTS_PROGRAMS_CHOOSE_H
#define TESTS_PROGRAMS_CHOOSE_H

#include <stdint.h>

/* One of `count` numbers from 0, by xorshift64 (Marsaglia 2003).  Of one thread at a time. */
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
