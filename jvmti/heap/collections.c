/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's callbacks write pauses into a ring buffer, and the agent thread logs them.  The ring
 * has one writer, the VM thread that collects; `finished` publishes its entries.
 */
#include "jvmti/heap/collections.h"

#include <stdio.h>
#include <string.h>

#include "jvmti/heap/live_objects.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/recording/server.h"
#include "unify/shared/clock.h"
#include "unify/shared/collector_name.h"

/*
 * Pauses written, of which so many at once; of more the oldest are left out.  A loop that allocates
 * in a small young generation makes thousands per second, of 80 bytes of log each.
 */
#define PAUSES_PER_S 100
#define PAUSES_MAX 256
/* hsperfdata numbers the collectors of a VM from 0: young, old, concurrent. */
#define COLLECTORS_MAX 4
/*
 * Delays after which references that a concurrent collector clears after its pauses are checked
 * again.
 */
static const uint64_t later[] = {500000000, 1500000000};
/* The VM's value for a collection without a recorded cause. */
#define NO_CAUSE "No GC"
#define LATER_COUNT (sizeof(later) / sizeof(later[0]))
/*
 * The agent thread looks no more often than this while collections follow each other, and asks
 * the VM for the use of its heap, which may have to wait for a safepoint, no more often than
 * that.
 */
#define LOOK_SPACING_NS 20000000
#define HEAP_USE_SPACING_NS 100000000
/* Number of pauses averaged, and the minimum required. */
#define MEAN_PAUSES 64
#define MEAN_PAUSES_LEAST 16

struct pause {
	uint64_t start;
	uint64_t end;
	uint64_t total; /* of all pauses so far, ns */
};

struct collector {
	const int64_t *invocations; /* NULL: no such collector */
	const char *name;
	int64_t seen;
};

static struct {
	struct collector collectors[COLLECTORS_MAX];
	const char *last_cause; /* of the last collection */
	enum th_collector collector;
	/* Writer: the collecting thread of the VM, one at a time. */
	uint64_t started;
	uint64_t paused; /* in total, ns */
	struct pause pauses[PAUSES_MAX];
	uint32_t finished; /* atomic: pauses written since the start */
	/* Writer: the agent thread. */
	uint64_t next_look; /* atomic: ns; the agent thread wakes up by itself by then */
	uint64_t next_use;  /* no earlier is the use of the heap asked for again */
	bool use_is_due;
	uint64_t kept;    /* bytes in use at the last HEAP_USE; 0: there was none */
	uint32_t noticed; /* pauses after which the heap was examined */
	uint32_t logged;
	struct {
		uint64_t time; /* ns */
		uint64_t pauses;
	} room;         /* pauses that could be written then */
	bool is_forced; /* the last collection was requested, so it was one of the whole heap */
	bool has_kinds; /* the VM says which collectors ran */
	unsigned looks; /* entries of `later` used since the last collection */
	struct {
		uint64_t count; /* collections that judge old objects, */
		uint64_t whole; /* and those of them that judge all */
		uint64_t time;  /* objects made before were judged; 0 = none */
	} old;
} collections;

static void
find_collectors(void)
{
	char name[64];

	for (int i = 0; i < COLLECTORS_MAX; i++) {
		struct collector *collector = &collections.collectors[i];

		snprintf(name, sizeof(name), "sun.gc.collector.%d.invocations", i);
		collector->invocations = th_perf_data_long(name);
		snprintf(name, sizeof(name), "sun.gc.collector.%d.name", i);
		collector->name = th_perf_data_text(name);
		if (collector->invocations)
			collector->seen = *collector->invocations;
		collections.has_kinds |= collector->invocations && collector->name;
	}
	collections.last_cause = th_perf_data_text("sun.gc.lastCause");
}

/* Collections that judge old objects, or those that judge all; false: this VM does not count them. */
static bool
count_old(bool whole, uint64_t *ret)
{
	bool is_known = false;

	*ret = 0;
	for (int i = 0; i < COLLECTORS_MAX; i++) {
		struct collector *collector = &collections.collectors[i];

		if (!collector->invocations || !collector->name ||
			th_collector_is_young(collector->name) ||
			(whole && th_collector_is_of_old_only(collector->name)))
			continue;
		*ret += (uint64_t)*collector->invocations;
		is_known = true;
	}
	return is_known;
}

