/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The levels of th_reservations (reservations.h): merging two levels keeps the pieces of the
 * later one and cuts what they cover out of the earlier one.
 */
#include "report/log/reservations.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "unify/shared/bisect.h"

struct pieces {
	struct th_reservation_piece *items;
	size_t count;
};

static void
push(struct pieces *pieces, uint64_t first, uint64_t last, uint32_t number)
{
	pieces->items[pieces->count++] = (struct th_reservation_piece){first, last, number};
}

/*
 * Adds the parts of `piece` that later pieces, from number `at` on, do not cover, and the later
 * pieces that end before it.
 */
static size_t
push_beside(struct pieces *merged, struct th_reservation_piece piece,
	const struct pieces *later, size_t at)
{
	for (;;) {
		while (at < later->count && later->items[at].last < piece.first)
			merged->items[merged->count++] = later->items[at++];
		if (at == later->count || later->items[at].first > piece.last) {
			push(merged, piece.first, piece.last, piece.number);
			return at;
		}
		const struct th_reservation_piece *over = &later->items[at];
		if (over->first > piece.first)
			push(merged, piece.first, over->first - 1, piece.number);
		if (over->last >= piece.last)
			return at;
		piece.first = over->last + 1;
	}
}

static struct pieces
merge(const struct pieces *earlier, const struct pieces *later)
{
	/*
	 * Each later piece may split an earlier one; never 0 bytes, for which allocation may
	 * return NULL.
	 */
	size_t most = earlier->count + 2 * later->count + 1;
	struct pieces merged = {.items = th_allocate(most, sizeof(*merged.items))};
	size_t at = 0;

	for (size_t i = 0; i < earlier->count; i++)
		at = push_beside(&merged, earlier->items[i], later, at);
	while (at < later->count)
		merged.items[merged.count++] = later->items[at++];
	return merged;
}

void
th_reservations_add(struct th_reservations *reservations, uint64_t start, uint64_t bytes)
{
	struct pieces pieces = {.items = th_allocate(1, sizeof(*pieces.items))};
	unsigned level = 0;

	reservations->count++;
	if (bytes)
		push(&pieces, start,
			bytes - 1 > UINT64_MAX - start ? UINT64_MAX : start + bytes - 1,
			reservations->count);
	for (; reservations->levels[level].pieces; level++) {
		struct pieces earlier = {
			reservations->levels[level].pieces, reservations->levels[level].count};
		struct pieces merged = merge(&earlier, &pieces);

		free(earlier.items);
		free(pieces.items);
		reservations->levels[level].pieces = NULL;
		pieces = merged;
	}
	reservations->levels[level].pieces = pieces.items;
	reservations->levels[level].count = pieces.count;
}

uint32_t
th_reservations_find(const struct th_reservations *reservations, uint64_t address)
{
	for (unsigned level = 0; level < TH_RESERVATION_LEVELS; level++) {
		const struct th_reservation_piece *pieces = reservations->levels[level].pieces;
		size_t count = pieces ? reservations->levels[level].count : 0;
		size_t at = th_bisect(count, i, pieces[i].last < address);

		if (at < count && pieces[at].first <= address)
			return pieces[at].number;
	}
	return 0;
}

void
th_reservations_deinit(struct th_reservations *reservations)
{
	for (unsigned level = 0; level < TH_RESERVATION_LEVELS; level++)
		free(reservations->levels[level].pieces);
	*reservations = (struct th_reservations){0};
}
