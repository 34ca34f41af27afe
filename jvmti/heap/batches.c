/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of followed objects and their states: EMPTY -> OPEN -> YOUNG -> OLD -> EMPTY.
 * Allocating threads offer objects to the open batch, under the lock; everything else belongs
 * to the agent thread.
 */
#include "jvmti/heap/batches.h"

#include <pthread.h>

#include "jvmti/heap/collector.h"
#include "jvmti/ledger/references.h"
#include "jvmti/heap/probation.h"
#include "unify/log/log.h"
#include "unify/recording/recorder.h"
#include "unify/recording/server.h"
#include "unify/shared/clock.h"

/*
 * Young collections after which a live object is in the old generation, whatever the tenuring
 * threshold: ZPageAge has 15 young ages, and one collection may have been under way.
 */
#define PROMOTIONS 17
/*
 * Collections of the whole heap to wait for: when the second one begins, the first has ended.
 */
#define MAJORS 2
/* Young collections during which a batch takes objects. */
#define OPEN_COLLECTIONS 8
/*
 * Mean number per second of young collections that may find objects of a batch in the young
 * generation.  With lists of 20,000 nodes, the worst case measured, each costs about 4 ms of
 * CPU time: 1 to 2 % of a processor (bench/collectors).
 */
#define BURDENED_PER_SECOND 2
/* Batches waiting for the old generation or for a collection of the whole heap. */
#define BATCHES 4
/*
 * Members that may be evicted between two turns of the agent thread; beyond that no object is
 * chosen.
 */
#define SPARES 256
/* The largest object followed is 1/HEAP_PARTS of the maximum heap size. */
#define HEAP_PARTS 256

enum state { EMPTY, OPEN, YOUNG, OLD };

struct batch {
	enum state state;
	struct th_probation members;
	uint64_t opened; /* times, CLOCK_MONOTONIC nanoseconds */
	uint64_t closed;
	struct th_collector_counts since; /* when the state was entered */
};

