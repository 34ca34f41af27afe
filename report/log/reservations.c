/* SPDX-License-Identifier: Apache-2.0 */
#include "report/log/reservations.h"

#include <search.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"

/* Part of a range, without what later ones hide; all parts in the tree are disjoint. */
struct piece {
	uint64_t first;
	uint64_t last;
	uint32_t number; /* of the range */
};

/* Pieces that overlap are equal. */
TH_COMPARE(
	compare_pieces, struct piece, (left->first > right->last) - (left->last < right->first))

static struct piece *
find(const struct th_reservations *reservations, uint64_t first, uint64_t last)
{
	const struct piece range = {first, last, 0};
	struct piece **node = tfind(&range, &reservations->pieces, compare_pieces);

	return node ? *node : NULL;
}

static void
add(struct th_reservations *reservations, uint64_t first, uint64_t last, uint32_t number)
{
	struct piece *piece = th_allocate(1, sizeof(*piece));

	*piece = (struct piece){first, last, number};
	if (!tsearch(piece, &reservations->pieces, compare_pieces))
		th_out_of_memory();
}

void
th_reservations_add(struct th_reservations *reservations, uint64_t start, uint64_t bytes)
{
	uint64_t last = bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes - 1;
	struct piece *old;

	reservations->count++;
	while (bytes && (old = find(reservations, start, last))) {
		tdelete(old, &reservations->pieces, compare_pieces);
		if (old->first < start)
			add(reservations, old->first, start - 1, old->number);
		if (old->last > last)
			add(reservations, last + 1, old->last, old->number);
		free(old);
	}
	if (bytes)
		add(reservations, start, last, reservations->count);
}

uint32_t
th_reservations_find(const struct th_reservations *reservations, uint64_t address)
{
	const struct piece *piece = find(reservations, address, address);

	return piece ? piece->number : 0;
}

void
th_reservations_deinit(struct th_reservations *reservations)
{
	tdestroy(reservations->pieces, free);
	*reservations = (struct th_reservations){0};
}
