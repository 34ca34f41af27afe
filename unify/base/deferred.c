/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/base/deferred.h"

#include <stddef.h>

#include "unify/base/atomic.h"

enum { FREE, CLAIMED, READY };

bool
th_deferred_put(struct th_deferred *aside, const struct th_deferred_item *item)
{
	for (unsigned i = 0; i < TH_DEFERRED_MAX; i++) {
		uint32_t state = FREE;

		if (!th_cas_acq_rel(&aside->cells[i].state, &state, CLAIMED))
			continue;
		aside->cells[i].ticket = th_add_acq_rel(&aside->tickets, 1);
		aside->cells[i].item = *item;
		th_add_acq_rel(&aside->waiting, 1);
		__atomic_store_n(&aside->cells[i].state, READY, __ATOMIC_SEQ_CST);
		return true;
	}
	return false;
}

bool
th_deferred_take(struct th_deferred *aside, struct th_deferred_item *ret)
{
	unsigned oldest = TH_DEFERRED_MAX;

	if (!th_load_acquire(&aside->waiting))
		return false;
	for (unsigned i = 0; i < TH_DEFERRED_MAX; i++) {
		/* Pairs with the store in th_deferred_put(): the item is there. */
		if (__atomic_load_n(&aside->cells[i].state, __ATOMIC_SEQ_CST) != READY)
			continue;
		if (oldest == TH_DEFERRED_MAX ||
			aside->cells[i].ticket < aside->cells[oldest].ticket)
			oldest = i;
	}
	if (oldest == TH_DEFERRED_MAX)
		return false;
	*ret = aside->cells[oldest].item;
	th_add_acq_rel(&aside->waiting, -1u);
	th_store_release(&aside->cells[oldest].state, FREE);
	return true;
}

bool
th_deferred_has(const struct th_deferred *aside,
	bool (*is_meant)(uintptr_t address, uint32_t key), uint32_t key)
{
	if (!th_load_acquire(&aside->waiting))
		return false;
	for (unsigned i = 0; i < TH_DEFERRED_MAX; i++)
		if (__atomic_load_n(&aside->cells[i].state, __ATOMIC_SEQ_CST) == READY &&
			is_meant(aside->cells[i].item.address, key))
			return true;
	return false;
}
