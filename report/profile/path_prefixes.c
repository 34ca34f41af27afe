/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A prefix is found by a hash of its functions that can be stepped back towards the root: a
 * polynomial modulo 2^64, whose base has an inverse. Only whole paths and the requested
 * prefixes are entered, not every step of every path, which would be many more.
 */
#include "report/profile/path_prefixes.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"

#define BASE 0xff51afd7ed558ccdu
#define BASE_INVERSE 0x4f74430c22a54005u
_Static_assert((uint64_t)BASE *BASE_INVERSE == 1, "each undoes the other");

static uint32_t
function_at(const struct th_path_prefixes *ways, uint32_t path, uint32_t index)
{
	return th_frames_function_at(
		ways->frames, th_paths_get(ways->paths, path).frames[index]);
}

static bool
is_same(const struct th_path_prefixes *ways, const struct th_path_prefix *a,
	const struct th_path_prefix *b)
{
	if (a->hash != b->hash || a->length != b->length)
		return false;
	for (uint32_t i = a->length; i-- > 0 && a->path != b->path;) {
		if (function_at(ways, a->path, i) != function_at(ways, b->path, i))
			return false;
	}
	return true;
}

static uint32_t
enter(struct th_path_prefixes *ways, const struct th_path_prefix *way)
{
	if (!way->length)
		return 0;
	for (uint64_t word = way->hash;; word++) {
		bool added;
		uint32_t number = th_id_map_intern(&ways->ids, word, &added) + 1;

		if (added)
			th_array_append(ways, items, *way);
		if (added || is_same(ways, &ways->items[number], way))
			return number;
	}
}

uint32_t
th_path_prefixes_add(
	struct th_path_prefixes *ways, uint32_t path, uint32_t length, uint32_t *prefix_ret)
{
	struct th_path frames = th_paths_get(ways->paths, path);
	struct th_path_prefix way = {.path = path};

	*prefix_ret = 0;
	while (way.length < frames.count) {
		way.function = th_frames_function_at(ways->frames, frames.frames[way.length]);
		way.hash = way.hash * BASE + th_hash_word(way.function);
		way.length++;
		if (way.length == length)
			*prefix_ret = enter(ways, &way);
	}
	return enter(ways, &way);
}

struct th_path_prefix_cursor
th_path_prefixes_last(const struct th_path_prefixes *ways, uint32_t way)
{
	const struct th_path_prefix *item = &ways->items[way];

	return (struct th_path_prefix_cursor){ways, item->path, item->length, item->hash};
}

bool
th_path_prefixes_step(struct th_path_prefix_cursor *cursor, uint32_t *function_ret)
{
	if (!cursor->length)
		return false;
	cursor->length--;
	*function_ret = function_at(cursor->ways, cursor->path, cursor->length);
	cursor->hash = (cursor->hash - th_hash_word(*function_ret)) * BASE_INVERSE;
	return true;
}

uint32_t
th_path_prefixes_left(const struct th_path_prefix_cursor *cursor)
{
	const struct th_path_prefixes *ways = cursor->ways;
	const struct th_path_prefix way = {
		.path = cursor->path, .length = cursor->length, .hash = cursor->hash};

	if (!way.length)
		return 0;
	for (uint64_t word = way.hash;; word++) {
		uint32_t number = th_id_map_find(&ways->ids, word);

		if (number == TH_ID_MAP_NONE)
			return TH_NO_WAY;
		if (is_same(ways, &ways->items[number + 1], &way))
			return number + 1;
	}
}

void
th_path_prefixes_init(struct th_path_prefixes *ways, const struct th_frames *frames,
	const struct th_paths *paths)
{
	*ways = (struct th_path_prefixes){.frames = frames, .paths = paths};
	th_array_append(ways, items, (struct th_path_prefix){0});
}

void
th_path_prefixes_deinit(struct th_path_prefixes *ways)
{
	th_id_map_deinit(&ways->ids);
	free(ways->items);
}
