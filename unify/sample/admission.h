/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: which heaps are sampled at present.
 *
 * Every thread has a byte count for each heap (struct th_byte_count).  While it is open, the
 * samples of the thread are recorded and its bytes are counted; while it is closed, neither.
 * One flag controls both, so samples and exact bytes always refer to the same allocations.
 * Estimates stay unbiased, because opening and closing do not depend on what was sampled.
 * Countdowns always run: the exponential distribution has no memory, so the rest of a countdown
 * at an opening is distributed like a fresh one.
 *
 * th_admission_review() brings the byte counts in line with the settings; it reads the bytes of
 * every thread.
 */
#ifndef TH_UNIFY_SAMPLE_ADMISSION_H
#define TH_UNIFY_SAMPLE_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"
#include "unify/sample/thread.h"
#include "unify/shared/heaps.h"

/*
 * Sets initial state: these heaps, not paused, no reader of Java bytes.  Not concurrently.
 */
void th_admission_init(uint32_t heaps);

/* Whether the settings select a heap. [any] */
bool th_admission_wants(enum th_heap heap);

/*
 * Settings.  One thread at a time; call th_admission_review() afterwards. [agent-thread or
 * in-malloc]
 */
void th_admission_set_paused(bool is_paused);
void th_admission_set_heaps(uint32_t heaps);

/* Whether th_admission_review() has threads left that did not follow a change. [agent-thread] */
bool th_admission_is_pending(void);

/*
 * Whether the Java heap can be sampled: the library has the capability.  Concurrency as above.
 */
void th_admission_set_java(bool is_there);

/*
 * Sets the reader of a thread's exact Java bytes, counted or not; it returns false if they
 * cannot be read now.  NULL: they are unknown.
 */
void th_admission_read_java_by(bool (*read)(struct th_thread_record *, uint64_t *bytes_ret));

/*
 * Brings all byte counts in line with the settings.  Cheap if nothing has changed.
 * [agent-thread or in-malloc]
 */
void th_admission_review(void);

/*
 * Whether the byte count of the calling thread is open, so that a due sample is to be recorded.
 * False if this call had to open it: the bytes so far are not counted. [in-malloc]
 */
bool th_admission_admits(struct th_thread_record *record, enum th_heap heap);

/*
 * Initializes the byte counts of the calling thread's new record, which other threads can see already;
 * under the guard, so that they do not read its bytes. [in-malloc]
 */
void th_admission_join(struct th_thread_record *record);

/* Restarts a thread's bytes in a heap at 0. [any] */
void th_admission_restart(struct th_thread_record *record, enum th_heap heap);

#endif
