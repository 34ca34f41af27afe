/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits each mapping into pieces with one owner each, divides the resident bytes of the
 * mapping among them by the present bits of their pages, and adds each piece to its row.  The
 * pieces of a mapping add up to its bytes exactly.
 */
#include "unify/resident/tables.h"

#include <string.h>

#include "unify/base/align.h"
#include "unify/log/log.h"
#include "unify/resident/remote_tables.h"
#include "unify/sample/thread.h"
#include "unify/shared/hash.h"

/*
 * Mapped files with fewer resident bytes share a row: 60 libraries of a VM would fill a screen.
 */
#define FILE_ROW_LEAST (256u << 10)

/* Of a longer name of a row the beginning is stored. */
#define NAME_MAX_LENGTH (TH_MAPPING_PATH_MAX - 1)

/* Maximum number of ranges into which a partly resident malloc heap is divided. */
#define STRETCHES_OF_HEAP 64
/* Minimum size of these ranges. */
#define STRETCH_LEAST ((uintptr_t)64 << 10)

/*
 * The table of rows, with linear search by hash.  Its last rows are reserved for amounts that no
 * longer fit under their name, one row for each category, so that the sum is always complete.
 */

static uint32_t
hash_of(const char *name)
{
	return (uint32_t)th_hash_bytes(TH_HASH_START, name, strnlen(name, NAME_MAX_LENGTH));
}

static struct th_breakdown_row *
find(struct th_breakdown_rows *rows, const struct th_event_account_row *event, const char *name,
	uint32_t hash)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		struct th_breakdown_row *row = &rows->items[i];

		if (row->hash == hash && row->event.category == event->category &&
			row->event.stack == event->stack &&
			!strncmp(row->name, name, NAME_MAX_LENGTH))
			return row;
	}
	return NULL;
}

static struct th_breakdown_row *
find_or_make(struct th_breakdown_rows *rows, const struct th_event_account_row *event,
	const char *name)
{
	uint32_t hash = hash_of(name);
	struct th_breakdown_row *row = find(rows, event, name, hash);

	if (row)
		return row;
	row = &rows->items[rows->count++];
	*row = (struct th_breakdown_row){
		.hash = hash, .event = {.category = event->category, .stack = event->stack}};
	strncpy(row->name, name, NAME_MAX_LENGTH);
	return row;
}

static void
add_amounts(struct th_event_account_row *sum, const struct th_event_account_row *event)
{
	sum->resident += event->resident;
	sum->swapped += event->swapped;
	sum->size += event->size;
	sum->accessible += event->accessible;
	sum->mappings += event->mappings;
}

void
th_breakdown_rows_add(struct th_breakdown_rows *rows, const struct th_event_account_row *event,
	const char *name)
{
	struct th_event_account_row nameless = *event;

	if (rows->count >= TH_BREAKDOWN_ROWS_MAX - TH_MEMORY_CATEGORIES &&
		!find(rows, event, name, hash_of(name))) {
		rows->is_full = true;
		nameless.stack = 0;
		name = "";
	}
	add_amounts(&find_or_make(rows, &nameless, name)->event, event);
}

void
th_breakdown_rows_fold(struct th_breakdown_rows *rows, enum th_memory_category category,
	uint64_t least, const char *name)
{
	struct th_event_account_row sum = {.category = category};
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rows->count; i++) {
		struct th_breakdown_row *row = &rows->items[i];

		if (row->event.category == category && row->event.resident < least &&
			!row->event.swapped) {
			add_amounts(&sum, &row->event);
			continue;
		}
		if (kept != i)
			rows->items[kept] = *row;
		kept++;
	}
	rows->count = kept;
	if (sum.mappings)
		th_breakdown_rows_add(rows, &sum, name);
}

/* Heaps of malloc */

/* Fully resident neighbours are joined, and so are fully absent ones. */
static bool
joins(const struct th_breakdown_stretch *last, const struct th_breakdown_stretch *next)
{
	bool is_full = last->resident == last->bytes && next->resident == next->bytes;

	return last->start + last->bytes == next->start &&
	       (is_full || (!last->resident && !next->resident));
}

static void
add_stretch(
	struct th_breakdown_tables *tables, uintptr_t start, uintptr_t end, uint64_t resident)
{
	const struct th_breakdown_stretch stretch = {start, end - start, resident};
	struct th_breakdown_stretch *last =
		tables->stretch_count ? &tables->stretches[tables->stretch_count - 1] : NULL;

