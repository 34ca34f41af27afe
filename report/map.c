/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing, at most half full.
 */
#include "report/map.h"

#include <stdlib.h>

#include "report/allocate.h"

#define FIRST_SLOTS 64

/* Where the search for a word begins. */
static size_t
first_slot(const struct th_map *map, uint64_t word)
{
	uint64_t hash = word * 0x9e3779b97f4a7c15u;

	return (hash ^ hash >> 32) & (map->slot_count - 1);
}

static struct th_map_slot *
slot_of(const struct th_map *map, uint64_t word)
{
	size_t slot = first_slot(map, word);

	while (map->slots[slot].number && map->slots[slot].word != word)
		slot = (slot + 1) & (map->slot_count - 1);
	return &map->slots[slot];
}

static void
enlarge(struct th_map *map)
{
	struct th_map larger = {
		.slot_count = map->slot_count ? 2 * map->slot_count : FIRST_SLOTS,
		.count = map->count,
	};

	larger.slots = th_allocate(larger.slot_count, sizeof(*larger.slots));
	for (size_t i = 0; i < map->slot_count; i++) {
		if (map->slots[i].number)
			*slot_of(&larger, map->slots[i].word) = map->slots[i];
	}
	th_map_deinit(map);
	*map = larger;
}

uint32_t
th_map_find(const struct th_map *map, uint64_t word)
{
	if (!map->slot_count)
		return TH_MAP_NONE;
	return slot_of(map, word)->number - 1;
}

uint32_t
th_map_intern(struct th_map *map, uint64_t word, bool *added_ret)
{
	if (2 * (size_t)map->count >= map->slot_count)
		enlarge(map);
	struct th_map_slot *slot = slot_of(map, word);
	*added_ret = !slot->number;
	if (*added_ret)
		*slot = (struct th_map_slot){word, ++map->count};
	return slot->number - 1;
}

void
th_map_expect(const struct th_map *map, uint64_t word)
{
	if (map->slot_count)
		__builtin_prefetch(&map->slots[first_slot(map, word)]);
}

void
th_map_deinit(struct th_map *map)
{
	free(map->slots);
	*map = (struct th_map){0};
}
