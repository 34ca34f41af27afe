/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything an account needs lies in tables of our own, since it may be taken inside malloc, on
 * a stack of 32 KiB.  One thread at a time takes an account: who finds the lock held goes on.
 *
 *   account_plan.c    when one is due
 *   account_owners.c  who owns which addresses
 *   account_divide.c  from mappings and owners to rows
 *   account_log.c     what is written
 */
#include "unify/account.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unify/account_divide.h"
#include "unify/account_log.h"
#include "unify/account_owners.h"
#include "unify/account_plan.h"
#include "unify/account_tables.h"
#include "unify/atomic.h"
#include "unify/clock.h"
#include "unify/control.h"
#include "unify/log.h"
#include "unify/memory.h"

/* Claims of either rank: a stack for each of 65,536 threads, or a mapping for each block. */
#define CLAIMS_MAX 131072u
/* The VM ends, and right after it the process: one account is enough. */
#define FRESH_NS (TH_NS_PER_S / 2)
/* Granularity of claims; every supported kernel has pages of this size or a multiple. */
#define PAGE_MASK ((uintptr_t)4095)

static struct {
	uint32_t is_on;                   /* atomic: accounts are taken */
	struct th_account_tables *tables; /* under `busy`; NULL: none was taken yet */
	struct th_spinlock busy;          /* held while the tables are in use */
	struct th_cgroup group;
	struct th_account_plan plan; /* under `busy` like all below */
	uint32_t number;             /* accounts so far */
	uint64_t last_end;           /* when one was taken because something ends; 0 = never */
	bool has_owners;
	pid_t agent;           /* thread id of the agent thread; 0 = none */
	const char *allocator; /* its name, NULL if it is libc's */
	uint32_t source_count; /* atomic */
	const struct th_account_source *sources[TH_ACCOUNT_SOURCES_MAX];
} account;

/* Sources */

