/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that wait to be judged are in one queue, in the order of their births.  Allocating
 * threads append to it, under the lock; everything else belongs to the agent thread, which alone
 * removes from it, and so reads the entries without the lock.
 */
#include "jvmti/heap/few_followed.h"

#include <pthread.h>
#include <string.h>

#include "jvmti/heap/collector.h"
#include "jvmti/heap/live_objects.h"
#include "jvmti/vm/references.h"
#include "unify/log/log.h"
#include "unify/recording/recorder.h"
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
/*
 * Objects that wait: what they refer to stays in the heap.  In a list of 20,000 nodes, the worst case
 * measured on JDK 25, one costs 0.2 ms of CPU time in a young collection.  At most four a second
 * are chosen (th_choice_offer()), 2.5 where many are offered, each of which is in at most PROMOTIONS collections:
 * 0.9 % of a processor.
 */
#define WAITING 80
/* The largest object followed, and all that wait, as parts of the maximum heap size. */
#define OBJECT_PART 256
#define WAITING_PART 32

struct waiting {
	jweak reference; /* NULL: found dead */
	uint64_t sample;
	uint64_t size;
	uint64_t birth; /* CLOCK_MONOTONIC nanoseconds */
	double keep;
	bool is_old;
	struct th_collector_counts since; /* at the birth; once it is old, since then */
};

static struct {
	const struct th_hotspot *hotspot; /* NULL: not used */
	/*
	 * Protects what follows.  No call into the VM is made while it is held: a thread may be
	 * suspended there.
	 */
	pthread_mutex_t lock;
	bool is_open;
	struct th_random random;
	struct th_choice choice;
	uint32_t reserved; /* entries of the queue, and those about to be appended */
	uint64_t bytes;    /* of their objects */
	uint32_t count;
	struct waiting queue[WAITING];
	uint64_t judged; /* agent thread: births up to this time; 0 = none */
} few = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Choice */

static uint32_t
stratum_of(const struct th_choice *choice, uint64_t site, uint64_t size)
{
	uint64_t limit = choice->bytes_max / TH_CHOICE_SMALL_PART;
	uint32_t stratum = TH_CHOICE_SMALL;

	if (size <= limit)
		return (uint32_t)((site ^ choice->salt) * 0x9e3779b97f4a7c15u >> 32) %
		       TH_CHOICE_SMALL;
	for (limit *= 2; size > limit && stratum + 1 < TH_CHOICE_STRATA; limit *= 2)
		stratum++;
	return stratum;
}

void
th_choice_init(struct th_choice *choice, uint64_t bytes_max, uint64_t salt, uint64_t time)
{
	*choice = (struct th_choice){.bytes_max = bytes_max,
		.salt = salt,
		.span = time / TH_CHOICE_SPAN_NS,
		.in_use_before = (UINT64_C(1) << TH_CHOICE_STRATA) - 1};
}

/* Notes that a stratum is in use.  Returns the length of a period. */
static uint64_t
note_use(struct th_choice *choice, uint32_t stratum, uint64_t time)
{
	uint64_t span = time / TH_CHOICE_SPAN_NS;

	if (span != choice->span) {
		choice->in_use_before = span == choice->span + 1 ? choice->in_use : 0;
		choice->in_use = 0;
		choice->span = span;
	}
	choice->in_use |= UINT64_C(1) << stratum;
	return TH_CHOICE_SPACING_NS *
	       (uint64_t)__builtin_popcountll(choice->in_use | choice->in_use_before);
}

static void
begin_period(struct th_choice_stratum *stratum, uint64_t time, uint64_t length)
{
	double elapsed = (double)(time - stratum->begin);

	*stratum = (struct th_choice_stratum){.begin = time,
		.before = (double)stratum->count * (double)length / elapsed,
		.open = 1};
}

double
th_choice_offer(struct th_choice *choice, struct th_random *random, uint64_t site,
	uint64_t size, uint64_t time)
{
	uint32_t number = stratum_of(choice, site, size);
	struct th_choice_stratum *stratum = &choice->strata[number];
	uint64_t length = note_use(choice, number, time);

	/* The clocks of two threads may differ. */
	if (time >= stratum->begin + length)
		begin_period(stratum, time, length);
	stratum->count++;
	double expected = stratum->before > (double)stratum->count ? stratum->before
								   : (double)stratum->count;
	double keep = stratum->open / expected;
	stratum->open -= keep;
	if (stratum->is_used || th_random_unit(random) * expected > 1)
		return 0;
	stratum->is_used = true;
	return keep;
}

/* Start */

void
th_few_followed_init(const struct th_hotspot *hotspot)
{
	pthread_mutex_lock(&few.lock);
	th_random_seed(&few.random, th_recorder_settings()->seed);
	th_choice_init(&few.choice, th_collector_heap_max(hotspot) / OBJECT_PART,
		th_random_next(&few.random), th_clock_now());
	few.is_open = true;
	pthread_mutex_unlock(&few.lock);
	few.judged = 0;
	few.hotspot = hotspot;
}

bool
th_few_followed_is_used(void)
{
	return few.hotspot != NULL;
}

uint64_t
th_few_followed_judged(void)
{
	return few.judged;
}

/* Allocating threads */

