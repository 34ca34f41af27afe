/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocating threads append to the table, under the lock; everything else belongs to the agent thread,
 * which alone removes from it, and so reads it without the lock.
 */
#include "jvmti/heap/live_objects.h"

#include <pthread.h>
#include <string.h>

#include "jvmti/vm/references.h"
#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/recording/server.h"
#include "unify/shared/clock.h"
#include "unify/shared/log_format.h"

/* With room for samples between two turns of the agent thread, */
#define TABLE_MAX (TH_LIVE_OBJECTS_MAX + 8192)
/* which is woken after so many: it has the time of the others, 20 ms at 300,000 per second. */
#define ADDED_WAKE 2048
/* So many references are always allowed. */
#define OLD_AT_LEAST 128
#define NEW_AT_LEAST 16
/*
 * References to new objects are averaged over this number of pauses and this time, to smooth
 * bursts.
 */
#define WINDOW_PAUSES 64
#define WINDOW_NS (2 * (uint64_t)TH_NS_PER_S)

struct followed {
	jweak reference;
	uint64_t sample;
};

static struct {
	struct followed *table;
	/* Held by writers of `count`.  No call into the VM is made while it is held. */
	pthread_mutex_t lock;
	uint32_t count;        /* atomic */
	uint64_t added;        /* atomic: references to new objects so far */
	uint32_t level;        /* atomic; writer: agent thread */
	uint32_t limit;        /* agent thread: of `count`, at most TH_LIVE_OBJECTS_MAX */
	struct {               /* agent thread */
		uint64_t time; /* when it began */
		uint32_t pauses;
		uint64_t added; /* by then */
	} window;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = TH_LIVE_OBJECTS_MAX};

bool
th_live_objects_init(void)
{
	return th_memory_map_once(&live.table, TABLE_MAX * sizeof(*live.table));
}

/* Events */

static void
log_level(uint32_t level)
{
	struct th_event_java_level event = {.time = th_clock_now(), .level = level};

	th_log_append(TH_EVENT_JAVA_LEVEL, &event, NULL, 0);
}

void
th_live_objects_died(uint64_t sample, uint64_t time)
{
	struct th_event_java_death event = {.time = time, .sample = sample};

	th_log_append(TH_EVENT_JAVA_DEATH, &event, NULL, 0);
}

static void
log_lost(uint64_t sample)
{
	struct th_event_java_lost event = {.time = th_clock_now(), .sample = sample};

	th_log_append(TH_EVENT_JAVA_LOST, &event, NULL, 0);
	th_log_count(TH_COUNTER_LIVE_OBJECTS_LOST, 1);
}

/*
 * Humongous objects
 *
 * A slot goes from free to claimed and followed on an allocating thread, to gone on the VM's
 * thread, and back to free on the agent thread.  Its state word counts the claims above the two
 * bits of the state, so that two uses of a slot are never confused.
 */

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
} humongous;

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

/* Without its table of regions they are not followed. */
static void
init_humongous(const struct th_hotspot *hotspot)
{
	if (!hotspot->g1_region_bytes || !*hotspot->g1_region_bytes)
		return;
	humongous.hotspot = hotspot;
	if (has_regions(hotspot) && !humongous.slots)
		humongous.slots = th_memory_map(TH_HUMONGOUS_MAX * sizeof(*humongous.slots));
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
	uintptr_t heap = *humongous.hotspot->collected_heap;
	uintptr_t regions = *(
		const uintptr_t *)(heap + (uintptr_t)humongous.hotspot->g1_regions);
	uint32_t shift = *(const uint32_t *)(heap + (uintptr_t)humongous.hotspot->g1_shift);

	return *(const char *const *)(regions + (address >> shift) * sizeof(void *));
}

static bool
starts_humongous(const char *region)
{
	const volatile uint32_t *tag =
		(const volatile uint32_t *)(const void *)(region + humongous.hotspot->g1_tag);

	return *tag == (uint32_t)humongous.hotspot->g1_starts_humongous;
}

