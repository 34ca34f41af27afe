/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a breakdown (breakdown.h): exact rows of the snapshot first, then malloc's memory,
 * which malloc.c divides among the sampled blocks; what is left of the RSS is "unexplained".
 */
#include "report/rss/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "unify/shared/clock.h"

/* An older count is not valid for a snapshot. */
#define COUNT_HOLDS_NS (10 * (uint64_t)TH_NS_PER_S)

/* clang-format off: keeps one entry per line */
const struct th_breakdown_kind_names th_breakdown_kinds[TH_BREAKDOWN_KINDS] = {
	[TH_BREAKDOWN_JAVA_HEAP] = {"Java heap", "java_heap", false},
	[TH_BREAKDOWN_METASPACE] = {"metaspace, class space", "metaspace", false},
	[TH_BREAKDOWN_CLASS_SPACE] = {"class space", "class_space", false},
	[TH_BREAKDOWN_CODE_CACHE] = {"code cache", "code_cache", false},
	[TH_BREAKDOWN_CLASS_ARCHIVE] = {"class archive (CDS)", "class_archive", false},
	[TH_BREAKDOWN_VM] = {"mapped by the VM", "vm", false},
	[TH_BREAKDOWN_STACKS] = {"thread stacks", "thread_stacks", false},
	[TH_BREAKDOWN_MALLOC_VM] = {"malloc: the VM", "malloc_vm", true},
	[TH_BREAKDOWN_MALLOC_JDK] = {"malloc: JDK libraries", "malloc_jdk", true},
	[TH_BREAKDOWN_MALLOC_DIRECT] = {"malloc: direct buffers", "malloc_direct", true},
	[TH_BREAKDOWN_MALLOC_APPLICATION] = {"malloc: application", "malloc_application", true},
	[TH_BREAKDOWN_MALLOC_OVERHEAD] = {"malloc: overhead", "malloc_overhead", true},
	[TH_BREAKDOWN_MALLOC_RETAINED] = {"malloc: retained", "malloc_retained", true},
	[TH_BREAKDOWN_MAPPED] = {"mapped by libraries", "mapped", false},
	[TH_BREAKDOWN_FILES] = {"mapped files", "files", false},
	[TH_BREAKDOWN_SHARED] = {"shared memory", "shared", false},
	[TH_BREAKDOWN_OWN] = {"twinheap itself", "twinheap", false},
	[TH_BREAKDOWN_KERNEL] = {"kernel's pages", "kernel", false},
	[TH_BREAKDOWN_UNEXPLAINED] = {"unexplained", "unexplained", false},
};
/* clang-format on */

const struct th_decoded_pool *
th_breakdown_pool(const struct th_recording *recording, uint32_t account, const char *name)
{
	for (size_t i = 0; i < recording->pools_count; i++) {
		const struct th_decoded_pool *pool = &recording->pools[i];

		if (pool->account == account && th_text_equals(pool->name, name))
			return pool;
	}
	return NULL;
}

/* Exact figures of the log */

/*
 * The line of a row; TH_BREAKDOWN_KINDS for malloc's own memory, which is divided by samples.
 */
static enum th_breakdown_kind
kind_of_row(const struct th_decoded_account_row *row)
{
	static const enum th_breakdown_kind by_category[TH_MEMORY_CATEGORIES] = {
		[TH_MEMORY_JAVA_HEAP] = TH_BREAKDOWN_JAVA_HEAP,
		[TH_MEMORY_METASPACE] = TH_BREAKDOWN_METASPACE,
		[TH_MEMORY_CLASS_SPACE] = TH_BREAKDOWN_CLASS_SPACE,
		[TH_MEMORY_CODE_CACHE] = TH_BREAKDOWN_CODE_CACHE,
		[TH_MEMORY_CLASS_ARCHIVE] = TH_BREAKDOWN_CLASS_ARCHIVE,
		[TH_MEMORY_VM] = TH_BREAKDOWN_VM,
		[TH_MEMORY_STACK] = TH_BREAKDOWN_STACKS,
		[TH_MEMORY_MALLOC] = TH_BREAKDOWN_KINDS,
		[TH_MEMORY_MALLOC_MAPPED] = TH_BREAKDOWN_KINDS,
		[TH_MEMORY_MAPPED] = TH_BREAKDOWN_MAPPED,
		[TH_MEMORY_FILE] = TH_BREAKDOWN_FILES,
		[TH_MEMORY_SHARED] = TH_BREAKDOWN_SHARED,
		[TH_MEMORY_OWN] = TH_BREAKDOWN_OWN,
		[TH_MEMORY_KERNEL] = TH_BREAKDOWN_KERNEL,
		[TH_MEMORY_UNKNOWN] = TH_BREAKDOWN_UNEXPLAINED,
	};

	if (row->category == TH_MEMORY_MAPPED && th_text_ends(row->name, "libjvm.so"))
		return TH_BREAKDOWN_VM;
	return by_category[row->category];
}

