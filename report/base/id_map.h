/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers words in the order of first use, from 0, so that the data of word k is at index k of
 * an array. Definitions and samples may use an id of the log in any order: the first use
 * creates the entry.
 */
#ifndef TH_REPORT_BASE_ID_MAP_H
#define TH_REPORT_BASE_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/allocate.h"

#define TH_ID_MAP_NONE UINT32_MAX

struct th_id_map {
	/*
	 * Numbers of small words by word, plus one: ids of a log mostly count up from 0 or 1.
	 */
	uint32_t *direct;
	size_t direct_count;
	uint32_t *slots;   /* numbers of all others, plus one; 0 = free */
	size_t slot_count; /* a power of two, or 0 */
	uint32_t slots_used;
	uint64_t *words; /* by number */
	size_t words_capacity;
	uint32_t count; /* words numbered so far */
};

/* The number of a word that is not in `direct`. */
uint32_t th_id_map_find_slot(const struct th_id_map *map, uint64_t word);

/* The number of `word`, TH_ID_MAP_NONE if it has none. */
static inline uint32_t
th_id_map_find(const struct th_id_map *map, uint64_t word)
{
	if (word < map->direct_count && map->direct[word])
		return map->direct[word] - 1;
	return th_id_map_find_slot(map, word);
}

/*
 * The number of `word`; *added_ret, unless NULL, is set to whether it is new. A zeroed map is empty.
 */
uint32_t th_id_map_intern(struct th_id_map *map, uint64_t word, bool *added_ret);

/*
 * The number of `word` in a map whose words have entries in an array of `owner`; a new word gets
 * `entry`, which is evaluated only then.  The array may move.
 */
#define th_id_map_enter(map, word, owner, items, entry)                      \
	({                                                                   \
		bool added_;                                                 \
		uint32_t number_ = th_id_map_intern((map), (word), &added_); \
                                                                             \
		if (added_)                                                  \
			th_array_append(owner, items, entry);                \
		number_;                                                     \
	})

/* Frees the memory; the map is empty afterwards. */
void th_id_map_deinit(struct th_id_map *map);

#endif
