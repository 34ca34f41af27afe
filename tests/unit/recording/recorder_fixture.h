/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder on a log of its own, driven as the entry points drive it but without an
 * interposed malloc: blocks are numbers here.
 *
 * The recorder leaves out frames of the object that it is part of, which is the test program
 * here; the fixture makes them visible, so that stacks begin with th_native_allocated().
 */
#ifndef TH_TESTS_RECORDER_FIXTURE_H
#define TH_TESTS_RECORDER_FIXTURE_H

#include "tests/unit/log/log_fixture.h"

#include "unify/recording/recorder.h"
#include "unify/sample/thread.h"

#define NOINLINE __attribute__((noinline))
/* Keeps the caller's frame: the call is not its last act. */
#define STAY() __asm__ volatile("" ::: "memory")
#define MIB ((uint64_t)1 << 20)
#define LARGE (256 * MIB)
#define DEPTH 64

/* Once, first thing in main(). */
void recorder_fixture_init(void);

/* Opens a log with room for `max_bytes` and starts to record all heaps. */
void recorder_start(uint64_t interval, uint32_t depth, uint64_t max_bytes);

/* Every sample that was due was recorded, left out or lost: checks that the counters add up. */
void recorder_check_sum(void);

/* Forgets the log and all that was recorded; the counters have to add up. */
int recorder_tear_down(void **state);

/* A block by its number; never followed. */
void *recorder_block(uintptr_t number);

/* What an entry point does; `block` NULL: the next allocator had none. */
void recorder_allocate(void *block, size_t size);
void recorder_release(void *block);

/* What the callback of the Java heap does with an object that is due. */
uint64_t recorder_java(const struct th_event_java_alloc *object);

/* A counter of the log. */
uint64_t recorder_counter(enum th_log_counter which);

/* The frames of the STACK record of that id; fails the test if there is none. */
uint32_t recorder_frames(const struct log_image *image, uint32_t id,
	const uint64_t **frames_ret, uint32_t *flags_ret);

/* Whether a native frame lies in a function, which is taken to be shorter than `bytes`. */
bool recorder_is_in(
	const struct log_image *image, uint64_t frame, const void *function, size_t bytes);

#endif
