/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects claims of two ranks.  Exact ones are the library's tables, images, arenas, stacks
 * and large blocks; owners are the modules that mapped memory directly.  Claims on sampled
 * blocks come last, since they look up the earlier ones.
 */
#include "unify/resident/tables.h"

#include <string.h>
#include <unistd.h>

#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/mapped/mapping.h"
#include "unify/resident/breakdown.h"
#include "unify/resident/remote_tables.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/thread.h"
#include "unify/shared/bisect.h"

/*
 * Below glibc's smallest mmap threshold a block cannot have a mapping of its own
 * (malloc/malloc.c, DEFAULT_MMAP_THRESHOLD_MIN).
 */
#define OWN_MAPPING_LEAST (128u << 10)
/* struct pthread follows the thread's static TLS: 2,304 bytes in glibc 2.36. */
#define PTHREAD_BYTES 2304u
/*
 * Larger mappings (writable heap reservations, shadow memory of sanitizers) are not arenas:
 * they would have to be 16,384 arenas, all full and without gaps.
 */
#define ARENAS_SPAN_MAX (UINT64_C(1) << 40)

/* Claims; Shell sort: libc's qsort() may allocate with malloc */

void
th_claims_add(struct th_claims *claims, const struct th_claim *claim)
{
	if (claim->start >= claim->end)
		return;
	if (claims->count == claims->capacity) {
		claims->is_full = true;
		return;
	}
	claims->items[claims->count++] = *claim;
}

static bool
comes_before(const struct th_claim *a, const struct th_claim *b)
{
	return a->start < b->start || (a->start == b->start && a->end < b->end);
}

static void
sort(struct th_claim *items, uint32_t count)
{
	for (uint32_t gap = count; gap > 1;) {
		gap = gap > 2 ? gap * 5 / 11 : 1;
		for (uint32_t i = gap; i < count; i++) {
			struct th_claim item = items[i];
			uint32_t at = i;

			for (; at >= gap && comes_before(&item, &items[at - gap]); at -= gap)
				items[at] = items[at - gap];
			items[at] = item;
		}
	}
}

void
th_claims_sort(struct th_claims *claims)
{
	uint32_t kept = 0;
	uintptr_t taken = 0; /* addresses below have been assigned */

	sort(claims->items, claims->count);
	for (uint32_t i = 0; i < claims->count; i++) {
		struct th_claim claim = claims->items[i];

		if (claim.start < taken)
			claim.start = taken;
		if (claim.start >= claim.end)
			continue;
		taken = claim.end;
		claims->items[kept++] = claim;
	}
	claims->count = kept;
}

const struct th_claim *
th_claims_at(const struct th_claims *claims, uintptr_t address, uintptr_t *next_ret)
{
	/* The first claim that ends above `address`. */
	size_t first = th_bisect(claims->count, i, claims->items[i].end <= address);

	if (first == claims->count) {
		*next_ret = UINTPTR_MAX;
		return NULL;
	}
	const struct th_claim *claim = &claims->items[first];
	bool holds = claim->start <= address;
	*next_ret = holds ? claim->end : claim->start;
	return holds ? claim : NULL;
}

/* Arenas of glibc */

/*
 * malloc/arena.c, glibc 2.17 to 2.41: a region starts with
 *
 *   struct malloc_state *ar_ptr    its arena, located right after this header in the arena's
 *                                  first region
 *   heap_info *prev                the arena's previous region, NULL in the first
 *   size_t size                    bytes in use
 *   size_t mprotect_size           bytes made accessible
 *
 * Five relations must hold between the four words, so that other memory is not mistaken for
 * one.
 */

/* Upper bound of sizeof(heap_info) in all of these versions. */
#define HEAD_MAX 128

struct head {
	uintptr_t arena;
	uintptr_t previous;
	uint64_t used;
	uint64_t accessible;
};

static bool
is_aligned(uintptr_t address)
{
	return !(address & (TH_GLIBC_ARENA_HEAP_BYTES - 1));
}

/*
 * The arena is in the header of this region, or of another one if there is a previous region.
 */
static bool
fits_arena(const struct head *head, uintptr_t address)
{
	uintptr_t home = head->arena & -TH_GLIBC_ARENA_HEAP_BYTES;
	uintptr_t behind = head->arena - home;

	if (!behind || behind > HEAD_MAX || behind % sizeof(void *))
		return false;
	return home == address ? !head->previous : head->previous && is_aligned(head->previous);
}

bool
th_glibc_arena_heap_at(uintptr_t address, uintptr_t *end_ret)
{
	struct head head;

	if (!address || !is_aligned(address) ||
		!th_observed_copy(address, &head, sizeof(head)) || !fits_arena(&head, address))
		return false;
	if (!head.used || head.used > head.accessible ||
		head.accessible > TH_GLIBC_ARENA_HEAP_BYTES || head.used % TH_PAGE_BYTES ||
		head.accessible % TH_PAGE_BYTES)
		return false;
	*end_ret = address + head.accessible;
	return true;
}

