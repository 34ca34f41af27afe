/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that never ran, written to an unbounded log or to a ring, which turns several times.  Blocks
 * of one thread and of another one are allocated at some stacks, live for a time that depends on the
 * stack, and are freed.
 */
#ifndef TH_TESTS_UNIT_LOG_RING_PROGRAM_H
#define TH_TESTS_UNIT_LOG_RING_PROGRAM_H

#include "report/log/recording.h"
#include "tests/unit/log/log_fixture.h"

#define RING (UINT64_C(8) << 20)
#define INTERVAL 4096u
#define SIZE 256u
#define STEP_NS 1000000u /* between two samples */
#define STACKS 8u

/* One in LEAKED of the last stack is never freed. */
#define LEAKED 16u
#define LEAKED_RARELY 64u

struct ring_program {
	uint64_t *ids;     /* of samples, by number */
	uint64_t samples;  /* in all */
	uint64_t count;    /* so far */
	uint64_t bytes[2]; /* of the threads */
	uint64_t start;
	uint64_t step; /* nanoseconds between two samples */
	uint32_t leaked;
	uint32_t
		step_every; /* samples between two steps of a change of chunks that is not urgent */
	uint32_t collections;
	uint32_t checks; /* of the log so far */
	enum th_heap heap;
};

/* Of Java objects from the middle on, one of 2^LEVEL is followed, also of those from before. */
#define SAMPLES 400000u
#define LEVEL 3u

extern const uint32_t ring_lives[STACKS]; /* how long a block at a stack lives, in samples */

/* Creates the log, which is also the one to read. */
void ring_open(bool is_ring);

void ring_begin(struct ring_program *program, uint64_t samples, enum th_heap heap);

/* Up to `samples`.  `after_step`, if not NULL, is called after each step of a change of chunks. */
void ring_run(struct ring_program *program, uint64_t samples,
	void (*after_step)(struct ring_program *));

void ring_end(struct ring_program *program);

/* The recording of the log; the caller destroys it. */
struct th_recording *ring_load(void);

#endif
