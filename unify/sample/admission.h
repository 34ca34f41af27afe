/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sampled at present: which heaps, which threads, or nothing.
 *
 * Every thread has an account for each heap (thread.h).  While it is open the thread's samples are
 * recorded and its bytes count; while it is closed neither is done.  Both follow the one flag, so
 * samples and exact bytes always speak of the same allocations, and estimates stay unbiased: when
 * an account is open does not depend on what was sampled.  Countdowns go on all the time.  What
 * is left of one at an opening follows the same law as a fresh one, since the exponential
 * distribution has no memory.
 *
 * Accounts follow the settings when th_admission_review() is called, which reads every thread's bytes;
 * those of the calling thread follow its name at once.
 */
#ifndef TH_UNIFY_SAMPLE_ADMISSION_H
#define TH_UNIFY_SAMPLE_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"
#include "unify/shared/heaps.h"
#include "unify/sample/thread.h"

/* A set of heaps: bit 1 << enum th_heap. */
#define TH_ADMISSION_ALL TH_HEAPS_ALL

/* Begins with these heaps, not paused, all threads; forgets the reader. Not concurrently. */
void th_admission_init(uint32_t heaps);

/* Whether the settings ask for samples of a heap. [any] */
bool th_admission_wants(enum th_heap heap);

/* Settings.  One thread at a time; th_admission_review() afterwards. [agent-thread or in-malloc] */
void th_admission_set_paused(bool is_paused);
void th_admission_set_heaps(uint32_t heaps);

/*
 * Only threads whose name one of the globs (glob.h) matches; "" = all.  False: bad globs
 * (`problem_ret`: why), or no time was found to put them in place; nothing changes.
 */
bool th_admission_set_threads(const char *globs, const char **problem_ret);

/* Whether there are such globs. [any] */
bool th_admission_is_filtered(void);

/* Whether samples of the Java heap can be had at all: the capability is ours.  As above. */
void th_admission_set_java(bool is_there);

/*
 * How to read a thread's exact Java bytes, whether they count or not; false: not now.  NULL: they
 * are not known.
 */
void th_admission_read_java_by(bool (*read)(struct th_thread_record *, uint64_t *bytes_ret));

/*
 * Brings all accounts in line with the settings.  Cheap when nothing has changed.
 * [agent-thread or in-malloc]
 */
void th_admission_review(void);

/* And with the names that threads have by now, where names matter. [agent-thread] */
void th_admission_review_names(void);

/*
 * Whether the account of the calling thread is open: a sample that is due is to be recorded.  Not
 * if it had to be opened for that: the bytes do not count yet. [in-malloc]
 */
bool th_admission_admits(struct th_thread_record *record, enum th_heap heap);

/*
 * Sets up the accounts of the calling thread's new record, before and after others can see it;
 * the first returns what the second wants. [in-malloc]
 */
uint32_t th_admission_join(struct th_thread_record *record);
void th_admission_joined(struct th_thread_record *record, uint32_t seen);

/* The thread has this name now. [any] */
void th_admission_named(struct th_thread_record *record, const char *name);

/* Looks at the calling thread's name in the kernel, where names matter. [in-malloc] */
void th_admission_look_at_name(struct th_thread_record *record);

/* A thread's bytes in a heap begin at 0 again. [any] */
void th_admission_restart(struct th_thread_record *record, enum th_heap heap);

#endif
