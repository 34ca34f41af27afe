/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes breakdowns.  All memory for them is in the library's own tables: one may be taken while
 * the process ends, on any stack.  One thread at a time takes a breakdown; a thread that finds
 * the lock held skips it.
 *
 *   schedule.c    when one is due
 *   owners.c      owners of addresses
 *   attribute.c   from mappings and owners to rows
 */
#include "unify/resident/breakdown.h"

#include <string.h>
#include <unistd.h>

#include "unify/base/align.h"
#include "unify/base/at_start.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/observed.h"
#include "unify/base/proc_file.h"
#include "unify/log/log.h"
#include "unify/resident/remote_tables.h"
#include "unify/resident/schedule.h"
#include "unify/resident/tables.h"
#include "unify/sample/live_blocks.h"
#include "unify/shared/clock.h"

/* Claims per rank: a stack for each of 65,536 threads, or a mapping for each block. */
#define CLAIMS_MAX 131072u
/* Maximum number of mapping samples in a breakdown: 64 KiB of the log. */
#define MAPPED_MAX 4096u
/* Maximum age of a fresh breakdown: the VM ends, and right after it the process. */
#define FRESH_NS (TH_NS_PER_S / 2)

static struct {
	uint32_t is_on;                     /* atomic: breakdowns are taken */
	struct th_breakdown_tables *tables; /* under `busy`; NULL: none was taken yet */
	struct th_spinlock busy;            /* held while the tables are in use */
	struct th_breakdown_subject own;    /* under `busy`, like all fields below */
	uint64_t last_end; /* time of the last breakdown for an end; 0 = none */
} breakdown;

static const struct th_breakdown_vm *java_vm TH_AT_START; /* atomic; NULL: there is none */
static th_breakdown_log *log_allocator TH_AT_START;

/* Sources */

void
th_breakdown_set_vm(const struct th_breakdown_vm *vm)
{
	th_store_release(&java_vm, vm);
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
th_breakdown_set_allocator(const char *name, th_breakdown_log *log)
{
	log_allocator = log;
	strncpy(th_remote_tables.allocator, name, NAME_MAX);
}

/*
 * The events.  Arrays are split over several records of bounded size, built in the tables, since a
 * breakdown may run on a small stack.
 */

static void
log_rows(const struct th_breakdown_tables *tables)
{
	const struct th_breakdown_rows *rows = &tables->rows;

	for (uint32_t i = 0; i < rows->count; i++) {
		struct th_event_account_row event = rows->items[i].event;
		struct th_log_part name = th_log_text(rows->items[i].name);

		event.account = tables->event.account;
		th_log_append(TH_EVENT_ACCOUNT_ROW, &event, &name, 1);
	}
}

/* Blocks and mappings */

static void
write_touched(struct th_breakdown_tables *tables)
{
	struct th_event_touched event = {.account = tables->event.account};
	struct th_log_part blocks = {tables->touched, 2 * tables->touched_count};

	if (tables->touched_count)
		th_log_append(TH_EVENT_TOUCHED, &event, &blocks, 1);
	tables->touched_count = 0;
}

static void
add_touched(struct th_breakdown_tables *tables, uint64_t sample, uint64_t word)
{
	tables->touched[2 * tables->touched_count] = sample;
	tables->touched[2 * tables->touched_count + 1] = word;
	if (++tables->touched_count == TH_BREAKDOWN_TOUCHED_MAX)
		write_touched(tables);
}

static void
log_blocks(struct th_breakdown_tables *tables)
{
	for (uint32_t i = 0; i < tables->block_count; i++) {
		const struct th_breakdown_block *block = &tables->blocks[i];
		uint64_t word = th_page_map_use(
			&tables->pages, block->address, block->address + block->size)
					.resident;

		if (!th_breakdown_owners_is_heap(tables, block->address))
			word |= TH_TOUCHED_OWN_MAPPING;
		add_touched(tables, block->sample, word);
	}
	write_touched(tables);
}

/*
 * The bytes from which on mappings are written: with more than MAPPED_MAX at least the mean of so many,
 * which at most so many have.
 */
static uint64_t
least_written(const struct th_claims *claims)
{
	uint32_t count = 0;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < claims->count; i++) {
		count += claims->items[i].is_measured;
		sum += claims->items[i].resident;
	}
	return count > MAPPED_MAX ? sum / MAPPED_MAX + 1 : 0;
}

/* Writes the resident bytes of sampled mappings, as found by add_to_claim(). */
static void
log_mapped(struct th_breakdown_tables *tables)
{
	const struct th_claims *claims = &tables->claims.owners;
	uint64_t least = least_written(claims);

	for (uint32_t i = 0; i < claims->count; i++) {
		const struct th_claim *claim = &claims->items[i];

		if (claim->is_measured && claim->resident >= least)
			add_touched(tables, claim->sample, claim->resident);
	}
	write_touched(tables);
}

