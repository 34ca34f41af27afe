/* SPDX-License-Identifier: Apache-2.0 */
#include "report/account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/account_buffers.h"
#include "report/account_trim.h"
#include "report/allocate.h"
#include "report/touched.h"

/* glibc: a chunk has a head of one word, a granularity of two and a least size of four. */
#define CHUNK_HEAD 8u
#define CHUNK_GRAIN 16u
#define CHUNK_LEAST 32u

/* clang-format off: the table reads better as it stands */
static const struct {
	const char *label;
	const char *name;
	bool is_estimate;
} kinds[TH_ACCOUNT_KINDS] = {
	[TH_ACCOUNT_JAVA_HEAP] = {"Java heap", "java_heap", false},
	[TH_ACCOUNT_METASPACE] = {"metaspace, class space", "metaspace", false},
	[TH_ACCOUNT_CLASS_SPACE] = {"class space", "class_space", false},
	[TH_ACCOUNT_CODE_CACHE] = {"code cache", "code_cache", false},
	[TH_ACCOUNT_CLASS_ARCHIVE] = {"class archive (CDS)", "class_archive", false},
	[TH_ACCOUNT_VM] = {"mapped by the VM", "vm", false},
	[TH_ACCOUNT_STACKS] = {"thread stacks", "thread_stacks", false},
	[TH_ACCOUNT_MALLOC_VM] = {"malloc: the VM", "malloc_vm", true},
	[TH_ACCOUNT_MALLOC_JDK] = {"malloc: JDK libraries", "malloc_jdk", true},
	[TH_ACCOUNT_MALLOC_DIRECT] = {"malloc: direct buffers", "malloc_direct", true},
	[TH_ACCOUNT_MALLOC_APPLICATION] = {"malloc: application", "malloc_application", true},
	[TH_ACCOUNT_MALLOC_OVERHEAD] = {"malloc: overhead", "malloc_overhead", true},
	[TH_ACCOUNT_MALLOC_RETAINED] = {"malloc: retained", "malloc_retained", true},
	[TH_ACCOUNT_MAPPED] = {"mapped by libraries", "mapped", false},
	[TH_ACCOUNT_FILES] = {"mapped files", "files", false},
	[TH_ACCOUNT_SHARED] = {"shared memory", "shared", false},
	[TH_ACCOUNT_OWN] = {"twinheap itself", "twinheap", false},
	[TH_ACCOUNT_KERNEL] = {"kernel's pages", "kernel", false},
	[TH_ACCOUNT_UNEXPLAINED] = {"unexplained", "unexplained", false},
};
/* clang-format on */

const char *
th_account_label(enum th_account_kind kind)
{
	return kinds[kind].label;
}

const char *
th_account_name(enum th_account_kind kind)
{
	return kinds[kind].name;
}

/* Which account */

const struct th_decoded_account *
th_account_at(const struct th_recording *recording, uint64_t time)
{
	const struct th_decoded_account *found = NULL;

	for (size_t i = 0; i < recording->accounts_count; i++) {
		const struct th_decoded_account *head = &recording->accounts[i];

		if (!found || head->time <= time)
			found = head;
	}
	return found;
}

const struct th_decoded_account *
th_account_peak(const struct th_recording *recording)
{
	const struct th_decoded_account *found = NULL;

	for (size_t i = 0; i < recording->accounts_count; i++) {
		const struct th_decoded_account *head = &recording->accounts[i];

		if (!found || head->resident > found->resident)
			found = head;
	}
	return found;
}

const struct th_decoded_account *
th_account_chosen(const struct th_profile *profile)
{
	if (profile->options->at == TH_AT_PEAK)
		return th_account_peak(profile->recording);
	return th_account_at(profile->recording, profile->at.time);
}

const struct th_decoded_pool *
th_account_pool(const struct th_recording *recording, uint32_t account, const char *name)
{
	for (size_t i = 0; i < recording->pools_count; i++) {
		const struct th_decoded_pool *pool = &recording->pools[i];

		if (pool->account == account && th_text_equals(pool->name, name))
			return pool;
	}
	return NULL;
}

/* What the log says exactly */

static bool
is_of_vm(struct th_text name)
{
	static const char tail[] = "libjvm.so";
	const size_t length = sizeof(tail) - 1;

	return name.length >= length &&
	       !memcmp(name.bytes + name.length - length, tail, length);
}

