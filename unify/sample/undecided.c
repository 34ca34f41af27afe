/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots that are used in turn.  Each has a word of state, and whoever changes it next owns the slot:
 *
 *   FREE -> FILLED -> FOLLOWED -> WRITING -> FREE
 *
 * If the block is freed while its sample is being written (ENDED), or after that but before its id is
 * in the table of live blocks (WRITTEN), the two threads hand over to each other what is left to do.
 */
#include "unify/sample/undecided.h"

#include <stddef.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/log/stack_log.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/live_blocks.h"
#include "unify/shared/clock.h"

/* A word: WORD, KEPT, the generation of the slot and its index. */
#define WORD (UINT64_C(1) << 63)
#define KEPT (UINT64_C(1) << 62)
#define INDEX_BITS 12
_Static_assert(1 << INDEX_BITS == TH_UNDECIDED_MAX, "an index for each slot");
/* A state: the generation, and one of the values below. */
#define STATE_BITS 3
#define GENERATIONS ((UINT64_C(1) << (62 - INDEX_BITS)) - 1)
/* A block that is not in the table for so long has lost its free. */
#define LOST_NS (10 * TH_UNDECIDED_NS)

enum state {
	FREE,
	FILLED,   /* not in the table yet */
	FOLLOWED, /* the table has the word */
	WRITING,  /* by the thread that set this */
	ENDED,    /* freed meanwhile: the writer records that */
	WRITTEN, /* the table may still have the word: the one that frees the block records that */
};

struct slot {
	struct th_undecided_sample sample;
	uint64_t id;   /* of the written sample */
	uint64_t time; /* ENDED: when and by which thread */
	uint32_t thread;
};

static struct {
	struct slot *slots;                /* atomic; NULL: not allocated yet */
	uint64_t states[TH_UNDECIDED_MAX]; /* atomic */
	uint32_t next;                     /* atomic: slot to use */
	uint32_t count;                    /* atomic: slots in use */
	uint32_t is_allowed;               /* atomic */
} undecided;

static uint64_t
state_word(uint64_t generation, enum state state)
{
	return generation << STATE_BITS | state;
}

static enum state
state_in(uint64_t word)
{
	return (enum state)(word & ((1 << STATE_BITS) - 1));
}

static uint32_t
index_of(uint64_t word)
{
	return word & (TH_UNDECIDED_MAX - 1);
}

static uint64_t
generation_of(uint64_t word)
{
	return word >> INDEX_BITS & GENERATIONS;
}

/* From one state of the word's generation to another; false: it is in neither. */
static bool
change(uint64_t word, enum state from, enum state to)
{
	uint64_t expected = state_word(generation_of(word), from);

	return th_cas_acq_rel(&undecided.states[index_of(word)], &expected,
		state_word(generation_of(word), to));
}

/* Whether the slot has not been given to another sample. */
static bool
is_current(uint64_t word)
{
	uint64_t state = th_load_acquire(&undecided.states[index_of(word)]);

	return state >> STATE_BITS == generation_of(word) && state_in(state) != FREE;
}

/* By its owner. */
static void
release(uint64_t word)
{
	th_store_release(
		&undecided.states[index_of(word)], state_word(generation_of(word), FREE));
	th_add_relaxed(&undecided.count, UINT32_MAX);
}

static struct slot *
slot_of(uint64_t word)
{
	return &th_load_acquire(&undecided.slots)[index_of(word)];
}

/* Writing */

static bool
may_write(void)
{
	const struct th_log_header *header = th_log_header();

	return header && th_load_relaxed(&header->state) == TH_LOG_RECORDING;
}

/* The id of the sample; 0: it was dropped, and counted. */
static uint64_t
write_sample(const struct slot *slot)
{
	if (!th_stack_log_use(slot->sample.use)) {
		th_log_count(TH_COUNTER_DROPPED_LOG_FULL, 1);
		return 0;
	}
	return th_log_append_sample(
		TH_EVENT_NATIVE_ALLOC, &slot->sample.event, TH_COUNTER_NATIVE_SAMPLES);
}

static void
write_free(uint64_t id, uint64_t time, uint32_t thread)
{
	const struct th_event_native_free event = {
		.sample = id, .time = time, .thread = thread};

	th_survivors_remove(TH_HEAP_NATIVE, id);
	if (id && may_write())
		th_log_append(TH_EVENT_NATIVE_FREE, &event, NULL, 0);
}

/* Its sample is not written, although it would have been kept. */
static void
count_dropped(const struct slot *slot)
{
	if (slot->sample.is_kept)
		th_log_count(TH_COUNTER_DROPPED_STOPPED, 1);
}

