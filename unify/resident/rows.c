/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of rows with linear search by hash.  Its last rows are reserved for amounts that no
 * longer fit under their name, one row for each category, so that the sum is always complete.
 */
#include "unify/resident/rows.h"

#include <string.h>

/* FNV-1a, 32 bits. */
static uint32_t
hash_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

static struct th_breakdown_row *
find(struct th_breakdown_rows *rows, const struct th_breakdown_key *key, uint32_t hash)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		struct th_breakdown_row *row = &rows->items[i];

		if (row->hash == hash && row->category == key->category &&
			row->stack == key->stack && !strcmp(row->name, key->name))
			return row;
	}
	return NULL;
}

static struct th_breakdown_row *
make(struct th_breakdown_rows *rows, const struct th_breakdown_key *key, uint32_t hash)
{
	struct th_breakdown_row *row = &rows->items[rows->count++];

	*row = (struct th_breakdown_row){
		.category = key->category, .stack = key->stack, .hash = hash};
	strcpy(row->name, key->name);
	return row;
}

/* The last rows hold amounts without names, one for each category. */
static struct th_breakdown_row *
find_or_make(struct th_breakdown_rows *rows, const struct th_breakdown_key *key)
{
	const struct th_breakdown_key nameless = {.category = key->category, .name = ""};
	uint32_t hash = hash_of(key->name);
	struct th_breakdown_row *row = find(rows, key, hash);

	if (row)
		return row;
	if (rows->count < TH_BREAKDOWN_ROWS_MAX - TH_MEMORY_CATEGORIES)
		return make(rows, key, hash);
	rows->is_full = true;
	hash = hash_of("");
	row = find(rows, &nameless, hash);
	return row ? row : make(rows, &nameless, hash);
}

static void
add_amount(struct th_breakdown_amount *sum, const struct th_breakdown_amount *amount)
{
	sum->resident += amount->resident;
	sum->swapped += amount->swapped;
	sum->size += amount->size;
	sum->accessible += amount->accessible;
	sum->mappings += amount->mappings;
}

void
th_breakdown_rows_add(struct th_breakdown_rows *rows, const struct th_breakdown_key *key,
	const struct th_breakdown_amount *amount)
{
	char name[TH_MAPPING_PATH_MAX];
	size_t length = strnlen(key->name, sizeof(name) - 1);
	const struct th_breakdown_key kept = {key->category, key->stack, name};

	memcpy(name, key->name, length);
	name[length] = '\0';
	add_amount(&find_or_make(rows, &kept)->amount, amount);
}

void
th_breakdown_rows_fold(struct th_breakdown_rows *rows, enum th_memory_category category,
	uint64_t least, const char *name)
{
	struct th_breakdown_amount sum = {0};
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rows->count; i++) {
		struct th_breakdown_row *row = &rows->items[i];

		if (row->category == category && row->amount.resident < least &&
			!row->amount.swapped) {
			add_amount(&sum, &row->amount);
			continue;
		}
		if (kept != i)
			rows->items[kept] = *row;
		kept++;
	}
	rows->count = kept;
	if (sum.mappings)
		th_breakdown_rows_add(rows,
			&(struct th_breakdown_key){.category = category, .name = name}, &sum);
}
