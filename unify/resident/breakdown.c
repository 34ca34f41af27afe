/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything an account needs lies in tables of our own: one may be taken while the process ends,
 * on whichever stack that happens.  One thread at a time takes an account: a thread that finds the
 * lock held skips it.
 *
 *   account_plan.c    when one is due
 *   account_owners.c  who owns which addresses
 *   account_divide.c  from mappings and owners to rows
 *   account_log.c     what is written
 */
#include "unify/resident/breakdown.h"

#include <limits.h>
#include <string.h>

#include "unify/base/align.h"
#include "unify/resident/attribute.h"
#include "unify/resident/remote_tables.h"
#include "unify/resident/write.h"
#include "unify/resident/owners.h"
#include "unify/resident/schedule.h"
#include "unify/resident/tables.h"
#include "unify/base/atomic.h"
#include "unify/shared/clock.h"
#include "unify/log/log.h"
#include "unify/base/memory.h"
#include "unify/mapped/range_tree.h"

/* Claims of either rank: a stack for each of 65,536 threads, or a mapping for each block. */
#define CLAIMS_MAX 131072u
/* The VM ends, and right after it the process: one account is enough. */
#define FRESH_NS (TH_NS_PER_S / 2)

/* What the library knows of its process. */
struct knowledge {
	bool has_owners;
	char allocator[NAME_MAX + 1]; /* name of malloc's library; "" if it is libc's */
};

static struct {
	uint32_t is_on;                     /* atomic: accounts are taken */
	struct th_breakdown_tables *tables; /* under `busy`; NULL: none was taken yet */
	struct th_spinlock busy;            /* held while the tables are in use */
	struct th_breakdown_subject own;    /* under `busy` like all below */
	uint64_t last_end; /* when one was taken because something ends; 0 = never */
	struct knowledge knowledge;
	uint32_t source_count; /* atomic */
	const struct th_breakdown_source *sources[TH_BREAKDOWN_SOURCES_MAX];
} account;

/* Sources */

bool
th_breakdown_add_source(const struct th_breakdown_source *source)
{
	struct th_log_header *header = th_log_header();
	uint32_t count = th_load_relaxed(&account.source_count);

	if (count == TH_BREAKDOWN_SOURCES_MAX)
		return false;
	if (source->claim && header)
		th_store_relaxed(&header->knows_vm, 1);
	account.sources[count] = source;
	/* Pairs with the acquire in source_count(): the source is there. */
	th_store_release(&account.source_count, count + 1);
	return true;
}

static uint32_t
source_count(void)
{
	return th_load_acquire(&account.source_count);
}

static void
ask_for_claims(struct th_breakdown_claims *claims)
{
	for (uint32_t i = 0; i < source_count(); i++)
		if (account.sources[i]->claim)
			account.sources[i]->claim(claims);
}

static void
ask_for_figures(uint32_t number, bool on_agent_thread)
{
	for (uint32_t i = 0; i < source_count(); i++)
		if (account.sources[i]->log)
			account.sources[i]->log(number, on_agent_thread);
}

void
th_breakdown_claim(struct th_breakdown_claims *claims, enum th_breakdown_claim_rank rank,
	const struct th_claim *claim)
{
	struct th_claim pages = *claim;

	pages.start = th_align_down(pages.start, TH_PAGE_BYTES);
	pages.end = th_align_up(pages.end, TH_PAGE_BYTES);
	th_claims_add(rank == TH_CLAIM_EXACT ? &claims->exact : &claims->owners, &pages);
}

void
th_breakdown_set_allocator(const char *name)
{
	strncpy(account.knowledge.allocator, name, sizeof(account.knowledge.allocator) - 1);
}

/* An account; under the lock */

static uint32_t
flags_of(const struct th_breakdown_tables *tables, bool has_pages)
{
	uint32_t flags = has_pages ? TH_BREAKDOWN_HAS_PAGES : 0;

	if (tables->space.is_truncated || tables->claims.exact.is_full ||
		tables->claims.owners.is_full || tables->rows.is_full)
		flags |= TH_BREAKDOWN_TRUNCATED;
	if (account.knowledge.has_owners)
		flags |= TH_BREAKDOWN_HAS_OWNERS;
	return flags;
}

/* Other processes take numbers as well. */
static uint32_t
next_number(void)
{
	return th_add_relaxed(&th_log_header()->accounts, 1) + 1;
}

static void
fill(struct th_breakdown_tables *tables, const struct th_cgroup *group, bool on_agent_thread)
{
	struct th_event_account *event = &tables->event;
	bool has_pages = th_page_map_open(&tables->pages);

	event->account = next_number();
	tables->allocator = *account.knowledge.allocator ? account.knowledge.allocator : NULL;
	th_breakdown_owners_claim(tables);
	ask_for_claims(&tables->claims);
	th_breakdown_owners_settle(tables);
	th_breakdown_divide(tables);
	event->counted = th_breakdown_resident();
	event->resident = tables->space.resident;
	event->swapped = tables->space.swapped;
	event->mappings = tables->space.count;
	th_breakdown_log_rows(tables);
	if (has_pages)
		th_breakdown_log_pages(tables);
	th_page_map_close(&tables->pages);
	event->flags = flags_of(tables, has_pages);
	th_breakdown_log_group(tables, group);
	ask_for_figures(event->account, on_agent_thread);
}

