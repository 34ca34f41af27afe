/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each sample passes these steps: whether the library's countdown has ended in the object,
 * admission, then the shared pipeline (unify/sample/sample.h).  The thread record links a
 * JavaThread to its exact byte count, which the agent thread and other threads read without a
 * lock.
 */
#include "jvmti/heap/heap.h"

#include <string.h>

#include "jvmti/names/classes.h"
#include "jvmti/stacks/java_stack.h"
#include "jvmti/heap/live_objects.h"
#include "jvmti/threads/thread_bytes.h"
#include "jvmti/heap/vm_countdown.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/recording/recorder.h"
#include "unify/sample/admission.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/sample.h"
#include "unify/sample/thread.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"
#include "unify/shared/hash.h"

/*
 * Bits of an object's address that give its location: some collectors store color bits above
 * them (ZGC, 2^42 up to 4 TB of heap).
 */
#define PLACE_BITS 42
#define PLACE_MASK ((UINT64_C(1) << PLACE_BITS) - 1)

/* At the end, waiting for threads whose bytes cannot be read at the moment: 10 ms in all. */
#define FINAL_NAPS 50
#define NAP_NS 200000

static bool read_for_admission(struct th_thread_record *record, uint64_t *bytes_ret);

static struct {
	const struct th_hotspot *hotspot; /* NULL: exact bytes are unknown */
	bool asks_names;                  /* th_agent_renamed() is not called */
	/* the library, not the VM, draws countdowns; set before `is_begun` */
	bool draws;
	uint32_t is_begun;    /* atomic: samples are recorded */
	uint64_t interval;    /* atomic: the interval with which the VM draws */
	uint64_t quiet_bytes; /* atomic: bytes of ended threads that left no record */
	uint64_t quiet_bytes_logged;
} heap;

void
th_heap_init(jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot, bool asks_names)
{
	heap.hotspot = th_hotspot_has_bytes(hotspot) ? hotspot : NULL;
	heap.asks_names = asks_names;
	th_store_release(&heap.is_begun, 0);
	th_store_relaxed(&heap.quiet_bytes, 0);
	heap.quiet_bytes_logged = 0;
	th_admission_read_java_by(heap.hotspot ? read_for_admission : NULL);
	th_older_threads_meet(jvmti, env, heap.hotspot);
}

void
th_heap_begin(bool own_draws)
{
	heap.draws = own_draws;
	th_store_release(&heap.is_begun, 1);
}

void
th_heap_take_over(void)
{
	struct th_thread_record *record = th_thread_first();

	for (; record; record = th_thread_next(record))
		th_store_relaxed(&record->java_due, 0);
}

void
th_heap_set_interval(uint64_t interval)
{
	th_store_relaxed(&heap.interval, interval);
}

/* Samples */

/*
 * As for the C heap (unify/sample/thread.c): the block that contains the end of the countdown
 * is sampled.  `bytes`: the count of the calling thread, in the VM.  Needs heap.draws.
 */
static void
draw(struct th_thread_record *record, char *thread, uint64_t bytes)
{
	uint64_t interval = th_throttle_interval(TH_HEAP_JAVA);
	uint64_t countdown = 1;

	if (interval)
		countdown += (uint64_t)th_sampler_draw(&record->random, interval);
	record->java_interval = interval;
	record->java_due = bytes + countdown;
	th_vm_countdown_set(thread, countdown);
}

/* The VM has drawn the countdown that now begins on this thread: its end is unknown. */
static void
note_draw_of_vm(struct th_thread_record *record)
{
	record->java_interval = th_load_relaxed(&heap.interval);
	record->java_due = 0;
}

/*
 * Counts a thread from here on; `past`: bytes it has allocated before.  A thread may leave the
 * VM and come back (the main thread does, to destroy the VM), each time with a new JavaThread
 * that counts from zero.  The thread record continues, and keeps its name.
 */