/* The library, loaded objects, arenas, stacks */

static void
claim_exact(struct th_breakdown_tables *tables, uintptr_t start, uintptr_t end,
	enum th_memory_category category, const char *name)
{
	const struct th_claim claim = {
		.start = start, .end = end, .name = name, .category = category};

	th_breakdown_claim(&tables->claims, TH_CLAIM_EXACT, &claim);
}

static void
claim_region(const void *start, size_t bytes, void *data)
{
	claim_exact(data, (uintptr_t)start, (uintptr_t)start + bytes, TH_MEMORY_OWN, "tables");
}

/* Uninitialised data of loaded objects is an anonymous mapping after their file. */
static void
claim_images(struct th_breakdown_tables *tables)
{
	const struct th_address_space *space = &tables->space;

	for (uint32_t i = 0; i < space->count; i++) {
		const struct th_address_space_entry *entry = &space->entries[i];

		if (entry->is_image)
			claim_exact(tables, entry->start, th_address_space_image_end(entry),
				TH_MEMORY_FILE, th_address_space_path(space, entry));
	}
}

static void
claim_arenas_in(struct th_breakdown_tables *tables, const struct th_address_space_entry *entry)
{
	uintptr_t at = (entry->start + TH_GLIBC_ARENA_HEAP_BYTES - 1) &
		       -TH_GLIBC_ARENA_HEAP_BYTES;
	uintptr_t end;

	for (; at < entry->end; at += TH_GLIBC_ARENA_HEAP_BYTES)
		if (th_glibc_arena_heap_at(at, &end))
			claim_exact(tables, at, end, TH_MEMORY_MALLOC, "arenas");
}

/*
 * Whether a mapping may hold arenas; each multiple of their size in it costs a system call to
 * check.
 */
static bool
may_hold_arenas(
	const struct th_address_space *space, const struct th_address_space_entry *entry)
{
	return entry->is_writable && !entry->is_shared &&
	       th_address_space_is_nameless(space, entry) &&
	       entry->resident + entry->swapped > 0 &&
	       entry->end - entry->start <= ARENAS_SPAN_MAX;
}

static void
claim_arenas(struct th_breakdown_tables *tables)
{
	const struct th_address_space *space = &tables->space;

	for (uint32_t i = 0; i < space->count; i++) {
		const struct th_address_space_entry *entry = &space->entries[i];

		if (may_hold_arenas(space, entry))
			claim_arenas_in(tables, entry);
	}
}

/* The end of a stack with the thread's TLS at its upper end (nptl/allocatestack.c). */
static uintptr_t
stack_end(const struct th_thread *state)
{
	/* The same in every thread: the distance from th_thread to the thread pointer. */
	uintptr_t pointer = (uintptr_t)state + (uintptr_t)th_remote_tables.to_thread_pointer;
	uintptr_t last = pointer > (uintptr_t)state ? pointer : (uintptr_t)state;

	return th_align_up(last + PTHREAD_BYTES, (uint64_t)sysconf(_SC_PAGESIZE));
}

static void
claim_stack(struct th_breakdown_tables *tables, const struct th_thread_record *record)
{
	const struct th_thread *running = th_load_acquire(&record->state);
	const struct th_thread *state = running ? running : th_load_acquire(&record->unjoined);
	const struct th_address_space_entry *entry =
		state ? th_address_space_find(&tables->space, (uintptr_t)state) : NULL;

	/* The kernel created the main thread's stack, and names it. */
	if (!entry || entry->has_file || record->tid == th_log_header()->pid)
		return;
	uintptr_t end = stack_end(state);
	claim_exact(tables, entry->start, end < entry->end ? end : entry->end, TH_MEMORY_STACK,
		record->name);
	tables->event.threads++;
}

static void
claim_stacks(struct th_breakdown_tables *tables)
{
	struct th_thread_record *record = th_thread_first();

	for (; record; record = th_thread_next(record))
		claim_stack(tables, record);
}

/* Direct mappings */

static const char *
owner_name(uint32_t module)
{
	const struct th_module *found = th_module_get(module);

	return found ? found->path : "";
}

/* The stack that mapped a range, or else the one that reserved its addresses; 0: unknown. */
static uint32_t
stack_of(const struct th_range *range)
{
	const struct th_event_mapped_alloc *alloc = th_log_get(
		range->sample, TH_EVENT_MAPPED_ALLOC);

	if (!alloc)
		alloc = th_log_get(range->place, TH_EVENT_MAPPED_ALLOC);
	return alloc ? alloc->stack : 0;
}