/* Maps what the tables point to. */
static bool
init_tables(struct th_breakdown_tables *tables)
{
	tables->claims.exact.capacity = CLAIMS_MAX;
	tables->claims.owners.capacity = CLAIMS_MAX;
	tables->claims.exact.items = th_memory_map(CLAIMS_MAX * sizeof(struct th_claim));
	tables->claims.owners.items = th_memory_map(CLAIMS_MAX * sizeof(struct th_claim));
	tables->rows.items = th_memory_map(TH_BREAKDOWN_ROWS_MAX * sizeof(*tables->rows.items));
	return tables->claims.exact.items && tables->claims.owners.items &&
	       tables->rows.items && th_address_space_init(&tables->space);
}

/* Tables that map as much as the largest process needs are there from the first account on. */
static struct th_breakdown_tables *
get_tables(void)
{
	struct th_breakdown_tables *tables = account.tables;

	if (tables)
		return tables;
	tables = th_memory_map(sizeof(*tables));
	if (!tables || !init_tables(tables))
		return NULL;
	account.tables = tables;
	return tables;
}

/* If the process ends meanwhile the ACCOUNT is not written; readers ignore the other records. */
static void
take(struct th_breakdown_subject *subject, enum th_breakdown_reason reason,
	bool on_agent_thread)
{
	uint64_t begin = th_clock_read(CLOCK_THREAD_CPUTIME_ID);
	struct th_breakdown_tables *tables = get_tables();

	if (!tables) {
		/* Without memory for it there are none, and no further try. */
		th_store_relaxed(&account.is_on, 0);
		return;
	}
	struct th_event_account *event = &tables->event;
	*event = (struct th_event_account){.time = th_clock_now(), .reason = reason};
	if (!th_remote_tables_copy() || !th_address_space_read(&tables->space)) {
		th_breakdown_plan_give_up(&subject->plan);
		return;
	}
	fill(tables, &subject->group, on_agent_thread);
	event->cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
	if (th_remote_tables_are_there())
		th_log_append(TH_EVENT_ACCOUNT, event, NULL, 0);
	if (reason == TH_BREAKDOWN_END)
		account.last_end = event->time;
	th_breakdown_plan_taken(&subject->plan, th_clock_now(), event->cost, event->resident);
}

/* When one is taken */

/* Looks at the resident set, and takes an account if one is due; under the lock. */
static void
look(struct th_breakdown_subject *subject, uint64_t now, bool on_agent_thread)
{
	uint64_t resident = th_breakdown_log_resident(now, &subject->group);
	enum th_breakdown_reason reason;

	th_breakdown_plan_looked(&subject->plan, now);
	if (resident && th_breakdown_plan_is_due(&subject->plan, now, resident, &reason))
		take(subject, reason, on_agent_thread);
}

/* No account is taken of a recording that has ended, nor while another is being taken. */
static bool
may_begin(void)
{
	const struct th_log_header *header = th_log_header();

	return th_load_acquire(&account.is_on) && header &&
	       th_load_relaxed(&header->state) == TH_LOG_RECORDING && th_trylock(&account.busy);
}

void
th_breakdown_look(struct th_breakdown_subject *subject, uint64_t now, bool on_agent_thread)
{
	if (!may_begin())
		return;
	if (th_breakdown_plan_is_look_due(&subject->plan, now))
		look(subject, now, on_agent_thread);
	th_unlock(&account.busy);
}

void
th_breakdown_take(struct th_breakdown_subject *subject, enum th_breakdown_reason reason,
	bool on_agent_thread)
{
	if (!may_begin())
		return;
	th_breakdown_log_resident(th_clock_now(), &subject->group);
	take(subject, reason, on_agent_thread);
	th_unlock(&account.busy);
}

/* Of this process */

void
th_breakdown_poll(uint64_t now)
{
	th_breakdown_look(&account.own, now, true);
}

void
th_breakdown_flush(void)
{
	th_breakdown_take(&account.own, TH_BREAKDOWN_ASKED, true);
}

void
th_breakdown_end(bool on_agent_thread)
{
	uint64_t now = th_clock_now();

	if (!account.last_end || now - account.last_end > FRESH_NS)
		th_breakdown_take(&account.own, TH_BREAKDOWN_END, on_agent_thread);
}

/* Life */

void
th_breakdown_begin(struct th_breakdown_subject *subject)
{
	th_cgroup_find(&subject->group);
	th_breakdown_plan_init(&subject->plan, th_clock_now());
	th_store_release(&account.is_on, 1);
}

void
th_breakdown_start(bool has_owners)
{
	account.knowledge.has_owners = has_owners;
	th_breakdown_begin(&account.own);
}

void
th_breakdown_reset(void)
{
	account.is_on = 0;
	account.tables = NULL;
	account.busy.held = 0;
	account.last_end = 0;
}

/* Of another process */

struct th_observed_part
th_breakdown_part(void)
{
	return (struct th_observed_part){
		&account.knowledge, sizeof(account.knowledge), sizeof(struct th_range)};
}

bool
th_breakdown_observe(const void *part)
{
	if (!th_observed_copy((uintptr_t)part, &account.knowledge, sizeof(account.knowledge)))
		return false;
	account.knowledge.allocator[sizeof(account.knowledge.allocator) - 1] = '\0';
	return true;
}
