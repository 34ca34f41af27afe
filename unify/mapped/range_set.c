/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/mapped/range_set.h"

#include <string.h>

#include "unify/base/memory.h"
#include "unify/base/observed.h"
#include "unify/shared/bisect.h"

void
th_range_set_init(struct th_range_set *ranges, uint32_t capacity)
{
	*ranges = (struct th_range_set){.capacity = capacity, .touched = 1};
}

void
th_range_set_deinit(struct th_range_set *ranges)
{
	for (uint32_t i = 0; i < TH_RANGE_SET_CHUNKS_MAX; i++)
		th_memory_retire(ranges->chunks[i]);
	th_memory_retire(ranges->order);
	memset(ranges, 0, sizeof(*ranges));
}

/* Nodes */

/* Doubles the room for the order; false: out of memory. */
static bool
grow(struct th_range_set *ranges)
{
	uint32_t room = ranges->room ? 2 * ranges->room : TH_RANGE_SET_CHUNK;
	uint32_t *order = th_memory_map(room * sizeof(*order));

	if (!order)
		return false;
	if (ranges->count)
		memcpy(order, ranges->order, ranges->count * sizeof(*order));
	th_memory_retire(ranges->order);
	ranges->order = order;
	ranges->room = room;
	return true;
}

/* Whether there is memory for a node that was never used. */
static bool
has_memory(struct th_range_set *ranges, uint32_t index)
{
	struct th_range_node **chunk = &ranges->chunks[index / TH_RANGE_SET_CHUNK];

	return (index < ranges->room || grow(ranges)) &&
	       th_memory_map_once(chunk, TH_RANGE_SET_CHUNK * sizeof(**chunk));
}

static uint32_t
take_node(struct th_range_set *ranges)
{
	uint32_t index = ranges->unused;

	if (index) {
		ranges->unused = th_range_set_node(ranges, index)->next;
	} else {
		if (ranges->touched >= ranges->capacity || !has_memory(ranges, ranges->touched))
			return 0;
		index = ranges->touched++;
	}
	return index;
}

/* The order */

static struct th_range *
range_at(const struct th_range_set *ranges, uint32_t position)
{
	return &th_range_set_node(ranges, ranges->order[position])->range;
}

/* The number of ranges that start below `address`. */
static uint32_t
count_below(const struct th_range_set *ranges, uintptr_t address)
{
	return (uint32_t)th_bisect(
		ranges->count, i, range_at(ranges, (uint32_t)i)->start < address);
}

const struct th_range *
th_range_set_find(const struct th_range_set *ranges, uintptr_t address)
{
	uint32_t position = (uint32_t)th_bisect(
		ranges->count, i, range_at(ranges, (uint32_t)i)->end <= address);

	return position < ranges->count ? range_at(ranges, position) : NULL;
}

/* Moves the positions from `from` on to `to`. */
static void
move(struct th_range_set *ranges, uint32_t from, uint32_t to)
{
	if (from < ranges->count)
		memmove(ranges->order + to, ranges->order + from,
			(ranges->count - from) * sizeof(*ranges->order));
	ranges->count += to - from;
}

static bool
insert(struct th_range_set *ranges, const struct th_range *range)
{
	uint32_t index = take_node(ranges);
	uint32_t position = count_below(ranges, range->start);

	if (!index)
		return false;
	th_range_set_node(ranges, index)->range = *range;
	move(ranges, position, position + 1);
	ranges->order[position] = index;
	return true;
}

/* Makes `address` a border of a range that is wanted. */
static void
cut_at(struct th_range_set *ranges, uintptr_t address, th_range_predicate *is_wanted,
	uint64_t value)
{
	uint32_t below = count_below(ranges, address);
	struct th_range *range = below ? range_at(ranges, below - 1) : NULL;

	if (!range || range->end <= address || !is_wanted(range, value))
		return;
	struct th_range behind = *range;

	behind.start = address;
	range->end = address;
	if (!insert(ranges, &behind))
		ranges->lost++;
}

/* Ranges */

static bool
are_alike(const struct th_range *a, const struct th_range *b)
{
	return a->sample == b->sample && a->place == b->place && a->owner == b->owner &&
	       a->flags == b->flags;
}