/* `object` is a local reference, which keeps it alive during the call. */
static bool
is_humongous(jobject object, uint64_t size)
{
	size_t region_bytes = humongous.hotspot ? *humongous.hotspot->g1_region_bytes : 0;
	uintptr_t address;

	if (!humongous.hotspot || size < region_bytes / 2)
		return false;
	if (!humongous.slots)
		return true;
	address = address_of(object);
	return address % region_bytes == 0 && starts_humongous(region_of(address));
}

static void
note_use(uint32_t index)
{
	uint32_t used = th_load_relaxed(&humongous.used);

	while (used <= index && !th_cas_acq_rel(&humongous.used, &used, index + 1))
		;
}

/* False: the table is full or absent. */
static bool
follow_humongous(jobject object, uint64_t sample)
{
	for (uint32_t i = 0; humongous.slots && i < TH_HUMONGOUS_MAX; i++) {
		struct slot *slot = &humongous.slots[i];
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
	uint32_t used = humongous.slots ? th_load_acquire(&humongous.used) : 0;

	for (uint32_t i = 0; i < used; i++) {
		struct slot *slot = &humongous.slots[i];
		uint32_t state = th_load_acquire(&slot->state);

		if ((state & STATE_MASK) != FOLLOWED || starts_humongous(slot->region))
			continue;
		slot->gone_at = now;
		/*
		 * Pairs with the acquire in sweep_humongous(); fails if the slot was thinned.
		 */
		th_cas_acq_rel(&slot->state, &state, state - FOLLOWED + GONE);
	}
}

/* Logs those that have died, and stops following those that `level` does not keep. */
static void
sweep_humongous(uint32_t level)
{
	uint32_t used = humongous.slots ? th_load_relaxed(&humongous.used) : 0;

	for (uint32_t i = 0; i < used; i++) {
		struct slot *slot = &humongous.slots[i];
		uint32_t state = th_load_acquire(&slot->state);

		if ((state & STATE_MASK) == GONE) {
			th_live_objects_died(slot->sample, slot->gone_at);
			th_store_release(&slot->state, state - GONE + FREE);
		} else if ((state & STATE_MASK) == FOLLOWED &&
			   !th_live_keeps(slot->sample, level)) {
			th_cas_acq_rel(&slot->state, &state, state - FOLLOWED + FREE);
		}
	}
}

void
th_humongous_each(void (*visit)(uintptr_t address, uint64_t sample, void *data), void *data)
{
	uint32_t used = humongous.slots ? th_load_relaxed(&humongous.used) : 0;

	for (uint32_t i = 0; i < used; i++) {
		const struct slot *slot = &humongous.slots[i];

		/* Pairs with the release in follow_humongous(). */
		if ((th_load_acquire(&slot->state) & STATE_MASK) == FOLLOWED)
			visit(slot->address, slot->sample, data);
	}
}

/* The table */

/* On any thread.  False: there is no room. */
static bool
append(jweak reference, uint64_t sample)
{
	uint32_t count;

	pthread_mutex_lock(&live.lock);
	count = live.count;
	if (count < TABLE_MAX) {
		live.table[count] = (struct followed){reference, sample};
		/* Pairs with the acquire in th_live_objects_count(): the object is written. */
		th_store_release(&live.count, count + 1);
	}
	pthread_mutex_unlock(&live.lock);
	return count < TABLE_MAX;
}

static bool
follow_by_reference(JNIEnv *env, const struct th_sampled_object *object)
{
	jweak reference = th_references_new_weak(env, object->reference);

	if (!reference || !append(reference, object->sample)) {
		th_references_delete_weak(env, reference);
		return false;
	}
	if ((th_add_relaxed(&live.added, 1) + 1) % ADDED_WAKE == 0)
		th_server_wake();
	return true;
}

static bool
follow(JNIEnv *env, const struct th_sampled_object *object)
{
	if (th_few_followed_is_used())
		return th_few_followed_offer(env, object);
	if (is_humongous(object->reference, object->size))
		return follow_humongous(object->reference, object->sample);
	return follow_by_reference(env, object);
}

void
th_live_objects_follow(JNIEnv *env, const struct th_sampled_object *object)
{
	if (object->sample && live.table &&
		th_live_keeps(object->sample, th_load_relaxed(&live.level)) &&
		!follow(env, object))
		log_lost(object->sample);
}

uint32_t
th_live_objects_count(void)
{
	return th_load_acquire(&live.count);
}

static bool
is_alive(JNIEnv *env, const struct followed *object)
{
	if (!(*env)->IsSameObject(env, object->reference, NULL))
		return true;
	th_live_objects_died(object->sample, th_clock_now());
	return false;
}

/*
 * Removes objects that have died, and those that `level` does not keep: some may have been appended
 * under an earlier one.  What is appended meanwhile stays.
 */
static void
sweep(JNIEnv *env, uint32_t level)
{
	uint32_t count = th_live_objects_count();
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct followed *object = &live.table[i];

		if (th_live_keeps(object->sample, level) && is_alive(env, object))
			live.table[kept++] = *object;
		else
			th_references_delete_weak(env, object->reference);
	}
	pthread_mutex_lock(&live.lock);
	memmove(&live.table[kept], &live.table[count],
		(live.count - count) * sizeof(*live.table));
	th_store_relaxed(&live.count, live.count - count + kept);
	pthread_mutex_unlock(&live.lock);
	sweep_humongous(level);
}