/* The line of a row; TH_ACCOUNT_KINDS for malloc's own, which samples divide. */
static enum th_account_kind
kind_of_row(const struct th_decoded_account_row *row)
{
	static const enum th_account_kind by_category[TH_MEMORY_CATEGORIES] = {
		[TH_MEMORY_JAVA_HEAP] = TH_ACCOUNT_JAVA_HEAP,
		[TH_MEMORY_METASPACE] = TH_ACCOUNT_METASPACE,
		[TH_MEMORY_CLASS_SPACE] = TH_ACCOUNT_CLASS_SPACE,
		[TH_MEMORY_CODE_CACHE] = TH_ACCOUNT_CODE_CACHE,
		[TH_MEMORY_CLASS_ARCHIVE] = TH_ACCOUNT_CLASS_ARCHIVE,
		[TH_MEMORY_VM] = TH_ACCOUNT_VM,
		[TH_MEMORY_STACK] = TH_ACCOUNT_STACKS,
		[TH_MEMORY_MALLOC] = TH_ACCOUNT_KINDS,
		[TH_MEMORY_MALLOC_MAPPED] = TH_ACCOUNT_KINDS,
		[TH_MEMORY_MAPPED] = TH_ACCOUNT_MAPPED,
		[TH_MEMORY_FILE] = TH_ACCOUNT_FILES,
		[TH_MEMORY_SHARED] = TH_ACCOUNT_SHARED,
		[TH_MEMORY_OWN] = TH_ACCOUNT_OWN,
		[TH_MEMORY_KERNEL] = TH_ACCOUNT_KERNEL,
		[TH_MEMORY_UNKNOWN] = TH_ACCOUNT_UNEXPLAINED,
	};

	if (row->category == TH_MEMORY_MAPPED && is_of_vm(row->name))
		return TH_ACCOUNT_VM;
	return by_category[row->category];
}