void
th_collections_init(enum th_collector collector)
{
	collections.collector = collector;
	find_collectors();
	count_old(false, &collections.old.count);
	count_old(true, &collections.old.whole);
}

void JNICALL
th_collections_started(jvmtiEnv *jvmti)
{
	(void)jvmti;
	collections.started = th_clock_now();
}

void JNICALL
th_collections_finished(jvmtiEnv *jvmti)
{
	uint32_t number = th_load_relaxed(&collections.finished);

	uint64_t now = th_clock_now();

	(void)jvmti;
	collections.paused += now - collections.started;
	collections.pauses[number % PAUSES_MAX] = (struct pause){
		collections.started, now, collections.paused};
	th_humongous_look(now);
	/* Pairs with the acquire in th_collections_log(). */
	th_store_release(&collections.finished, number + 1);
	/* After the store: at a later time the agent thread reads `finished` before it sleeps. */
	if (th_clock_now() >= th_load_relaxed(&collections.next_look))
		th_server_wake();
}

/*
 * Describes the collectors that ran since the last call, and the cause of the last collection.
 */
static void
describe(char *text, size_t capacity)
{
	size_t length = 0;

	text[0] = '\0';
	for (int i = 0; i < COLLECTORS_MAX; i++) {
		struct collector *collector = &collections.collectors[i];

		if (!collector->invocations || *collector->invocations == collector->seen)
			continue;
		collector->seen = *collector->invocations;
		length += (size_t)snprintf(text + length, capacity - length, "%s%.40s",
			length ? " + " : "", collector->name ? collector->name : "");
	}
	if (length && collections.last_cause && strcmp(collections.last_cause, NO_CAUSE) != 0)
		snprintf(text + length, capacity - length, " (%.40s)", collections.last_cause);
}

/* Leaves out the oldest pauses that are more than may be written now; the last one always is. */
static void
leave_out(uint32_t finished)
{
	uint64_t now = th_clock_now();
	uint64_t room = collections.room.pauses +
			(now - collections.room.time) * PAUSES_PER_S / TH_NS_PER_S;

	room = room < PAUSES_MAX ? room : PAUSES_MAX;
	if (finished - collections.logged > room)
		collections.logged = finished - (room ? (uint32_t)room : 1);
	room -= room ? finished - collections.logged : 0;
	collections.room.time = now;
	collections.room.pauses = room;
}

static void
log_pauses(uint32_t finished)
{
	/* Of a VM without such counters; a concurrent collector makes several pauses. */
	char kind[COLLECTORS_MAX * 48 + 64] =
		"concurrent or full collection (ForceGarbageCollection)";
	struct th_log_part part;

	leave_out(finished);
	if (!collections.is_forced || collections.has_kinds)
		describe(kind, sizeof(kind));
	collections.is_forced = false;
	part = th_log_text(kind);
	for (; collections.logged != finished; collections.logged++) {
		const struct pause *pause =
			&collections.pauses[collections.logged % PAUSES_MAX];
		struct th_event_collection event = {
			.start = pause->start,
			.end = pause->end,
			.paused = pause->total,
			.number = collections.logged + 1,
		};

		th_log_append(TH_EVENT_COLLECTION, &event, &part, 1);
	}
}

static void
log_heap_use(void)
{
	struct th_event_heap_use event = {
		.collections = th_load_acquire(&collections.finished)};
	struct th_log_part source = th_log_text("Runtime.totalMemory - freeMemory");

	collections.use_is_due = false;
	if (!th_vm_heap_use(&event.committed, &event.used))
		return;
	collections.kept = event.used;
	event.time = th_clock_now();
	collections.next_use = event.time + HEAP_USE_SPACING_NS;
	th_log_append(TH_EVENT_HEAP_USE, &event, &source, 1);
}

uint64_t
th_collections_heap_kept(void)
{
	uint64_t committed, used;

	if (!th_vm_heap_use(&committed, &used))
		return 0;
	return collections.kept && collections.kept < used ? collections.kept : used;
}