/* Claims directly mapped memory, with the stack if it was sampled. */
static void
claim_mapped(struct th_breakdown_tables *tables)
{
	struct th_range range = {.end = 0};
	while (th_mapping_next(range.end, &range)) {
		const char *owner = owner_name(range.owner);
		/*
		 * Mappings of an underlying allocator are its heaps; their blocks are recorded
		 * themselves.
		 */
		bool is_heap = tables->allocator && th_name_ends_with(owner, tables->allocator);
		const struct th_claim claim = {
			.start = range.start,
			.end = range.end,
			.name = is_heap ? tables->allocator : owner,
			.category = is_heap ? TH_MEMORY_MALLOC : TH_MEMORY_MAPPED,
			.stack = stack_of(&range),
			.sample = range.flags & TH_MAPPED_RESERVED ? 0 : range.sample,
		};

		if (range.owner)
			th_breakdown_claim(&tables->claims, TH_CLAIM_OWNER, &claim);
	}
}

void
th_breakdown_owners_claim(struct th_breakdown_tables *tables)
{
	tables->claims.exact.count = tables->claims.owners.count = 0;
	tables->claims.exact.is_full = tables->claims.owners.is_full = false;
	th_memory_each(claim_region, tables);
	claim_images(tables);
	claim_arenas(tables);
	claim_stacks(tables);
	claim_mapped(tables);
}

/* Blocks */

static bool
is_malloc(const struct th_claims *claims, uintptr_t address)
{
	uintptr_t next;
	const struct th_claim *claim = th_claims_at(claims, address, &next);

	return claim && claim->category == TH_MEMORY_MALLOC;
}

bool
th_breakdown_owners_is_heap(const struct th_breakdown_tables *tables, uintptr_t address)
{
	const struct th_address_space_entry *entry = th_address_space_find(
		&tables->space, address);

	return tables->allocator || is_malloc(&tables->claims.exact, address) ||
	       (entry && !strcmp(th_address_space_path(&tables->space, entry), "[heap]"));
}

/*
 * Attributes the mapping around a block to the allocator, which is not libc's.  A recorded
 * mapping there is the allocator's, made through another library.  Otherwise the allocator owns
 * all memory there without another owner.  The kernel joins adjacent mappings, so a mapping may also
 * hold memory of other owners.
 */
static void
claim_around(struct th_breakdown_tables *tables, uintptr_t address)
{
	struct th_claims *owners = &tables->claims.owners;
	uintptr_t next;
	const struct th_claim *found = th_claims_at(owners, address, &next);
	const struct th_address_space_entry *entry = th_address_space_find(
		&tables->space, address);

	if (found) {
		struct th_claim *claim = &owners->items[found - owners->items];

		claim->category = TH_MEMORY_MALLOC;
		claim->name = tables->allocator;
	}
	if (entry)
		tables->space.entries[entry - tables->space.entries].has_blocks = true;
}

/*
 * A large block outside the allocator's heaps has a mapping of its own: from its header, two
 * words before the block, to a page boundary.
 */
static void
claim_block(struct th_breakdown_tables *tables, const struct th_breakdown_block *block)
{
	const struct th_address_space_entry *entry;
	uintptr_t address = block->address;

	if (tables->allocator) {
		claim_around(tables, address);
		return;
	}
	if (block->size < OWN_MAPPING_LEAST)
		return;
	entry = th_address_space_find(&tables->space, address);
	if (!entry || !th_address_space_is_nameless(&tables->space, entry) ||
		is_malloc(&tables->claims.exact, address))
		return;
	uintptr_t start = address - 2 * sizeof(void *);
	uintptr_t end = address + block->size;

	claim_exact(tables, start > entry->start ? start : entry->start,
		end < entry->end ? end : entry->end, TH_MEMORY_MALLOC_MAPPED, "");
}

static void
add_block(uintptr_t address, uint64_t sample, void *data)
{
	struct th_breakdown_tables *tables = data;
	const struct th_event_native_alloc *alloc = th_log_get(sample, TH_EVENT_NATIVE_ALLOC);

	if (alloc && alloc->address == address && tables->block_count < TH_LIVE_BLOCKS_MAX)
		tables->blocks[tables->block_count++] = (struct th_breakdown_block){
			address, sample, alloc->size};
}

void
th_breakdown_owners_settle(struct th_breakdown_tables *tables)
{
	struct th_breakdown_claims *claims = &tables->claims;

	th_claims_sort(&claims->exact);
	th_claims_sort(&claims->owners);
	/* These look up the claims made so far. */
	uint32_t known = claims->exact.count;
	tables->block_count = 0;
	th_live_blocks_each(add_block, tables);
	for (uint32_t i = 0; i < tables->block_count; i++)
		claim_block(tables, &tables->blocks[i]);
	if (claims->exact.count != known)
		th_claims_sort(&claims->exact);
}