static void
join(struct th_thread_record *record, char *thread, uint64_t past)
{
	record->java_before = past - record->java_bytes;
	th_store_release(&record->java_thread, (void *)thread);
	record->java_interval = TH_INTERVAL_UNKNOWN;
	record->java_due = 0;
}

/*
 * The VM called before the end of the countdown (vm_countdown.h), or drew its own for an object
 * of the library: the rest is set again.  False: the countdown has ended.
 */
static bool
is_early(struct th_thread_record *record, char *thread, uint64_t bytes)
{
	/* Read once: th_heap_take_over(). */
	uint64_t due = th_load_relaxed(&record->java_due);

	if (due <= bytes)
		return false;
	th_vm_countdown_set(thread, due - bytes);
	th_log_count(TH_COUNTER_JAVA_EARLY, 1);
	return true;
}

/*
 * Whether our countdown ended in the object.  `bytes`: the thread's count in the VM, including
 * the object.  If the VM missed the end, the sampled byte is lost, and is counted as such; from
 * there to the object no other byte is known to be sampled, so the object is with the probability
 * of its size.
 */
static bool
is_due(struct th_thread_record *record, char *thread, const struct th_event_java_alloc *object,
	uint64_t bytes)
{
	uint64_t due = th_load_relaxed(&record->java_due);

	if (is_early(record, thread, bytes))
		return false;
	draw(record, thread, bytes);
	if (bytes - due < object->size)
		return true;
	th_log_count(TH_COUNTER_JAVA_MISSED, 1);
	return (uint64_t)th_sampler_draw(&record->random, object->interval) < object->size;
}

/*
 * Whether the object is sampled.  A countdown that another agent or, on a thread that is older
 * than the recording, the VM has drawn only starts the thread's first of ours.
 */
static bool
is_sampled(struct th_thread_record *record, char *thread, struct th_event_java_alloc *object)
{
	uint64_t bytes = object->thread_bytes + record->java_before;

	object->interval = record->java_interval;
	if (!heap.draws) {
		note_draw_of_vm(record);
		if (object->interval == TH_INTERVAL_UNKNOWN)
			object->interval = th_recorder_settings()->limits.interval;
		return true;
	}
	if (record->java_due)
		return is_due(record, thread, object, bytes);
	draw(record, thread, bytes);
	return false;
}

/* jni.cpp: the thread that destroys the VM gets this name; until then it is "main". */
static bool
is_destroying(const char *name)
{
	return !strcmp(name, "DestroyJavaVM");
}

static void
name_thread(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, struct th_thread_record *record)
{
	jvmtiThreadInfo info;

	if (!th_vm_thread_info(jvmti, env, thread, &info))
		return;
	if (!record->java_named || !is_destroying(info.name))
		th_thread_rename(record, info.name);
	th_vm_free(jvmti, info.name);
}

/*
 * The record of a thread; NULL: it has none.  Searches from the record after `last` on: in the order of
 * the records each is the next.
 */
static struct th_thread_record *
record_of(JNIEnv *env, jthread thread, struct th_thread_record *last)
{
	const char *java_thread = th_older_threads_java_thread(env, thread);
	struct th_thread_record *record = last;

	if (!java_thread)
		return NULL;
	do {
		record = record ? th_thread_next(record) : NULL;
		if (!record)
			record = th_thread_first();
		if (record && th_load_acquire(&record->java_thread) == java_thread)
			return record;
	} while (record && record != last && (last || th_thread_next(record)));
	return NULL;
}

/* A virtual thread has no record: it runs on a carrier, which keeps its own name. */
void
th_heap_look_at_name(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	struct th_thread_record *record = record_of(env, thread, NULL);

	if (record)
		name_thread(jvmti, env, thread, record);
}

/*
 * What the calling thread, which is not counted yet, allocated before the recording; `now`:
 * what it has allocated so far.
 */
static uint64_t
past_of(const char *thread, uint64_t now)
{
	uint64_t past = th_older_threads_take(thread);

	return past == TH_OLDER_THREADS_UNKNOWN ? now : past;
}

