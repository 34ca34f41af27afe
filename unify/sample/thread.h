/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per-thread state.  `struct th_thread` is what the malloc path touches: one initial-exec TLS
 * object, all zero in a fresh thread, so that uninitialised, disabled and due look alike: the
 * countdown is used up.  Everything else lives in a record in our own memory that outlives
 * the thread.
 *
 * Exact bytes of a thread = drawn - countdown: every draw is added to `drawn`, every block is
 * taken off the countdown.
 */
#ifndef TH_UNIFY_SAMPLE_THREAD_H
#define TH_UNIFY_SAMPLE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/base/observed.h"
#include "unify/sample/poisson.h"

/* Longest name kept, with the terminator; Java names may be longer and are cut. */
#define TH_THREAD_NAME_MAX 64

/* A countdown that was drawn by nobody knows what rules. */
#define TH_INTERVAL_UNKNOWN UINT64_MAX

/*
 * What of a thread's bytes in one heap counts: not those that it allocates while its account is
 * closed (gate.h).  Written under the gate's lock.
 */
struct th_byte_count {
	uint64_t skipped;   /* atomic: bytes that do not count, as of the last opening */
	uint64_t frozen;    /* atomic: what counted when it was closed */
	uint32_t is_closed; /* atomic */
};

struct th_thread_record {
	uint32_t id;  /* 1.., dense */
	uint32_t tid; /* of the kernel */
	/* Owner: the thread itself. */
	struct th_random random;
	uint64_t interval; /* in force when the countdown was drawn */
	uint64_t drawn;    /* sum of all draws, modulo 2^64 */
	bool has_drawn;    /* the countdown comes from a draw */
	bool logged;       /* the log holds a THREAD record */
	bool java_named;   /* the name came from Java: the kernel's is ignored */
	char name[TH_THREAD_NAME_MAX];
	uint64_t name_seen; /* ns: when th_thread_log_at() last looked at the kernel's */
	/* Any thread, atomic. */
	struct th_thread *state;        /* NULL once the thread has ended */
	struct th_thread_record *next;  /* all records, newest first; never removed */
	struct th_byte_count counts[2]; /* by enum th_heap - 1 */
	uint32_t is_unwanted;           /* its name is none of those to be sampled */
	/* Under the registry's lock. */
	struct th_thread_record *unused_next;
	/* Owner: jvmti/. */
	void *java_thread; /* atomic: its thread in the VM; NULL when it has none, or no more */
	/* The VM's count of this thread's bytes minus ours, modulo 2^64. */
	uint64_t java_before;
	uint64_t java_bytes;    /* ours, when the thread last left the VM */
	uint32_t java_takeover; /* of heap.c: number of it that the thread has seen */
	uint64_t
		java_interval; /* in force when the Java countdown was drawn, as far as known */
	/* The byte at which that ends, of those the JavaThread counts; 0: the VM drew it. */
	uint64_t java_due;
	/* Owner: the agent thread. */
	uint64_t native_bytes_logged;
	uint64_t java_bytes_logged;
};

struct th_thread {
	uint64_t countdown; /* bytes up to the sampled one; a block that takes it up is due */
	struct th_thread_record *record; /* NULL until the first slow path */
	uint64_t guarded_countdown;      /* the countdown when the guard was entered */
	uint32_t guard;                  /* depth; not 0: this thread is inside the library */
	uint32_t exit_rounds;            /* rounds of TLS destructors seen */
};

extern __thread struct th_thread th_thread __attribute__((tls_model("initial-exec")));

/*
 * Takes a block off a countdown.  True: it reaches or passes the sampled byte, or the countdown
 * was used up before.  An unsigned comparison, so that a size beyond 2^63, which the next
 * allocator will refuse, is due as well and can be given back.
 */
