/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts threads by the stack that started them (tally.h).  What a leak of threads holds (their
 * stacks, which libc maps for itself, and what a Java VM allocates for each) belongs to that
 * stack, the maker of the thread.
 *
 * The thread that starts another one counts it before it exists, so its end never precedes its
 * start.
 */
#ifndef TH_UNIFY_SAMPLE_THREAD_STARTS_H
#define TH_UNIFY_SAMPLE_THREAD_STARTS_H

#include <stdint.h>

#include "unify/sample/tally.h"
#include "unify/sample/thread.h"
#include "unify/unwind/unwind.h"

/*
 * The calling thread, with these registers, is about to start a thread with a stack of `bytes`.
 * item_ret->maker 0: not counted, because nothing is recorded, the library itself starts it, or
 * a table is full.  Preserves errno. [any]
 */
void th_thread_starts_add(
	const struct th_registers *registers, uint64_t bytes, struct th_tally_item *item_ret);

/* The thread could not be started. [any] */
void th_thread_starts_fail(const struct th_tally_item *item);

/*
 * The calling thread is the one that was counted; it ends with its record, or when it is joined
 * if it has a handle. [any]
 */
void th_thread_starts_run(const struct th_tally_item *item, uintptr_t handle);

/* A thread ends; any record, also of a thread that was not counted. [any] */
void th_thread_starts_end(struct th_thread_record *record);

/* A thread with a handle has ended and was joined, or detached. [any] */
void th_thread_starts_joined(struct th_thread_record *record);

/* Number of counted threads that have ended, and of those that run; in a child, the parent's too. [any] */
uint64_t th_thread_starts_ended(void);
uint64_t th_thread_starts_alive(void);

/* Writes changed figures to the log. [any] */
void th_thread_starts_log(void);

/* In a forked child, which has none of these threads. */
void th_thread_starts_reset(void);

/* For another recording of the same process. [any] */
void th_thread_starts_restart(void);

#endif
