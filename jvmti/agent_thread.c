/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/agent_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "jvmti/batches.h"
#include "jvmti/class_ids.h"
#include "jvmti/collections.h"
#include "jvmti/heap.h"
#include "jvmti/live_objects.h"
#include "jvmti/methods.h"
#include "unify/resident/breakdown.h"
#include "unify/base/atomic.h"
#include "unify/shared/clock.h"
#include "unify/recording/housekeeping.h"
#include "unify/recording/control.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/admission.h"
#include "unify/log/log.h"
#include "unify/mapped/mapping.h"
#include "unify/log/module.h"
#include "unify/recording/recorder.h"
#include "unify/base/system.h"
#include "unify/sample/thread.h"

/* Methods are named within this time; a turn with nothing to do costs a few microseconds. */
#define TURN_NS 20000000
/* Looking for dead objects takes at most one part in so many of a processor's time. */
#define REAP_SPACING 100
/* Reading thread names without a filter, at most one part in so many: 4 us a thread (JDK 25). */
#define NAMES_SPACING 1000
/* Where threads are chosen by name, names are looked at every so many turns. */
#define TURNS_PER_NAMES 3
/* Naps, not a deadline: while the whole process is stopped none of them passes. */
#define STOP_NAP_NS 1000000
#define STOP_NAPS 1000

static struct {
	const struct th_agent_duties *duties;
	uint32_t calls;    /* atomic, futex: counts the wake-ups */
	uint32_t stopping; /* atomic: it is to end */
	uint32_t is_alive; /* atomic: it runs */
	pthread_t self;    /* written before it serves; it alone may call the VM by `env` */
	JNIEnv *env;
	bool must_reap;      /* objects may have died */
	uint64_t next_reap;  /* not before */
	uint64_t next_names; /* not before */
	uint32_t turns;      /* of looking at names */
} thread;

static void
log_own_time(void)
{
	th_log_set_counter(TH_COUNTER_SELF_AGENT_NS, th_clock_read(CLOCK_THREAD_CPUTIME_ID));
}

/* Sleeps for a turn or until it is called; false: to stop. */
static bool
wait_turn(void)
{
	const struct timespec turn = {0, TURN_NS};
	static uint32_t seen;
	uint32_t calls = th_load_acquire(&thread.calls);

	if (calls == seen && !th_load_acquire(&thread.stopping))
		syscall(SYS_futex, &thread.calls, FUTEX_WAIT_PRIVATE, calls, &turn, NULL, 0);
	seen = th_load_acquire(&thread.calls);
	return !th_load_acquire(&thread.stopping);
}

void
th_agent_thread_wake(void)
{
	th_add_acq_rel(&thread.calls, 1);
	syscall(SYS_futex, &thread.calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/*
 * Looks for dead objects.  When that may be done again is a matter of what it cost, not of how long
 * it took: a busy machine that let this thread wait must not let the deaths wait as well.
 */
static void
reap(JNIEnv *env)
{
	uint64_t cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID);
	uint64_t full = th_collections_take_full();

	th_live_objects_reap(env);
	if (full)
		th_batches_judge_all(env, full);
	th_live_objects_bound(env, th_collections_mean_pause(), th_collections_count());
	cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - cost;
	thread.must_reap = false;
	thread.next_reap = th_clock_now() + REAP_SPACING * cost;
}

static void
look_at_names(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint64_t cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID);

	if (th_clock_now() < thread.next_names)
		return;
	th_heap_look_at_names(jvmti, env);
	cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - cost;
	thread.next_names = th_clock_now() + NAMES_SPACING * cost;
}

static void
work_every_turn(jvmtiEnv *jvmti, JNIEnv *env)
{
	if (th_methods_are_pending())
		th_methods_log_pending(jvmti, env);
	if (th_collections_log())
		thread.must_reap = true;
	if (th_collections_watch_full())
		thread.must_reap = true;
	if (thread.must_reap && th_clock_now() >= thread.next_reap)
		reap(env);
	else
		th_live_objects_collect(env);
	if (th_in_flight_begin()) { /* the log is not closed meanwhile */
		th_log_prepare();
		th_in_flight_end();
	}
	th_housekeeping_run();
	th_breakdown_poll(th_clock_now());
	th_admission_review();
	/* Between two reads th_agent_renamed() reports nearly all changes. */
	if (th_admission_is_filtered() && ++thread.turns % TURNS_PER_NAMES == 0) {
		th_heap_look_at_names(jvmti, env);
		th_admission_review_names();
	}
	thread.duties->every_turn();
}

