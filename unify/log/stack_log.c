/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/log/stack_log.h"

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/function_names.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/log/ring.h"

/*
 * A hash table of 128-bit hashes without locks.  A slot is claimed by a compare-and-swap on
 * `low` and complete once `high` is stored with release order.  Entries are never removed.
 */

/*
 * The table grows by levels, each twice the size of the previous one, when half of all slots
 * are taken: 12 MiB at the maximum, 96 KiB for most programs.
 */
#define FIRST_SLOTS 4096u
#define LEVELS 8
/* Probes before a level counts as full: at the maximum, half the slots are taken. */
#define PROBES 256
/* Turns of waiting for `high` of an entry: a claim takes some 100 ns, a turn 10 to 40. */
#define HALF_TURNS 64

struct hash {
	uint64_t low;
	uint64_t high;
};

struct slot {
	uint64_t low;    /* atomic; 0 = empty; claimed by compare-and-swap */
	uint64_t high;   /* atomic; stored after the claim, 0 until then */
	uint32_t id;     /* stored before `high` */
	uint32_t logged; /* atomic: turn of the last use; 0: the log has no STACK record */
};

static struct level {
	struct slot *slots; /* atomic; NULL: not allocated yet */
	uint32_t taken;     /* atomic */
} levels[LEVELS];
static uint32_t stack_count; /* atomic: the last assigned id */

/*
 * Both halves of the 128-bit product: each bit of the result depends on all of x, in five
 * cycles.  The primes are those of splitmix64 (Steele, Lea, Flood 2014); any odd numbers with
 * as many ones as zeros would do.
 */
static uint64_t
fold(uint64_t x, uint64_t factor)
{
	unsigned __int128 product = (unsigned __int128)x * factor;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static struct hash
hash_frames(const uint64_t *frames, size_t count, uint32_t flags)
{
	struct hash hash = {0x243f6a8885a308d3u ^ flags, 0x13198a2e03707344u ^ count};

	for (size_t i = 0; i < count; i++) {
		hash.low = fold(hash.low ^ frames[i], 0xbf58476d1ce4e5b9u);
		hash.high = fold(hash.high + frames[i], 0x94d049bb133111ebu);
	}
	/* 0 means empty, or not stored yet. */
	hash.low |= !hash.low;
	hash.high |= !hash.high;
	return hash;
}

/* NULL: out of memory. */
static struct slot *
slots_of(unsigned level)
{
	return th_memory_map_once(
		&levels[level].slots, ((size_t)FIRST_SLOTS << level) * sizeof(struct slot));
}

bool
th_stack_table_init(void)
{
	return slots_of(0) != NULL;
}

static uint32_t
claim(struct level *level, struct slot *slot, const struct hash *hash)
{
	uint32_t id = th_add_relaxed(&stack_count, 1) + 1;

	th_add_relaxed(&level->taken, 1);

	slot->id = id;
	/* Pairs with the acquires in await_high: the id is set. */
	th_store_release(&slot->high, hash->high);
	return id;
}

/* `high` of a claimed slot; 0: not stored in time. */
static uint64_t
await_high(const struct slot *slot)
{
	uint64_t high = th_load_acquire(&slot->high);

	for (unsigned turn = 0; !high && turn < HALF_TURNS; turn++) {
		th_relax();
		high = th_load_acquire(&slot->high);
	}
	return high;
}

/*
 * The id of a stack in one level, inserted there if there is space; 0: not in this level.
 * `table` was read once: a handler that forks here leaves the child without one.
 */
static uint32_t
intern_in(unsigned number, struct slot *table, const struct hash *hash, uint32_t **logged_ret)
{
	struct level *level = &levels[number];
	const uint64_t count = (uint64_t)FIRST_SLOTS << number;

	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct slot *slot = &table[(hash->low + probe) & (count - 1)];
		uint64_t low = th_load_relaxed(&slot->low);

		if (!low) {
			if (th_load_relaxed(&level->taken) >= count / 2 ||
				th_load_relaxed(&stack_count) >= TH_STACKS_MAX)
				return 0;
			if (th_cas_acq_rel(&slot->low, &low, hash->low)) {
				*logged_ret = &slot->logged;
				return claim(level, slot, hash);
			}
		}
		if (low == hash->low && await_high(slot) == hash->high) {
			*logged_ret = &slot->logged;
			return slot->id;
		}
	}
	return 0;
}