/* Extends a range to the one behind it, if they match. */
static bool
join(struct th_range *low, const struct th_range *high)
{
	if (low->end != high->start || !are_alike(low, high))
		return false;
	low->end = high->end;
	return true;
}

/* Extends a neighbour of a gap into it; false: there is no matching neighbour. */
static bool
grow_neighbour(struct th_range_set *ranges, const struct th_range *range)
{
	uint32_t below = count_below(ranges, range->start);
	struct th_range *low = below ? range_at(ranges, below - 1) : NULL;
	struct th_range *high = below < ranges->count ? range_at(ranges, below) : NULL;

	if (low && join(low, range))
		return true;
	if (high && high->start == range->end && are_alike(high, range)) {
		high->start = range->start;
		return true;
	}
	return false;
}

bool
th_range_set_put(struct th_range_set *ranges, const struct th_range *range, bool joins)
{
	return (joins && grow_neighbour(ranges, range)) || insert(ranges, range);
}

static void
append(struct th_range_set *ranges, struct th_range_list *list, uint32_t index)
{
	th_range_set_node(ranges, index)->next = 0;
	if (list->first)
		th_range_set_node(ranges, list->last)->next = index;
	else
		list->first = index;
	list->last = index;
}

struct th_range_list
th_range_set_cut(struct th_range_set *ranges, uintptr_t start, uintptr_t end,
	th_range_predicate *is_wanted, uint64_t value)
{
	struct th_range_list list = {0, 0};

	cut_at(ranges, start, is_wanted, value);
	cut_at(ranges, end, is_wanted, value);
	uint32_t kept = count_below(ranges, start);
	uint32_t last = count_below(ranges, end);
	for (uint32_t i = kept; i < last; i++) {
		if (is_wanted(range_at(ranges, i), value))
			append(ranges, &list, ranges->order[i]);
		else
			ranges->order[kept++] = ranges->order[i];
	}
	move(ranges, last, kept);
	return list;
}

uint64_t
th_range_set_set_sample(struct th_range_set *ranges, uintptr_t start, uintptr_t end,
	uint64_t born, uint64_t sample)
{
	uint32_t last = count_below(ranges, end);
	uint64_t bytes = 0;

	for (uint32_t i = count_below(ranges, start); i < last; i++) {
		struct th_range *range = range_at(ranges, i);

		if (range->born != born)
			continue;
		range->sample = sample;
		bytes += range->end - range->start;
	}
	return bytes;
}

void
th_range_set_release(struct th_range_set *ranges, struct th_range_list list)
{
	if (!list.first)
		return;
	th_range_set_node(ranges, list.last)->next = ranges->unused;
	ranges->unused = list.first;
}

/* Copies */

/* Whether a node of the order can be in a set, behind `end`. */
static bool
is_sound(const struct th_range_set *ranges, uint32_t index, uintptr_t end)
{
	const struct th_range *range;

	if (!index || index >= ranges->capacity || !ranges->chunks[index / TH_RANGE_SET_CHUNK])
		return false;
	range = th_range_set_at(ranges, index);
	return range->start >= end && range->start < range->end;
}

bool
th_range_set_observe(struct th_range_set *ranges, const struct th_range_set *from)
{
	const size_t bytes = TH_RANGE_SET_CHUNK * sizeof(*ranges->chunks[0]);
	struct th_range_set theirs;
	uintptr_t end = 0;

	if (!th_observed_copy((uintptr_t)from, &theirs, sizeof(theirs)) ||
		!th_observed_copy_chunks((uintptr_t)from->chunks, ranges->chunks,
			TH_RANGE_SET_CHUNKS_MAX, bytes, bytes))
		return false;
	ranges->count = 0;
	while (ranges->room < theirs.count)
		if (theirs.count > ranges->capacity || !grow(ranges))
			return false;
	if (theirs.count && !th_observed_copy((uintptr_t)theirs.order, ranges->order,
				    theirs.count * sizeof(*theirs.order)))
		return false;
	for (uint32_t i = 0; i < theirs.count; i++) {
		uint32_t index = ranges->order[i];

		if (!is_sound(ranges, index, end))
			continue;
		end = th_range_set_at(ranges, index)->end;
		ranges->order[ranges->count++] = index;
	}
	return true;
}