/* The exact bytes of the calling thread, including the object just sampled. */
static bool
bytes_with(struct th_thread_record *record, char *thread, uint64_t size, uint64_t *bytes_ret)
{
	uint64_t bytes;

	if (!th_thread_bytes(heap.hotspot, thread, &bytes))
		return false;
	if (record->java_thread != thread)
		join(record, thread, past_of(thread, bytes - size));
	/* The VM may post an object that was allocated before the thread joined. */
	if (bytes - record->java_before < size)
		record->java_before = bytes - size;
	*bytes_ret = bytes - record->java_before;
	return true;
}

/* Whether the thread is admitted; if so, the object's byte count is the admitted one. */
static bool
is_counted(struct th_thread_record *record, struct th_event_java_alloc *object)
{
	if (!th_admission_admits(record, TH_HEAP_JAVA))
		return false;
	if (!heap.hotspot)
		return true;
	object->thread_bytes = th_counted_bytes(record, TH_HEAP_JAVA, object->thread_bytes);
	/* Fewer bytes: counting began after this allocation. */
	return object->thread_bytes >= object->size;
}

static void
follow(JNIEnv *env, jobject reference, const struct th_event_java_alloc *object,
	uint64_t sample)
{
	const struct th_sampled_object sampled = {
		.reference = reference,
		.sample = sample,
		.size = object->size,
		.site = (uint64_t)object->class << 32 | object->stack,
	};

	th_live_objects_follow(env, &sampled);
}

/* The VM's arguments for a sampled object. */
struct sampled {
	jvmtiEnv *jvmti;
	JNIEnv *env;
	jthread thread;
	jobject object;
	jclass type;
};

/*
 * The class by the address of its mirror, which the collector moves a few times at most; the
 * size, whose logarithm the arrays of one site have in common; and the Java code.
 */
static uint64_t
key(const struct th_sample *sample)
{
	const struct sampled *sampled = sample->data;
	uint64_t mirror = *(const uintptr_t *)(const void *)sampled->type & PLACE_MASK;
	uint64_t size_class = (uint64_t)__builtin_clzll(sample->event->size | 1);
	uint64_t code = 0;

	if (heap.hotspot)
		code = th_java_key_of_object(th_hotspot_thread(heap.hotspot, sampled->env));
	return code ? code ^ th_hash_mix(mirror ^ size_class << PLACE_BITS) : 0;
}

static void
prepare(struct th_sample *sample)
{
	const struct sampled *sampled = sample->data;

	if (heap.asks_names)
		th_heap_look_at_name(sampled->jvmti, sampled->env, sampled->thread);
}

static uint32_t
detail(const struct th_sample *sample)
{
	const struct sampled *sampled = sample->data;

	return th_classes_id(sampled->jvmti, sampled->type);
}

static uint64_t
append_java(struct th_sample *sample)
{
	((struct th_event_java_alloc *)sample->event)->class = sample->detail;
	return th_log_append_sample(
		TH_EVENT_JAVA_ALLOC, sample->event, TH_COUNTER_JAVA_SAMPLES);
}

/* The event of a sample that is due and admitted; false: it is not recorded. */
static bool
admit(const struct sampled *sampled, struct th_thread_record *record,
	struct th_event_java_alloc *event)
{
	char *thread = NULL;

	if (heap.hotspot) {
		thread = th_hotspot_thread(heap.hotspot, sampled->env);
		/* An end of the countdown that was in this object is counted at the next. */
		if (!bytes_with(record, thread, event->size, &event->thread_bytes))
			return false;
	}
	return is_sampled(record, thread, event) && is_counted(record, event);
}