static inline bool
th_countdown_take(uint64_t *countdown, uint64_t size)
{
	bool due;

#if defined(__x86_64__)
	/* One instruction on the thread's own word, which no signal handler can come between. */
	__asm__("subq %2, %0" : "+m"(*countdown), "=@ccbe"(due) : "er"(size));
#else
	due = *countdown <= size;
	*countdown -= size;
#endif
	return due;
}

/* Creates the key that tells when threads end.  Once, outside the malloc path. */
void th_thread_init(uint64_t seed);

/* Threads that have no record yet draw by this seed. */
void th_thread_seed(uint64_t seed);

/*
 * The record of the calling thread, made on first use; NULL when the table is full.  The guard
 * must be held. [in-malloc]
 */
struct th_thread_record *th_thread_record(void);

/*
 * Enters and leaves the library on the calling thread: allocations in between are not sampled
 * and not counted. Nests. [any]
 */
void th_guard_enter(void);
void th_guard_leave(void);

/*
 * Exact native bytes of the calling thread, whether they count or not. [in-malloc]
 */
uint64_t th_thread_native_bytes(void);

/*
 * The same of any thread.  False: it ended, or was in the middle of a change. [any]
 */
bool th_thread_read_native_bytes(struct th_thread_record *record, uint64_t *bytes_ret);

/* Those of a thread's bytes in a heap that count. [any] */
static inline uint64_t
th_counted_bytes(const struct th_thread_record *record, enum th_heap heap, uint64_t bytes)
{
	const struct th_byte_count *account = &record->counts[heap - 1];

	/* Pairs with the release at closing: what is frozen is there. */
	if (__atomic_load_n(&account->is_closed, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&account->frozen, __ATOMIC_RELAXED);
	return bytes - __atomic_load_n(&account->skipped, __ATOMIC_RELAXED);
}

/* Draws the next countdown of the calling thread; `bytes` = its exact bytes so far. [in-malloc] */
void th_thread_draw(struct th_thread_record *record, uint64_t interval, uint64_t bytes);

/* Puts the next visit to the slow path `bytes` away, without a sample being due. [in-malloc] */
void th_thread_postpone(uint64_t bytes);

/*
 * The Java name of a thread (modified UTF-8) is that from now on.  By the thread itself, or on its
 * behalf by one that sees it renamed: a sample that it takes meanwhile has either name. [jvmti]
 */
void th_thread_rename(struct th_thread_record *record, const char *name);

/*
 * Writes the THREAD record of a thread when the log does not hold it under the name that it has
 * now, in the kernel if Java gave it none. [in-malloc]
 */
void th_thread_log(struct th_thread_record *record);

/* The same for a sample at `now` (ns): the kernel is asked every 0.1 ms at most. [in-malloc] */
void th_thread_log_at(struct th_thread_record *record, uint64_t now);

/*
 * Writes a THREAD_BYTES: exact bytes of `thread` in a heap; thread 0: of all threads together
 * that have no record of their own.  False: not written. [any]
 */
bool th_thread_log_heap_bytes(uint32_t thread, enum th_heap heap, uint64_t bytes);

/* All records, those of ended threads too, newest first; NULL at the end. [any] */
struct th_thread_record *th_thread_first(void);
struct th_thread_record *th_thread_next(const struct th_thread_record *record);

/*
 * Writes THREAD_BYTES of every thread whose native bytes changed since the last call.  `final`
 * also accounts for threads without a record in the log; once, at the end. [agent-thread]
 */
void th_thread_log_bytes(bool final);

/*
 * Whether the kernel lets the countdowns of other threads be read.  Where it does not, their bytes
 * are known as of their last sample. Preserves errno. [any]
 */
bool th_thread_can_read_others(void);

/* In the tool: the records become those of the observed process. */
struct th_observed_part th_thread_part(void);
bool th_thread_observe(const void *part);

/*
 * In a forked child: only the calling thread is left, and it starts afresh.  The guard stays as it
 * is: a signal handler may have forked in the middle of a capture, which goes on in the child.
 */
void th_thread_reset(void);

#endif
