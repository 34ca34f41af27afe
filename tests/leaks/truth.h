/* SPDX-License-Identifier: Apache-2.0 */
/* The true figures of a program, one JSON object per line: the C version of leaks.Truth. */
#ifndef TESTS_LEAKS_TRUTH_H
#define TESTS_LEAKS_TRUTH_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Keeps the compiler from removing a block, or from turning the call before into a jump. */
#define KEEP(block) __asm__ volatile("" : "+r"(block) : : "memory")

/* no_icf: two functions with the same code are not merged. */
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

/* `verdict`: "leak", or NULL for what is alive but no leak; 0 bytes of some: not known. */
static inline void
truth_print_heap(
	const char *verdict, const char *heap, const char *frame, size_t bytes, size_t objects)
{
	printf("{\"verdict\": %s%s%s, \"time\": %llu, \"heap\": \"%s\", \"frame\": \"%s\","
	       " \"live_objects\": %zu",
		verdict ? "\"" : "", verdict ? verdict : "null", verdict ? "\"" : "",
		(unsigned long long)truth_now(), heap, frame, objects);
	if (bytes || !objects)
		printf(", \"live_bytes\": %zu", bytes);
	puts("}");
	fflush(stdout);
}

static inline void
truth_print(const char *verdict, const char *frame, size_t bytes, size_t objects)
{
	truth_print_heap(verdict, "native", frame, bytes, objects);
}

static inline void
truth_sleep(unsigned milliseconds)
{
	struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};

	nanosleep(&time, NULL);
}

/* The times of the steps, in the form that leaks.Pace prints. */
struct truth_pace {
	uint64_t from;
	uint64_t last;
	uint64_t quarter; /* start of the current quarter of the steps */
	uint64_t longest_step;
	uint64_t longest_quarter;
};

/* After step `number` of `count`; 0: before the first. */
static inline void
truth_step(struct truth_pace *pace, int number, int count)
{
	uint64_t now = truth_now();

	if (number == 0) {
		*pace = (struct truth_pace){.from = now, .last = now, .quarter = now};
		return;
	}
	if (now - pace->last > pace->longest_step)
		pace->longest_step = now - pace->last;
	pace->last = now;
	if (number * 4 / count == (number - 1) * 4 / count)
		return;
	if (now - pace->quarter > pace->longest_quarter)
		pace->longest_quarter = now - pace->quarter;
	pace->quarter = now;
}

static inline void
truth_tell_pace(const struct truth_pace *pace)
{
	printf("{\"verdict\": \"paced\", \"from\": %llu, \"to\": %llu,"
	       " \"longest_delay\": %llu, \"slowest_quarter\": %llu}\n",
		(unsigned long long)pace->from, (unsigned long long)pace->last,
		(unsigned long long)pace->longest_step,
		(unsigned long long)(pace->longest_quarter - (pace->last - pace->from) / 4));
	fflush(stdout);
}

#endif
