/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent thread's loop.  It alone serves requests, logs method names and looks for dead
 * objects.  It runs under the guard for its whole life, so its own allocations are not
 * recorded.  It sleeps until the next of its duties is due (next_turn()) or it is woken
 * (unify/recording/server.h): by a collection, a request, the end of the VM, a table that fills up,
 * or the first sample after a time without.
 */
#include "jvmti/agent_thread.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "jvmti/heap/few_followed.h"
#include "jvmti/names/class_loaders.h"
#include "jvmti/heap/collections.h"
#include "jvmti/heap/full_collection.h"
#include "jvmti/heap/heap.h"
#include "jvmti/vm/references.h"
#include "jvmti/ledger/takes.h"
#include "jvmti/heap/live_objects.h"
#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/base/system.h"
#include "unify/log/function_names.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/log/ring.h"
#include "unify/mapped/mapping.h"
#include "unify/recording/control.h"
#include "unify/recording/housekeeping.h"
#include "unify/recording/recorder.h"
#include "unify/recording/server.h"
#include "unify/resident/breakdown.h"
#include "unify/sample/admission.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/thread.h"
#include "unify/shared/clock.h"

/*
 * Steps of a ring in a turn, and bytes of each: some ten milliseconds, after which other duties
 * have their turn.
 */
#define RING_STEPS 64
#define RING_STEP (128u << 10)
/* While samples are due, names of methods are looked up and the plan is reviewed this often. */
#define BUSY_NS TH_HOUSEKEEPING_BUSY_NS
/* Between two turns, unless it is woken: a duty that cannot be done now is tried again. */
#define LEAST_NS 5000000
/* While a change of the admission has not reached all threads. */
#define RETRY_NS 20000000
/*
 * What is done once a second takes at most 1/SECOND_SPACING of one processor's time: it reads the
 * bytes of each thread, at 1 us each.
 */
#define SECOND_SPACING 1000
/* The library's own memory is counted this often: 0.3 ms for 10 MiB. */
#define SECONDS_PER_REFRESH 10
/*
 * Looking for dead objects takes at most 1/REAP_SPACING of one processor's time: a quarter of
 * the default budget.
 */
#define REAP_SPACING 400
/* Reading thread names: at most 1/NAMES_SPACING; 4 us per thread (JDK 25). */
#define NAMES_SPACING 2000
/*
 * Counted sleeps instead of a deadline: they do not elapse while the whole process is stopped.
 */
#define STOP_NAP_NS 1000000
#define STOP_NAPS 1000

static struct {
	const struct th_agent_duties *duties;
	uint32_t stopping; /* atomic: asked to end */
	uint32_t is_alive; /* atomic: running */
	uint32_t vm_ends;  /* atomic: asked for the breakdown of that time */
	/* written before it serves requests; only this thread may call the VM through `env` */
	pthread_t self;
	JNIEnv *env;
	bool must_reap;      /* objects may have died */
	bool is_busy;        /* samples were due before the last turn */
	bool has_news;       /* samples were due since names of threads were last read */
	uint64_t next_reap;  /* not before */
	uint64_t next_names; /* not before */
	uint64_t next_second;
	uint64_t next_host; /* as every_turn() has returned */
	uint32_t seconds;   /* since the library's own memory was last counted */
} thread;

static void
log_own_time(void)
{
	th_log_set_counter(TH_COUNTER_SELF_AGENT_NS, th_clock_read(CLOCK_THREAD_CPUTIME_ID));
}

/* When the next duty is due; everything else wakes the thread. */
static uint64_t
next_turn(void)
{
	uint64_t now = th_clock_now();
	uint64_t next = th_min(thread.next_second, th_breakdown_next());

	next = th_min(next, thread.next_host);
	next = th_min(next, th_min(th_collections_next(now), th_full_collection_next()));
	if (thread.must_reap)
		next = th_min(next, thread.next_reap);
	if (thread.is_busy)
		next = th_min(next, now + BUSY_NS);
	if (th_admission_is_pending())
		next = th_min(next, now + RETRY_NS);
	return next > now + LEAST_NS ? next : now + LEAST_NS;
}

static bool
must_end(void)
{
	return th_load_acquire(&thread.stopping) || th_housekeeping_is_ending();
}

/* Sleeps until a duty is due or the thread is woken; false: asked to end. */
static bool
wait_turn(void)
{
	if (!must_end())
		th_server_sleep(next_turn());
	return !must_end();
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
	th_server_wake();
}

/*
 * Looks for dead objects.  The next search is due after a time proportional to the CPU time of
 * this one, not its elapsed time, so that a busy machine does not delay it.
 */
