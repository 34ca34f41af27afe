/* SPDX-License-Identifier: Apache-2.0 */
/* What is true of a program, one JSON object a line: the C side of leaks.Truth. */
#ifndef TESTS_LEAKS_TRUTH_H
#define TESTS_LEAKS_TRUTH_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Keeps the compiler from dropping a block, or from turning the call before into a jump. */
#define KEEP(block) __asm__ volatile("" : "+r"(block) : : "memory")

/* no_icf: two functions that do the same are two all the same. */
#ifdef __clang__
#	define NOINLINE __attribute__((noinline))
#else
#	define NOINLINE __attribute__((noinline, noclone, no_icf))
#endif

/* CLOCK_MONOTONIC, as in the log. */
static inline uint64_t
truth_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* `verdict`: "leak", or NULL for what is alive at this moment and no leak. */
static inline void
truth_print(const char *verdict, const char *frame, size_t bytes, size_t objects)
{
	printf("{\"verdict\": %s%s%s, \"time\": %llu, \"heap\": \"native\", \"frame\": \"%s\","
	       " \"live_bytes\": %zu, \"live_objects\": %zu}\n",
		verdict ? "\"" : "", verdict ? verdict : "null", verdict ? "\"" : "",
		(unsigned long long)truth_now(), frame, bytes, objects);
	fflush(stdout);
}

static inline void
truth_sleep(unsigned milliseconds)
{
	struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};

	nanosleep(&time, NULL);
}

#endif