/*
 * Somebody wants the log to be current: what collections have found dead is looked for now, also
 * where the last look was dear, or where a collector clears references beside the program and the
 * look that follows its pauses is yet to come.  At the end of the process another thread may want
 * it, after this one or, where this one hangs, beside it.
 */
static void
flush(void)
{
	if (!th_load_relaxed(&thread.is_alive))
		return;
	if (pthread_equal(thread.self, pthread_self())) {
		th_collections_log();
		reap(thread.env);
		th_batches_flush(th_collections_last_start());
	}
	th_heap_log_bytes(false);
	th_collections_flush();
	log_own_time();
	if (pthread_equal(thread.self, pthread_self()))
		th_breakdown_flush();
}

static void
work_every_second(jvmtiEnv *jvmti, JNIEnv *env)
{
	look_at_names(jvmti, env);
	th_thread_log_bytes(false);
	th_mapping_log_use();
	th_heap_log_bytes(false);
	th_class_ids_review(jvmti, env);
	th_module_refresh();
	th_recorder_refresh();
	thread.duties->every_second();
	log_own_time();
}

/* Requests are served on this thread alone. */
static void
start_serving(void)
{
	th_control_on_flush(flush);
	th_control_set_java(thread.duties->follow_gate);
	th_control_set_buffers(thread.duties->count_buffers);
	th_housekeeping_set_server(true);
}

static void
stop_serving(void)
{
	th_housekeeping_set_server(false);
	th_control_set_java(NULL);
	th_control_set_buffers(NULL);
}

static void JNICALL
run(jvmtiEnv *jvmti, JNIEnv *env, void *argument)
{
	uint64_t next_second = th_clock_now() + TH_NS_PER_S;

	(void)argument;
	/* For good: what the agent allocates is no business of the report. */
	th_guard_enter();
	thread.self = pthread_self();
	thread.env = env;
	start_serving();
	while (wait_turn() && !th_housekeeping_is_ending()) {
		work_every_turn(jvmti, env);
		if (th_clock_now() < next_second)
			continue;
		work_every_second(jvmti, env);
		next_second += TH_NS_PER_S;
	}
	stop_serving();
	th_collections_log();
	th_collections_flush();
	reap(env);
	th_batches_flush(th_collections_last_start());
	th_breakdown_end(true);
	log_own_time();
	if (th_housekeeping_is_ending())
		thread.duties->end_recording(env);
	th_store_release(&thread.is_alive, 0);
}

/* JVMTI wants a java.lang.Thread that was never started. */
static jobject
make_thread(JNIEnv *env)
{
	jclass type = (*env)->FindClass(env, "java/lang/Thread");
	jmethodID init =
		type ? (*env)->GetMethodID(env, type, "<init>", "(Ljava/lang/String;)V") : NULL;
	jstring name = init ? (*env)->NewStringUTF(env, "twinheap") : NULL;
	jobject object = name ? (*env)->NewObject(env, type, init, name) : NULL;

	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, name);
	(*env)->DeleteLocalRef(env, type);
	return object;
}

bool
th_agent_thread_start(jvmtiEnv *jvmti, JNIEnv *env, const struct th_agent_duties *duties)
{
	jobject object = make_thread(env);
	bool started;

	thread.duties = duties;
	th_store_relaxed(&thread.is_alive, 1);
	started = object && !(*jvmti)->RunAgentThread(
				    jvmti, object, run, NULL, JVMTI_THREAD_NORM_PRIORITY);
	if (!started)
		th_store_relaxed(&thread.is_alive, 0);
	(*env)->DeleteLocalRef(env, object);
	return started;
}

bool
th_agent_thread_stop(void)
{
	th_store_release(&thread.stopping, 1);
	th_agent_thread_wake();
	for (int i = 0; i < STOP_NAPS && th_load_acquire(&thread.is_alive); i++)
		th_system_nap(STOP_NAP_NS);
	return !th_load_acquire(&thread.is_alive);
}