/* From now on half as many objects are followed, including those in the table. */
static void
raise_level(JNIEnv *env)
{
	uint32_t level = live.level + 1;

	log_level(level);
	th_store_relaxed(&live.level, level);
	sweep(env, level);
}

/* Halves a full table; repeats if by chance nearly all objects were kept. */
static void
thin(JNIEnv *env)
{
	if (th_live_objects_count() < live.limit)
		return;
	while (th_live_objects_count() > live.limit / 4 * 3)
		raise_level(env);
}

void
th_live_objects_add(JNIEnv *env, jweak reference, uint64_t sample)
{
	if (append(reference, sample))
		return;
	th_references_delete_weak(env, reference);
	log_lost(sample);
}

void
th_live_objects_begin(
	JNIEnv *env, const struct th_hotspot *hotspot, enum th_collector collector)
{
	sweep(env, UINT32_MAX);
	live.limit = TH_LIVE_OBJECTS_MAX;
	th_store_relaxed(&live.level, 0);
	memset(&live.window, 0, sizeof(live.window));
	if (collector == TH_COLLECTOR_GENERATIONAL_Z)
		th_few_followed_init(hotspot);
	if (collector == TH_COLLECTOR_G1)
		init_humongous(hotspot);
}

void
th_live_objects_collect(JNIEnv *env)
{
	thin(env);
	th_few_followed_turn(env);
}

static void
bound_new(JNIEnv *env, uint64_t pause_ns, uint32_t pauses, uint64_t now)
{
	uint32_t passed = pauses - live.window.pauses;
	uint64_t bound = th_references_allowed(pause_ns, TH_REFERENCE_NEW_NS, NEW_AT_LEAST);
	uint64_t added = th_load_relaxed(&live.added);

	if (live.window.time && (passed < WINDOW_PAUSES || now < live.window.time + WINDOW_NS))
		return;
	for (uint64_t each = live.window.time ? (added - live.window.added) / passed : 0;
		each > bound; each /= 2)
		raise_level(env);
	live.window.time = now;
	live.window.pauses = pauses;
	live.window.added = added;
}

void
th_live_objects_bound(JNIEnv *env, uint64_t pause_ns, uint32_t pauses, uint64_t now)
{
	if (!pause_ns)
		return;
	live.limit = (uint32_t)th_min(TH_LIVE_OBJECTS_MAX,
		th_references_allowed(pause_ns, TH_REFERENCE_OLD_NS, OLD_AT_LEAST));
	thin(env);
	bound_new(env, pause_ns, pauses, now);
}

void
th_live_objects_reap(JNIEnv *env)
{
	th_live_objects_collect(env);
	sweep(env, live.level);
	th_few_followed_reap(env);
}

void
th_live_objects_each(void (*visit)(jweak reference, uint64_t sample, void *data), void *data)
{
	uint32_t count = th_live_objects_count();

	for (uint32_t i = 0; i < count; i++)
		visit(live.table[i].reference, live.table[i].sample, data);
}

void
th_live_objects_release(JNIEnv *env)
{
	th_few_followed_release(env);
	sweep(env, UINT32_MAX);
}