static void
log_heaps(const struct th_breakdown_tables *tables)
{
	struct th_event_malloc_heaps event = {.account = tables->event.account};
	struct th_log_part stretches = {tables->stretches, 3 * tables->stretch_count};

	if (tables->stretch_count)
		th_log_append(TH_EVENT_MALLOC_HEAPS, &event, &stretches, 1);
}

/* The resident size and the control group */

/* /proc/PID/statm: size, resident, shared, in pages.  0 if the process has ended. */
static struct th_event_resident
read_resident(void)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pages[3] = {0, 0, 0};
	char path[TH_OBSERVED_PATH_MAX];
	char text[256];
	const char *at = text;

	th_proc_file_read(th_observed_path("statm", path), text, sizeof(text));
	for (int i = 0; i < 3; i++)
		th_proc_number(&at, 10, &pages[i]);
	return (struct th_event_resident){
		.resident = pages[1] * page_bytes, .file = pages[2] * page_bytes};
}

/* Writes a RESIDENT and returns its bytes; 0: the process has ended. */
static uint64_t
log_resident(uint64_t now, const struct th_cgroup *group)
{
	struct th_event_resident event = read_resident();

	event.time = now;
	event.group = th_cgroup_current(group);
	if (event.resident)
		th_log_append(TH_EVENT_RESIDENT, &event, NULL, 0);
	return event.resident;
}

static void
log_group(struct th_breakdown_tables *tables, const struct th_cgroup *group)
{
	struct th_event_cgroup event = th_cgroup_use(group, tables->text);
	struct th_log_part path = th_log_text(group->path);

	event.account = tables->event.account;
	if (group->version)
		th_log_append(TH_EVENT_CGROUP, &event, &path, 1);
}

/* One breakdown; under the lock */

static uint32_t
flags_of(const struct th_breakdown_tables *tables, bool has_pages)
{
	uint32_t flags = has_pages ? TH_BREAKDOWN_HAS_PAGES : 0;

	if (tables->space.is_truncated || tables->claims.exact.is_full ||
		tables->claims.owners.is_full || tables->rows.is_full)
		flags |= TH_BREAKDOWN_TRUNCATED;
	if (th_remote_tables.has_owners)
		flags |= TH_BREAKDOWN_HAS_OWNERS;
	return flags;
}

static void
fill(struct th_breakdown_tables *tables, const struct th_cgroup *group, bool on_agent_thread)
{
	const struct th_breakdown_vm *vm = th_load_acquire(&java_vm);
	struct th_event_account *event = &tables->event;
	bool has_pages = tables->pages.descriptor >= 0;

	/* Other processes assign numbers as well. */
	event->account = th_add_relaxed(&th_log_header()->accounts, 1) + 1;
	tables->allocator = *th_remote_tables.allocator ? th_remote_tables.allocator : NULL;
	th_breakdown_owners_claim(tables);
	if (vm)
		vm->claim(&tables->claims);
	th_breakdown_owners_settle(tables);
	th_breakdown_divide(tables);
	event->counted = read_resident().resident;
	event->resident = tables->space.resident;
	event->swapped = tables->space.swapped;
	event->mappings = tables->space.count;
	log_rows(tables);
	if (has_pages) {
		log_heaps(tables);
		log_mapped(tables);
		log_blocks(tables);
	}
	event->flags = flags_of(tables, has_pages);
	log_group(tables, group);
	if (on_agent_thread && log_allocator)
		log_allocator(event->account);
	if (on_agent_thread && vm)
		vm->log(event->account);
}

/* Maps the memory of the tables. */
static bool
init_tables(struct th_breakdown_tables *tables)
{
	tables->claims.exact.capacity = CLAIMS_MAX;
	tables->claims.owners.capacity = CLAIMS_MAX;
	tables->claims.exact.items = th_memory_map(CLAIMS_MAX * sizeof(struct th_claim));
	tables->claims.owners.items = th_memory_map(CLAIMS_MAX * sizeof(struct th_claim));
	tables->rows.items = th_memory_map(TH_BREAKDOWN_ROWS_MAX * sizeof(*tables->rows.items));
	tables->blocks = th_memory_map(TH_LIVE_BLOCKS_MAX * sizeof(*tables->blocks));
	return tables->claims.exact.items && tables->claims.owners.items &&
	       tables->rows.items && tables->blocks && th_address_space_init(&tables->space);
}

/* Maps the tables at the first breakdown, in the size that the largest process needs. */
static struct th_breakdown_tables *
get_tables(void)
{
	struct th_breakdown_tables *tables = breakdown.tables;

	if (tables)
		return tables;
	tables = th_memory_map(sizeof(*tables));
	if (!tables || !init_tables(tables))
		return NULL;
	breakdown.tables = tables;
	return tables;
}

