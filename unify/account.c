/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything an account needs lies in tables of our own, since it may be taken inside malloc, on
 * a stack of 32 KiB.  One thread at a time takes an account: who finds the lock held goes on.
 */
#include "unify/account.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unify/account_rows.h"
#include "unify/address_space.h"
#include "unify/arenas.h"
#include "unify/atomic.h"
#include "unify/cgroup.h"
#include "unify/clock.h"
#include "unify/control.h"
#include "unify/live.h"
#include "unify/log.h"
#include "unify/mapping.h"
#include "unify/memory.h"
#include "unify/module.h"
#include "unify/page_map.h"
#include "unify/proc_file.h"
#include "unify/thread.h"

/* Claims of either rank: a stack for each of 65,536 threads, or a mapping for each block. */
#define CLAIMS_MAX 131072u
/* Pieces of one mapping that belong to different owners; the last takes the rest. */
#define PIECES_MAX 8192u
/* Blocks in one TOUCHED: 8 KiB of the log. */
#define TOUCHED_MAX 512u
/* Parts of mappings that an account tells of: 64 KiB of the log. */
#define MAPPED_MAX 4096u
/* Mapped files that have less in memory share a row: 60 libraries of a VM would fill a screen. */
#define FILE_ROW_LEAST (256u << 10)
/*
 * Below glibc's smallest mmap threshold a block cannot have a mapping of its own
 * (malloc/malloc.c, DEFAULT_MMAP_THRESHOLD_MIN).
 */
#define OWN_MAPPING_LEAST (128u << 10)
/* struct pthread lies behind the thread's static TLS: 2,304 bytes in glibc 2.36. */
#define PTHREAD_BYTES 2304u

/* Granularity of claims; every supported kernel has pages of this size or a multiple. */
#define PAGE_MASK ((uintptr_t)4095)

/* When accounts are taken. */
#define FIRST_NS (2 * (uint64_t)TH_NS_PER_S)
/* The log grows with the logarithm of the time: 50 accounts for each 2.7-fold. */
#define SPACING_SHARE 50
/* One part in so many of the time may go into accounts, */
#define COST_SPACING 500
/*
 * and so much besides, once: processor time of 25 accounts of a gigabyte.  Recordings of
 * some seconds could not tell growth that goes on from growth that ended otherwise.
 */
#define CREDIT_NS ((int64_t)TH_NS_PER_S / 2)
/* A process that grows steadily has four accounts in the later half of any recording. */
#define GROWTH_SPACING_SHARE 8
/* Even then no more than one part in so many of the time. */
#define BURST_SPACING 25
/* The resident set is looked at as often, 16 times while the recording grows 2.7-fold, */
#define LOOK_SHARE 16
/* but not more often than this, nor less often than once a second. */
#define LOOK_LEAST_NS (TH_NS_PER_S / 10)
/* The VM ends, and right after it the process: one account is enough. */
#define FRESH_NS (TH_NS_PER_S / 2)
/* Growth that calls for one on the agent thread: 5 % and 16 MiB above all accounts so far. */
#define GROWTH_SHARE 20
#define GROWTH_BYTES (16u << 20)
/* On a thread of the application, which waits for it: 25 % and 64 MiB. */
#define HOST_GROWTH_SHARE 4
#define HOST_GROWTH_BYTES (64u << 20)

struct th_account_claims {
	struct th_claims exact;
	struct th_claims owners;
};

/* Part of a mapping that has one owner. */
struct piece {
	uintptr_t start;
	uintptr_t end;
	const struct th_claim *claim; /* NULL: by what the mapping itself says */
	struct th_page_use use;
};

/* The tables, touched as far as they are used. */
struct tables {
	struct th_address_space space;
	struct th_account_claims claims;
	struct th_account_rows rows;
	struct th_page_map pages;
	struct piece pieces[PIECES_MAX];
	uint64_t touched[2 * TOUCHED_MAX];
	uint32_t touched_count; /* blocks */
	struct th_event_account event;
	const char *own_path; /* of this library's image */
	char text[TH_CGROUP_TEXT_MAX];
};

