/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/base/deferred.h"

#include <stddef.h>

#include "unify/base/atomic.h"

enum { FREE, CLAIMED, READY };

bool
th_deferred_put(struct th_deferred *deferred, const struct th_deferred_item *item)
{
	for (unsigned i = 0; i < TH_DEFERRED_MAX; i++) {
		uint32_t state = FREE;

		if (!th_cas_acq_rel(&deferred->cells[i].state, &state, CLAIMED))
			continue;
		deferred->cells[i].ticket = th_add_acq_rel(&deferred->tickets, 1);
		deferred->cells[i].item = *item;
		th_add_acq_rel(&deferred->waiting, 1);
		__atomic_store_n(&deferred->cells[i].state, READY, __ATOMIC_SEQ_CST);
		return true;
	}
	return false;
}

bool
th_deferred_take(struct th_deferred *deferred, struct th_deferred_item *ret)
{
	unsigned oldest = TH_DEFERRED_MAX;

	if (!th_load_acquire(&deferred->waiting))
		return false;
	for (unsigned i = 0; i < TH_DEFERRED_MAX; i++) {
		/* Pairs with the store in th_deferred_put(): the item is complete. */
		if (__atomic_load_n(&deferred->cells[i].state, __ATOMIC_SEQ_CST) != READY)
			continue;
		if (oldest == TH_DEFERRED_MAX ||
			deferred->cells[i].ticket < deferred->cells[oldest].ticket)
			oldest = i;
	}
	if (oldest == TH_DEFERRED_MAX)
		return false;
	*ret = deferred->cells[oldest].item;
	th_add_acq_rel(&deferred->waiting, -1u);
	th_store_release(&deferred->cells[oldest].state, FREE);
	return true;
}

bool
th_deferred_has(const struct th_deferred *deferred,
	bool (*is_meant)(uintptr_t address, uint32_t key), uint32_t key)
{
	if (!th_load_acquire(&deferred->waiting))
		return false;
	for (unsigned i = 0; i < TH_DEFERRED_MAX; i++)
		if (__atomic_load_n(&deferred->cells[i].state, __ATOMIC_SEQ_CST) == READY &&
			is_meant(deferred->cells[i].item.address, key))
			return true;
	return false;
}