bool
th_account_add_source(const struct th_account_source *source)
{
	uint32_t count = th_load_relaxed(&account.source_count);

	if (count == TH_ACCOUNT_SOURCES_MAX)
		return false;
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
ask_for_claims(struct th_account_claims *claims)
{
	for (uint32_t i = 0; i < source_count(); i++)
		if (account.sources[i]->claim)
			account.sources[i]->claim(claims);
}

static void
ask_for_figures(uint32_t number)
{
	bool on_agent_thread = account.agent == (pid_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < source_count(); i++)
		if (account.sources[i]->log)
			account.sources[i]->log(number, on_agent_thread);
}

void
th_account_claim(struct th_account_claims *claims, enum th_account_claim_rank rank,
	const struct th_claim *claim)
{
	struct th_claim pages = *claim;

	pages.start &= ~PAGE_MASK;
	pages.end = (pages.end + PAGE_MASK) & ~PAGE_MASK;
	th_claims_add(rank == TH_CLAIM_EXACT ? &claims->exact : &claims->owners, &pages);
}

void
th_account_set_allocator(const char *name)
{
	account.allocator = name;
}

/* An account; under the lock */

static uint32_t
flags_of(const struct th_account_tables *tables, bool has_pages)
{
	uint32_t flags = has_pages ? TH_ACCOUNT_HAS_PAGES : 0;

	if (tables->space.is_truncated || tables->claims.exact.is_full ||
		tables->claims.owners.is_full || tables->rows.is_full)
		flags |= TH_ACCOUNT_TRUNCATED;
	if (account.has_owners)
		flags |= TH_ACCOUNT_HAS_OWNERS;
	return flags;
}

static void
fill(struct th_account_tables *tables, struct th_event_account *event)
{
	bool has_pages = th_page_map_open(&tables->pages);

	event->account = ++account.number;
	tables->allocator = account.allocator;
	th_account_owners_claim(tables);
	ask_for_claims(&tables->claims);
	th_account_owners_settle(tables);
	th_account_divide(tables);
	event->counted = th_account_resident();
	event->resident = tables->space.resident;
	event->swapped = tables->space.swapped;
	event->mappings = tables->space.count;
	th_account_log_rows(tables);
	if (has_pages)
		th_account_log_pages(tables);
	th_page_map_close(&tables->pages);
	event->flags = flags_of(tables, has_pages);
	th_account_log_group(tables, &account.group);
	ask_for_figures(event->account);
}

/* Maps what the tables point to. */
static bool
init_tables(struct th_account_tables *tables)
{
	tables->claims.exact.capacity = CLAIMS_MAX;
	tables->claims.owners.capacity = CLAIMS_MAX;
	tables->claims.exact.items = th_memory_map(CLAIMS_MAX * sizeof(struct th_claim));
	tables->claims.owners.items = th_memory_map(CLAIMS_MAX * sizeof(struct th_claim));
	tables->rows.items = th_memory_map(TH_ACCOUNT_ROWS_MAX * sizeof(*tables->rows.items));
	return tables->claims.exact.items && tables->claims.owners.items &&
	       tables->rows.items && th_address_space_init(&tables->space);
}

/* Tables that map as much as the largest process needs are there from the first account on. */
static struct th_account_tables *
get_tables(void)
{
	struct th_account_tables *tables = account.tables;

	if (tables)
		return tables;
	tables = th_memory_map(sizeof(*tables));
	if (!tables || !init_tables(tables))
		return NULL;
	account.tables = tables;
	return tables;
}

static void
take(enum th_account_reason reason)
{
	uint64_t begin = th_clock_read(CLOCK_THREAD_CPUTIME_ID);
	struct th_account_tables *tables = get_tables();

	if (!tables) {
		/* Without memory for it there are none, and no further try. */
		th_store_relaxed(&account.is_on, 0);
		return;
	}
	struct th_event_account *event = &tables->event;
	*event = (struct th_event_account){.time = th_clock_now(), .reason = reason};
	if (!th_address_space_read(&tables->space)) {
		th_account_plan_give_up(&account.plan);
		return;
	}
	fill(tables, event);
	event->cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
	th_log_append(TH_EVENT_ACCOUNT, event, NULL, 0);
	if (reason == TH_ACCOUNT_END)
		account.last_end = event->time;
	th_account_plan_taken(&account.plan, th_clock_now(), event->cost, event->resident);
}

/* When one is taken */

/* On a signal stack there may be less room than an account needs, some 5 KiB. */
static bool
is_on_signal_stack(void)
{
	stack_t stack = {.ss_flags = 0};

	return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK;
}

/* Looks at the resident set, and takes an account if one is due; under the lock. */
static void
look(uint64_t now, bool agent)
{
	uint64_t resident = th_account_log_resident(now, &account.group);
	enum th_account_reason reason;

	th_account_plan_looked(&account.plan, now);
	if (th_account_plan_is_due(&account.plan, now, resident, agent, &reason) &&
		(agent || !is_on_signal_stack()))
		take(reason);
}

void
th_account_poll(uint64_t now, bool agent)
{
	if (agent && !account.agent)
		account.agent = (pid_t)syscall(SYS_gettid);
	if (!th_load_acquire(&account.is_on) ||
		!th_account_plan_is_look_due(&account.plan, now) || !th_trylock(&account.busy))
		return;
	/* Another thread may have looked meanwhile. */
	if (th_account_plan_is_look_due(&account.plan, now))
		look(now, agent);
	th_unlock(&account.busy);
}

/* Nothing happens while another is being taken. */
static void
take_now(enum th_account_reason reason)
{
	if (!th_load_acquire(&account.is_on) || !th_trylock(&account.busy))
		return;
	th_account_log_resident(th_clock_now(), &account.group);
	take(reason);
	th_unlock(&account.busy);
}

static void
take_as_asked(void)
{
	take_now(TH_ACCOUNT_ASKED);
}

/* Life */

void
th_account_start(bool has_owners)
{
	th_cgroup_find(&account.group);
	account.has_owners = has_owners;
	th_account_plan_init(&account.plan, th_clock_now());
	th_control_on_flush(take_as_asked);
	th_store_release(&account.is_on, 1);
}

void
th_account_end(void)
{
	uint64_t now = th_clock_now();

	if (!account.last_end || now - account.last_end > FRESH_NS)
		take_now(TH_ACCOUNT_END);
}

void
th_account_reset(void)
{
	account.is_on = 0;
	account.tables = NULL;
	account.busy.held = 0;
	account.agent = 0;
	account.number = 0;
	account.last_end = 0;
}
