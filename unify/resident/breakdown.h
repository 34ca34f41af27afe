/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakdowns of resident memory: tables whose rows add up to the RSS.
 *
 *   mappings          ->  claims: the owners of addresses  ->  rows by category and name
 *
 * One mapping of the kernel may belong to several owners: its resident bytes are then divided
 * by the present bits of its pages.  Besides the rows the log gets the resident bytes of every
 * live sampled block or mapping; the report makes the final table from both.
 *
 * The total resident size is read once a second, and more often in the first 16 seconds.  A
 * breakdown makes the kernel walk the page tables of the process.  It is taken at the end, on
 * demand, when the process has grown, and at increasing intervals; together these take at most
 * 1/1000 of the CPU time of the process plus, once, 25 to 75 ms, which short recordings use up
 * (schedule.h).
 *
 * No thread of the application takes breakdowns: the agent thread does, or without one another
 * process (outside.h).  The exception is the breakdown at the end of a process, taken in its
 * exit.
 */
#ifndef TH_UNIFY_RESIDENT_BREAKDOWN_H
#define TH_UNIFY_RESIDENT_BREAKDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/resident/cgroup.h"
#include "unify/resident/schedule.h"
#include "unify/shared/log_format.h"

struct th_breakdown_claims;

/*
 * The owner of a range of addresses, as known to a part of the library.  The kernel joins
 * neighbouring mappings, so the border of an owner's memory may lie inside a mapping.
 */
struct th_claim {
	uintptr_t start;
	uintptr_t end;
	const char *name; /* must stay valid while the claims are in use */
	enum th_memory_category category;
	uint32_t stack;    /* id of the stack that mapped it; 0 = unknown */
	uint64_t sample;   /* that represents it; 0 = none */
	uint64_t resident; /* bytes, if measured */
	bool is_measured;  /* `resident` is set */
};

/*
 * Writes events (POOL, ALLOCATOR) that belong to the breakdown, on the agent thread only: one that
 * ends the process must not wait for locks.
 */
typedef void th_breakdown_log(uint32_t breakdown);

/* What a Java VM adds to breakdowns. */
struct th_breakdown_vm {
	/*
	 * Calls th_breakdown_claim() for its memory.  Another process cannot call it: with a VM only
	 * the library takes breakdowns.
	 */
	void (*claim)(struct th_breakdown_claims *claims);
	th_breakdown_log *log;
};

/* Includes a VM in this recording's breakdowns.  `vm` remains the caller's and must stay valid. [any] */
void th_breakdown_set_vm(const struct th_breakdown_vm *vm);

/* Priority of a claim. */
enum th_breakdown_claim_rank {
	TH_CLAIM_EXACT, /* the exact addresses of one kind of memory */
	TH_CLAIM_OWNER, /* the mapping's owner; exact claims inside take precedence */
};

/*
 * Claims claim->start to claim->end, extended to whole pages, as memory of a kind; the name
 * must outlive the breakdown. [in th_breakdown_vm]
 */
void th_breakdown_claim(struct th_breakdown_claims *claims, enum th_breakdown_claim_rank rank,
	const struct th_claim *claim);

/*
 * Sets the name of a malloc other than libc's, to which mappings that contain sampled blocks are
 * attributed, "" of libc's; and what logs its statistics.  Once, before the recording begins. [any]
 */
void th_breakdown_set_allocator(const char *name, th_breakdown_log *log);

/*
 * Enables breakdowns, here and from outside (outside.h).  `has_owners`: mappings are recorded, so that
 * their owners are known (mapping.h).  Not from the malloc path.
 */
void th_breakdown_start(bool has_owners);

/* When th_breakdown_look() has work to do for this process (ns); UINT64_MAX: never. [agent-thread] */
uint64_t th_breakdown_next(void);

/*
 * Takes a breakdown: ASKED; TEARDOWN, when the Java VM begins to end and little has been freed; END, of
 * the VM or the process, unless there is a fresh one.  Not on the malloc path.
 */
void th_breakdown_now(enum th_breakdown_reason reason, bool on_agent_thread);

/* In a forked child: restores the state before th_breakdown_start(). */
void th_breakdown_reset(void);

/* For another recording of the same process: its VM must be set again. */
void th_breakdown_restart(void);

/* The observed process (observed.h). */
struct th_breakdown_subject {
	struct th_cgroup group;
	struct th_breakdown_plan plan;
};

/* Once, before the others. [any] */
void th_breakdown_begin(struct th_breakdown_subject *subject);

/*
 * Records the resident size, and takes a breakdown, when these are due.  NULL: of this process, after
 * th_breakdown_start(). [any]
 */
void th_breakdown_look(struct th_breakdown_subject *subject, uint64_t now);
void th_breakdown_take(struct th_breakdown_subject *subject, enum th_breakdown_reason reason,
	bool on_agent_thread);

#endif