static void
record_object(struct sampled *sampled, uint64_t size, const struct th_registers *registers)
{
	static const struct th_sample_lane lane = {
		.heap = TH_HEAP_JAVA,
		.key = key,
		.prepare = prepare,
		.detail = detail,
		.append = append_java,
	};
	struct th_event_java_alloc event = {.size = size};
	struct th_sample sample = {.lane = &lane,
		.record = th_thread_record(),
		.event = (struct th_event_alloc *)&event,
		.data = sampled};
	uint64_t id;

	if (!sample.record || !admit(sampled, sample.record, &event))
		return;
	sample.now = th_clock_now();
	if (!th_in_flight_begin()) {
		th_sample_drop();
		return;
	}
	th_sample_tick(sample.now);
	id = th_sample_take(&sample, registers);
	th_in_flight_end();
	follow(sampled->env, sampled->object, &event, id);
}

/*
 * An object of the library itself (agent thread, start of the agent), or of the VM's start: the
 * event is enabled from OnLoad, and JDK 25 posts it before VMInit.
 */
static void
pass_over(JNIEnv *env)
{
	struct th_thread_record *record = th_thread.record;
	char *thread;
	uint64_t bytes;

	if (!record)
		return;
	if (!record->java_due) {
		note_draw_of_vm(record);
		return;
	}
	thread = th_hotspot_thread(heap.hotspot, env);
	if (record->java_thread == thread && th_thread_bytes(heap.hotspot, thread, &bytes) &&
		!is_early(record, thread, bytes))
		draw(record, thread, bytes);
}

void JNICALL
th_heap_sampled(
	jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object, jclass type, jlong size)
{
	struct sampled sampled = {jvmti, env, thread, object, type};
	struct th_registers registers;

	if (th_thread.guard || !th_load_acquire(&heap.is_begun)) {
		pass_over(env);
		return;
	}
	th_guard_enter();
	th_registers_here(&registers);
	record_object(&sampled, (uint64_t)size, &registers);
	th_guard_leave();
}