/* Adds to the part of that name, which may have been mapped by several stacks; takes the name. */
static void
add_part(struct th_account_line *line, const struct th_decoded_account_row *row, char *name)
{
	struct th_account_part part = {
		.name = name,
		.resident = (double)row->resident,
		.size = (double)row->size,
		.mappings = row->mappings,
	};

	for (size_t i = 0; i < line->parts_count; i++) {
		struct th_account_part *known = &line->parts[i];

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

/* Malloc's own memory, as the log has it. */
struct malloc_memory {
	double heaps;  /* resident bytes of its heaps */
	double mapped; /* of sampled blocks with mappings of their own */
	double mapped_size;
};

static void
add_row(struct th_account *account, const struct th_decoded_account_row *row,
	struct malloc_memory *memory)
{
	enum th_account_kind kind = kind_of_row(row);

	if (row->category == TH_MEMORY_MALLOC) {
		memory->heaps += (double)row->resident;
		add_part(&account->lines[TH_ACCOUNT_MALLOC_RETAINED], row,
			th_text_clean(row->name));
		account->lines[TH_ACCOUNT_MALLOC_RETAINED].size += (double)row->size;
	} else if (row->category == TH_MEMORY_MALLOC_MAPPED) {
		memory->mapped += (double)row->resident;
		memory->mapped_size += (double)row->size;
	}
	if (kind == TH_ACCOUNT_KINDS)
		return;
	char *name = NULL;
	if (kind == TH_ACCOUNT_VM)
		kind = th_account_vm_kind(account->profile, row->stack, &name);
	struct th_account_line *line = &account->lines[kind];
	line->resident.estimate += (double)row->resident;
	line->swapped += (double)row->swapped;
	line->size += (double)row->size;
	line->accessible += (double)row->accessible;
	line->mappings += row->mappings;
	add_part(line, row, name ? name : th_text_clean(row->name));
}

static void
add_rows(struct th_account *account, struct malloc_memory *memory)
{
	const struct th_recording *recording = account->profile->recording;

	for (size_t i = 0; i < recording->account_rows_count; i++)
		if (recording->account_rows[i].account == account->head->account)
			add_row(account, &recording->account_rows[i], memory);
}

static void
add_pool(struct th_account *account, enum th_account_kind kind, const char *name)
{
	const struct th_decoded_pool *pool = th_account_pool(
		account->profile->recording, account->head->account, name);
	struct th_account_line *line = &account->lines[kind];

	if (!pool)
		return;
	line->used = (double)pool->used;
	line->committed = (double)pool->committed;
	line->limit = (double)pool->limit;
}

/* What samples say */

enum place { IN_HEAP, OWN_MAPPING, PLACES };

/* Sums of live blocks by line and place. */
struct live_sums {
	struct th_estimator touched[TH_ACCOUNT_KINDS][PLACES];
	struct th_estimator overhead; /* in the heaps */
	struct th_estimator live[TH_ACCOUNT_KINDS];
	struct th_estimator unjudged;
	struct th_estimator all;
	struct th_estimator all_touched;
	struct th_trim trim; /* those in the heaps, and where they lie */
};

static double
chunk_bytes(uint64_t size)
{
	uint64_t bytes = (size + CHUNK_HEAD + CHUNK_GRAIN - 1) & ~(uint64_t)(CHUNK_GRAIN - 1);

	return (double)(bytes < CHUNK_LEAST ? CHUNK_LEAST : bytes);
}

/* How many blocks a sampled one stands for. */
static double
weight_of(const struct th_sample *sample, uint64_t interval, double keep, double factor)
{
	struct th_estimator one = {0};

	th_estimator_add(&one, sample->size, interval, keep, factor);
	return one.objects.seen + one.objects.unseen;
}

static void
add_block(struct th_account *account, struct live_sums *sums, size_t index, uint32_t row,
	uint64_t word)
{
	const struct th_profile *profile = account->profile;
	const struct th_sample *sample =
		&profile->recording->samples[TH_HEAP_NATIVE].items[index];
	enum th_account_kind kind = (enum th_account_kind)account->row_kinds[row];
	const struct th_calibration *calibration = &profile->heaps[TH_HEAP_NATIVE];
	double keep = (double)sample->keep *
		      th_lifetimes_keep(&profile->lifetimes, TH_HEAP_NATIVE, &profile->at);
	double factor = calibration->factors[sample->thread];
	uint64_t interval = th_recording_sample_interval(profile->recording, sample);
	enum place place = word & TH_TOUCHED_OWN_MAPPING ? OWN_MAPPING : IN_HEAP;
	double part = th_touched_bytes(sample, word);

	th_estimator_add_part(
		&sums->touched[kind][place], part, sample->size, interval, keep, factor);
	th_estimator_add_part(
		&account->row_touched[row], part, sample->size, interval, keep, factor);
	th_estimator_add_part(&sums->all_touched, part, sample->size, interval, keep, factor);
	if (account->row_buffers[row] &&
		(!account->judgement || sample->time >= account->judgement->births))
		th_estimator_add_part(
			&sums->unjudged, part, sample->size, interval, keep, factor);
	th_estimator_add(&sums->live[kind], sample->size, interval, keep, factor);
	th_estimator_add(&sums->all, sample->size, interval, keep, factor);
	if (place != IN_HEAP || !sample->size)
		return;
	/* A block that is touched in part has its head in memory as likely as its bytes. */
	double head = (chunk_bytes(sample->size) - (double)sample->size) * part /
		      (double)sample->size;
	th_estimator_add_part(&sums->overhead, head, sample->size, interval, keep, factor);
	th_trim_add(&sums->trim, profile->recording->addresses[index], part + head,
		weight_of(sample, interval, keep, factor));
}

static void
init_rows(struct th_account *account)
{
	const struct th_profile *profile = account->profile;

	account->row_kinds = th_allocate(profile->rows_count + 1, 1);
	account->row_buffers = th_allocate(profile->rows_count + 1, 1);
	account->row_touched = th_allocate(
		profile->rows_count + 1, sizeof(*account->row_touched));
	for (size_t i = 0; i < profile->rows_count; i++) {
		account->row_kinds[i] = (uint8_t)th_account_kind_of(profile, &profile->rows[i]);
		account->row_buffers[i] = account->row_kinds[i] == TH_ACCOUNT_MALLOC_DIRECT &&
					  th_account_is_cleaned_buffer(
						  profile, &profile->rows[i]);
	}
}

/* Adds up the blocks that the account looked at. */
static void
sum_blocks(struct th_account *account, struct live_sums *sums)
{
	const struct th_profile *profile = account->profile;
	const struct th_samples *samples = &profile->recording->samples[TH_HEAP_NATIVE];
	struct th_touched touched;
	uint64_t word;

	th_trim_init(&sums->trim, profile->recording, account->head->account);
	init_rows(account);
	th_touched_init(&touched, profile->recording, account->head->account);
	for (size_t i = 0; i < samples->items_count; i++) {
		uint32_t row = profile->sample_rows[TH_HEAP_NATIVE][i];

		if (row != TH_NO_ROW && th_touched_find(&touched, &samples->items[i], &word))
			add_block(account, sums, i, row, word);
	}
	th_touched_deinit(&touched);
}

static struct th_estimate
estimate(const struct th_account *account, const struct th_estimator *sum)
{
	return th_profile_bytes(account->profile, TH_HEAP_NATIVE, TH_MEASURE_TOUCHED, sum);
}

static struct th_estimate
estimate_live(const struct th_account *account, const struct th_estimator *sum)
{
	return th_profile_bytes(account->profile, TH_HEAP_NATIVE, TH_MEASURE_LIVE, sum);
}

static bool
is_malloc_owner(enum th_account_kind kind)
{
	return kind >= TH_ACCOUNT_MALLOC_VM && kind <= TH_ACCOUNT_MALLOC_APPLICATION;
}

static void
scale(struct th_estimate *estimate, double factor)
{
	estimate->estimate *= factor;
	estimate->low *= factor;
	estimate->high *= factor;
}

/* Factor that brings `wanted` down to what there is. */
static double
cut(double wanted, double available)
{
	return wanted > available && wanted > 0 ? available / wanted : 1;
}

/*
 * Unsampled blocks with mappings of their own look like anybody's anonymous memory: so much of
 * that is malloc's as the estimate says, and not more than the allocator does.
 */
static double
unseen_mappings(const struct th_account *account, const struct malloc_memory *memory)
{
	double unknown = account->lines[TH_ACCOUNT_UNEXPLAINED].resident.estimate;

	if (account->allocator)
		unknown = fmin(unknown,
			fmax(0, (double)account->allocator->mapped - memory->mapped_size));
	return unknown;
}

static void
divide_heaps(struct th_account *account, struct live_sums *sums, double heaps)
{
	struct th_estimate overhead = estimate(account, &sums->overhead);
	struct th_estimate *retained = &account->lines[TH_ACCOUNT_MALLOC_RETAINED].resident;
	struct th_estimator all = sums->overhead;

	if (account->allocator && th_text_equals(account->allocator->name, "libc.so.6"))
		account->lines[TH_ACCOUNT_MALLOC_OVERHEAD].resident = overhead;
	else
		overhead = (struct th_estimate){0};
	double wanted = overhead.estimate;
	for (int kind = TH_ACCOUNT_MALLOC_VM; kind <= TH_ACCOUNT_MALLOC_APPLICATION; kind++) {
		account->lines[kind].resident = estimate(
			account, &sums->touched[kind][IN_HEAP]);
		wanted += account->lines[kind].resident.estimate;
		th_estimator_merge(&all, &sums->touched[kind][IN_HEAP]);
	}
	struct th_estimate total = estimate(account, &all);
	double factor = cut(wanted, heaps);
	for (int kind = TH_ACCOUNT_MALLOC_VM; kind <= TH_ACCOUNT_MALLOC_OVERHEAD; kind++)
		scale(&account->lines[kind].resident, factor);
	*retained = (struct th_estimate){
		.estimate = heaps - wanted * factor,
		.low = fmax(0, heaps - fmax(total.high, wanted)),
		.high = fmax(heaps - fmin(total.low, wanted), heaps - wanted * factor),
		.samples = total.samples,
	};
	account->trimmed = th_trim_estimate(
		&sums->trim, heaps, retained, account->profile->recording->process.page_bytes);
}

static void
divide_mappings(struct th_account *account, const struct live_sums *sums,
	const struct malloc_memory *memory)
{
	double available = memory->mapped + unseen_mappings(account, memory);
	struct th_estimate parts[TH_ACCOUNT_KINDS];
	double wanted = 0;

	for (int kind = TH_ACCOUNT_MALLOC_VM; kind <= TH_ACCOUNT_MALLOC_APPLICATION; kind++) {
		parts[kind] = estimate(account, &sums->touched[kind][OWN_MAPPING]);
		wanted += parts[kind].estimate;
	}
	double factor = cut(wanted, available);
	for (int kind = TH_ACCOUNT_MALLOC_VM; kind <= TH_ACCOUNT_MALLOC_APPLICATION; kind++) {
		struct th_estimate *resident = &account->lines[kind].resident;

		scale(&parts[kind], factor);
		*resident = th_estimate_sum(resident, &parts[kind]);
	}
	double given = wanted * factor;
	struct th_account_line *rest =
		&account->lines[given > memory->mapped ? TH_ACCOUNT_UNEXPLAINED
						       : TH_ACCOUNT_MALLOC_OVERHEAD];
	double left = memory->mapped - given;
	rest->resident.estimate += left;
	rest->resident.low = fmax(0, rest->resident.low + left);
	rest->resident.high += fmax(left, 0);
}

/* Part of a line already divided, so it cannot be more than that. */
static struct th_estimate
part_of_buffers(const struct th_account *account, const struct th_estimator *sum)
{
	struct th_estimate part = {0};
	double line = account->lines[TH_ACCOUNT_MALLOC_DIRECT].resident.estimate;

	if (!sum->samples)
		return part;
	part = estimate(account, sum);
	scale(&part, cut(part.estimate, line));
	return part;
}

static void
divide_buffers(struct th_account *account, const struct live_sums *sums)
{
	const struct th_profile *profile = account->profile;
	struct th_estimator sum = {0};

	for (size_t i = 0; i < profile->rows_count; i++)
		if (account->row_kinds[i] == TH_ACCOUNT_MALLOC_DIRECT &&
			account->row_touched[i].samples &&
			th_account_is_cached_buffer(profile, &profile->rows[i]))
			th_estimator_merge(&sum, &account->row_touched[i]);
	account->cached = part_of_buffers(account, &sum);
	account->unjudged = part_of_buffers(account, &sums->unjudged);
}

/* All of malloc's memory, divided by what samples say. */
static void
divide_malloc(struct th_account *account, const struct malloc_memory *memory)
{
	struct live_sums *sums = th_allocate(1, sizeof(*sums));

	sum_blocks(account, sums);
	account->live = estimate_live(account, &sums->all);
	account->touched = estimate(account, &sums->all_touched);
	for (int kind = 0; kind < TH_ACCOUNT_KINDS; kind++)
		if (is_malloc_owner((enum th_account_kind)kind))
			account->lines[kind].size =
				estimate_live(account, &sums->live[kind]).estimate;
	divide_heaps(account, sums, memory->heaps);
	divide_mappings(account, sums, memory);
	divide_buffers(account, sums);
	th_trim_deinit(&sums->trim);
	free(sums);
}

/* The whole */

static int
by_resident(const void *a, const void *b)
{
	const struct th_account_part *first = a;
	const struct th_account_part *second = b;

	if (first->resident != second->resident)
		return first->resident < second->resident ? 1 : -1;
	return strcmp(first->name, second->name);
}

static void
find_figures(struct th_account *account)
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
		account->counts[kind] = th_account_buffers(
			account->profile, account->head, (enum th_buffers_kind)kind);
}

static void
finish(struct th_account *account)
{
	for (int kind = 0; kind < TH_ACCOUNT_KINDS; kind++) {
		struct th_account_line *line = &account->lines[kind];

		if (line->parts_count)
			qsort(line->parts, line->parts_count, sizeof(*line->parts),
				by_resident);
		if (!kinds[kind].is_estimate && kind != TH_ACCOUNT_UNEXPLAINED)
			line->resident = th_estimate_exact(line->resident.estimate, 0);
	}
}

void
th_account_init(struct th_account *account, const struct th_profile *profile,
	const struct th_decoded_account *head)
{
	struct malloc_memory memory = {0};

	*account = (struct th_account){.profile = profile, .head = head};
	for (int kind = 0; kind < TH_ACCOUNT_KINDS; kind++)
		account->lines[kind].kind = (enum th_account_kind)kind;
	account->judgement = th_lifetimes_last(&profile->lifetimes, head->time, true);
	find_figures(account);
	add_rows(account, &memory);
	account->lines[TH_ACCOUNT_UNEXPLAINED].resident.high =
		account->lines[TH_ACCOUNT_UNEXPLAINED].resident.estimate;
	divide_malloc(account, &memory);
	add_pool(account, TH_ACCOUNT_JAVA_HEAP, "Java heap");
	add_pool(account, TH_ACCOUNT_CODE_CACHE, "Code cache");
	add_pool(account, TH_ACCOUNT_METASPACE, "Metaspace");
	add_pool(account, TH_ACCOUNT_CLASS_SPACE, "Compressed class space");
	add_pool(account, TH_ACCOUNT_MALLOC_DIRECT, "direct");
	finish(account);
}

double
th_account_unexplained(const struct th_account *account)
{
	return account->lines[TH_ACCOUNT_UNEXPLAINED].resident.estimate;
}

struct th_estimate
th_account_row_touched(const struct th_account *account, size_t row)
{
	return estimate(account, &account->row_touched[row]);
}

void
th_account_deinit(struct th_account *account)
{
	free(account->row_kinds);
	free(account->row_touched);
	free(account->row_buffers);
	for (int kind = 0; kind < TH_ACCOUNT_KINDS; kind++) {
		struct th_account_line *line = &account->lines[kind];

		for (size_t i = 0; i < line->parts_count; i++)
			free(line->parts[i].name);
		free(line->parts);
	}
}