uint64_t
th_collections_old(void)
{
	uint64_t count;

	return count_old(false, &count) ? count : th_collections_count();
}

/* When the pause so many before the last one began; 0: there were fewer. */
static uint64_t
start_before(uint32_t pauses)
{
	uint32_t finished = th_load_acquire(&collections.finished);

	return finished > pauses
		       ? collections.pauses[(finished - 1 - pauses) % PAUSES_MAX].start
		       : 0;
}

static void
watch_old(void)
{
	uint64_t count, whole;

	count_old(false, &count);
	count_old(true, &whole);
	if (whole != collections.old.whole)
		collections.old.time = start_before(0);
	else if (count != collections.old.count)
		collections.old.time = start_before(TH_COLLECTOR_YOUNG_PAUSES);
	collections.old.count = count;
	collections.old.whole = whole;
}

uint64_t
th_collections_judged(void)
{
	return collections.old.time;
}

void
th_collections_forced(void)
{
	collections.is_forced = true;
}

uint32_t
th_collections_count(void)
{
	return th_load_acquire(&collections.finished);
}

uint64_t
th_collections_mean_pause(void)
{
	uint32_t finished = th_load_acquire(&collections.finished);
	uint32_t count = finished < MEAN_PAUSES ? finished : MEAN_PAUSES;
	uint64_t sum = 0;

	if (count < MEAN_PAUSES_LEAST || collections.collector > TH_COLLECTOR_G1)
		return 0;
	for (uint32_t i = 1; i <= count; i++) {
		const struct pause *pause = &collections.pauses[(finished - i) % PAUSES_MAX];

		sum += pause->end - pause->start;
	}
	return sum / count;
}

static uint64_t
end_of(uint32_t number)
{
	return collections.pauses[number % PAUSES_MAX].end;
}

/*
 * When the pauses that are not logged yet may be.  The VM updates its counters shortly after it
 * reports the end of a collection; where the next one follows at once, the last one may be counted
 * with those that are logged later.  UINT64_MAX: all are logged.
 */
static uint64_t
counted_at(uint32_t finished)
{
	if (finished == collections.logged)
		return UINT64_MAX;
	return th_min(end_of(finished - 1) + TH_COLLECTIONS_COUNT_NS,
		end_of(collections.logged) + 2 * TH_COLLECTIONS_COUNT_NS);
}

/* When the heap is looked at next; UINT64_MAX: not before another pause. */
static uint64_t
look_at(uint32_t finished)
{
	if (finished != collections.noticed)
		return 0;
	return collections.looks < LATER_COUNT ? end_of(finished - 1) + later[collections.looks]
					       : UINT64_MAX;
}

static bool
is_look_due(uint32_t finished, uint64_t now)
{
	if (now < look_at(finished))
		return false;
	if (finished == collections.noticed) {
		collections.looks++;
		return true;
	}
	collections.noticed = finished;
	collections.looks = 0;
	th_store_relaxed(&collections.next_look, now + LOOK_SPACING_NS);
	return true;
}

void
th_collections_flush(void)
{
	uint32_t finished = th_load_acquire(&collections.finished);

	if (finished != collections.logged)
		log_pauses(finished);
}

bool
th_collections_log(void)
{
	uint32_t finished = th_load_acquire(&collections.finished);
	uint64_t now = th_clock_now();
	bool is_due;

	if (finished == 0)
		return false;
	watch_old();
	/* The cause, too, is valid only then. */
	if (now >= counted_at(finished))
		log_pauses(finished);
	is_due = is_look_due(finished, now);
	collections.use_is_due |= is_due;
	if (collections.use_is_due && now >= collections.next_use)
		log_heap_use();
	return is_due;
}

void
th_collections_log_all(void)
{
	th_collections_log();
	if (collections.use_is_due)
		log_heap_use();
}

uint64_t
th_collections_next(uint64_t now)
{
	uint32_t finished = th_load_acquire(&collections.finished);

	if (!finished)
		return UINT64_MAX;
	uint64_t next = th_min(look_at(finished), counted_at(finished));
	if (now < collections.next_look)
		next = th_min(next, collections.next_look);
	if (collections.use_is_due)
		next = th_min(next, collections.next_use);
	return next;
}
