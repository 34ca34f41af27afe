/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shard is an open-addressing table with linear probing and backward-shift deletion, so there
 * are no tombstones.  Shard and home slot are a hash of the filter's bit: entries of one bit have
 * the same home slot, so testing whether another block shares a bit is a scan of one cluster.
 * It begins with FIRST_SLOTS, which are on the page of its lock: a program with some thousand
 * blocks uses one page of each shard.
 */
#include "unify/sample/live_blocks.h"

#include <stddef.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"

#define SHARD_BITS 8
#define SLOT_BITS 10
#define SHARDS (1u << SHARD_BITS)
#define SLOTS (1u << SLOT_BITS)
#define FIRST_SLOTS 64u
/* Above this many entries clusters become long (Knuth: 5.5 probes for a miss at 7/8 x 90 %). */
#define FULL(slots) ((slots)*7 / 8)
#define SHARD_FULL FULL(SLOTS)
_Static_assert(SHARDS *SHARD_FULL == TH_LIVE_BLOCKS_MAX, "full shards");
_Static_assert(SHARDS <= TH_OBSERVED_CHUNKS_MAX, "copied at once");
/* Slots that th_live_blocks_each() copies under one hold of a shard's lock: 1 KiB of stack. */
#define SLOTS_AT_ONCE FIRST_SLOTS

struct slot {
	uintptr_t address; /* 0 = empty */
	uint64_t sample;   /* atomic; 0: the block was freed while the lock was not to be had */
};

struct shard {
	struct th_spinlock lock;
	uint32_t count;
	uint32_t is_large; /* atomic: all slots are in use, not only the first */
	struct slot slots[SLOTS];
};

uint32_t th_live_blocks_filter[1u << (TH_LIVE_BLOCKS_FILTER_BITS - 5)];

static struct shard *shards[SHARDS]; /* atomic; NULL: no entries yet */
static uint64_t total;               /* atomic: blocks of all shards */
static uint64_t lock_ns = TH_LOCK_NS;
static uintptr_t pins[TH_LIVE_BLOCKS_PINS_MAX];
static unsigned pin_count;

/* The bits of the shard and, below them, of the home slot: neighbours are spread. */
static uint32_t
home_bits(uintptr_t address)
{
	uint32_t hash = th_live_blocks_bit(address) * 0x9e3779b9u;

	return hash << (32 - TH_LIVE_BLOCKS_FILTER_BITS) >> (32 - SHARD_BITS - SLOT_BITS);
}

static struct shard **
place_of(uintptr_t address)
{
	return &shards[home_bits(address) >> SLOT_BITS];
}

/* NULL: no entries.  Read once: a handler that forks here leaves the child without one. */
static struct shard *
shard_of(uintptr_t address)
{
	return th_load_acquire(place_of(address));
}

static uint32_t
slots_of(const struct shard *shard)
{
	return th_load_relaxed(&shard->is_large) ? SLOTS : FIRST_SLOTS;
}

static uint32_t
home_of(const struct shard *shard, uintptr_t address)
{
	return home_bits(address) & (slots_of(shard) - 1);
}

static uint32_t
next_slot(const struct shard *shard, uint32_t slot)
{
	return (slot + 1) & (slots_of(shard) - 1);
}

static void
set_bit(uint32_t bit)
{
	__atomic_fetch_or(&th_live_blocks_filter[bit / 32], 1u << bit % 32, __ATOMIC_RELAXED);
}

static bool
is_pinned(uint32_t bit)
{
	for (unsigned i = 0; i < pin_count; i++)
		if (th_live_blocks_bit(pins[i]) == bit)
			return true;
	return false;
}

/* Clears the bit of a removed block, unless another block or a pin shares it. */
static void
clear_bit(const struct shard *shard, uintptr_t address)
{
	uint32_t bit = th_live_blocks_bit(address);

	for (uint32_t i = home_of(shard, address); shard->slots[i].address;
		i = next_slot(shard, i))
		if (th_live_blocks_bit(shard->slots[i].address) == bit)
			return;
	if (!is_pinned(bit))
		__atomic_fetch_and(
			&th_live_blocks_filter[bit / 32], ~(1u << bit % 32), __ATOMIC_RELAXED);
}