/* Adds to the part of that name, which several stacks may have mapped; takes over the name. */
static void
add_part(struct th_breakdown_line *line, const struct th_decoded_account_row *row, char *name)
{
	struct th_breakdown_part part = {
		.name = name,
		.resident = (double)row->resident,
		.size = (double)row->size,
		.mappings = row->mappings,
	};

	for (size_t i = 0; i < line->parts_count; i++) {
		struct th_breakdown_part *known = &line->parts[i];

		if (strcmp(known->name, name) != 0)
			continue;
		known->resident += part.resident;
		known->size += part.size;
		known->mappings += part.mappings;
		free(name);
		return;
	}
	th_array_append(line, parts, part);
}

static void
add_row(struct th_breakdown *account, const struct th_decoded_account_row *row,
	struct th_malloc_memory *memory)
{
	enum th_breakdown_kind kind = kind_of_row(row);

	if (row->category == TH_MEMORY_MALLOC) {
		memory->heaps += (double)row->resident;
		add_part(&account->lines[TH_BREAKDOWN_MALLOC_RETAINED], row,
			th_text_clean(row->name));
		account->lines[TH_BREAKDOWN_MALLOC_RETAINED].size += (double)row->size;
	} else if (row->category == TH_MEMORY_MALLOC_MAPPED) {
		memory->mapped += (double)row->resident;
		memory->mapped_size += (double)row->size;
	}
	if (kind == TH_BREAKDOWN_KINDS)
		return;
	char *name = NULL;
	if (kind == TH_BREAKDOWN_VM)
		kind = th_breakdown_vm_kind(account->profile, row->stack, &name);
	struct th_breakdown_line *line = &account->lines[kind];
	line->resident.estimate += (double)row->resident;
	line->swapped += (double)row->swapped;
	line->size += (double)row->size;
	line->accessible += (double)row->accessible;
	line->mappings += row->mappings;
	add_part(line, row, name ? name : th_text_clean(row->name));
}

static void
add_rows(struct th_breakdown *account, struct th_malloc_memory *memory)
{
	const struct th_recording *recording = account->profile->recording;

	for (size_t i = 0; i < recording->account_rows_count; i++)
		if (recording->account_rows[i].account == account->head->account)
			add_row(account, &recording->account_rows[i], memory);
}

static void
add_pool(struct th_breakdown *account, enum th_breakdown_kind kind, const char *name)
{
	const struct th_decoded_pool *pool = th_breakdown_pool(
		account->profile->recording, account->head->account, name);
	struct th_breakdown_line *line = &account->lines[kind];

	if (!pool)
		return;
	line->used = (double)pool->used;
	line->committed = (double)pool->committed;
	line->limit = (double)pool->limit;
}

/* Counts of buffers that wait for their Cleaner */

/* A snapshot taken right after a count is simultaneous with it. */
static bool
belongs_to(const struct th_decoded_buffers *count, const struct th_profile *profile,
	const struct th_decoded_account *head)
{
	return count->time <= head->time &&
	       head->time - count->time <= count->stopped + COUNT_HOLDS_NS &&
	       !th_lifetimes_collections(&profile->lifetimes, count->time, head->time);
}