/*
 * Of the observed process; of another one it is assumed to be that of one processor that is busy.
 */
static uint64_t
cpu_time(void)
{
	return th_observed_is_other() ? th_clock_now()
				      : th_clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

/*
 * If the process ends meanwhile, no ACCOUNT is written; readers then ignore the other records.
 */
static void
take(struct th_breakdown_subject *subject, enum th_breakdown_reason reason,
	bool on_agent_thread)
{
	uint64_t begin = th_clock_read(CLOCK_THREAD_CPUTIME_ID);
	struct th_breakdown_tables *tables = get_tables();

	if (!tables) {
		/* Out of memory: no breakdowns, and no further attempt. */
		th_store_relaxed(&breakdown.is_on, 0);
		return;
	}
	struct th_event_account *event = &tables->event;
	*event = (struct th_event_account){.time = th_clock_now(), .reason = reason};
	th_page_map_open(&tables->pages);
	bool is_read = th_remote_tables_copy() &&
		       th_address_space_read(&tables->space, &tables->pages);
	if (is_read)
		fill(tables, &subject->group, on_agent_thread);
	th_page_map_close(&tables->pages);
	if (!is_read) {
		th_breakdown_plan_give_up(&subject->plan);
		return;
	}
	event->cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
	if (th_remote_tables_are_there())
		th_log_append(TH_EVENT_ACCOUNT, event, NULL, 0);
	if (reason == TH_BREAKDOWN_END || reason == TH_BREAKDOWN_TEARDOWN)
		breakdown.last_end = event->time;
	th_breakdown_plan_taken(&subject->plan, th_clock_now(), cpu_time(), reason, event->cost,
		event->resident);
}

/* Triggers */

/* Reads the resident size, and takes a breakdown if one is due; under the lock. */
static void
look(struct th_breakdown_subject *subject, uint64_t now)
{
	uint64_t resident = log_resident(now, &subject->group);
	enum th_breakdown_reason reason;

	th_breakdown_plan_looked(&subject->plan, now, resident);
	if (resident &&
		th_breakdown_plan_is_due(&subject->plan, now, cpu_time(), resident, &reason))
		take(subject, reason, true);
}

static bool
is_recording(void)
{
	const struct th_log_header *header = th_log_header();

	return th_load_acquire(&breakdown.is_on) && header &&
	       th_load_relaxed(&header->state) == TH_LOG_RECORDING;
}

/* False if the recording has ended, or another breakdown is being taken. */
static bool
may_begin(void)
{
	return is_recording() && th_trylock(&breakdown.busy);
}

void
th_breakdown_look(struct th_breakdown_subject *subject, uint64_t now)
{
	if (!may_begin())
		return;
	subject = subject ? subject : &breakdown.own;
	if (now >= subject->plan.next_look)
		look(subject, now);
	th_unlock(&breakdown.busy);
}

void
th_breakdown_take(struct th_breakdown_subject *subject, enum th_breakdown_reason reason,
	bool on_agent_thread)
{
	if (!may_begin())
		return;
	log_resident(th_clock_now(), &subject->group);
	take(subject, reason, on_agent_thread);
	th_unlock(&breakdown.busy);
}

/* For this process */

uint64_t
th_breakdown_next(void)
{
	return is_recording() ? breakdown.own.plan.next_look : UINT64_MAX;
}

void
th_breakdown_now(enum th_breakdown_reason reason, bool on_agent_thread)
{
	uint64_t now = th_clock_now();
	bool is_fresh = breakdown.last_end && now - breakdown.last_end <= FRESH_NS;

	if (reason != TH_BREAKDOWN_END || !is_fresh)
		th_breakdown_take(&breakdown.own, reason, on_agent_thread);
}

/* Start and reset */

void
th_breakdown_begin(struct th_breakdown_subject *subject)
{
	th_cgroup_find(&subject->group);
	th_breakdown_plan_init(&subject->plan, th_clock_now(), cpu_time());
	th_store_release(&breakdown.is_on, 1);
}

void
th_breakdown_start(bool has_owners)
{
	th_remote_tables.has_owners = has_owners;
	th_breakdown_begin(&breakdown.own);
	th_remote_tables_publish();
}

void
th_breakdown_restart(void)
{
	th_store_release(&breakdown.is_on, 0);
	th_store_release(&java_vm, NULL);
	breakdown.last_end = 0;
}

void
th_breakdown_reset(void)
{
	breakdown.is_on = 0;
	breakdown.tables = NULL;
	breakdown.busy.held = 0;
	breakdown.last_end = 0;
}