uint32_t
th_stack_table_intern(
	const uint64_t *frames, size_t count, uint32_t flags, uint32_t **logged_ret)
{
	struct hash hash = hash_frames(frames, count, flags);
	uint32_t id = 0;

	*logged_ret = NULL;
	for (unsigned i = 0; !id && i < LEVELS; i++) {
		bool is_full = th_load_relaxed(&stack_count) >= TH_STACKS_MAX;
		struct slot *table = is_full ? th_load_acquire(&levels[i].slots) : slots_of(i);

		if (!table)
			break;
		id = intern_in(i, table, &hash, logged_ret);
	}
	return id;
}

bool
th_stack_table_forget(const uint64_t *frames, size_t count, uint32_t flags, uint32_t used)
{
	uint32_t *logged;
	uint32_t last;

	/* It is in the table: nothing is inserted, but where it was inserted under two ids. */
	if (!th_stack_table_intern(frames, count, flags, &logged))
		return true;
	last = th_load_relaxed(logged);
	/* A thread that uses it at this moment sees the 0, or makes the exchange fail. */
	return last < used && th_cas_acq_rel(logged, &last, 0);
}

/* The log */

static void
log_module(struct th_module *module)
{
	static const char digits[] = "0123456789abcdef";
	char build_id[2 * TH_BUILD_ID_MAX + 1];
	struct th_event_module event = {
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.module = module->id,
	};
	uint32_t bytes = 0;

	for (; bytes < module->build_id_bytes; bytes++) {
		build_id[2 * bytes] = digits[module->build_id[bytes] >> 4];
		build_id[2 * bytes + 1] = digits[module->build_id[bytes] & 15];
	}
	build_id[2 * bytes] = '\0';
	struct th_log_part parts[] = {th_log_text(module->path), th_log_text(build_id)};
	if (th_log_append(TH_EVENT_MODULE, &event, parts, 2))
		th_store_relaxed(&module->logged, 1);
}

void
th_stack_log_module(uint32_t id)
{
	struct th_module *module = th_module_get(id);

	if (module && !th_load_relaxed(&module->logged))
		log_module(module);
}

/* Ensures that the log has the module of a frame, and will have the name of its function. */
static void
log_frame(uint64_t frame)
{
	if (th_frame_kind(frame) != TH_FRAME_NATIVE || !th_frame_module(frame))
		return;
	th_stack_log_module(th_frame_module(frame));
	th_met_add(frame);
}

/* Writes a STACK record and the modules of its frames; false: the log is full. */
static bool
log_stack(uint32_t id, const uint64_t *frames, uint32_t count, uint32_t flags)
{
	struct th_event_stack event = {.stack = id, .flags = flags};
	struct th_log_part part = {frames, count};

	for (uint32_t i = 0; i < count; i++)
		log_frame(frames[i]);
	return th_log_append(TH_EVENT_STACK, &event, &part, 1) != 0;
}

bool
th_stack_log_use(uint32_t *use)
{
	uint32_t now = th_ring_chunk();
	uint32_t last = th_load_relaxed(use);

	/* Fails only if another thread does the same, or the ring drops the record. */
	while (last && last != now && !th_cas_acq_rel(use, &last, now))
		continue;
	return last != 0;
}

uint32_t
th_stack_log_id(const uint64_t *frames, uint32_t count, uint32_t flags, uint32_t **use_ret)
{
	uint32_t *logged;
	uint32_t id = th_stack_table_intern(frames, count, flags, &logged);

	*use_ret = logged;
	if (!id) {
		th_log_count(TH_COUNTER_DROPPED_STACKS_FULL, 1);
		return 0;
	}
	if (th_stack_log_use(logged))
		return id;
	if (!log_stack(id, frames, count, flags)) {
		th_log_count(TH_COUNTER_DROPPED_LOG_FULL, 1);
		return 0;
	}
	th_store_relaxed(logged, th_ring_chunk());
	return id;
}

void
th_stack_log_reset(void)
{
	for (unsigned i = 0; i < LEVELS; i++) {
		th_memory_retire(levels[i].slots);
		levels[i].slots = NULL;
		levels[i].taken = 0;
	}
	stack_count = 0;
	for (uint32_t id = 1; id <= th_module_count(); id++) {
		struct th_module *module = th_module_get(id);

		if (module)
			th_store_relaxed(&module->logged, 0);
	}
	th_function_names_reset();
}
