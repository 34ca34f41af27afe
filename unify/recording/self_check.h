/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the assumptions of the library when recording starts: a feature whose assumption does
 * not hold is switched off, with a note in the log, before it can make a report wrong.
 */
#ifndef TH_UNIFY_RECORDING_SELF_CHECK_H
#define TH_UNIFY_RECORDING_SELF_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/unwind/unwind.h"

/* The functions under test, so that a test can break each of them. */
struct th_self_check_parts {
	bool (*take)(uint64_t *countdown, uint64_t size); /* th_countdown_take() */
	void *(*thread_state)(void); /* the address of the calling thread's th_thread */
	th_unwind_function *walk;
	bool (*insert)(uintptr_t address, uint64_t sample);
	bool (*may_hold)(const void *block);
	uint64_t (*remove)(uintptr_t address);
};

/* The real functions. */
extern const struct th_self_check_parts th_self_check_parts;

/*
 * A countdown expires at the right byte, and the state of a thread is where the initial-exec
 * model puts it, at a fixed distance from the thread pointer. [any]
 */
bool th_self_check_countdown(const struct th_self_check_parts *parts);

/*
 * A walk through three known functions finds the return address of each, and the stack pointer
 * moves towards the root.  After th_unwind_init(). [any]
 */
bool th_self_check_walk(const struct th_self_check_parts *parts);

/*
 * A block inserted into the live table passes the filter, is found once and then removed.  The
 * guard must be held. [any]
 */
bool th_self_check_live(const struct th_self_check_parts *parts);

#endif