static void
reap(JNIEnv *env)
{
	uint64_t cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID);
	uint64_t full = th_full_collection_take();

	th_live_objects_reap(env);
	if (full)
		th_few_followed_judge_all(env, full);
	th_live_objects_bound(
		env, th_collections_mean_pause(), th_collections_count(), th_clock_now());
	th_class_loaders_reap(env, th_collections_mean_pause());
	cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - cost;
	thread.must_reap = false;
	thread.next_reap = th_clock_now() + REAP_SPACING * cost;
}

/* Whether the agent thread calls. */
static bool
is_here(void)
{
	return pthread_equal(thread.self, pthread_self());
}

/* What native code holds of the VM. */
static void
log_held(void)
{
	th_references_log();
	if (is_here())
		th_takes_log_buffers(thread.env);
	th_takes_log();
}

static void
look_at_names(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint64_t cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID);

	if (!thread.has_news || th_clock_now() < thread.next_names)
		return;
	thread.has_news = false;
	th_heap_look_at_names(jvmti, env);
	cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - cost;
	thread.next_names = th_clock_now() + NAMES_SPACING * cost;
}

/* Logs what the last collection found. */
static void
log_judged(void)
{
	th_collections_log_all();
	reap(thread.env);
	th_class_loaders_log();
	th_collections_flush();
}

static void
log_all(void)
{
	if (is_here()) {
		log_judged();
		th_function_names_log(true);
	}
	th_heap_log_bytes(false);
	th_class_loaders_log();
	log_held();
	th_collections_flush();
}

static void
work_every_turn(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint32_t vm_ends = 1;

	thread.next_host = thread.duties->every_turn();
	if (th_cas_acq_rel(&thread.vm_ends, &vm_ends, 0))
		th_breakdown_now(TH_BREAKDOWN_TEARDOWN, true);
	th_function_names_log(false);
	if (th_collections_log())
		thread.must_reap = true;
	if (thread.must_reap && th_clock_now() >= thread.next_reap)
		reap(env);
	else
		th_live_objects_collect(env);
	th_class_loaders_turn(env);
	if (th_in_flight_begin()) { /* keeps the log from being closed */
		for (unsigned i = 0; i < RING_STEPS && th_ring_step(RING_STEP); i++)
			continue;
		th_log_prepare();
		th_in_flight_end();
	}
	thread.is_busy = th_housekeeping_run();
	thread.has_news |= thread.is_busy;
	th_full_collection_turn(jvmti);
	th_full_collection_exit_turn(jvmti, log_judged);
	th_breakdown_look(NULL, th_clock_now());
	th_admission_review();
}

void
th_agent_thread_flush(void)
{
	if (!th_load_relaxed(&thread.is_alive))
		return;
	log_all();
	log_own_time();
	if (is_here())
		th_breakdown_now(TH_BREAKDOWN_ASKED, true);
}

static void
work_every_second(jvmtiEnv *jvmti, JNIEnv *env)
{
	look_at_names(jvmti, env);
	th_thread_log_bytes(false);
	th_mapping_log_use();
	th_heap_log_bytes(false);
	th_class_loaders_log();
	th_module_refresh();
	if (++thread.seconds < SECONDS_PER_REFRESH) {
		th_recorder_look();
	} else {
		th_recorder_refresh();
		thread.seconds = 0;
	}
	log_held();
	thread.duties->every_second();
	log_own_time();
}

/* At whole seconds, as the looks at the resident size, so that both are done in one turn. */
static void
work_if_second(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint64_t cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID);

	if (th_clock_now() < thread.next_second)
		return;
	work_every_second(jvmti, env);
	cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - cost;
	thread.next_second = th_clock_next_second(th_clock_now() + SECOND_SPACING * cost);
}

/* Requests are served on this thread only. */
static void
start_serving(void)
{
	th_control_set_java(&thread.duties->control);
	th_full_collection_start(&thread.duties->full_collections);
	th_housekeeping_set_server(true);
}

static void
stop_serving(void)
{
	/* Without a server, the next thread with a sample due would end the recording. */
	if (th_housekeeping_is_ending())
		th_server_stop();
	else
		th_housekeeping_set_server(false);
	th_control_set_java(NULL);
	th_full_collection_stop();
}

static void JNICALL
run(jvmtiEnv *jvmti, JNIEnv *env, void *argument)
{
	(void)argument;
	/* Never left: the agent's own allocations are not recorded. */
	th_guard_enter();
	thread.self = pthread_self();
	thread.env = env;
	thread.is_busy = true;
	thread.next_host = 0;
	thread.next_second = th_clock_next_second(th_clock_now());
	start_serving();
	while (wait_turn()) {
		work_every_turn(jvmti, env);
		work_if_second(jvmti, env);
	}
	stop_serving();
	log_all();
	th_breakdown_now(TH_BREAKDOWN_END, true);
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
	th_full_collection_abandon();
	th_server_wake();
	for (int i = 0; i < STOP_NAPS && th_load_acquire(&thread.is_alive); i++)
		th_system_nap(STOP_NAP_NS);
	return !th_load_acquire(&thread.is_alive);
}