const struct th_decoded_buffers *
th_breakdown_buffers(const struct th_profile *profile, const struct th_decoded_account *head,
	enum th_buffers_kind kind)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_buffers *found = NULL;

	for (size_t i = 0; i < recording->buffers_count; i++) {
		const struct th_decoded_buffers *count = &recording->buffers[i];

		if (count->kind == kind && belongs_to(count, profile, head))
			found = count;
	}
	return found;
}

const struct th_decoded_account *
th_breakdown_of_last_count(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_account *found = NULL;

	for (size_t i = 0; i < recording->accounts_count; i++)
		if (th_breakdown_buffers(profile, &recording->accounts[i], TH_BUFFERS_DIRECT))
			found = &recording->accounts[i];
	return found;
}

const char *const th_breakdown_buffers_names[] = {
	[TH_BUFFERS_DIRECT] = "direct",
	[TH_BUFFERS_MAPPED] = "mapped",
	[TH_BUFFERS_FOREIGN] = "foreign",
};

/* Totals */

TH_COMPARE(by_resident, struct th_breakdown_part,
	th_order(right->resident, left->resident) ?: strcmp(left->name, right->name))

static void
find_figures(struct th_breakdown *account)
{
	const struct th_recording *recording = account->profile->recording;
	uint32_t number = account->head->account;

	for (size_t i = 0; i < recording->allocators_count; i++)
		if (recording->allocators[i].account == number)
			account->allocator = &recording->allocators[i];
	for (size_t i = 0; i < recording->cgroups_count; i++)
		if (recording->cgroups[i].account == number)
			account->group = &recording->cgroups[i];
	for (int kind = 1; kind < TH_BUFFERS_KINDS; kind++)
		account->counts[kind] = th_breakdown_buffers(
			account->profile, account->head, (enum th_buffers_kind)kind);
}

static void
finish(struct th_breakdown *account)
{
	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++) {
		struct th_breakdown_line *line = &account->lines[kind];

		th_sort(line->parts, line->parts_count, by_resident);
		if (!th_breakdown_kinds[kind].is_estimate && kind != TH_BREAKDOWN_UNEXPLAINED)
			line->resident = th_estimate_exact(line->resident.estimate, 0);
	}
}

void
th_breakdown_init(struct th_breakdown *account, const struct th_profile *profile,
	const struct th_decoded_account *head)
{
	struct th_malloc_memory memory = {0};

	*account = (struct th_breakdown){.profile = profile, .head = head};
	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		account->lines[kind].kind = (enum th_breakdown_kind)kind;
	account->judgement = th_lifetimes_last(&profile->lifetimes, head->time, true);
	find_figures(account);
	add_rows(account, &memory);
	account->lines[TH_BREAKDOWN_UNEXPLAINED].resident.high =
		account->lines[TH_BREAKDOWN_UNEXPLAINED].resident.estimate;
	th_breakdown_divide_malloc(account, &memory);
	add_pool(account, TH_BREAKDOWN_JAVA_HEAP, "Java heap");
	add_pool(account, TH_BREAKDOWN_CODE_CACHE, "Code cache");
	add_pool(account, TH_BREAKDOWN_METASPACE, "Metaspace");
	add_pool(account, TH_BREAKDOWN_CLASS_SPACE, "Compressed class space");
	add_pool(account, TH_BREAKDOWN_MALLOC_DIRECT, "direct");
	finish(account);
}

double
th_breakdown_unexplained(const struct th_breakdown *account)
{
	return account->lines[TH_BREAKDOWN_UNEXPLAINED].resident.estimate;
}

struct th_estimate
th_breakdown_row_touched(const struct th_breakdown *account, size_t row)
{
	return th_profile_bytes(account->profile, TH_HEAP_NATIVE, TH_MEASURE_TOUCHED,
		&account->row_touched[row]);
}

void
th_breakdown_deinit(struct th_breakdown *account)
{
	free(account->row_kinds);
	free(account->row_touched);
	free(account->row_buffers);
	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++) {
		struct th_breakdown_line *line = &account->lines[kind];

		for (size_t i = 0; i < line->parts_count; i++)
			free(line->parts[i].name);
		free(line->parts);
	}
}
