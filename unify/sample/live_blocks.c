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
#include "unify/sample/thread.h"
#include "unify/shared/clock.h"

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

/* Changes of a shard that wait; few threads wait for one lock at the same time: there are many locks. */
#define DEFERRED_MAX 8

struct slot {
	uintptr_t address; /* 0 = empty */
	uint64_t sample;
};

/* A change that was deferred because the holder of the lock was not running. */
struct change {
	uintptr_t address;
	uint64_t sample; /* sample to insert; 0: the block was freed */
	uint64_t time;
	uint32_t thread;
};

/*
 * Any thread queues changes without a lock; the next holder of the lock applies them before its own.
 * They are applied in the order of queueing if one call returned before the next began, which holds
 * for all changes of one block.
 */
struct deferred {
	uint32_t waiting; /* atomic: number of cells in use */
	uint64_t tickets; /* atomic */
	struct {
		uint32_t state; /* atomic: FREE, CLAIMED, READY */
		uint64_t ticket;
		struct change change;
	} cells[DEFERRED_MAX];
};
enum { FREE, CLAIMED, READY };

struct shard {
	struct th_spinlock lock;
	uint32_t count;
	uint32_t is_large; /* atomic: all slots are in use, not only the first */
	struct deferred deferred;
	struct slot slots[SLOTS];
};

uint32_t th_live_blocks_filter[1u << (TH_LIVE_BLOCKS_FILTER_BITS - 5)];

/* Blocks whose deferred removal was applied under the lock. */
struct late {
	uint32_t count;
	struct change items[DEFERRED_MAX];
};

static struct shard *shards[SHARDS]; /* atomic; NULL: no entries yet */
static uint64_t total;               /* atomic: entries of all shards */
static uint64_t lock_ns = TH_LOCK_NS;
static th_live_blocks_freed *on_late_free;
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
	__atomic_fetch_or(&th_live_blocks_filter[bit / 32], 1u << bit % 32, __ATOMIC_SEQ_CST);
}

static bool
is_pinned(uint32_t bit)
{
	for (unsigned i = 0; i < pin_count; i++)
		if (th_live_blocks_bit(pins[i]) == bit)
			return true;
	return false;
}

/* Deferred changes */

/* False: the queue is full. */
static bool
queue_change(struct deferred *deferred, const struct change *change)
{
	for (unsigned i = 0; i < DEFERRED_MAX; i++) {
		uint32_t state = FREE;

		if (!th_cas_acq_rel(&deferred->cells[i].state, &state, CLAIMED))
			continue;
		deferred->cells[i].ticket = th_add_acq_rel(&deferred->tickets, 1);
		deferred->cells[i].change = *change;
		th_add_acq_rel(&deferred->waiting, 1);
		__atomic_store_n(&deferred->cells[i].state, READY, __ATOMIC_SEQ_CST);
		return true;
	}
	return false;
}

/* Pairs with the store in queue_change(): the change is complete. */
static bool
is_ready(const struct deferred *deferred, unsigned i)
{
	return __atomic_load_n(&deferred->cells[i].state, __ATOMIC_SEQ_CST) == READY;
}

/* Removes the oldest complete change; false: there is none.  Under the lock. */
static bool
take_change(struct deferred *deferred, struct change *ret)
{
	unsigned oldest = DEFERRED_MAX;

	if (!th_load_acquire(&deferred->waiting))
		return false;
	for (unsigned i = 0; i < DEFERRED_MAX; i++)
		if (is_ready(deferred, i) &&
			(oldest == DEFERRED_MAX ||
				deferred->cells[i].ticket < deferred->cells[oldest].ticket))
			oldest = i;
	if (oldest == DEFERRED_MAX)
		return false;
	*ret = deferred->cells[oldest].change;
	th_add_acq_rel(&deferred->waiting, -1u);
	th_store_release(&deferred->cells[oldest].state, FREE);
	return true;
}