	if (last && joins(last, &stretch)) {
		last->bytes += stretch.bytes;
		last->resident += resident;
	} else if (tables->stretch_count < TH_BREAKDOWN_STRETCHES_MAX) {
		tables->stretches[tables->stretch_count++] = stretch;
	}
}

/*
 * Divides a partly resident heap into ranges.  They need not add up to those of the mapping: the
 * reader compares blocks with the memory around them.
 */
static void
add_heap(struct th_breakdown_tables *tables, const struct th_breakdown_piece *piece)
{
	uintptr_t step = th_align_down(
		(piece->end - piece->start) / STRETCHES_OF_HEAP, TH_PAGE_BYTES);

	if (!piece->use.resident)
		return;
	if (step < STRETCH_LEAST)
		step = STRETCH_LEAST;
	/* Less than one range is missing: not worth reading the page table. */
	if (piece->use.resident + step >= piece->end - piece->start) {
		add_stretch(tables, piece->start, piece->end, piece->use.resident);
		return;
	}
	for (uintptr_t at = piece->start; at < piece->end; at += step) {
		uintptr_t end = piece->end - at > step ? at + step : piece->end;

		add_stretch(tables, at, end, th_page_map_use(&tables->pages, at, end).resident);
	}
}

/* Categories */

static bool
starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* The category by the kernel's name of a mapping; `*name` is set to the name of the row. */
static enum th_memory_category
category_of(const struct th_breakdown_tables *tables,
	const struct th_address_space_entry *entry, const char **name)
{
	const char *path = *name;

	if (tables->log_path && !strcmp(path, tables->log_path)) {
		*name = "log";
		return TH_MEMORY_OWN;
	}
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
	if (th_name_ends_with(path, ".jsa"))
		return TH_MEMORY_CLASS_ARCHIVE;
	if (starts_with(path, "/memfd:") || starts_with(path, "/SYSV") ||
		starts_with(path, "/dev/shm/") || starts_with(path, "/dev/zero"))
		return TH_MEMORY_SHARED;
	if (entry->has_file)
		return TH_MEMORY_FILE;
	if (!*path && entry->has_blocks) {
		*name = tables->allocator;
		return TH_MEMORY_MALLOC;
	}
	return entry->is_shared ? TH_MEMORY_SHARED : TH_MEMORY_UNKNOWN;
}

/* Replaces digits, "pool-1-thread-17" by "pool-#-thread-#": threads of a pool share a row. */
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

/* Rows */

static void
add_to_row(struct th_breakdown_tables *tables, const struct th_address_space_entry *entry,
	const struct th_breakdown_piece *piece)
{
	struct th_event_account_row event = {
		.resident = piece->use.resident,
		.swapped = piece->use.swapped,
		.size = piece->end - piece->start,
		.accessible = entry->is_accessible ? piece->end - piece->start : 0,
		.mappings = 1,
		.stack = piece->claim ? piece->claim->stack : 0,
	};
	const char *name = piece->claim ? piece->claim->name
					: th_address_space_path(&tables->space, entry);
	char stack[TH_THREAD_NAME_MAX];

	event.category = piece->claim ? piece->claim->category
				      : category_of(tables, entry, &name);
	if (event.category == TH_MEMORY_MALLOC)
		add_heap(tables, piece);
	if (event.category == TH_MEMORY_STACK) {
		name_stack(name, stack, sizeof(stack));
		name = stack;
	}
	if (event.category == TH_MEMORY_FILE && tables->own_path &&
		!strcmp(name, tables->own_path)) {
		event.category = TH_MEMORY_OWN;
		name = "library";
	}
	th_breakdown_rows_add(&tables->rows, &event, name);
}

/* Pieces */

/* Adds to the resident bytes of a claim, which may have pieces in several mappings. */
static void
add_to_claim(struct th_breakdown_tables *tables, const struct th_breakdown_piece *piece)
{
	struct th_claims *owners = &tables->claims.owners;
	struct th_claim *claim;

	if (!piece->claim || !piece->claim->sample)
		return;
	claim = &owners->items[piece->claim - owners->items];
	claim->resident += piece->use.resident;
	claim->is_measured = true;
}

