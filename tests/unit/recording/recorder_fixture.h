/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder with its own log, called like the entry points call it, but without an
 * interposed malloc: blocks are numbers.
 *
 * The recorder omits frames of its own object, which is the test program here; the fixture
 * makes them visible, so that stacks begin with th_native_allocated().
 */
#ifndef TH_TESTS_RECORDER_FIXTURE_H
#define TH_TESTS_RECORDER_FIXTURE_H

#include "tests/unit/log/log_fixture.h"

#include "unify/recording/recorder.h"
#include "unify/sample/thread.h"

#define NOINLINE __attribute__((noinline))
/* Prevents a tail call, so that the caller's frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")
#define MIB ((uint64_t)1 << 20)
#define LARGE (256 * MIB)
#define DEPTH 64

/* Once, at the start of main(). */
void recorder_fixture_init(void);

/* Opens a log with a maximum size of `max_bytes` and starts recording all heaps. */
void recorder_start(uint64_t interval, uint32_t depth, uint64_t max_bytes);

/* Checks the invariant of the counters: each due sample was recorded or lost. */
void recorder_check_sum(void);

/* Drops the log and the recorder's state; checks the counters. */
int recorder_tear_down(void **state);

/* A block by its number; never dereferenced. */
void *recorder_block(uintptr_t number);

/* The work of an entry point; `block` NULL: the allocation failed. */
void recorder_allocate(void *block, size_t size);
void recorder_release(void *block);

/* The work of the Java heap's callback for an object that is due. */
uint64_t recorder_java(const struct th_event_java_alloc *object);

/* A counter of the log. */
uint64_t recorder_counter(enum th_log_counter which);

/* The frames of the STACK record with that id; fails the test if there is none. */
uint32_t recorder_frames(const struct log_image *image, uint32_t id,
	const uint64_t **frames_ret, uint32_t *flags_ret);

/* Whether a native frame lies in a function, assumed to be shorter than `bytes`. */
bool recorder_is_in(
	const struct log_image *image, uint64_t frame, const void *function, size_t bytes);

#endif
