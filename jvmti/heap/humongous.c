/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot goes from free to claimed and followed on an allocating thread, to gone on the VM's
 * thread, and back to free on the agent thread.  Its state word counts the claims above the two
 * bits of the state, so that two uses of a slot are never confused.
 */
#include "jvmti/heap/humongous.h"

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/shared/log_format.h"

enum state { FREE, CLAIMED, FOLLOWED, GONE };
#define STATE_MASK 3u
#define ONE_CLAIM 4u

struct slot {
	uint32_t state; /* atomic, enum state and claims */
	const char *region;
	uintptr_t address; /* of the object */
	uint64_t sample;
	uint64_t gone_at; /* writer: the VM's thread, before GONE */
};

static struct {
	const struct th_hotspot *hotspot;
	struct slot *slots;
	uint32_t used; /* atomic: upper bound of the slots ever claimed */
} table;

/* Checks the offset of the table of regions: its shift must match the region size. */
static bool
has_regions(const struct th_hotspot *hotspot)
{
	if (!hotspot->collected_heap || !*hotspot->collected_heap || hotspot->g1_regions < 0 ||
		hotspot->g1_shift < 0 || hotspot->g1_tag < 0 ||
		hotspot->g1_starts_humongous <= 0)
		return false;
	uint32_t shift = *(
		const uint32_t *)(*hotspot->collected_heap + (uintptr_t)hotspot->g1_shift);
	return shift < 64 && (size_t)1 << shift == *hotspot->g1_region_bytes;
}

bool
th_humongous_init(const struct th_hotspot *hotspot)
{
	if (!hotspot->g1_region_bytes || !*hotspot->g1_region_bytes)
		return false;
	table.hotspot = hotspot;
	if (has_regions(hotspot) && !table.slots)
		table.slots = th_memory_map(TH_HUMONGOUS_MAX * sizeof(*table.slots));
	return table.slots != NULL;
}

/* A local reference points to a cell that holds the object's address. */
static uintptr_t
address_of(jobject object)
{
	return *(const uintptr_t *)(const void *)object;
}

/* The region that an address in the heap lies in. */
static const char *
region_of(uintptr_t address)
{
	uintptr_t heap = *table.hotspot->collected_heap;
	uintptr_t regions = *(const uintptr_t *)(heap + (uintptr_t)table.hotspot->g1_regions);
	uint32_t shift = *(const uint32_t *)(heap + (uintptr_t)table.hotspot->g1_shift);

	return *(const char *const *)(regions + (address >> shift) * sizeof(void *));
}

static bool
starts_humongous(const char *region)
{
	const volatile uint32_t *tag =
		(const volatile uint32_t *)(const void *)(region + table.hotspot->g1_tag);

	return *tag == (uint32_t)table.hotspot->g1_starts_humongous;
}

bool
th_humongous_is(jobject object, uint64_t size)
{
	size_t region_bytes = table.hotspot ? *table.hotspot->g1_region_bytes : 0;
	uintptr_t address;

	if (!table.hotspot || size < region_bytes / 2)
		return false;
	if (!table.slots)
		return true;
	address = address_of(object);
	return address % region_bytes == 0 && starts_humongous(region_of(address));
}

static void
note_use(uint32_t index)
{
	uint32_t used = th_load_relaxed(&table.used);

	while (used <= index && !th_cas_acq_rel(&table.used, &used, index + 1))
		;
}

bool
th_humongous_follow(jobject object, uint64_t sample)
{
	for (uint32_t i = 0; table.slots && i < TH_HUMONGOUS_MAX; i++) {
		struct slot *slot = &table.slots[i];
		uint32_t state = th_load_relaxed(&slot->state);
		uint32_t claimed = (state & ~STATE_MASK) + ONE_CLAIM + CLAIMED;

		if ((state & STATE_MASK) != FREE ||
			!th_cas_acq_rel(&slot->state, &state, claimed))
			continue;
		slot->address = address_of(object);
		slot->region = region_of(slot->address);
		slot->sample = sample;
		note_use(i);
		/*
		 * Pairs with the acquire in th_humongous_look(): publishes region and sample.
		 */
		th_store_release(&slot->state, claimed - CLAIMED + FOLLOWED);
		return true;
	}
	return false;
}

void
th_humongous_look(uint64_t now)
{
	uint32_t used = table.slots ? th_load_acquire(&table.used) : 0;

	for (uint32_t i = 0; i < used; i++) {
		struct slot *slot = &table.slots[i];
		uint32_t state = th_load_acquire(&slot->state);

		if ((state & STATE_MASK) != FOLLOWED || starts_humongous(slot->region))
			continue;
		slot->gone_at = now;
		/*
		 * Pairs with the acquire in th_humongous_reap(); fails if the slot was thinned.
		 */
		th_cas_acq_rel(&slot->state, &state, state - FOLLOWED + GONE);
	}
}

void
th_humongous_reap(void (*report)(uint64_t sample, uint64_t time))
{
	uint32_t used = table.slots ? th_load_relaxed(&table.used) : 0;

	for (uint32_t i = 0; i < used; i++) {
		struct slot *slot = &table.slots[i];
		uint32_t state = th_load_acquire(&slot->state);

		if ((state & STATE_MASK) != GONE)
			continue;
		report(slot->sample, slot->gone_at);
		th_store_release(&slot->state, state - GONE + FREE);
	}
}

void
th_humongous_each(void (*visit)(uintptr_t address, uint64_t sample, void *data), void *data)
{
	uint32_t used = table.slots ? th_load_relaxed(&table.used) : 0;

	for (uint32_t i = 0; i < used; i++) {
		const struct slot *slot = &table.slots[i];

		/* Pairs with the release in th_humongous_follow(). */
		if ((th_load_acquire(&slot->state) & STATE_MASK) == FOLLOWED)
			visit(slot->address, slot->sample, data);
	}
}

void
th_humongous_thin(uint32_t level)
{
	uint32_t used = table.slots ? th_load_relaxed(&table.used) : 0;

	for (uint32_t i = 0; i < used; i++) {
		struct slot *slot = &table.slots[i];
		uint32_t state = th_load_acquire(&slot->state);

		if ((state & STATE_MASK) == FOLLOWED && !th_live_keeps(slot->sample, level))
			th_cas_acq_rel(&slot->state, &state, state - FOLLOWED + FREE);
	}
}

void
th_humongous_release(void)
{
	th_humongous_thin(UINT32_MAX);
}
