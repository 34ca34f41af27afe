/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_UNIFY_SHARED_CLOCK_H
#define TH_UNIFY_SHARED_CLOCK_H

#include <stdint.h>
#include <time.h>

/* 64 bits: multiples of it do not fit into 32. */
#define TH_NS_PER_S UINT64_C(1000000000)

/* The time of a clock in nanoseconds; 0 if it cannot be read. [any] */
static inline uint64_t
th_clock_read(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		return 0;
	return (uint64_t)now.tv_sec * TH_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, the clock of the log; through the vdso, without a system call. [any] */
static inline uint64_t
th_clock_now(void)
{
	return th_clock_read(CLOCK_MONOTONIC);
}

/*
 * The next whole second of CLOCK_MONOTONIC after a time (ns): periodic work that is due at the same
 * times wakes a processor once. [any]
 */
static inline uint64_t
th_clock_next_second(uint64_t time)
{
	return (time / TH_NS_PER_S + 1) * TH_NS_PER_S;
}

#endif
