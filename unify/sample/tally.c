/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of makers is hashed by stack and type, without removal.  All changes are made under
 * the lock, in some dozen instructions; events are written without it, from a copy.
 */
#include "unify/sample/tally.h"

#include <string.h>

#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/sample/thread.h"
#include "unify/shared/clock.h"

/* The first length of a slot; 32 of them are 4 seconds. */
#define SLOT_NS (TH_NS_PER_S / 8)

/* The rate */

static uint32_t
rate_of(const struct th_tally *tally)
{
	uint32_t rate = th_load_relaxed(&tally->rate);

	return rate ? rate : TH_TALLY_RATE;
}

void
th_tally_adapt(struct th_tally *tally, uint64_t cpu, uint64_t elapsed)
{
	uint64_t rate = cpu >= elapsed ? TH_TALLY_RATE : TH_TALLY_RATE * cpu / elapsed;

	if (rate < TH_TALLY_RATE_LEAST)
		rate = TH_TALLY_RATE_LEAST;
	th_store_relaxed(&tally->rate, (uint32_t)rate);
}

static void
next_window(struct th_tally *tally, uint64_t now)
{
	uint32_t due = th_load_relaxed(&tally->due);
	uint32_t spent = th_load_relaxed(&tally->spent);
	uint64_t seconds = (now - th_load_relaxed(&tally->window)) / TH_NS_PER_S;
	uint32_t least = 0;

	/* 0 seconds: another thread has begun the next window. */
	while (seconds && due / seconds >> least > rate_of(tally))
		least++;
	th_store_relaxed(&tally->least, least);
	if (due > rate_of(tally))
		spent += due - rate_of(tally);
	th_store_relaxed(&tally->spent, spent < TH_TALLY_BURST ? spent : TH_TALLY_BURST);
	th_store_relaxed(&tally->due, 0);
	th_store_relaxed(&tally->window, now);
}

uint32_t
th_tally_level(struct th_tally *tally, uint64_t now)
{
	uint32_t level;
	uint32_t due;

	if (now - th_load_relaxed(&tally->window) >= TH_NS_PER_S)
		next_window(tally, now);
	due = th_add_relaxed(&tally->due, 1);
	if (due + th_load_relaxed(&tally->spent) < TH_TALLY_BURST + rate_of(tally))
		return 0;
	level = th_load_relaxed(&tally->least);
	while (due >> level >= rate_of(tally))
		level++;
	return level;
}

void
th_tally_raise(struct th_tally *tally)
{
	uint32_t spent = th_load_relaxed(&tally->spent) + th_load_relaxed(&tally->due);

	th_store_relaxed(&tally->spent, spent < TH_TALLY_BURST ? spent : TH_TALLY_BURST);
	th_store_relaxed(&tally->due, 0);
	th_store_relaxed(&tally->level, tally->level + 1);
}

/* Under the lock */

static uint32_t
find(struct th_tally_maker *makers, uint32_t stack, uint32_t type)
{
	uint32_t hash = (stack ^ type << 16) * 0x9e3779b1u;

	for (uint32_t i = 0; i < TH_TALLY_MAKERS_MAX - 1; i++) {
		uint32_t number = 1 + (hash + i) % (TH_TALLY_MAKERS_MAX - 1);
		struct th_tally_maker *maker = &makers[number];

		if (!maker->event.stack) {
			maker->event.stack = stack;
			maker->event.type = type;
		}
		if (maker->event.stack == stack && maker->event.type == type)
			return number;
	}
	return 0;
}

static void
join_slots(struct th_tally *tally)
{
	tally->slot_ns *= 2;
	for (uint32_t i = 1; i < TH_TALLY_MAKERS_MAX; i++) {
		uint64_t *births = tally->makers[i].births;

		for (uint32_t k = 0; tally->makers[i].event.stack && k < TH_TALLY_SLOTS; k++)
			births[k] = 2 * k < TH_TALLY_SLOTS ? births[2 * k] + births[2 * k + 1]
							   : 0;
	}
}

static uint32_t
slot_of(struct th_tally *tally, uint64_t time)
{
	if (!tally->origin) {
		tally->origin = time;
		tally->slot_ns = SLOT_NS;
	}
	if (time < tally->origin)
		return 0;
	while ((time - tally->origin) / tally->slot_ns >= TH_TALLY_SLOTS)
		join_slots(tally);
	return (uint32_t)((time - tally->origin) / tally->slot_ns);
}

static void
note_change(struct th_tally *tally, struct th_tally_maker *maker)
{
	maker->has_changed = true;
	th_store_relaxed(&tally->has_changed, 1);
}

