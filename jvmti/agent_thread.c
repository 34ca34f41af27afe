/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent thread's loop.  It alone serves requests, logs method names and looks for dead
 * objects.  It runs under the guard for its whole life, so its own allocations are not
 * recorded.  Any thread may wake it through the futex.
 */
#include "jvmti/agent_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "jvmti/batches.h"
#include "jvmti/class_ids.h"
#include "jvmti/class_loaders.h"
#include "jvmti/collections.h"
#include "jvmti/full_collection.h"
#include "jvmti/heap.h"
#include "jvmti/live_objects.h"
#include "jvmti/methods.h"
#include "unify/base/atomic.h"
#include "unify/base/system.h"
#include "unify/log/function_names.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/mapped/mapping.h"
#include "unify/recording/control.h"
#include "unify/recording/housekeeping.h"
#include "unify/recording/recorder.h"
#include "unify/resident/breakdown.h"
#include "unify/sample/admission.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/thread.h"
#include "unify/shared/clock.h"

/* Method names are looked up within this time; an idle turn costs a few microseconds. */
#define TURN_NS 20000000
/*
 * Looking for dead objects takes at most 1/REAP_SPACING of one processor's time: a quarter of
 * the default budget.
 */
#define REAP_SPACING 400
/* Reading thread names without a filter: at most 1/NAMES_SPACING; 4 us per thread (JDK 25). */
#define NAMES_SPACING 1000
/* Where threads are chosen by name, names are read every third turn. */
#define TURNS_PER_NAMES 3
/*
 * Counted sleeps instead of a deadline: they do not elapse while the whole process is stopped.
 */
#define STOP_NAP_NS 1000000
#define STOP_NAPS 1000

static struct {
	const struct th_agent_duties *duties;
	uint32_t calls;    /* atomic, futex: counts the wake-ups */
	uint32_t stopping; /* atomic: asked to end */
	uint32_t is_alive; /* atomic: running */
	uint32_t vm_ends;  /* atomic: asked for the breakdown of that time */
	/* written before it serves requests; only this thread may call the VM through `env` */
	pthread_t self;
	JNIEnv *env;
	bool must_reap;      /* objects may have died */
	uint64_t next_reap;  /* not before */
	uint64_t next_names; /* not before */
	uint32_t turns;      /* since names were last read */
} thread;

static void
log_own_time(void)
{
	th_log_set_counter(TH_COUNTER_SELF_AGENT_NS, th_clock_read(CLOCK_THREAD_CPUTIME_ID));
}

/* Sleeps for one turn or until woken; false: asked to stop. */
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

bool
th_agent_thread_is_alive(void)
{
	return th_load_acquire(&thread.is_alive);
}

void
th_agent_thread_vm_ends(void)
{
	th_store_release(&thread.vm_ends, 1);
	th_agent_thread_wake();
}

/*
 * Looks for dead objects.  The next search is due after a time proportional to the CPU time of
 * this one, not its elapsed time, so that a busy machine does not delay it.
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
	th_class_loaders_reap(env, th_collections_mean_pause());
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
	uint32_t vm_ends = 1;

	thread.duties->every_turn();
	if (th_cas_acq_rel(&thread.vm_ends, &vm_ends, 0))
		th_breakdown_teardown();
	if (th_methods_are_pending())
		th_methods_log_pending(jvmti, env);
	th_function_names_log(false);
	if (th_collections_log())
		thread.must_reap = true;
	if (th_collections_watch_full())
		thread.must_reap = true;
	if (thread.must_reap && th_clock_now() >= thread.next_reap)
		reap(env);
	else
		th_live_objects_collect(env);
	th_class_loaders_turn(env);
	if (th_in_flight_begin()) { /* keeps the log from being closed */
		th_log_prepare();
		th_in_flight_end();
	}
	th_housekeeping_run();
	th_full_collection_turn(jvmti);
	th_breakdown_poll(th_clock_now());
	th_admission_review();
	/* Between two reads th_agent_renamed() reports nearly all changes. */
	if (th_admission_is_filtered() && ++thread.turns % TURNS_PER_NAMES == 0) {
		th_heap_look_at_names(jvmti, env);
		th_admission_review_names();
	}
}

/*
 * Brings the log up to date on request: looks for dead objects now, even if the last search was
 * expensive, or if the collector clears references concurrently and the search after its pauses
 * is still to come.  At the end of the process another thread may call this, after this thread
 * has ended or, if this thread hangs, concurrently with it.
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
		th_function_names_log(true);
	}
	th_heap_log_bytes(false);
	th_class_loaders_log();
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
	th_class_loaders_log();
	th_module_refresh();
	th_recorder_refresh();
	thread.duties->every_second();
	log_own_time();
}

/* Requests are served on this thread only. */
static void
start_serving(void)
{
	th_control_on_flush(flush);
	th_control_set_java(thread.duties->switch_sampling);
	th_control_set_buffers(thread.duties->count_buffers);
	th_full_collection_start(thread.duties->gc_every);
	th_housekeeping_set_server(true);
}

static void
stop_serving(void)
{
	/* Without a server, the next thread with a sample due would end the recording. */
	if (!th_housekeeping_is_ending())
		th_housekeeping_set_server(false);
	th_control_set_java(NULL);
	th_control_set_buffers(NULL);
	th_full_collection_stop();
}

static void JNICALL
run(jvmtiEnv *jvmti, JNIEnv *env, void *argument)
{
	uint64_t next_second = th_clock_now() + TH_NS_PER_S;

	(void)argument;
	/* Never left: the agent's own allocations are not recorded. */
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
	th_class_loaders_log();
	th_batches_flush(th_collections_last_start());
	th_function_names_log(true);
	th_breakdown_end(true);
	log_own_time();
	if (th_housekeeping_is_ending())
		thread.duties->end_recording(env);
	th_store_release(&thread.is_alive, 0);
}

/* JVMTI requires a java.lang.Thread that was never started. */
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
	th_store_relaxed(&thread.stopping, 0);
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