static struct {
	struct tables *tables;   /* atomic; NULL: no accounts */
	struct th_spinlock busy; /* held while the tables are in use */
	struct th_cgroup group;
	uint64_t start;        /* when the recording began */
	uint64_t next_look;    /* atomic: at the resident set */
	uint64_t next_regular; /* not before, under `busy` like all below */
	uint64_t next_growth;  /* on the agent thread */
	uint64_t next_host;    /* the same on a thread of the application */
	int64_t credit;        /* processor time that accounts may take, nanoseconds */
	uint64_t credit_time;  /* when that was so */
	uint64_t highest;      /* resident bytes of all accounts so far */
	uint32_t number;       /* accounts so far */
	uint64_t last_end;     /* when one was taken because something ends; 0 = never */
	bool has_owners;
	pid_t agent;           /* thread id of the agent thread; 0 = none */
	const char *allocator; /* its name, NULL if it is libc's */
	uint32_t source_count; /* atomic */
	const struct th_account_source *sources[TH_ACCOUNT_SOURCES_MAX];
} account;

/* Registration */

bool
th_account_add_source(const struct th_account_source *source)
{
	uint32_t count = th_load_relaxed(&account.source_count);

	if (count == TH_ACCOUNT_SOURCES_MAX)
		return false;
	account.sources[count] = source;
	/* Pairs with the acquire in ask_sources(): the source is there. */
	th_store_release(&account.source_count, count + 1);
	return true;
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

/* Our own claims */

static void
claim_exact(struct tables *tables, uintptr_t start, uintptr_t end,
	enum th_memory_category category, const char *name)
{
	const struct th_claim claim = {
		.start = start, .end = end, .name = name, .category = category};

	th_account_claim(&tables->claims, TH_CLAIM_EXACT, &claim);
}

static void
claim_region(const void *start, size_t bytes, void *data)
{
	claim_exact(data, (uintptr_t)start, (uintptr_t)start + bytes, TH_MEMORY_OWN, "tables");
}

static void
claim_own(struct tables *tables)
{
	uintptr_t start, end;

	th_memory_each(claim_region, tables);
	if (th_log_range(&start, &end))
		claim_exact(tables, start, end, TH_MEMORY_OWN, "log");
}

/* Data without contents of loaded objects is an anonymous mapping behind their file. */
static void
claim_images(struct tables *tables)
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
claim_arenas_in(struct tables *tables, const struct th_address_space_entry *entry)
{
	uintptr_t at = (entry->start + TH_ARENA_HEAP_BYTES - 1) & -TH_ARENA_HEAP_BYTES;
	uintptr_t end;

	for (; at < entry->end; at += TH_ARENA_HEAP_BYTES)
		if (th_arena_heap_at(at, &end))
			claim_exact(tables, at, end, TH_MEMORY_MALLOC, "arenas");
}

static void
claim_arenas(struct tables *tables)
{
	const struct th_address_space *space = &tables->space;

	for (uint32_t i = 0; i < space->count; i++) {
		const struct th_address_space_entry *entry = &space->entries[i];

		if (entry->is_writable && !entry->has_file && !entry->is_shared &&
			!*th_address_space_path(space, entry))
			claim_arenas_in(tables, entry);
	}
}

/* Where a stack ends that has the thread's TLS at its upper end (nptl/allocatestack.c). */
static uintptr_t
stack_end(const struct th_thread *state)
{
	const char *own = (const char *)&th_thread;

	/* Or gcc folds both into an instruction that the linker cannot relax. */
	__asm__("" : "+r"(own));
	/* The same in every thread: from our TLS to the thread pointer. */
	intptr_t to_pointer = (char *)__builtin_thread_pointer() - own;
	uintptr_t pointer = (uintptr_t)state + (uintptr_t)to_pointer;
	uintptr_t last = pointer > (uintptr_t)state ? pointer : (uintptr_t)state;

	return (last + PTHREAD_BYTES + PAGE_MASK) & ~PAGE_MASK;
}

static void
claim_stack(struct tables *tables, const struct th_thread_record *record)
{
	const struct th_thread *state = th_load_acquire(&record->state);
	const struct th_address_space_entry *entry =
		state ? th_address_space_find(&tables->space, (uintptr_t)state) : NULL;

	/* The kernel made the main thread's stack, and names it. */
	if (!entry || entry->has_file || record->tid == (uint32_t)getpid())
		return;
	uintptr_t end = stack_end(state);
	claim_exact(tables, entry->start, end < entry->end ? end : entry->end, TH_MEMORY_STACK,
		record->name);
	tables->event.threads++;
}

static void
claim_stacks(struct tables *tables)
{
	struct th_thread_record *record = th_thread_first();

	for (; record; record = th_thread_next(record))
		claim_stack(tables, record);
}

/* Blocks */

static bool
is_malloc(const struct th_claims *claims, uintptr_t address)
{
	uintptr_t next;
	const struct th_claim *claim = th_claims_at(claims, address, &next);

	return claim && claim->category == TH_MEMORY_MALLOC;
}

/* Allocators that map for themselves leave no other trace than their blocks. */
static void
claim_around(struct tables *tables, const struct th_address_space_entry *entry)
{
	const struct th_claim claim = {
		.start = entry->start,
		.end = entry->end,
		.name = account.allocator,
		.category = TH_MEMORY_MALLOC,
	};

	th_account_claim(&tables->claims, TH_CLAIM_OWNER, &claim);
}

/*
 * A large block outside the allocator's heaps has a mapping of its own: from its head, two words
 * before the block, to a border of pages.
 */
static void
claim_block(uintptr_t address, uint64_t sample, void *data)
{
	struct tables *tables = data;
	const struct th_event_native_alloc *alloc = th_log_get(sample, TH_EVENT_NATIVE_ALLOC);
	const struct th_address_space_entry *entry;

	if (!alloc || alloc->address != address ||
		(!account.allocator && alloc->size < OWN_MAPPING_LEAST))
		return;
	entry = th_address_space_find(&tables->space, address);
	if (entry && account.allocator) {
		claim_around(tables, entry);
		return;
	}
	if (!entry || entry->has_file || *th_address_space_path(&tables->space, entry) ||
		is_malloc(&tables->claims.exact, address))
		return;
	uintptr_t start = address - 2 * sizeof(void *);
	uintptr_t end = address + alloc->size;

	claim_exact(tables, start > entry->start ? start : entry->start,
		end < entry->end ? end : entry->end, TH_MEMORY_MALLOC_MAPPED, "");
}

static void
write_touched(struct tables *tables)
{
	struct th_event_touched event = {.account = account.number};
	struct th_log_part blocks = {tables->touched, 2 * tables->touched_count};

	if (tables->touched_count)
		th_log_append(TH_EVENT_TOUCHED, &event, &blocks, 1);
	tables->touched_count = 0;
}

/* Whether a block lies in a heap of the allocator; what small blocks do, whatever else. */
static bool
is_in_heap(const struct tables *tables, uintptr_t address)
{
	const struct th_address_space_entry *entry = th_address_space_find(
		&tables->space, address);

	return account.allocator || is_malloc(&tables->claims.exact, address) ||
	       (entry && !strcmp(th_address_space_path(&tables->space, entry), "[heap]"));
}

static void
add_touched(struct tables *tables, uint64_t sample, uint64_t word)
{
	tables->touched[2 * tables->touched_count] = sample;
	tables->touched[2 * tables->touched_count + 1] = word;
	if (++tables->touched_count == TOUCHED_MAX)
		write_touched(tables);
}

static void
touch_block(uintptr_t address, uint64_t sample, void *data)
{
	struct tables *tables = data;
	const struct th_event_native_alloc *alloc = th_log_get(sample, TH_EVENT_NATIVE_ALLOC);

	if (!alloc || alloc->address != address)
		return;
	struct th_page_use use = th_page_map_use(
		&tables->pages, address, address + alloc->size);
	add_touched(tables, sample,
		use.resident | (is_in_heap(tables, address) ? 0 : TH_TOUCHED_OWN_MAPPING));
}

/* Sizes by the power of two below them; 0 by itself. */
static unsigned
size_class(uint64_t bytes)
{
	return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

/* The smallest class of which all claims, and all larger ones, come to MAPPED_MAX or less. */
static unsigned
least_class(const struct th_claims *claims)
{
	uint32_t counts[65] = {0};
	uint32_t sum = 0;
	unsigned least = 65;

	for (uint32_t i = 0; i < claims->count; i++)
		if (claims->items[i].is_measured)
			counts[size_class(claims->items[i].resident)]++;
	while (least > 0 && sum + counts[least - 1] <= MAPPED_MAX)
		sum += counts[--least];
	return least;
}

/* What of sampled mappings is in memory, as add_to_row() found it. */
static void
log_mapped(struct tables *tables)
{
	const struct th_claims *claims = &tables->claims.owners;
	unsigned least = least_class(claims);

	for (uint32_t i = 0; i < claims->count; i++) {
		const struct th_claim *claim = &claims->items[i];

		if (claim->is_measured && size_class(claim->resident) >= least)
			add_touched(tables, claim->sample, claim->resident);
	}
	write_touched(tables);
}

static void
log_touched(struct tables *tables)
{
	/* What was read for the rows is older than the blocks. */
	tables->pages.count = 0;
	th_live_each(touch_block, tables);
	write_touched(tables);
}

/* Rows */

static bool
ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

static bool
starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* What the kernel's own name of a mapping says; `*name` is made what the row is called. */
static enum th_memory_category
category_of(const struct th_address_space_entry *entry, const char **name)
{
	const char *path = *name;

	if (!strcmp(path, "[heap]")) {
		*name = "main heap";
		return TH_MEMORY_MALLOC;
	}
	if (starts_with(path, "[stack")) {
		*name = "main";
		return TH_MEMORY_STACK;
	}
	if (starts_with(path, "[anon:"))
		return TH_MEMORY_MAPPED;
	if (strstr(path, "java_heap"))
		return TH_MEMORY_JAVA_HEAP;
	if (path[0] == '[' && !entry->has_file)
		return entry->is_shared ? TH_MEMORY_SHARED : TH_MEMORY_KERNEL;
	if (ends_with(path, ".jsa"))
		return TH_MEMORY_CLASS_ARCHIVE;
	if (starts_with(path, "/memfd:") || starts_with(path, "/SYSV") ||
		starts_with(path, "/dev/shm/") || starts_with(path, "/dev/zero"))
		return TH_MEMORY_SHARED;
	if (entry->has_file)
		return TH_MEMORY_FILE;
	return entry->is_shared ? TH_MEMORY_SHARED : TH_MEMORY_UNKNOWN;
}

/* "pool-1-thread-17" is one of "pool-1-thread-#": threads of a pool share a row. */
static void
name_stack(const char *name, char *ret, size_t capacity)
{
	size_t length = 0;

	for (; *name && length < capacity - 1; name++) {
		bool is_digit = *name >= '0' && *name <= '9';

		if (!is_digit)
			ret[length++] = *name;
		else if (!length || ret[length - 1] != '#')
			ret[length++] = '#';
	}
	ret[length] = '\0';
}

/* Adds what of a claim is in memory; it may have pieces in several mappings. */
static void
add_to_claim(struct th_claims *claims, const struct piece *piece)
{
	struct th_claim *claim;

	if (!piece->claim || !piece->claim->sample)
		return;
	claim = &claims->items[piece->claim - claims->items];
	claim->resident += piece->use.resident;
	claim->is_measured = true;
}

static void
add_to_row(struct tables *tables, const struct th_address_space_entry *entry,
	const struct piece *piece)
{
	struct th_account_amount amount = {
		.resident = piece->use.resident,
		.swapped = piece->use.swapped,
		.size = piece->end - piece->start,
		.accessible = entry->is_accessible ? piece->end - piece->start : 0,
		.mappings = 1,
	};
	const char *name = piece->claim ? piece->claim->name
					: th_address_space_path(&tables->space, entry);
	char stack[TH_THREAD_NAME_MAX];
	enum th_memory_category category = piece->claim ? piece->claim->category
							: category_of(entry, &name);

	if (category == TH_MEMORY_STACK) {
		name_stack(name, stack, sizeof(stack));
		name = stack;
	}
	if (category == TH_MEMORY_FILE && tables->own_path && !strcmp(name, tables->own_path)) {
		category = TH_MEMORY_OWN;
		name = "library";
	}
	const struct th_account_key key = {
		category, piece->claim ? piece->claim->stack : 0, name};

	th_account_rows_add(&tables->rows, &key, &amount);
}

/* Who owns `address`, and up to where.  A file's mapping has no owner but the file. */
static const struct th_claim *
claim_at(const struct tables *tables, const struct th_address_space_entry *entry,
	uintptr_t address, uintptr_t *next_ret)
{
	const struct th_account_claims *claims = &tables->claims;
	const struct th_claim *claim = th_claims_at(&claims->exact, address, next_ret);
	uintptr_t next;

	if (claim || entry->has_file || *th_address_space_path(&tables->space, entry))
		return claim;
	claim = th_claims_at(&claims->owners, address, &next);
	if (next < *next_ret)
		*next_ret = next;
	return claim;
}

static uint32_t
split(struct tables *tables, const struct th_address_space_entry *entry)
{
	uintptr_t at = entry->start;
	uint32_t count = 0;

	while (at < entry->end) {
		uintptr_t next;
		const struct th_claim *claim = claim_at(tables, entry, at, &next);

		if (next > entry->end || count == PIECES_MAX - 1)
			next = entry->end;
		tables->pieces[count++] = (struct piece){at, next, claim, {0, 0}};
		at = next;
	}
	return count;
}

static uint64_t
scale(uint64_t part, uint64_t whole, uint64_t wanted)
{
	return (uint64_t)((unsigned __int128)part * wanted / whole);
}

/*
 * Shares out what smaps says of a mapping by the pages of its pieces; without pages by their
 * sizes.  The last piece takes what rounding leaves.
 */
static void
share_out(struct tables *tables, const struct th_address_space_entry *entry, uint32_t count)
{
	uint64_t left = entry->resident;
	uint64_t swap_left = entry->swapped;
	struct th_page_use sum = {0, 0};

	for (uint32_t i = 0; i < count; i++) {
		struct piece *piece = &tables->pieces[i];

		piece->use = th_page_map_use(&tables->pages, piece->start, piece->end);
		sum.resident += piece->use.resident;
		sum.swapped += piece->use.swapped;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct piece *piece = &tables->pieces[i];
		uint64_t bytes = piece->end - piece->start;
		uint64_t size = entry->end - entry->start;

		piece->use.resident = sum.resident ? scale(piece->use.resident, sum.resident,
							     entry->resident)
						   : scale(bytes, size, entry->resident);
		piece->use.swapped = sum.swapped ? scale(piece->use.swapped, sum.swapped,
							   entry->swapped)
						 : 0;
		if (i == count - 1)
			piece->use = (struct th_page_use){left, swap_left};
		left -= piece->use.resident;
		swap_left -= piece->use.swapped;
	}
}

static void
add_mapping(struct tables *tables, const struct th_address_space_entry *entry)
{
	uint32_t count = split(tables, entry);

	if (count == 1 || (!entry->resident && !entry->swapped))
		tables->pieces[0].use = (struct th_page_use){entry->resident, entry->swapped};
	else
		share_out(tables, entry, count);
	for (uint32_t i = 0; i < count; i++) {
		add_to_row(tables, entry, &tables->pieces[i]);
		add_to_claim(&tables->claims.owners, &tables->pieces[i]);
	}
}

static void
log_rows(const struct th_account_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct th_account_row *row = &rows->items[i];
		struct th_event_account_row event = {
			.resident = row->amount.resident,
			.swapped = row->amount.swapped,
			.size = row->amount.size,
			.accessible = row->amount.accessible,
			.account = account.number,
			.category = row->category,
			.mappings = row->amount.mappings,
			.stack = row->stack,
		};
		struct th_log_part name = th_log_text(row->name);

		th_log_append(TH_EVENT_ACCOUNT_ROW, &event, &name, 1);
	}
}

/* The resident set */

struct resident {
	uint64_t all;
	uint64_t file;
};

/* /proc/self/statm: size, resident, shared, in pages. */
static struct resident
read_resident(void)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pages[3] = {0, 0, 0};
	char text[256];
	const char *at = text;

	th_proc_file_read("/proc/self/statm", text, sizeof(text));
	for (int i = 0; i < 3; i++)
		th_proc_number(&at, &pages[i]);
	return (struct resident){pages[1] * page_bytes, pages[2] * page_bytes};
}

