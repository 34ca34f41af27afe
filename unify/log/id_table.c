/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/log/id_table.h"

#include <stddef.h>

#include "unify/base/memory.h"
#include "unify/shared/hash.h"

#define FIRST_SLOTS 1024u

static uint32_t
home_of(const struct th_id_table *table, uint64_t key)
{
	return (uint32_t)th_hash_mix(key) & (table->slots - 1);
}

/* The entry of the key, or the empty one where it belongs. */
static struct th_id_entry *
probe(const struct th_id_table *table, uint64_t key)
{
	uint32_t at = home_of(table, key);

	while (table->entries[at].key && table->entries[at].key != key)
		at = (at + 1) & (table->slots - 1);
	return &table->entries[at];
}

struct th_id_entry *
th_id_table_find(const struct th_id_table *table, uint64_t key)
{
	struct th_id_entry *entry = table->slots ? probe(table, key) : NULL;

	return entry && entry->key ? entry : NULL;
}

static bool
grow(struct th_id_table *table)
{
	struct th_id_table larger = {
		.slots = table->slots ? table->slots * 2 : FIRST_SLOTS, .count = table->count};

	larger.entries = th_memory_map(larger.slots * sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	for (uint32_t i = 0; i < table->slots; i++)
		if (table->entries[i].key)
			*probe(&larger, table->entries[i].key) = table->entries[i];
	th_memory_retire(table->entries);
	*table = larger;
	return true;
}

struct th_id_entry *
th_id_table_add(struct th_id_table *table, uint64_t key)
{
	struct th_id_entry *entry = th_id_table_find(table, key);

	if (entry)
		return entry;
	if (table->count >= table->slots / 4 * 3 && !grow(table))
		return NULL;
	entry = probe(table, key);
	*entry = (struct th_id_entry){.key = key};
	table->count++;
	return entry;
}

/* Whether an entry with that home, which is at `at`, can be reached if `hole` becomes empty. */
static bool
is_reachable(uint32_t home, uint32_t hole, uint32_t at)
{
	return hole <= at ? hole < home && home <= at : hole < home || home <= at;
}

void
th_id_table_remove(struct th_id_table *table, struct th_id_entry *entry)
{
	uint32_t hole = (uint32_t)(entry - table->entries);
	uint32_t at = hole;

	for (;;) {
		at = (at + 1) & (table->slots - 1);
		if (!table->entries[at].key)
			break;
		if (is_reachable(home_of(table, table->entries[at].key), hole, at))
			continue;
		table->entries[hole] = table->entries[at];
		hole = at;
	}
	table->entries[hole] = (struct th_id_entry){0};
	table->count--;
}

void
th_id_table_deinit(struct th_id_table *table)
{
	th_memory_retire(table->entries);
	*table = (struct th_id_table){0};
}