/* Not a key of the ledger. */
static bool
is_block(uintptr_t address)
{
	return !(address >> TH_LIVE_BLOCKS_KEY_SHIFT);
}

/* The slot of `address`, or the empty slot where it belongs. */
static uint32_t
find_slot(const struct shard *shard, uintptr_t address)
{
	uint32_t i = home_of(shard, address);

	while (shard->slots[i].address && shard->slots[i].address != address)
		i = next_slot(shard, i);
	return i;
}

/* Empties slot `hole` and closes the gap (Knuth, 6.4 algorithm R). */
static void
delete_slot(struct shard *shard, uint32_t hole)
{
	const uint32_t mask = slots_of(shard) - 1;
	uint32_t i = hole;

	th_add_relaxed(&total, -(uint64_t)is_block(shard->slots[hole].address));
	for (;;) {
		i = next_slot(shard, i);
		if (!shard->slots[i].address)
			break;
		uint32_t home = home_of(shard, shard->slots[i].address);
		/* An entry may move to the hole unless its home is cyclically in (hole, i]. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			shard->slots[hole] = shard->slots[i];
			hole = i;
		}
	}
	shard->slots[hole].address = 0;
	th_store_relaxed(&shard->count, shard->count - 1);
}

/* Under the lock */

static void
enlarge(struct shard *shard)
{
	struct slot first[FIRST_SLOTS];

	for (uint32_t i = 0; i < FIRST_SLOTS; i++) {
		first[i] = shard->slots[i];
		shard->slots[i].address = 0;
	}
	th_store_relaxed(&shard->is_large, 1);
	for (uint32_t i = 0; i < FIRST_SLOTS; i++)
		if (first[i].address)
			shard->slots[find_slot(shard, first[i].address)] = first[i];
}

static bool
put(struct shard *shard, uintptr_t address, uint64_t sample)
{
	if (slots_of(shard) < SLOTS && shard->count >= FULL(FIRST_SLOTS))
		enlarge(shard);
	struct slot *slot = &shard->slots[find_slot(shard, address)];

	if (!slot->address && shard->count >= SHARD_FULL)
		return false;
	th_store_relaxed(&shard->count, shard->count + !slot->address);
	th_add_relaxed(&total, !slot->address && is_block(address));
	*slot = (struct slot){address, sample};
	set_bit(th_live_blocks_bit(address));
	return true;
}

static uint64_t
take(struct shard *shard, uintptr_t address)
{
	uint32_t slot = find_slot(shard, address);
	uint64_t sample = 0;

	if (shard->slots[slot].address) {
		sample = shard->slots[slot].sample;
		delete_slot(shard, slot);
		clear_bit(shard, address);
	}
	return sample;
}

/*
 * Without the lock, whose holder is not running: the entry stays, in which nothing but the sample
 * changes.
 */
static uint64_t
mark_freed(struct shard *shard, uintptr_t address)
{
	struct slot *slot = &shard->slots[find_slot(shard, address)];
	uint64_t sample = th_load_relaxed(&slot->sample);

	if (slot->address != address || !th_cas_acq_rel(&slot->sample, &sample, 0)) {
		th_log_count(TH_COUNTER_LIVE_FREES_LOST, 1);
		return 0;
	}
	return sample;
}

/* Entering a shard */

static bool
enter(struct shard *shard)
{
	return th_lock_within(&shard->lock, lock_ns);
}

bool
th_live_blocks_insert(uintptr_t address, uint64_t sample)
{
	struct shard *shard = th_memory_map_once(place_of(address), sizeof(*shard));
	bool entered;

	if (!shard || !enter(shard))
		return false;
	entered = put(shard, address, sample);
	th_unlock(&shard->lock);
	return entered;
}

uint64_t
th_live_blocks_remove(uintptr_t address)
{
	struct shard *shard = shard_of(address);
	uint64_t sample;

	if (!shard)
		return 0;
	if (!enter(shard))
		return mark_freed(shard, address);
	sample = take(shard, address);
	th_unlock(&shard->lock);
	return sample;
}

void
th_live_blocks_hold(uintptr_t address, bool is_held)
{
	struct shard *shard = shard_of(address);

	th_store_release(&shard->lock.held, is_held);
}

void
th_live_blocks_wait(uint64_t ns)
{
	lock_ns = ns ? ns : TH_LOCK_NS;
}

/* Copies some slots of a shard: the lock is held for no more than a few hundred reads. */
static uint32_t
copy_slots(struct shard *shard, uint32_t first, struct slot *copy)
{
	uint32_t count = 0;

	if (!enter(shard)) {
		th_log_count(TH_COUNTER_LOCKS_GIVEN_UP, 1);
		return 0;
	}
	for (uint32_t i = first; i < first + SLOTS_AT_ONCE; i++)
		if (shard->slots[i].address && shard->slots[i].sample)
			copy[count++] = shard->slots[i];
	th_unlock(&shard->lock);
	return count;
}

void
th_live_blocks_each(th_live_blocks_visit *visit, void *data)
{
	struct slot copy[SLOTS_AT_ONCE];

	for (uint32_t i = 0; i < SHARDS; i++) {
		struct shard *shard = th_load_acquire(&shards[i]);

		if (!shard || !th_load_relaxed(&shard->count))
			continue;
		/* One that becomes larger meanwhile was copied as a whole. */
		const uint32_t slots = slots_of(shard);
		for (uint32_t first = 0; first < slots; first += SLOTS_AT_ONCE) {
			uint32_t count = copy_slots(shard, first, copy);

			for (uint32_t k = 0; k < count; k++)
				visit(copy[k].address, copy[k].sample, data);
		}
	}
}

uint64_t
th_live_blocks_count(void)
{
	return th_load_relaxed(&total);
}

void
th_live_blocks_pin(uintptr_t address)
{
	if (pin_count == TH_LIVE_BLOCKS_PINS_MAX)
		return;
	pins[pin_count++] = address;
	set_bit(th_live_blocks_bit(address));
}

void
th_live_blocks_clear(void)
{
	for (uint32_t i = 0; i < SHARDS; i++) {
		struct shard *shard = th_load_acquire(&shards[i]);

		if (!shard || !enter(shard))
			continue;
		for (uint32_t k = 0; k < slots_of(shard); k++)
			while (shard->slots[k].address)
				take(shard, shard->slots[k].address);
		th_unlock(&shard->lock);
	}
}

void
th_live_blocks_reset(void)
{
	for (size_t i = 0; i < sizeof(th_live_blocks_filter) / sizeof(th_live_blocks_filter[0]);
		i++)
		if (th_live_blocks_filter[i])
			th_live_blocks_filter[i] = 0;
	for (unsigned i = 0; i < pin_count; i++)
		set_bit(th_live_blocks_bit(pins[i]));
	/* The old shards stay mapped copy-on-write and untouched; new ones start empty. */
	for (unsigned i = 0; i < SHARDS; i++)
		th_store_relaxed(&shards[i], NULL);
	th_store_relaxed(&total, 0);
}

/* Observed by the tool */

/*
 * An entry that moves meanwhile may be missed, or occur twice.  Unused slots are not read, which would
 * make their pages resident there.
 */
static bool
observe(const void *start)
{
	const size_t first = offsetof(struct shard, slots) + FIRST_SLOTS * sizeof(struct slot);
	struct shard *theirs[SHARDS];

	if (!th_observed_copy_chunks(
		    (uintptr_t)start, shards, SHARDS, sizeof(struct shard), first) ||
		!th_observed_copy((uintptr_t)start, theirs, sizeof(theirs)))
		return false;
	for (uint32_t i = 0; i < SHARDS; i++)
		if (shards[i] && theirs[i] && shards[i]->is_large &&
			!th_observed_copy(
				(uintptr_t)theirs[i], shards[i], sizeof(struct shard)))
			return false;
	for (uint32_t i = 0; i < SHARDS; i++)
		if (shards[i])
			shards[i]->lock.held = 0;
	return true;
}

const struct th_observed_tables th_live_blocks_tables = {&shards, sizeof(shards), observe};