static struct {
	const struct th_hotspot *hotspot; /* NULL: not used */
	th_batches_prove *prove;
	void (*report)(uint64_t sample);
	uint64_t bytes_max;
	/*
	 * Protects the open batch and the spares.  No call into the VM is made while it is
	 * held: a thread may be suspended there.  All other batches belong to the agent thread.
	 */
	pthread_mutex_t lock;
	struct th_random random; /* protected together with the open batch */
	struct batch *open;      /* NULL: no objects are taken at present */
	jweak spares[SPARES];    /* references to be deleted */
	uint32_t spare_count;
	struct batch batches[BATCHES];
	uint64_t next_open; /* the next batch opens no earlier than this */
	uint64_t judged;    /* births up to this time; 0 = none */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
enter(struct batch *batch, enum state state, const struct th_collector_counts *now)
{
	batch->state = state;
	batch->since = *now;
}

static void
open_batch(uint64_t time, const struct th_collector_counts *now)
{
	for (struct batch *batch = all.batches; batch < all.batches + BATCHES; batch++) {
		if (batch->state != EMPTY)
			continue;
		th_probation_reset(&batch->members, all.bytes_max, th_random_next(&all.random));
		batch->opened = time;
		enter(batch, OPEN, now);
		pthread_mutex_lock(&all.lock);
		all.open = batch;
		pthread_mutex_unlock(&all.lock);
		return;
	}
}

void
th_batches_init(const struct th_hotspot *hotspot, th_batches_prove *prove,
	void (*report)(uint64_t sample))
{
	struct th_collector_counts now = th_collector_counts(hotspot);

	all.prove = prove;
	all.report = report;
	all.bytes_max = th_collector_heap_max(hotspot) / HEAP_PARTS;
	th_random_seed(&all.random, th_recorder_settings()->seed);
	all.hotspot = hotspot;
	open_batch(th_clock_now(), &now);
}

bool
th_batches_are_used(void)
{
	return all.hotspot != NULL;
}

uint64_t
th_batches_judged(void)
{
	return all.judged;
}

/* Events */

static void
log_followed(const struct th_probation_member *member, double keep, bool is_judged)
{
	struct th_event_java_followed event = {.time = th_clock_now(),
		.sample = member->sample,
		.keep = keep,
		.judged = is_judged};

	th_log_append(TH_EVENT_JAVA_FOLLOWED, &event, NULL, 0);
}

/* Logs that a member previously logged as followed is no longer followed. */
static void
log_left(const struct th_probation_member *member)
{
	if (member->is_logged)
		log_followed(member, 0, false);
}

static void
log_judged(uint64_t births)
{
	struct th_event_java_judged event = {.time = th_clock_now(), .births = births};

	th_log_append(TH_EVENT_JAVA_JUDGED, &event, NULL, 0);
}

/* Allocating threads */

/*
 * Called under the lock.  The agent thread may be testing the reference of an evicted member,
 * so only that thread deletes it.  While there is no room for another such reference, no object
 * is chosen.
 */
static bool
choose(const struct th_sampled_object *object)
{
	struct th_probation_member evicted, *member;

	if (!all.open || all.spare_count == SPARES)
		return false;
	member = th_probation_offer(
		&all.open->members, &all.random, object->site, object->size, &evicted);
	if (evicted.reference)
		all.spares[all.spare_count++] = evicted.reference;
	if (evicted.reference && all.spare_count == SPARES / 2)
		th_server_wake();
	log_left(&evicted);
	if (!member)
		return false;
	member->sample = object->sample;
	member->time = th_clock_now();
	return true;
}

/* The member of the open batch with that sample; NULL: it was evicted. */
static struct th_probation_member *
find_open(uint64_t sample)
{
	struct th_probation *members = all.open ? &all.open->members : NULL;

	for (uint32_t i = 0; members && i < members->count; i++)
		if (members->members[i].sample == sample)
			return &members->members[i];
	return NULL;
}

/* A member without a reference is unknown: it is found neither dead nor alive. */
static void
refer(JNIEnv *env, const struct th_sampled_object *object)
{
	jweak reference = th_references_new_weak(env, object->reference);
	struct th_probation_member *member;

	if (!reference) {
		(*env)->ExceptionClear(env); /* out of memory */
		return;
	}
	pthread_mutex_lock(&all.lock);
	member = find_open(object->sample);
	if (member)
		member->reference = reference;
	pthread_mutex_unlock(&all.lock);
	if (!member)
		th_references_delete_weak(env, reference);
}

bool
th_batches_offer(JNIEnv *env, const struct th_sampled_object *object)
{
	bool is_chosen;

	if (object->size > all.bytes_max)
		return false;
	pthread_mutex_lock(&all.lock);
	is_chosen = choose(object);
	pthread_mutex_unlock(&all.lock);
	if (is_chosen)
		refer(env, object);
	return true;
}

/* The agent thread */

static bool
is_gone(JNIEnv *env, const struct th_probation_member *member)
{
	return member->reference && (*env)->IsSameObject(env, member->reference, NULL);
}

static void
bury(JNIEnv *env, struct th_probation_member *member)
{
	all.report(member->sample);
	th_references_delete_weak(env, member->reference);
	member->reference = NULL;
	member->is_dead = true;
}

/* For a batch that is not open. */
static void
reap(JNIEnv *env, struct batch *batch)
{
	struct th_probation *members = &batch->members;

	for (uint32_t i = 0; i < members->count; i++)
		if (is_gone(env, &members->members[i]))
			bury(env, &members->members[i]);
}

/* For the open batch: works on a copy, because the VM must not be called under the lock. */
static void
reap_open(JNIEnv *env)
{
	struct th_probation seen = {.count = 0};
	struct th_probation_member *member;

	pthread_mutex_lock(&all.lock);
	if (all.open)
		seen = all.open->members;
	pthread_mutex_unlock(&all.lock);
	for (uint32_t i = 0; i < seen.count; i++) {
		if (!is_gone(env, &seen.members[i]))
			continue;
		pthread_mutex_lock(&all.lock);
		member = find_open(seen.members[i].sample);
		if (member) {
			member->reference = NULL;
			member->is_dead = true;
		}
		pthread_mutex_unlock(&all.lock);
		if (member)
			bury(env, &seen.members[i]);
	}
}

static void
delete_spares(JNIEnv *env)
{
	jweak spares[SPARES];
	uint32_t count;

	pthread_mutex_lock(&all.lock);
	count = all.spare_count;
	for (uint32_t i = 0; i < count; i++)
		spares[i] = all.spares[i];
	all.spare_count = 0;
	pthread_mutex_unlock(&all.lock);
	for (uint32_t i = 0; i < count; i++)
		th_references_delete_weak(env, spares[i]);
}

/* An object that no collection has judged is logged as unknown. */
static void
drop(JNIEnv *env, struct th_probation_member *member)
{
	log_left(member);
	if (member->reference)
		th_references_delete_weak(env, member->reference);
	member->reference = NULL;
	member->is_dead = false;
}

/*
 * Logs which members died, and passes on the live ones.  Members born before `births` were
 * judged.
 */
static void
settle(JNIEnv *env, struct batch *batch, uint64_t births)
{
	struct th_probation *members = &batch->members;

	log_judged(births);
	all.judged = births;
	reap(env, batch);
	for (uint32_t i = 0; i < members->count; i++) {
		struct th_probation_member *member = &members->members[i];

		if (member->time > births)
			drop(env, member);
		if (!member->reference && !member->is_dead)
			continue;
		log_followed(member, th_probation_keep(members, member), true);
		if (member->reference)
			all.prove(env, member->reference, member->sample);
	}
	batch->state = EMPTY;
}

/*
 * The next batch opens late enough to keep the mean rate at BURDENED_PER_SECOND.  `to_come`:
 * young collections that will still find objects of this batch young.
 */
static void
close_batch(struct batch *batch, uint64_t time, const struct th_collector_counts *now,
	uint32_t to_come)
{
	uint64_t burdened = now->all - batch->since.all + to_come;

	pthread_mutex_lock(&all.lock);
	all.open = NULL;
	pthread_mutex_unlock(&all.lock);
	all.next_open = batch->opened + burdened * TH_NS_PER_S / BURDENED_PER_SECOND;
	batch->closed = time;
	enter(batch, YOUNG, now);
}

static void
advance(JNIEnv *env, struct batch *batch, uint64_t time, const struct th_collector_counts *now)
{
	uint32_t collections = now->all - batch->since.all;

	switch (batch->state) {
	case OPEN:
		if (collections >= OPEN_COLLECTIONS)
			close_batch(batch, time, now, PROMOTIONS);
		break;
	case YOUNG:
		if (collections >= PROMOTIONS)
			enter(batch, OLD, now);
		break;
	case OLD:
		if (now->major - batch->since.major >= MAJORS)
			settle(env, batch, batch->closed);
		break;
	default:
		break;
	}
}

void
th_batches_turn(JNIEnv *env)
{
	struct th_collector_counts now;
	uint64_t time = th_clock_now();

	if (!all.hotspot)
		return;
	now = th_collector_counts(all.hotspot);
	delete_spares(env);
	for (int i = 0; i < BATCHES; i++)
		advance(env, &all.batches[i], time, &now);
	if (!all.open && time >= all.next_open)
		open_batch(time, &now);
}

void
th_batches_reap(JNIEnv *env)
{
	if (!all.hotspot)
		return;
	reap_open(env);
	for (int i = 0; i < BATCHES; i++)
		if (all.batches[i].state == YOUNG || all.batches[i].state == OLD)
			reap(env, &all.batches[i]);
}

/* The batch in use that closed first; NULL: none is in use. */
static struct batch *
first_closed(void)
{
	struct batch *first = NULL;

	for (struct batch *batch = all.batches; batch < all.batches + BATCHES; batch++)
		if (batch->state != EMPTY && (!first || batch->closed < first->closed))
			first = batch;
	return first;
}

/* In the order of births: the last judgement counts. */
void
th_batches_judge_all(JNIEnv *env, uint64_t began)
{
	struct th_collector_counts now;
	struct batch *batch;

	if (!all.hotspot)
		return;
	now = th_collector_counts(all.hotspot);
	if (all.open)
		close_batch(all.open, th_clock_now(), &now, 0);
	while ((batch = first_closed()))
		settle(env, batch, batch->closed < began ? batch->closed : began);
}

/* A member that was young at an earlier call and is now older, but not judged, is unknown. */
static void
flush(struct th_probation *members, uint64_t since)
{
	for (uint32_t i = 0; i < members->count; i++) {
		struct th_probation_member *member = &members->members[i];
		bool is_young = member->reference && member->time >= since;

		if (is_young)
			log_followed(member, th_probation_keep(members, member), false);
		else
			log_left(member);
		member->is_logged = is_young;
	}
}

void
th_batches_flush(uint64_t since)
{
	if (!all.hotspot)
		return;
	pthread_mutex_lock(&all.lock);
	for (int i = 0; i < BATCHES; i++)
		if (all.batches[i].state != EMPTY)
			flush(&all.batches[i].members, since);
	pthread_mutex_unlock(&all.lock);
}

void
th_batches_release(JNIEnv *env)
{
	if (!all.hotspot)
		return;
	pthread_mutex_lock(&all.lock);
	all.open = NULL;
	pthread_mutex_unlock(&all.lock);
	all.next_open = UINT64_MAX;
	delete_spares(env);
	for (int i = 0; i < BATCHES; i++) {
		struct th_probation *members = &all.batches[i].members;

		for (uint32_t k = 0; k < members->count; k++)
			if (members->members[k].reference)
				th_references_delete_weak(env, members->members[k].reference);
		th_probation_reset(members, 0, 0);
		all.batches[i].state = EMPTY;
	}
}