/* Of a block that is alive, so that its sample is kept in any case. */
static uint64_t
write_survivor(struct slot *slot)
{
	slot->sample.event.keep = 1;
	/* It was counted as thinned out. */
	if (!slot->sample.is_kept)
		th_log_count(TH_COUNTER_RATE_THINNED, UINT64_MAX);
	return write_sample(slot);
}

/* The block is alive as far as is known: the table has it. */
static void
decide(uint64_t word)
{
	struct slot *slot = slot_of(word);
	uintptr_t address = (uintptr_t)slot->sample.event.address;

	if (!th_live_blocks_replace(address, word, word) || !change(word, FOLLOWED, WRITING))
		return;
	slot->id = write_survivor(slot);
	if (slot->id && th_live_blocks_replace(address, word, slot->id)) {
		th_survivors_add(
			TH_HEAP_NATIVE, slot->sample.origin, slot->id, slot->sample.event.time);
		release(word);
	} else if (!change(word, WRITING, WRITTEN)) {
		write_free(slot->id, slot->time, slot->thread);
		release(word);
	}
}

/* Interface */

void
th_undecided_allow(bool is_allowed)
{
	const struct th_log_header *header = th_log_header();

	th_store_relaxed(&undecided.is_allowed, is_allowed && header && !header->ring_bytes);
}

bool
th_undecided_is_allowed(void)
{
	return th_load_relaxed(&undecided.is_allowed);
}

uint64_t
th_undecided_add(const struct th_undecided_sample *sample)
{
	struct slot *slots = th_memory_map_once(
		&undecided.slots, TH_UNDECIDED_MAX * sizeof(*slots));
	uint32_t index = th_add_relaxed(&undecided.next, 1) % TH_UNDECIDED_MAX;
	uint64_t state = th_load_relaxed(&undecided.states[index]);
	uint64_t generation = ((state >> STATE_BITS) + 1) & GENERATIONS;

	if (!slots || state_in(state) != FREE ||
		!th_cas_acq_rel(
			&undecided.states[index], &state, state_word(generation, FILLED)))
		return 0;
	th_add_relaxed(&undecided.count, 1);
	slots[index].sample = *sample;
	return WORD | (sample->is_kept ? KEPT : 0) | generation << INDEX_BITS | index;
}

void
th_undecided_begin(uint64_t word)
{
	change(word, FILLED, FOLLOWED);
}

void
th_undecided_cancel(uint64_t word)
{
	if (change(word, FILLED, WRITING))
		release(word);
}

bool
th_undecided_is(uint64_t word)
{
	return word & WORD;
}

bool
th_undecided_is_kept(uint64_t word)
{
	return word & KEPT;
}

void
th_undecided_freed(uint64_t word, uint64_t time, uint32_t thread)
{
	struct slot *slot;

	if (!is_current(word))
		return;
	slot = slot_of(word);
	if (change(word, FOLLOWED, WRITING)) {
		if (slot->sample.is_kept && th_in_flight_state() == TH_IN_FLIGHT_OPEN)
			write_free(write_sample(slot), time, thread);
		else
			count_dropped(slot);
		release(word);
		return;
	}
	slot->time = time;
	slot->thread = thread;
	if (change(word, WRITING, ENDED))
		return;
	if (change(word, WRITTEN, WRITING)) {
		write_free(slot->id, time, thread);
		release(word);
	}
}

/* Those taken up to `latest` (ns). */
static void
decide_until(uint64_t latest, uint64_t now)
{
	for (uint32_t i = 0; i < TH_UNDECIDED_MAX; i++) {
		uint64_t state = th_load_acquire(&undecided.states[i]);

		if (state_in(state) != FOLLOWED)
			continue;
		uint64_t taken = undecided.slots[i].sample.event.time;
		uint64_t word = WORD | (undecided.slots[i].sample.is_kept ? KEPT : 0) |
				state >> STATE_BITS << INDEX_BITS | i;
		if (taken > latest)
			continue;
		decide(word);
		if (now > taken + LOST_NS && change(word, FOLLOWED, WRITING)) {
			count_dropped(slot_of(word));
			release(word);
		}
	}
}

void
th_undecided_look(uint64_t now)
{
	if (th_undecided_count() && may_write() && now > TH_UNDECIDED_NS)
		decide_until(now - TH_UNDECIDED_NS, now);
}

void
th_undecided_settle(void)
{
	if (th_undecided_count() && may_write())
		decide_until(UINT64_MAX, th_clock_now());
}

uint32_t
th_undecided_count(void)
{
	return th_load_relaxed(&undecided.count);
}

void
th_undecided_reset(void)
{
	undecided.is_allowed = 0;
	undecided.count = 0;
	/* Words of before, of blocks that are freed later, are of another generation. */
	for (uint32_t i = 0; i < TH_UNDECIDED_MAX; i++)
		undecided.states[i] = state_word(
			((undecided.states[i] >> STATE_BITS) + 1) & GENERATIONS, FREE);
}
