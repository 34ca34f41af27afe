/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per-thread state.  `struct th_thread` is the part that the malloc path uses: one initial-exec
 * TLS object, all zero in a new thread, so that uninitialised, disabled and due look alike: the
 * countdown is exhausted.  Everything else is in a record in the library's own memory that
 * outlives the thread.
 *
 * Exact bytes of a thread = drawn - countdown: every draw is added to `drawn`, every block is
 * subtracted from the countdown.
 */
#ifndef TH_UNIFY_SAMPLE_THREAD_H
#define TH_UNIFY_SAMPLE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/observed.h"
#include "unify/sample/poisson.h"
#include "unify/sample/tally.h"
#include "unify/shared/log_format.h"

/* Size of stored names, with the terminator; Java names may be longer and are truncated. */
#define TH_THREAD_NAME_MAX 64

/* The interval of a countdown whose distribution is unknown. */
#define TH_INTERVAL_UNKNOWN UINT64_MAX

/*
 * The counted bytes of a thread in one heap: without those allocated while the count is closed
 * (admission.h).  Written under the lock of admission.c.
 */
struct th_byte_count {
	uint64_t skipped;   /* atomic: bytes not counted, as of the last opening */
	uint64_t frozen;    /* atomic: the counted bytes when it was closed */
	uint32_t is_closed; /* atomic */
};

struct th_takes_thread; /* jvmti/ledger/takes.h */

struct th_thread_record {
	uint32_t id;             /* 1.., dense */
	uint32_t tid;            /* of the kernel */
	struct th_random random; /* written by the thread itself */
	/* From here to `state`: zero in a new thread.  Written by the thread itself. */
	uint64_t interval; /* in effect when the countdown was drawn */
	uint64_t drawn;    /* sum of all draws, modulo 2^64 */
	bool has_drawn;    /* the countdown comes from a draw */
	bool logged;       /* the log holds a THREAD record */
	bool java_named;   /* the name came from Java: the kernel's is ignored */
	char name[TH_THREAD_NAME_MAX];
	uint64_t name_seen;         /* ns: when th_thread_log() last read the kernel's name */
	struct th_tally_item start; /* see thread_starts.h; maker 0: not known */
	/* The same, in jvmti/. */
	bool is_attached; /* between the VM's events of its start and its end */
	bool keeps_vm;    /* the same, and the VM does not end before it: no daemon */
	/* The VM's count of this thread's bytes minus the library's, modulo 2^64. */
	uint64_t java_before;
	uint64_t java_bytes;    /* the library's count, when the thread last left the VM */
	uint64_t java_interval; /* in effect at the draw of the Java countdown, if known */
	/* atomic: end of the Java countdown, in bytes counted by the JavaThread; 0: drawn by the VM */
	uint64_t java_due;
	/* Written by the agent thread. */
	uint64_t native_bytes_logged;
	uint64_t java_bytes_logged;
	/* Written by any thread, atomic. */
	struct th_thread *state;        /* NULL once the thread has ended */
	struct th_thread_record *next;  /* all records, newest first; never removed */
	struct th_byte_count counts[2]; /* by enum th_heap - 1 */
	/* Written by the thread itself, see thread_starts.h. */
	uintptr_t
		handle; /* atomic: pthread_t of a joinable thread; 0: detached, or not known */
	/* Under the registry's lock. */
	struct th_thread_record
		*unused_next; /* or the next that has ended and was not joined */
	/* Written without the lock, atomic: `state` of a thread that has ended and was not joined. */
	struct th_thread *unjoined;
	/* Its part of the ledger (jvmti/ledger), which stays with the record; NULL: none yet. */
	struct th_takes_thread *ledger;
	/* Written by jvmti/. */
	void *java_thread; /* atomic: its thread in the VM; NULL if there is none (any more) */
};

struct th_thread {
	uint64_t countdown; /* bytes up to the sampled one; a block that exhausts it is due */
	struct th_thread_record *record; /* NULL until the first slow path */
	uint64_t guarded_countdown;      /* value of the countdown when the guard was entered */
	uint32_t guard;                  /* nesting depth; nonzero: inside the library */
	uint32_t exit_rounds;            /* rounds of TLS destructors seen */
	struct th_takes_thread *ledger;  /* that of the record; NULL: not joined yet */
};

extern __thread struct th_thread th_thread __attribute__((tls_model("initial-exec")));

/*
 * Subtracts a block from a countdown.  True: the block reaches or passes the sampled byte, or
 * the countdown was exhausted before.  The comparison is unsigned, so that a size beyond 2^63,
 * which the next allocator will refuse, is also due and can be returned.
 */