/* Chooses an object and reserves its entry; 0: it is not followed.  Called under the lock. */
static double
choose(const struct th_sampled_object *object)
{
	uint64_t room = few.choice.bytes_max * (OBJECT_PART / WAITING_PART);
	double keep = th_choice_offer(
		&few.choice, &few.random, object->site, object->size, th_clock_now());

	if (keep <= 0 || !few.is_open || few.reserved == WAITING ||
		few.bytes + object->size > room)
		return 0;
	few.reserved++;
	few.bytes += object->size;
	return keep;
}

/* Under the lock. */
static void
release_room(uint64_t size)
{
	few.reserved--;
	few.bytes -= size;
}

/* An object whose reference is NULL, or that comes after the end, is not followed. */
static bool
append(const struct th_sampled_object *object, jweak reference, double keep)
{
	bool is_appended;

	pthread_mutex_lock(&few.lock);
	is_appended = reference && few.is_open;
	if (is_appended)
		few.queue[few.count++] = (struct waiting){.reference = reference,
			.sample = object->sample,
			.size = object->size,
			.birth = th_clock_now(),
			.keep = keep,
			.since = th_collector_counts(few.hotspot)};
	else
		release_room(object->size);
	pthread_mutex_unlock(&few.lock);
	return is_appended;
}

static void
follow(JNIEnv *env, const struct th_sampled_object *object, double keep)
{
	jweak reference = th_references_new_weak(env, object->reference);

	if (!reference)
		(*env)->ExceptionClear(env); /* out of memory */
	if (!append(object, reference, keep))
		th_references_delete_weak(env, reference);
}

bool
th_few_followed_offer(JNIEnv *env, const struct th_sampled_object *object)
{
	double keep;

	if (object->size > few.choice.bytes_max)
		return false;
	pthread_mutex_lock(&few.lock);
	keep = choose(object);
	pthread_mutex_unlock(&few.lock);
	if (keep > 0)
		follow(env, object, keep);
	return true;
}

/* The agent thread */

static uint32_t
count_waiting(void)
{
	uint32_t count;

	pthread_mutex_lock(&few.lock);
	count = few.count;
	pthread_mutex_unlock(&few.lock);
	return count;
}

void
th_few_followed_reap(JNIEnv *env)
{
	uint32_t count = few.hotspot ? count_waiting() : 0;

	for (struct waiting *object = few.queue; object < few.queue + count; object++) {
		if (!object->reference || !(*env)->IsSameObject(env, object->reference, NULL))
			continue;
		th_live_objects_died(object->sample, th_clock_now());
		th_references_delete_weak(env, object->reference);
		object->reference = NULL;
	}
}

static void
log_followed(const struct waiting *object)
{
	struct th_event_java_followed event = {.time = th_clock_now(),
		.sample = object->sample,
		.keep = object->keep,
		.judged = true};

	th_log_append(TH_EVENT_JAVA_FOLLOWED, &event, NULL, 0);
}

static void
log_judged(uint64_t births)
{
	struct th_event_java_judged event = {.time = th_clock_now(), .births = births};

	few.judged = births;
	th_log_append(TH_EVENT_JAVA_JUDGED, &event, NULL, 0);
}

static void
remove_first(uint32_t count)
{
	pthread_mutex_lock(&few.lock);
	for (uint32_t i = 0; i < count; i++)
		release_room(few.queue[i].size);
	few.count -= count;
	memmove(few.queue, few.queue + count, few.count * sizeof(few.queue[0]));
	pthread_mutex_unlock(&few.lock);
}

/* Logs which of the first `count` objects died, and passes on the live ones. */
static void
judge(JNIEnv *env, uint32_t count, uint64_t births)
{
	log_judged(births);
	th_few_followed_reap(env);
	for (uint32_t i = 0; i < count; i++) {
		log_followed(&few.queue[i]);
		if (few.queue[i].reference)
			th_live_objects_add(env, few.queue[i].reference, few.queue[i].sample);
	}
	remove_first(count);
}

static bool
is_due(struct waiting *object, const struct th_collector_counts *now)
{
	if (!object->is_old && now->all - object->since.all >= PROMOTIONS) {
		object->is_old = true;
		object->since = *now;
	}
	return object->is_old && now->major - object->since.major >= MAJORS;
}

void
th_few_followed_turn(JNIEnv *env)
{
	struct th_collector_counts now;
	uint32_t count, due = 0;

	if (!few.hotspot)
		return;
	now = th_collector_counts(few.hotspot);
	count = count_waiting();
	for (uint32_t i = 0; i < count; i++)
		due += is_due(&few.queue[i], &now);
	if (due)
		judge(env, due, few.queue[due - 1].birth);
}

void
th_few_followed_judge_all(JNIEnv *env, uint64_t began)
{
	uint32_t count, due = 0;

	if (!few.hotspot)
		return;
	count = count_waiting();
	while (due < count && few.queue[due].birth < began)
		due++;
	judge(env, due, began);
}

void
th_few_followed_release(JNIEnv *env)
{
	uint32_t count;

	pthread_mutex_lock(&few.lock);
	few.is_open = false;
	count = few.count;
	pthread_mutex_unlock(&few.lock);
	for (uint32_t i = 0; few.hotspot && i < count; i++)
		if (few.queue[i].reference)
			th_references_delete_weak(env, few.queue[i].reference);
	remove_first(count);
}