static uint64_t
log_resident(uint64_t now)
{
	struct resident resident = read_resident();
	struct th_event_resident event = {
		.time = now,
		.resident = resident.all,
		.file = resident.file,
		.group = th_cgroup_current(&account.group),
	};

	th_log_append(TH_EVENT_RESIDENT, &event, NULL, 0);
	return resident.all;
}

static void
log_group(char *text)
{
	const struct th_cgroup *group = &account.group;
	struct th_cgroup_use use = th_cgroup_use(group, text);
	struct th_event_cgroup event = {
		.limit = group->limit,
		.current = use.current,
		.anonymous = use.anonymous,
		.file = use.file,
		.kernel = use.kernel,
		.account = account.number,
		.version = group->version,
	};
	struct th_log_part path = th_log_text(group->path);

	if (group->version)
		th_log_append(TH_EVENT_CGROUP, &event, &path, 1);
}

/* An account */

static uint64_t
own_time(void)
{
	struct timespec used = {0, 0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * TH_NS_PER_S + (uint64_t)used.tv_nsec;
}

static uint32_t
source_count(void)
{
	return th_load_acquire(&account.source_count);
}

static const char *
owner_name(uint32_t module)
{
	const struct th_module *found = th_module_get(module);

	return found ? found->path : "";
}

/* What was mapped past malloc, with the stack that did it where that was sampled. */
static void
claim_mapped(struct tables *tables)
{
	struct th_range range = {.end = 0};
	/* Nothing is in memory of the first, and what is of the others is the file's. */
	const uint32_t untold = TH_MAPPED_RESERVED | TH_MAPPED_FILE | TH_MAPPED_SHARED;

	while (th_mapping_next(range.end, &range)) {
		const struct th_event_mapped_alloc *alloc = th_log_get(
			range.sample, TH_EVENT_MAPPED_ALLOC);
		const char *owner = owner_name(range.owner);
		/* An allocator underneath maps its heaps, for blocks that are told of anyhow. */
		bool is_heap = account.allocator && ends_with(owner, account.allocator);
		const struct th_claim claim = {
			.start = range.start,
			.end = range.end,
			.name = is_heap ? account.allocator : owner,
			.category = is_heap ? TH_MEMORY_MALLOC : TH_MEMORY_MAPPED,
			.stack = alloc ? alloc->stack : 0,
			.sample = range.flags & untold ? 0 : range.sample,
		};

		if (range.owner)
			th_account_claim(&tables->claims, TH_CLAIM_OWNER, &claim);
	}
}

/* Who owns what, before any mapping is looked at. */
static void
collect_claims(struct tables *tables)
{
	struct th_account_claims *claims = &tables->claims;

	claims->exact.count = 0;
	claims->owners.count = 0;
	claim_own(tables);
	claim_images(tables);
	claim_arenas(tables);
	claim_stacks(tables);
	claim_mapped(tables);
	for (uint32_t i = 0; i < source_count(); i++)
		if (account.sources[i]->claim)
			account.sources[i]->claim(claims);
	th_claims_sort(&claims->exact);
	/* These look up what was claimed so far. */
	uint32_t known = claims->exact.count;
	th_live_each(claim_block, tables);
	if (claims->exact.count != known)
		th_claims_sort(&claims->exact);
	th_claims_sort(&claims->owners);
}

/* The path of our own image, to tell it from other files. */
static void
find_own_path(struct tables *tables)
{
	const struct th_address_space_entry *entry = th_address_space_find(
		&tables->space, (uintptr_t)&account);
	const char *path = entry ? th_address_space_path(&tables->space, entry) : "";

	tables->own_path = ends_with(path, ".so") ? path : NULL;
}

static void
make_rows(struct tables *tables)
{
	const struct th_address_space *space = &tables->space;

	tables->rows.count = 0;
	for (uint32_t i = 0; i < space->count; i++)
		add_mapping(tables, &space->entries[i]);
	th_account_rows_fold(&tables->rows, TH_MEMORY_FILE, FILE_ROW_LEAST,
		"[files with less than 256 KiB]");
}

static uint32_t
flags_of(const struct tables *tables, bool has_pages)
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
fill(struct tables *tables, struct th_event_account *event)
{
	bool has_pages = th_page_map_open(&tables->pages);

	find_own_path(tables);
	collect_claims(tables);
	make_rows(tables);
	event->counted = read_resident().all;
	event->resident = tables->space.resident;
	event->swapped = tables->space.swapped;
	event->mappings = tables->space.count;
	event->account = ++account.number;
	log_rows(&tables->rows);
	if (has_pages) {
		log_mapped(tables);
		log_touched(tables);
	}
	th_page_map_close(&tables->pages);
	event->flags = flags_of(tables, has_pages);
	log_group(tables->text);
	for (uint32_t i = 0; i < source_count(); i++)
		if (account.sources[i]->log)
			account.sources[i]->log(
				event->account, account.agent == (pid_t)syscall(SYS_gettid));
}

/* Pays for an account; how long it takes until there is credit for another. */
static uint64_t
pause_after(uint64_t now, uint64_t cost)
{
	uint64_t pause = cost * BURST_SPACING;
	uint64_t debt;

	account.credit += (int64_t)((now - account.credit_time) / COST_SPACING);
	account.credit_time = now;
	if (account.credit > CREDIT_NS)
		account.credit = CREDIT_NS;
	account.credit -= (int64_t)cost;
	debt = account.credit < 0 ? (uint64_t)-account.credit * COST_SPACING : 0;
	return debt > pause ? debt : pause;
}

/* When the next one may be taken, by what this one cost. */
static void
plan_next(uint64_t now, const struct th_event_account *event)
{
	uint64_t pause = pause_after(now, event->cost);
	uint64_t growth_spacing = (now - account.start) / GROWTH_SPACING_SHARE;
	uint64_t spacing = (now - account.start) / SPACING_SHARE;

	if (spacing < FIRST_NS)
		spacing = FIRST_NS;
	account.next_growth = now + (pause > growth_spacing ? pause : growth_spacing);
	account.next_host = now + event->cost * COST_SPACING;
	account.next_regular = now + (pause > spacing ? pause : spacing);
	if (event->resident > account.highest)
		account.highest = event->resident;
}

/* Under the lock. */
static void
take(struct tables *tables, enum th_account_reason reason)
{
	uint64_t begin = own_time();
	struct th_event_account *event = &tables->event;

	*event = (struct th_event_account){.time = th_clock_now(), .reason = reason};
	if (!th_address_space_read(&tables->space)) {
		account.next_regular = UINT64_MAX;
		account.next_growth = UINT64_MAX;
		account.next_host = UINT64_MAX;
		return;
	}
	fill(tables, event);
	event->cost = own_time() - begin;
	th_log_append(TH_EVENT_ACCOUNT, event, NULL, 0);
	if (reason == TH_ACCOUNT_END)
		account.last_end = event->time;
	plan_next(th_clock_now(), event);
}

/* On a signal stack there may be less room than an account needs, some 5 KiB. */
static bool
is_on_signal_stack(void)
{
	stack_t stack = {.ss_flags = 0};

	return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK;
}

/* Takes one if it is due. */
static void
take_if_due(uint64_t now, uint64_t resident, bool agent)
{
	uint64_t share = agent ? GROWTH_SHARE : HOST_GROWTH_SHARE;
	uint64_t bytes = agent ? GROWTH_BYTES : HOST_GROWTH_BYTES;
	struct tables *tables = account.tables;

	if (now >= (agent ? account.next_growth : account.next_host) &&
		resident > account.highest + bytes &&
		resident > account.highest + account.highest / share &&
		(agent || !is_on_signal_stack()))
		take(tables, TH_ACCOUNT_GROWTH);
	else if (agent && now >= account.next_regular)
		take(tables, TH_ACCOUNT_REGULAR);
}

static uint64_t
look_spacing(uint64_t now)
{
	uint64_t spacing = (now - account.start) / LOOK_SHARE;

	if (spacing < LOOK_LEAST_NS)
		return LOOK_LEAST_NS;
	return spacing < TH_NS_PER_S ? spacing : TH_NS_PER_S;
}

void
th_account_poll(uint64_t now, bool agent)
{
	if (agent && !account.agent)
		account.agent = (pid_t)syscall(SYS_gettid);
	if (!th_load_acquire(&account.tables) || now < th_load_relaxed(&account.next_look) ||
		!th_trylock(&account.busy))
		return;
	/* Another thread may have looked meanwhile. */
	if (now >= account.next_look) {
		uint64_t resident = log_resident(now);

		th_store_relaxed(&account.next_look, now + look_spacing(now));
		take_if_due(now, resident, agent);
	}
	th_unlock(&account.busy);
}

void
th_account_take(enum th_account_reason reason)
{
	struct tables *tables = th_load_acquire(&account.tables);

	if (!tables || !th_trylock(&account.busy))
		return;
	log_resident(th_clock_now());
	take(tables, reason);
	th_unlock(&account.busy);
}

static void
take_as_asked(void)
{
	th_account_take(TH_ACCOUNT_ASKED);
}

/* Life */

bool
th_account_start(bool has_owners)
{
	struct tables *tables = th_memory_map(sizeof(*tables));
	uint64_t now = th_clock_now();

	if (!tables)
		return false;
	tables->claims.exact.capacity = CLAIMS_MAX;
	tables->claims.owners.capacity = CLAIMS_MAX;
	tables->claims.exact.items = th_memory_map(CLAIMS_MAX * sizeof(struct th_claim));
	tables->claims.owners.items = th_memory_map(CLAIMS_MAX * sizeof(struct th_claim));
	tables->rows.items = th_memory_map(TH_ACCOUNT_ROWS_MAX * sizeof(*tables->rows.items));
	if (!tables->claims.exact.items || !tables->claims.owners.items ||
		!tables->rows.items || !th_address_space_init(&tables->space))
		return false;
	th_cgroup_find(&account.group);
	account.start = now;
	account.has_owners = has_owners;
	account.next_look = now;
	account.credit = CREDIT_NS;
	account.credit_time = now;
	account.next_regular = now + FIRST_NS;
	th_control_on_flush(take_as_asked);
	th_store_release(&account.tables, tables);
	return true;
}

void
th_account_end(void)
{
	uint64_t now = th_clock_now();

	if (!account.last_end || now - account.last_end > FRESH_NS)
		th_account_take(TH_ACCOUNT_END);
}

void
th_account_reset(void)
{
	account.tables = NULL;
	account.busy.held = 0;
	account.agent = 0;
	account.highest = 0;
	account.number = 0;
	account.last_end = 0;
}
