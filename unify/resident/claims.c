/* SPDX-License-Identifier: Apache-2.0 */
/* Heapsort: libc's qsort() may allocate with malloc. */
#include "unify/resident/claims.h"

#include <stddef.h>

#include "unify/shared/bisect.h"

void
th_claims_add(struct th_claims *claims, const struct th_claim *claim)
{
	if (claim->start >= claim->end)
		return;
	if (claims->count == claims->capacity) {
		claims->is_full = true;
		return;
	}
	claims->items[claims->count++] = *claim;
}

static bool
comes_before(const struct th_claim *a, const struct th_claim *b)
{
	return a->start < b->start || (a->start == b->start && a->end < b->end);
}

static void
swap(struct th_claim *a, struct th_claim *b)
{
	struct th_claim kept = *a;

	*a = *b;
	*b = kept;
}

/* Restores the order of a heap of `count` items below `root`: no child is after its parent. */
static void
sift_down(struct th_claim *items, uint32_t root, uint32_t count)
{
	for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count && comes_before(&items[child], &items[child + 1]))
			child++;
		if (!comes_before(&items[root], &items[child]))
			return;
		swap(&items[root], &items[child]);
	}
}

static void
heapsort(struct th_claim *items, uint32_t count)
{
	for (uint32_t root = count / 2; root-- > 0;)
		sift_down(items, root, count);
	for (uint32_t end = count; end-- > 1;) {
		swap(&items[0], &items[end]);
		sift_down(items, 0, end);
	}
}

void
th_claims_sort(struct th_claims *claims)
{
	uint32_t kept = 0;
	uintptr_t taken = 0; /* addresses below have been assigned */

	heapsort(claims->items, claims->count);
	for (uint32_t i = 0; i < claims->count; i++) {
		struct th_claim claim = claims->items[i];

		if (claim.start < taken)
			claim.start = taken;
		if (claim.start >= claim.end)
			continue;
		taken = claim.end;
		claims->items[kept++] = claim;
	}
	claims->count = kept;
}

const struct th_claim *
th_claims_at(const struct th_claims *claims, uintptr_t address, uintptr_t *next_ret)
{
	/* The first claim that ends above `address`. */
	size_t first = th_bisect(claims->count, i, claims->items[i].end <= address);

	if (first == claims->count) {
		*next_ret = UINTPTR_MAX;
		return NULL;
	}
	const struct th_claim *claim = &claims->items[first];
	bool holds = claim->start <= address;
	*next_ret = holds ? claim->end : claim->start;
	return holds ? claim : NULL;
}