static inline bool
th_countdown_take(uint64_t *countdown, uint64_t size)
{
	bool due;

#if defined(__x86_64__)
	/* One instruction on the thread's own word: a signal handler cannot run in between. */
	__asm__("subq %2, %0" : "+m"(*countdown), "=@ccbe"(due) : "er"(size));
#else
	due = *countdown <= size;
	*countdown -= size;
#endif
	return due;
}

/* Creates the key whose destructor runs when threads end.  Once, outside the malloc path. */
void th_thread_init(uint64_t seed);

/*
 * Sets the function that is called when a thread with a record ends, on that thread, under the guard;
 * NULL: none. [any]
 */
void th_thread_on_end(void (*ended)(struct th_thread_record *record));

/* Sets the seed for threads that have no record yet. */
void th_thread_seed(uint64_t seed);

/*
 * The record of the calling thread, created on first use; NULL if the table is full.  The guard
 * must be held. [in-malloc]
 */
struct th_thread_record *th_thread_record(void);

/*
 * Enters and leaves the library on the calling thread: allocations in between are not sampled
 * and not counted. Nests. [any]
 */
void th_guard_enter(void);
void th_guard_leave(void);

/* Exact native bytes of the calling thread, counted or not. [in-malloc] */
uint64_t th_thread_native_bytes(void);

/* The same for any thread.  False: it has ended, or is in the middle of a change. [any] */
bool th_thread_read_native_bytes(struct th_thread_record *record, uint64_t *bytes_ret);

/* The counted part of a thread's bytes in a heap. [any] */
static inline uint64_t
th_counted_bytes(const struct th_thread_record *record, enum th_heap heap, uint64_t bytes)
{
	const struct th_byte_count *count = &record->counts[heap - 1];

	/* Pairs with the release at closing: `frozen` is set. */
	if (__atomic_load_n(&count->is_closed, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&count->frozen, __ATOMIC_RELAXED);
	return bytes - __atomic_load_n(&count->skipped, __ATOMIC_RELAXED);
}

/*
 * Draws the next countdown of the calling thread; `bytes` = its exact bytes so far. [in-malloc]
 */
void th_thread_draw(struct th_thread_record *record, uint64_t interval, uint64_t bytes);

/* Sets the next slow path `bytes` ahead, without a sample being due. [in-malloc] */
void th_thread_postpone(uint64_t bytes);

/*
 * Sets the Java name of a thread (modified UTF-8).  Called by the thread itself, or on its
 * behalf by a thread that renames it: concurrent samples have either name. [jvmti]
 */
void th_thread_rename(struct th_thread_record *record, const char *name);

/*
 * Writes the THREAD record of a thread if the log does not have it under its current name, which is the
 * kernel's unless Java gave one.  That is read every 0.1 ms at most; `now` in ns. [in-malloc]
 */
void th_thread_log(struct th_thread_record *record, uint64_t now);

/*
 * Writes a THREAD_BYTES: exact bytes of `thread` in a heap; thread 0: total of all threads
 * without a record of their own.  False: not written. [any]
 */
bool th_thread_log_heap_bytes(uint32_t thread, enum th_heap heap, uint64_t bytes);

/* All records, also those of ended threads, newest first; NULL at the end. [any] */
struct th_thread_record *th_thread_first(void);
struct th_thread_record *th_thread_next(const struct th_thread_record *record);

/* The calling thread, with this record, was started as joinable; its pthread_t. [any] */
void th_thread_set_handle(struct th_thread_record *record, uintptr_t handle);

/*
 * The thread with this pthread_t was joined, or detached if `may_run`: its stack is gone, or goes when
 * it ends.  Preserves errno. [any]
 */
void th_thread_released(uintptr_t handle, bool may_run);

/* Whether the thread with this id has not ended, as far as known. [any] */
bool th_thread_is_alive(uint32_t id);

/*
 * Writes THREAD_BYTES of every thread whose native bytes changed since the last call.  `final`
 * also writes those of threads without a record in the log; once, at the end. [agent-thread]
 */
void th_thread_log_bytes(bool final);

/* The records. */
extern const struct th_observed_tables th_thread_tables;

/*
 * For another recording of the same process: every thread's bytes begin at 0, and its name is not
 * in the log.  Countdowns continue.  Before the recording begins. [any]
 */
void th_thread_restart(void);

/*
 * In a forked child: only the calling thread is left, and its state is reset.  The guard is
 * kept: a signal handler may have forked in the middle of a capture, which continues in the
 * child.
 */
void th_thread_reset(void);

#endif
