/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the events of a breakdown.  Arrays are split over several records of bounded size,
 * built in the tables, since a breakdown may run on a small stack.
 */
#include "unify/resident/tables.h"

#include <unistd.h>

#include "unify/base/observed.h"
#include "unify/base/proc_file.h"
#include "unify/log/log.h"

/* Maximum number of mapping samples in a breakdown: 64 KiB of the log. */
#define MAPPED_MAX 4096u

/* Rows */

void
th_breakdown_log_rows(const struct th_breakdown_tables *tables)
{
	const struct th_breakdown_rows *rows = &tables->rows;

	for (uint32_t i = 0; i < rows->count; i++) {
		const struct th_breakdown_row *row = &rows->items[i];
		struct th_event_account_row event = {
			.resident = row->amount.resident,
			.swapped = row->amount.swapped,
			.size = row->amount.size,
			.accessible = row->amount.accessible,
			.account = tables->event.account,
			.category = row->category,
			.mappings = row->amount.mappings,
			.stack = row->stack,
		};
		struct th_log_part name = th_log_text(row->name);

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
touch_block(struct th_breakdown_tables *tables, const struct th_breakdown_block *block)
{
	uint64_t resident = th_page_map_use(
		&tables->pages, block->address, block->address + block->size)
				    .resident;
	bool is_in_heap = th_breakdown_owners_is_heap(tables, block->address);

	add_touched(
		tables, block->sample, resident | (is_in_heap ? 0 : TH_TOUCHED_OWN_MAPPING));
}

static void
log_touched(struct th_breakdown_tables *tables)
{
	for (uint32_t i = 0; i < tables->block_count; i++)
		touch_block(tables, &tables->blocks[i]);
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

void
th_breakdown_log_pages(struct th_breakdown_tables *tables)
{
	log_heaps(tables);
	log_mapped(tables);
	log_touched(tables);
}

/* The resident size and the control group */

struct resident {
	uint64_t all;
	uint64_t file;
};

/* /proc/PID/statm: size, resident, shared, in pages. */
static struct resident
read_resident(void)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pages[3] = {0, 0, 0};
	char path[TH_OBSERVED_PATH_MAX];
	char text[256];
	const char *at = text;

	th_proc_file_read(th_observed_path("statm", path), text, sizeof(text));
	for (int i = 0; i < 3; i++)
		th_proc_number(&at, &pages[i]);
	return (struct resident){pages[1] * page_bytes, pages[2] * page_bytes};
}

uint64_t
th_breakdown_resident(void)
{
	return read_resident().all;
}

uint64_t
th_breakdown_log_resident(uint64_t now, const struct th_cgroup *group)
{
	struct resident resident = read_resident();
	struct th_event_resident event = {
		.time = now,
		.resident = resident.all,
		.file = resident.file,
		.group = th_cgroup_current(group),
	};

	if (resident.all)
		th_log_append(TH_EVENT_RESIDENT, &event, NULL, 0);
	return resident.all;
}

void
th_breakdown_log_group(struct th_breakdown_tables *tables, const struct th_cgroup *group)
{
	struct th_cgroup_use use = th_cgroup_use(group, tables->text);
	struct th_event_cgroup event = {
		.limit = group->limit,
		.current = use.current,
		.anonymous = use.anonymous,
		.file = use.file,
		.kernel = use.kernel,
		.account = tables->event.account,
		.version = group->version,
	};
	struct th_log_part path = th_log_text(group->path);

	if (group->version)
		th_log_append(TH_EVENT_CGROUP, &event, &path, 1);
}
