/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under a sanitizer or an emulator all code takes many times as long.  What is repeated for a statistic, or
 * at every byte of a log, is there repeated at fewer of them: the same code runs, and the figures do not
 * depend on the processor.
 */
#ifndef TH_TESTS_SLOW_H
#define TH_TESTS_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static inline bool
is_slow(void)
{
#ifdef __SANITIZE_ADDRESS__
	return true;
#else
	return getenv("TH_TEST_RUNNER");
#endif
}

/* How many of `all` repetitions. */
static inline unsigned
slow_share(unsigned all)
{
	return is_slow() ? all / 10 : all;
}

/* Bytes from one to the next; odd, so that each bit of an offset varies. */
static inline size_t
slow_stride(void)
{
	return is_slow() ? 7 : 1;
}

#endif
