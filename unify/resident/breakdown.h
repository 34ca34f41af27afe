/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of resident memory: a table whose rows add up to the RSS.
 *
 *   mappings (smaps)  ->  claims: who owns which addresses  ->  rows by category and name
 *
 * What the kernel calls a mapping may belong to several owners: then the present bits of its
 * pages say how its resident bytes are shared out.  Beside the rows the log gets, for every
 * sampled block or mapping that is alive, how much of it is resident; the report turns both into
 * the table that people read.
 *
 * The resident set as a whole is looked at once a second, in the first 16 more often.  A full
 * account makes the kernel walk the page tables of the process; it is taken at the end, when
 * somebody asks, when the process has grown, and now and then, so seldom that it takes no more
 * than one part in 500 of the time and, once, 0.5 s of processor time beyond, which short
 * recordings use up (account_plan.h).
 *
 * No thread of the application does this: the agent thread does, where there is one; else another
 * process (outside.h).  The account of the end of a process is its own, taken in its exit.
 */
#ifndef TH_UNIFY_RESIDENT_BREAKDOWN_H
#define TH_UNIFY_RESIDENT_BREAKDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/resident/schedule.h"
#include "unify/resident/cgroup.h"
#include "unify/resident/claims.h"
#include "unify/base/observed.h"

struct th_breakdown_claims;

/* Somebody who knows of memory, or of figures to be set beside an account. */
struct th_breakdown_source {
	/*
	 * Calls th_breakdown_claim() for what it owns; NULL: nothing.  Another process cannot call
	 * it: once there is one, only the library takes accounts.
	 */
	void (*claim)(struct th_breakdown_claims *claims);
	/*
	 * Writes events (POOL, ALLOCATOR) that belong to the account; NULL: none.  On another
	 * thread than the agent's, which ends the process, no lock may be waited for.
	 */
	void (*log)(uint32_t account, bool on_agent_thread);
};

#define TH_BREAKDOWN_SOURCES_MAX 8

/*
 * Has a source asked at every account, on whichever thread takes it.  `source` stays the
 * caller's for good.  False: there are too many. [any]
 */
bool th_breakdown_add_source(const struct th_breakdown_source *source);

/* How sure a claim is. */
enum th_breakdown_claim_rank {
	TH_CLAIM_EXACT, /* these addresses are this and nothing else */
	TH_CLAIM_OWNER, /* whoever mapped it; exact claims inside come first */
};

/*
 * claim->start to claim->end, made whole pages, is memory of a kind; the name must outlive the
 * account. [in th_breakdown_source]
 */
void th_breakdown_claim(struct th_breakdown_claims *claims, enum th_breakdown_claim_rank rank,
	const struct th_claim *claim);

/*
 * malloc is not libc's: a mapping with sampled blocks in it is this allocator's. [any]
 */
void th_breakdown_set_allocator(const char *name);

/*
 * Accounts are taken from now on, unless there is no memory for their tables.  `has_owners`:
 * mappings are recorded, so that their owners are known (mapping.h).  Not from the malloc path.
 */
void th_breakdown_start(bool has_owners);

/*
 * Looks at the resident set if it is time for that, and takes an account if one is due.
 * [agent-thread]
 */
void th_breakdown_poll(uint64_t now);

/* Takes an account on demand. [agent-thread] */
void th_breakdown_flush(void);

/*
 * The Java VM or the process ends: an account, unless there is one of this moment.  Not on the
 * malloc path.
 */
void th_breakdown_end(bool on_agent_thread);

/* In a forked child: back to the state before th_breakdown_start. */
void th_breakdown_reset(void);

/* The same of any process: the observed one (observed.h). */
struct th_breakdown_subject {
	struct th_cgroup group;
	struct th_breakdown_plan plan;
};

/* Once, before the others. [any] */
void th_breakdown_begin(struct th_breakdown_subject *subject);
void
th_breakdown_look(struct th_breakdown_subject *subject, uint64_t now, bool on_agent_thread);
void th_breakdown_take(struct th_breakdown_subject *subject, enum th_breakdown_reason reason,
	bool on_agent_thread);

/* In the tool: copies what the library knows about its process. */
struct th_observed_part th_breakdown_part(void);
bool th_breakdown_observe(const void *part);

#endif