/* The owner of `address`, and the end of that.  A file mapping has no owner but the file. */
static const struct th_claim *
claim_at(const struct th_breakdown_tables *tables, const struct th_address_space_entry *entry,
	uintptr_t address, uintptr_t *next_ret)
{
	const struct th_breakdown_claims *claims = &tables->claims;
	const struct th_claim *claim = th_claims_at(&claims->exact, address, next_ret);
	uintptr_t next;

	if (claim || !th_address_space_is_nameless(&tables->space, entry))
		return claim;
	claim = th_claims_at(&claims->owners, address, &next);
	if (next < *next_ret)
		*next_ret = next;
	return claim;
}

static uint32_t
split(struct th_breakdown_tables *tables, const struct th_address_space_entry *entry)
{
	uintptr_t at = entry->start;
	uint32_t count = 0;

	while (at < entry->end) {
		uintptr_t next;
		const struct th_claim *claim = claim_at(tables, entry, at, &next);

		if (next > entry->end || count == TH_BREAKDOWN_PIECES_MAX - 1)
			next = entry->end;
		tables->pieces[count++] = (struct th_breakdown_piece){at, next, claim, {0, 0}};
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
 * Divides the bytes of a mapping by the resident pages of its pieces, or without pages
 * by their sizes.  The last piece takes the rounding error.
 */
static void
share_out(struct th_breakdown_tables *tables, const struct th_address_space_entry *entry,
	uint32_t count)
{
	uint64_t left = entry->resident;
	uint64_t swap_left = entry->swapped;
	struct th_page_use sum = {0, 0};

	for (uint32_t i = 0; i < count; i++) {
		struct th_breakdown_piece *piece = &tables->pieces[i];

		piece->use = th_page_map_use(&tables->pages, piece->start, piece->end);
		sum.resident += piece->use.resident;
		sum.swapped += piece->use.swapped;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct th_breakdown_piece *piece = &tables->pieces[i];
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

/* A file's row has its name, but its pages are also those of the samples that mapped it. */
static void
measure_file(struct th_breakdown_tables *tables, const struct th_address_space_entry *entry)
{
	uintptr_t at = entry->start;

	while (at < entry->end) {
		struct th_breakdown_piece piece = {.start = at};

		piece.claim = th_claims_at(&tables->claims.owners, at, &piece.end);
		if (piece.end > entry->end)
			piece.end = entry->end;
		at = piece.end;
		if (!piece.claim || !piece.claim->sample)
			continue;
		piece.use = (struct th_page_use){entry->resident, 0};
		if (entry->resident && piece.end - piece.start < entry->end - entry->start)
			piece.use = th_page_map_use(&tables->pages, piece.start, piece.end);
		add_to_claim(tables, &piece);
	}
}

static void
add_mapping(struct th_breakdown_tables *tables, const struct th_address_space_entry *entry)
{
	bool is_nameless = th_address_space_is_nameless(&tables->space, entry);
	uint32_t count = split(tables, entry);

	if (count == 1 || (!entry->resident && !entry->swapped))
		tables->pieces[0].use = (struct th_page_use){entry->resident, entry->swapped};
	else
		share_out(tables, entry, count);
	for (uint32_t i = 0; i < count; i++) {
		add_to_row(tables, entry, &tables->pieces[i]);
		if (is_nameless)
			add_to_claim(tables, &tables->pieces[i]);
	}
	if (!is_nameless)
		measure_file(tables, entry);
}

/* All mappings */

/* The path of the mapping that contains `address`; "": it has none. */
static const char *
path_at(const struct th_breakdown_tables *tables, uintptr_t address)
{
	const struct th_address_space_entry *entry = th_address_space_find(
		&tables->space, address);

	return entry ? th_address_space_path(&tables->space, entry) : "";
}

/* The library's image and its log have rows of their own. */
static void
find_own_paths(struct th_breakdown_tables *tables)
{
	const char *image = path_at(tables, (uintptr_t)th_log_header()->observed);
	const char *log = path_at(tables, th_remote_tables.log);

	tables->own_path = th_name_ends_with(image, ".so") ? image : NULL;
	tables->log_path = *log ? log : NULL;
}

void
th_breakdown_divide(struct th_breakdown_tables *tables)
{
	const struct th_address_space *space = &tables->space;

	find_own_paths(tables);
	tables->rows.count = 0;
	tables->rows.is_full = false;
	tables->stretch_count = 0;
	for (uint32_t i = 0; i < space->count; i++)
		add_mapping(tables, &space->entries[i]);
	th_breakdown_rows_fold(&tables->rows, TH_MEMORY_FILE, FILE_ROW_LEAST,
		"[files with less than 256 KiB]");
}
