/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/batches.h"

#include <pthread.h>

#include "jvmti/collector.h"
#include "jvmti/probation.h"
#include "unify/clock.h"
#include "unify/log.h"
#include "unify/recorder.h"

/*
 * Young collections after which an object that lives on is in the old generation, whatever the
 * tenuring threshold: ZPageAge has 15 young ages, and one collection was perhaps under way.
 */
#define PROMOTIONS 17
/* Of two collections of the whole heap that begin after a moment, the first has ended. */
#define MAJORS 2
/* The largest object that is followed is this part of the maximal heap. */
#define HEAP_PARTS 256

struct batch {
	struct th_probation members;
	uint64_t closed; /* time; 0 = open, or waiting for nothing */
	bool is_promoted;
	struct th_collector_counts since; /* closed, or promoted */
};

static struct {
	const struct th_hotspot *hotspot; /* NULL: not used */
	th_batches_prove *prove;
	void (*report)(uint64_t sample);
	uint64_t bytes_max;
	/* Guards what follows: allocating threads offer, the agent's thread does the rest. */
	pthread_mutex_t lock;
	struct th_random random;
	struct batch open;
	struct batch waiting;
} batches = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
begin_batch(void)
{
	batches.open = (struct batch){.since = th_collector_counts(batches.hotspot)};
	th_probation_reset(
		&batches.open.members, batches.bytes_max, th_random_next(&batches.random));
}

void
th_batches_init(const struct th_hotspot *hotspot, th_batches_prove *prove,
	void (*report)(uint64_t sample))
{
	batches.prove = prove;
	batches.report = report;
	batches.bytes_max = th_collector_heap_max(hotspot) / HEAP_PARTS;
	th_random_seed(&batches.random, th_recorder_settings()->seed);
	batches.hotspot = hotspot;
	begin_batch();
}

bool
th_batches_are_used(void)
{
	return batches.hotspot != NULL;
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

/* A member that was written down as followed is so no more. */
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

/* Under the lock: the reference is made only for an object that is chosen. */
static void
offer(JNIEnv *env, const struct th_sampled_object *object)
{
	struct th_probation_member evicted;
	struct th_probation_member *member = th_probation_offer(&batches.open.members,
		&batches.random, object->site, object->size, &evicted);

	if (evicted.reference)
		(*env)->DeleteWeakGlobalRef(env, evicted.reference);
	log_left(&evicted);
	if (!member)
		return;
	member->reference = (*env)->NewWeakGlobalRef(env, object->reference);
	member->sample = object->sample;
	member->time = th_clock_now();
}

bool
th_batches_offer(JNIEnv *env, const struct th_sampled_object *object)
{
	if (!th_probation_takes(&batches.open.members, object->size))
		return false;
	pthread_mutex_lock(&batches.lock);
	offer(env, object);
	pthread_mutex_unlock(&batches.lock);
	return true;
}

/* The agent's thread */

static void
reap(JNIEnv *env, struct th_probation *members)
{
	for (uint32_t i = 0; i < members->count; i++) {
		struct th_probation_member *member = &members->members[i];

		if (!member->reference || !(*env)->IsSameObject(env, member->reference, NULL))
			continue;
		batches.report(member->sample);
		(*env)->DeleteWeakGlobalRef(env, member->reference);
		member->reference = NULL;
	}
}

/* Writes what became of the members, and hands on those that live. */
static void
settle(JNIEnv *env, struct batch *batch)
{
	struct th_probation *members = &batch->members;

	reap(env, members);
	for (uint32_t i = 0; i < members->count; i++) {
		struct th_probation_member *member = &members->members[i];

		if (!member->sample)
			continue;
		log_followed(member, th_probation_keep(members, member), true);
		if (member->reference)
			batches.prove(env, member->reference, member->sample);
	}
	members->count = 0;
	batch->closed = 0;
}

static bool
is_judged(struct batch *batch, const struct th_collector_counts *now)
{
	if (!batch->is_promoted && now->all - batch->since.all >= PROMOTIONS) {
		batch->is_promoted = true;
		batch->since = *now;
	}
	return batch->is_promoted && now->major - batch->since.major >= MAJORS;
}

/* A batch is of a time in which objects may have grown old, or in which all were judged. */
static bool
is_complete(const struct batch *batch, const struct th_collector_counts *now)
{
	return batch->members.count && (now->all - batch->since.all >= PROMOTIONS ||
					       now->major != batch->since.major);
}

static void
turn(JNIEnv *env)
{
	struct th_collector_counts now = th_collector_counts(batches.hotspot);

	if (batches.waiting.closed && is_judged(&batches.waiting, &now)) {
		log_judged(batches.waiting.closed);
		settle(env, &batches.waiting);
	}
	if (!batches.waiting.closed && is_complete(&batches.open, &now)) {
		batches.waiting = batches.open;
		batches.waiting.closed = th_clock_now();
		batches.waiting.since = now;
		begin_batch();
	}
}

void
th_batches_turn(JNIEnv *env)
{
	if (!batches.hotspot)
		return;
	pthread_mutex_lock(&batches.lock);
	turn(env);
	pthread_mutex_unlock(&batches.lock);
}

void
th_batches_reap(JNIEnv *env)
{
	if (!batches.hotspot)
		return;
	pthread_mutex_lock(&batches.lock);
	reap(env, &batches.open.members);
	reap(env, &batches.waiting.members);
	pthread_mutex_unlock(&batches.lock);
}

void
th_batches_judge_all(JNIEnv *env)
{
	if (!batches.hotspot)
		return;
	pthread_mutex_lock(&batches.lock);
	log_judged(th_clock_now());
	settle(env, &batches.waiting);
	settle(env, &batches.open);
	begin_batch();
	pthread_mutex_unlock(&batches.lock);
}

/* One that was younger at an earlier call and has grown older unjudged is not known any more. */
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
	if (!batches.hotspot)
		return;
	pthread_mutex_lock(&batches.lock);
	flush(&batches.open.members, since);
	flush(&batches.waiting.members, since);
	pthread_mutex_unlock(&batches.lock);
}

static void
release(JNIEnv *env, struct th_probation *members)
{
	for (uint32_t i = 0; i < members->count; i++)
		if (members->members[i].reference)
			(*env)->DeleteWeakGlobalRef(env, members->members[i].reference);
	members->count = 0;
}

void
th_batches_release(JNIEnv *env)
{
	if (!batches.hotspot)
		return;
	pthread_mutex_lock(&batches.lock);
	release(env, &batches.open.members);
	release(env, &batches.waiting.members);
	pthread_mutex_unlock(&batches.lock);
}