/* Whether a block with this bit waits. */
static bool
waits(const struct deferred *deferred, uint32_t bit)
{
	if (!th_load_acquire(&deferred->waiting))
		return false;
	for (unsigned i = 0; i < DEFERRED_MAX; i++)
		if (is_ready(deferred, i) &&
			th_live_blocks_bit(deferred->cells[i].change.address) == bit)
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
	if (is_pinned(bit))
		return;
	__atomic_fetch_and(
		&th_live_blocks_filter[bit / 32], ~(1u << bit % 32), __ATOMIC_SEQ_CST);
	/* Deferring a block precedes setting its bit: one of the two threads sees the other. */
	if (waits(&shard->deferred, bit))
		set_bit(bit);
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
	th_add_relaxed(&total, -UINT64_C(1));
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
	th_add_relaxed(&total, !slot->address);
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

/* Applies the deferred changes. */
static void
apply_deferred(struct shard *shard, struct late *late)
{
	struct change item;

	while (late->count < DEFERRED_MAX && take_change(&shard->deferred, &item)) {
		if (item.sample) {
			if (!put(shard, item.address, item.sample))
				th_log_count(TH_COUNTER_LIVE_TABLE_FULL, 1);
			continue;
		}
		item.sample = take(shard, item.address);
		if (item.sample)
			late->items[late->count++] = item;
	}
}

/* Entering and leaving a shard */

static bool
enter(struct shard *shard, struct late *late)
{
	late->count = 0;
	if (!th_lock_within(&shard->lock, lock_ns))
		return false;
	apply_deferred(shard, late);
	return true;
}

static void
leave(struct shard *shard, const struct late *late)
{
	th_unlock(&shard->lock);
	for (uint32_t i = 0; i < late->count; i++)
		if (on_late_free)
			on_late_free(late->items[i].sample, late->items[i].time,
				late->items[i].thread);
}

static bool
defer(struct shard *shard, uintptr_t address, uint64_t sample)
{
	const struct change item = {
		.address = address,
		.sample = sample,
		.time = th_clock_now(),
		.thread = th_thread.record ? th_thread.record->id : 0,
	};

	if (!queue_change(&shard->deferred, &item))
		return false;
	set_bit(th_live_blocks_bit(address));
	return true;
}

bool
th_live_blocks_insert(uintptr_t address, uint64_t sample)
{
	struct shard *shard = th_memory_map_once(place_of(address), sizeof(*shard));
	struct late late;
	bool entered;

	if (!shard)
		return false;
	if (!enter(shard, &late))
		return defer(shard, address, sample);
	entered = put(shard, address, sample);
	leave(shard, &late);
	return entered;
}

uint64_t
th_live_blocks_remove(uintptr_t address)
{
	struct shard *shard = shard_of(address);
	struct late late;
	uint64_t sample;

	if (!shard)
		return 0;
	if (!enter(shard, &late)) {
		if (!defer(shard, address, 0))
			th_log_count(TH_COUNTER_LIVE_FREES_LOST, 1);
		return 0;
	}
	sample = take(shard, address);
	leave(shard, &late);
	return sample;
}

void
th_live_blocks_on_late_free(th_live_blocks_freed *freed)
{
	on_late_free = freed;
}

void
th_live_blocks_settle(void)
{
	struct late late;

	for (uint32_t i = 0; i < SHARDS; i++) {
		struct shard *shard = th_load_acquire(&shards[i]);

		if (!shard || !th_load_relaxed(&shard->deferred.waiting))
			continue;
		if (enter(shard, &late))
			leave(shard, &late);
		th_log_count(
			TH_COUNTER_LIVE_FREES_LOST, th_load_relaxed(&shard->deferred.waiting));
	}
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
	struct late late;
	uint32_t count = 0;

	if (!enter(shard, &late)) {
		th_log_count(TH_COUNTER_LOCKS_GIVEN_UP, 1);
		return 0;
	}
	for (uint32_t i = first; i < first + SLOTS_AT_ONCE; i++)
		if (shard->slots[i].address)
			copy[count++] = shard->slots[i];
	leave(shard, &late);
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
		struct late late;

		if (!shard || !enter(shard, &late))
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

struct th_observed_part
th_live_blocks_part(void)
{
	return (struct th_observed_part){&shards, sizeof(shards), sizeof(struct shard)};
}

/*
 * An entry that moves meanwhile may be missed, or occur twice.  Unused slots are not read, which would
 * make their pages resident there.
 */
bool
th_live_blocks_observe(const void *part)
{
	const size_t first = offsetof(struct shard, slots) + FIRST_SLOTS * sizeof(struct slot);
	struct shard *theirs[SHARDS];

	if (!th_observed_copy_chunks(
		    (uintptr_t)part, shards, SHARDS, sizeof(struct shard), first) ||
		!th_observed_copy((uintptr_t)part, theirs, sizeof(theirs)))
		return false;
	for (uint32_t i = 0; i < SHARDS; i++)
		if (shards[i] && theirs[i] && shards[i]->is_large &&
			!th_observed_copy(
				(uintptr_t)theirs[i], shards[i], sizeof(struct shard)))
			return false;
	for (uint32_t i = 0; i < SHARDS; i++) {
		if (!shards[i])
			continue;
		shards[i]->lock.held = 0;
		shards[i]->deferred = (struct deferred){.waiting = 0};
	}
	return true;
}
