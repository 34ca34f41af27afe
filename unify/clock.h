/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_UNIFY_CLOCK_H
#define TH_UNIFY_CLOCK_H

#include <stdint.h>
#include <time.h>

#define TH_NS_PER_S 1000000000u

/* CLOCK_MONOTONIC in nanoseconds; through the vdso, no system call. [any] */
static inline uint64_t
th_clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * TH_NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