void
th_heap_look_at_names(jvmtiEnv *jvmti, JNIEnv *env)
{
	struct th_thread_record *record = NULL;
	jthread *threads;
	jint count;

	if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
		return;
	/* The newest is the last of these, but the first record. */
	for (jint i = count; i-- > 0;) {
		struct th_thread_record *found = record_of(env, threads[i], record);

		if (found)
			name_thread(jvmti, env, threads[i], record = found);
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	th_vm_free(jvmti, threads);
}

/* Exact bytes */

void
th_heap_thread_starts(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, bool skip_past)
{
	struct th_thread_record *record;

	th_guard_enter();
	record = th_thread_record();
	if (record && !record->java_named)
		name_thread(jvmti, env, thread, record);
	if (record && heap.hotspot) {
		char *java_thread = th_hotspot_thread(heap.hotspot, env);
		uint64_t bytes;

		/* This thread is counted from here on, whatever it allocated before. */
		th_older_threads_take(java_thread);
		/*
		 * Counting has begun already if a sample came first, or if the thread existed
		 * before.
		 */
		if (record->java_thread != java_thread &&
			th_thread_bytes(heap.hotspot, java_thread, &bytes)) {
			join(record, java_thread, skip_past ? bytes : 0);
			if (heap.draws && th_load_acquire(&heap.is_begun))
				draw(record, java_thread, bytes);
			else if (!skip_past)
				note_draw_of_vm(record);
		}
	}
	th_guard_leave();
}

/* Bytes counted for a thread without a record are not counted again when it comes back. */
static void
log_end(struct th_thread_record *record, uint64_t bytes)
{
	uint64_t counted = th_counted_bytes(record, TH_HEAP_JAVA, bytes);

	record->java_bytes = record->logged ? bytes : 0;
	th_store_release(&record->java_thread, NULL);
	if (record->logged) {
		th_thread_log_heap_bytes(record->id, TH_HEAP_JAVA, counted);
		return;
	}
	th_add_relaxed(&heap.quiet_bytes, counted);
	th_admission_restart(record, TH_HEAP_JAVA);
}

/* Whether threads that never had a sample count as a whole. */
static bool
counts_older(void)
{
	return heap.hotspot && th_load_acquire(&heap.is_begun) &&
	       th_admission_wants(TH_HEAP_JAVA);
}

void
th_heap_settle(jvmtiEnv *jvmti, JNIEnv *env)
{
	if (counts_older())
		th_add_relaxed(&heap.quiet_bytes, th_older_threads_settle(jvmti, env));
}

void
th_heap_thread_ends(JNIEnv *env)
{
	struct th_thread_record *record;

	th_guard_enter();
	record = th_thread.record;
	if (heap.hotspot) {
		uint64_t bytes, past;
		char *java_thread = th_hotspot_thread(heap.hotspot, env);
		bool is_known = th_thread_bytes(heap.hotspot, java_thread, &bytes);

		if (record && record->java_thread && is_known)
			log_end(record, bytes - record->java_before);
		else if (record && record->java_thread) /* what was logged last counts */
			th_store_release(&record->java_thread, NULL);
		else if ((past = th_older_threads_take(java_thread)) !=
				 TH_OLDER_THREADS_UNKNOWN &&
			 is_known && counts_older())
			th_add_relaxed(&heap.quiet_bytes, bytes - past);
	}
	th_guard_leave();
}

/*
 * The bytes of another thread.  Its JavaThread may be deleted at any time, but not before
 * th_heap_thread_ends() has cleared the pointer: if the pointer is unchanged after the read,
 * the values read were valid.
 */
static bool
read_bytes(struct th_thread_record *record, uint64_t *bytes_ret)
{
	char *thread = th_load_acquire(&record->java_thread);

	if (!thread || !th_thread_bytes_of(heap.hotspot, thread, bytes_ret) ||
		th_load_acquire(&record->java_thread) != thread)
		return false;
	*bytes_ret -= record->java_before;
	return true;
}

/* For admission: the bytes of a thread outside the VM are those at the time it left. */
static bool
read_for_admission(struct th_thread_record *record, uint64_t *bytes_ret)
{
	char *thread = th_load_acquire(&record->java_thread);

	*bytes_ret = record->java_bytes;
	if (!thread)
		return true;
	if (record != th_thread.record)
		return read_bytes(record, bytes_ret);
	if (!th_thread_bytes(heap.hotspot, thread, bytes_ret))
		return false;
	*bytes_ret -= record->java_before;
	return true;
}

/* A thread that was preempted while it changed its TLAB cannot be read before it runs again. */
static bool
wait_for_bytes(struct th_thread_record *record, unsigned *naps, uint64_t *bytes_ret)
{
	while (!read_bytes(record, bytes_ret)) {
		if (!th_load_acquire(&record->java_thread) || !*naps)
			return false;
		--*naps;
		th_system_nap(NAP_NS);
	}
	return true;
}

/* `naps`: how often it may still wait. */
static void
log_thread(struct th_thread_record *record, bool final, unsigned *naps)
{
	uint64_t bytes;

	if (!record->logged && !final)
		return;
	if (!wait_for_bytes(record, naps, &bytes))
		return;
	bytes = th_counted_bytes(record, TH_HEAP_JAVA, bytes);
	if (bytes == record->java_bytes_logged)
		return;
	if (!record->logged)
		th_add_relaxed(&heap.quiet_bytes, bytes);
	else if (th_thread_log_heap_bytes(record->id, TH_HEAP_JAVA, bytes))
		record->java_bytes_logged = bytes;
}

void
th_heap_log_bytes(bool final)
{
	struct th_thread_record *record = th_thread_first();
	unsigned naps = final ? FINAL_NAPS : 0;
	uint64_t quiet;

	for (; record && heap.hotspot; record = th_thread_next(record))
		log_thread(record, final, &naps);
	quiet = th_load_relaxed(&heap.quiet_bytes);
	if (quiet != heap.quiet_bytes_logged &&
		th_thread_log_heap_bytes(0, TH_HEAP_JAVA, quiet))
		heap.quiet_bytes_logged = quiet;
}
