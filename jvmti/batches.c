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
 * tenuring threshold: ZPageAge has 15 young ages, and one collection may have been under way.
 */
#define PROMOTIONS 17
/* When the second collection of the whole heap begins, the first has ended. */
#define MAJORS 2
/* Young collections in which a batch takes objects. */
#define OPEN_COLLECTIONS 8
/*
 * Young collections that may find objects of a batch in the young generation, per second in the
 * mean.  With lists of 20,000 nodes, the worst case that was measured, each costs some 4 ms of CPU
 * time: 1 to 2 % of a processor (bench/collectors).
 */
#define BURDENED_PER_SECOND 2
/* Batches that wait, for the old generation or for a collection of the whole heap. */
#define BATCHES 4
/* The largest object that is followed is this part of the maximal heap. */
#define HEAP_PARTS 256

enum state { EMPTY, OPEN, YOUNG, OLD };

struct batch {
	enum state state;
	struct th_probation members;
	uint64_t opened; /* times */
	uint64_t closed;
	struct th_collector_counts since; /* when the state was entered */
};

static struct {
	const struct th_hotspot *hotspot; /* NULL: not used */
	th_batches_prove *prove;
	void (*report)(uint64_t sample);
	uint64_t bytes_max;
	/* Guards what follows: allocating threads offer, the agent's thread does the rest. */
	pthread_mutex_t lock;
	struct th_random random;
	struct batch batches[BATCHES];
	struct batch *open; /* NULL: objects are not followed now */
	uint64_t next_open; /* not before that time */
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
		all.open = batch;
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

/* A member that the log has as followed is not followed any more. */
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
	struct th_probation_member *member = th_probation_offer(
		&all.open->members, &all.random, object->site, object->size, &evicted);

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
	if (object->size > all.bytes_max)
		return false;
	pthread_mutex_lock(&all.lock);
	if (all.open)
		offer(env, object);
	pthread_mutex_unlock(&all.lock);
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
		all.report(member->sample);
		(*env)->DeleteWeakGlobalRef(env, member->reference);
		member->reference = NULL;
	}
}

/* Logs which members died, and passes the live ones on. */
static void
settle(JNIEnv *env, struct batch *batch)
{
	struct th_probation *members = &batch->members;

	log_judged(batch->state == OPEN ? th_clock_now() : batch->closed);
	reap(env, members);
	for (uint32_t i = 0; i < members->count; i++) {
		struct th_probation_member *member = &members->members[i];

		log_followed(member, th_probation_keep(members, member), true);
		if (member->reference)
			all.prove(env, member->reference, member->sample);
	}
	members->count = 0;
	batch->state = EMPTY;
}

/* The next batch opens late enough that the mean rate is BURDENED_PER_SECOND. */
static void
close_batch(struct batch *batch, uint64_t time, const struct th_collector_counts *now)
{
	uint64_t burdened = now->all - batch->since.all + PROMOTIONS;

	all.open = NULL;
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
			close_batch(batch, time, now);
		break;
	case YOUNG:
		if (collections >= PROMOTIONS)
			enter(batch, OLD, now);
		break;
	case OLD:
		if (now->major - batch->since.major >= MAJORS)
			settle(env, batch);
		break;
	default:
		break;
	}
}

static void
turn(JNIEnv *env)
{
	struct th_collector_counts now = th_collector_counts(all.hotspot);
	uint64_t time = th_clock_now();

	for (int i = 0; i < BATCHES; i++)
		advance(env, &all.batches[i], time, &now);
	if (!all.open && time >= all.next_open)
		open_batch(time, &now);
}

/* Calls `work` with each batch in use, under the lock. */
static void
each_batch(JNIEnv *env, void (*work)(JNIEnv *env, struct batch *batch, uint64_t argument),
	uint64_t argument)
{
	if (!all.hotspot)
		return;
	pthread_mutex_lock(&all.lock);
	for (int i = 0; i < BATCHES; i++)
		if (all.batches[i].state != EMPTY)
			work(env, &all.batches[i], argument);
	pthread_mutex_unlock(&all.lock);
}

void
th_batches_turn(JNIEnv *env)
{
	if (!all.hotspot)
		return;
	pthread_mutex_lock(&all.lock);
	turn(env);
	pthread_mutex_unlock(&all.lock);
}

static void
reap_batch(JNIEnv *env, struct batch *batch, uint64_t argument)
{
	(void)argument;
	reap(env, &batch->members);
}

void
th_batches_reap(JNIEnv *env)
{
	each_batch(env, reap_batch, 0);
}

static void
judge_batch(JNIEnv *env, struct batch *batch, uint64_t argument)
{
	(void)argument;
	if (batch == all.open)
		all.open = NULL;
	settle(env, batch);
}

void
th_batches_judge_all(JNIEnv *env)
{
	each_batch(env, judge_batch, 0);
}

/* A member that was young at an earlier call and is now older, but not judged, is unknown. */
static void
flush_batch(JNIEnv *env, struct batch *batch, uint64_t since)
{
	struct th_probation *members = &batch->members;

	(void)env;
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
	each_batch(NULL, flush_batch, since);
}

static void
release_batch(JNIEnv *env, struct batch *batch, uint64_t argument)
{
	struct th_probation *members = &batch->members;

	(void)argument;
	for (uint32_t i = 0; i < members->count; i++)
		if (members->members[i].reference)
			(*env)->DeleteWeakGlobalRef(env, members->members[i].reference);
	members->count = 0;
}

void
th_batches_release(JNIEnv *env)
{
	each_batch(env, release_batch, 0);
}