/* Public functions */

uint32_t
th_tally_maker(struct th_tally *tally, uint32_t stack, uint32_t type)
{
	struct th_tally_maker *makers = th_memory_map_once(
		&tally->makers, TH_TALLY_MAKERS_MAX * sizeof(struct th_tally_maker));
	uint32_t number;

	if (!makers || !th_log_lock(&tally->lock))
		return 0;
	number = find(makers, stack, type);
	th_unlock(&tally->lock);
	return number;
}

bool
th_tally_add(struct th_tally *tally, const struct th_tally_item *item)
{
	const struct th_thread_record *record = th_thread.record;

	if (!item->maker || !th_log_lock(&tally->lock))
		return !item->maker;
	struct th_tally_maker *maker = &tally->makers[item->maker];
	if (!maker->event.made && record)
		maker->event.starter = record->start.stack;
	maker->births[slot_of(tally, item->born)] += item->weight;
	maker->event.made += item->weight;
	maker->event.alive += item->weight;
	maker->event.bytes += item->weight * item->bytes;
	maker->event.parts += item->weight * item->parts;
	note_change(tally, maker);
	th_unlock(&tally->lock);
	return true;
}

void
th_tally_remove(struct th_tally *tally, const struct th_tally_item *item, bool is_made)
{
	if (!item->maker || !th_log_lock(&tally->lock))
		return;
	struct th_tally_maker *maker = &tally->makers[item->maker];
	maker->births[slot_of(tally, item->born)] -= item->weight;
	maker->event.made -= is_made ? 0 : item->weight;
	maker->event.alive -= item->weight;
	maker->event.bytes -= item->weight * item->bytes;
	maker->event.parts -= item->weight * item->parts;
	note_change(tally, maker);
	th_unlock(&tally->lock);
}

void
th_tally_grow(struct th_tally *tally, uint32_t number, uint64_t bytes, uint64_t parts)
{
	if (!number || !th_log_lock(&tally->lock))
		return;
	tally->makers[number].event.bytes += bytes;
	tally->makers[number].event.parts += parts;
	note_change(tally, &tally->makers[number]);
	th_unlock(&tally->lock);
}

/* The log */

/* Copies a maker that has changed, with the time scale of its births. */
static bool
take_changed(struct th_tally *tally, uint32_t number, struct th_tally_maker *ret)
{
	struct th_tally_maker *maker = &tally->makers[number];

	if (!maker->event.stack)
		return false;
	if (!th_log_lock(&tally->lock)) {
		th_store_relaxed(&tally->has_changed, 1);
		return false;
	}
	*ret = *maker;
	maker->has_changed = false;
	ret->event.origin = tally->origin;
	ret->event.slot_ns = tally->slot_ns;
	ret->event.level = th_load_relaxed(&tally->level);
	th_unlock(&tally->lock);
	return ret->has_changed;
}

static void
log_maker(struct th_tally *tally, uint32_t number)
{
	uint32_t used = TH_TALLY_SLOTS;
	struct th_tally_maker maker;

	if (!take_changed(tally, number, &maker))
		return;
	maker.event.time = th_clock_now();
	maker.event.kind = tally->kind;
	while (used && !maker.births[used - 1])
		used--;
	const struct th_log_part part = {maker.births, used};
	th_log_append(TH_EVENT_TALLY, &maker.event, &part, 1);
}

void
th_tally_log(struct th_tally *tally)
{
	if (!th_load_acquire(&tally->makers) || !th_load_relaxed(&tally->has_changed))
		return;
	/* A change from here on may be written twice, but is not missed. */
	th_store_relaxed(&tally->has_changed, 0);
	for (uint32_t i = 1; i < TH_TALLY_MAKERS_MAX; i++)
		log_maker(tally, i);
}

void
th_tally_restart(struct th_tally *tally)
{
	if (!th_log_lock(&tally->lock))
		return;
	if (tally->makers)
		memset(tally->makers, 0, TH_TALLY_MAKERS_MAX * sizeof(*tally->makers));
	tally->origin = 0;
	th_store_relaxed(&tally->level, 0);
	th_store_relaxed(&tally->window, 0);
	th_store_relaxed(&tally->due, 0);
	th_store_relaxed(&tally->spent, 0);
	th_store_relaxed(&tally->rate, 0);
	th_unlock(&tally->lock);
}

void
th_tally_reset(struct th_tally *tally)
{
	/* The old table stays mapped copy-on-write and untouched. */
	*tally = (struct th_tally){.kind = tally->kind};
}
