/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration with the VM, the events, and the agent thread.
 *
 * The agent thread is a daemon thread of the VM that sleeps on a futex.  It names methods as soon
 * as they occur, and once a second writes the exact bytes of threads, allocates log space ahead
 * and, while another agent holds the sampling capability, asks for it again.
 */
#include "jvmti/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <jvmti.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "jvmti/classes.h"
#include "jvmti/heap.h"
#include "jvmti/hotspot.h"
#include "jvmti/java_stack.h"
#include "jvmti/methods.h"
#include "unify/atomic.h"
#include "unify/clock.h"
#include "unify/log.h"
#include "unify/recorder.h"
#include "unify/thread.h"

/* Methods are named within this time; each turn with nothing to do costs a microsecond. */
#define TURN_NS 20000000
#define TURNS_PER_SECOND (TH_NS_PER_S / TURN_NS)
/* Longest wait for the agent thread when the VM ends. */
#define STOP_WAIT_NS TH_NS_PER_S
/* Feature release with virtual threads (as a preview in 19). */
#define FIRST_VIRTUAL_THREADS 19
/* HotSpot's interval until somebody sets another (threadHeapSampler.cpp). */
#define HOTSPOT_INTERVAL 524288

enum state { IDLE, RUNNING, STOPPED };

static struct {
	struct th_agent_host host;
	jvmtiEnv *jvmti;
	uint32_t state; /* atomic, enum state */
	struct th_hotspot hotspot;
	bool is_hotspot;
	uint32_t feature_release;
	bool samples_java;  /* the capability is ours */
	uint32_t stopping;  /* atomic, futex: the agent thread is to end */
	uint32_t has_ended; /* atomic: it has */
} agent;

/* Registration */

static void
note(unsigned severity, const char *text)
{
	th_log_note(severity, text);
	if (severity || agent.host.is_verbose)
		agent.host.warn("%s", text);
}

static uint32_t
parse_release(const char *version)
{
	unsigned long release = strtoul(version, NULL, 10);

	return release < 1000 ? (uint32_t)release : 0;
}

/* Gives memory back that the VM allocated for us. */
static void
deallocate(void *memory)
{
	(*agent.jvmti)->Deallocate(agent.jvmti, memory);
}

/* A system property, to be deallocated; NULL when it is not there. */
static char *
get_property(const char *name)
{
	char *value;

	return (*agent.jvmti)->GetSystemProperty(agent.jvmti, name, &value) ? NULL : value;
}

/* The library that holds the VM's functions, whatever it is called and wherever it was found. */
static void *
open_libjvm(void)
{
	void *function;
	Dl_info info;

	memcpy(&function, &(*agent.host.vm)->GetEnv, sizeof(function));
	if (!dladdr(function, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void
read_hotspot(void)
{
	const struct th_hotspot_source source = {agent.host.find_symbol, open_libjvm()};

	if (!source.libjvm)
		return;
	agent.is_hotspot = th_hotspot_read(&agent.hotspot, &source);
	if (agent.is_hotspot) {
		const struct th_java_stack_vm vm = {
			.vm = agent.host.vm,
			.jvmti = agent.jvmti,
			.hotspot = &agent.hotspot,
			.async_get_call_trace = source.find_symbol(
				source.libjvm, "AsyncGetCallTrace"),
		};

		th_java_stack_init(&vm);
	}
	/* The VM is never unloaded; the reference is given back all the same. */
	dlclose(source.libjvm);
}

/*
 * The sampling capability is exclusive.  An agent that holds it may give it back, so the question
 * is repeated.
 */
static bool
take_sampling(void)
{
	jvmtiCapabilities wanted = {.can_generate_sampled_object_alloc_events = 1};

	if (agent.samples_java || !th_recorder_settings()->java)
		return agent.samples_java;
	if ((*agent.jvmti)->AddCapabilities(agent.jvmti, &wanted))
		return false;
	(*agent.jvmti)
		->SetHeapSamplingInterval(agent.jvmti, (jint)th_recorder_settings()->interval);
	agent.samples_java = true;
	return true;
}

static bool
add_capabilities(void)
{
	jvmtiCapabilities wanted = {.can_get_source_file_name = 1, .can_get_line_numbers = 1};

	if ((*agent.jvmti)->AddCapabilities(agent.jvmti, &wanted))
		note(0, "the VM does not give source files and lines");
	if (take_sampling() || !th_recorder_settings()->java)
		return true;
	note(1, "another agent samples the Java heap in this VM; only the C heap is recorded "
		"until that agent gives the capability back");
	return false;
}

static bool
set_event(jvmtiEvent event, bool on)
{
	return !(*agent.jvmti)
			->SetEventNotificationMode(
				agent.jvmti, on ? JVMTI_ENABLE : JVMTI_DISABLE, event, NULL);
}

static void
enable_sampling(void)
{
	if (agent.samples_java)
		set_event(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, true);
}

static void
log_jvm(void)
{
	char *version = get_property("java.vm.version");
	char *name = get_property("java.vm.name");
	char *vendor = get_property("java.vm.vendor");
	enum th_heap_sampler sampler = th_heap_sampler_of(agent.feature_release);
	bool has_bytes = agent.is_hotspot && th_hotspot_has_bytes(&agent.hotspot);
	struct th_event_jvm event = {
		.time = th_clock_now(),
		.feature_release = agent.feature_release,
		.features = (agent.samples_java ? TH_JVM_SAMPLED_ALLOC : 0) |
			    (th_java_stack_provider() ? TH_JVM_JAVA_FRAMES : 0) |
			    (agent.is_hotspot && th_hotspot_has_seams(&agent.hotspot)
					    ? TH_JVM_SEAMS
					    : 0) |
			    (has_bytes ? TH_JVM_THREAD_BYTES : 0),
	};
	struct th_log_part parts[] = {
		th_log_text(version), th_log_text(name), th_log_text(vendor)};

	if (sampler == TH_SAMPLER_TLAB_BIASED && has_bytes)
		event.features |= TH_JVM_TLAB_CURE;
	else if (sampler != TH_SAMPLER_LAWFUL)
		event.features |= TH_JVM_SHARES_APPROXIMATE;
	th_log_append(TH_EVENT_JVM, &event, parts, 3);
	deallocate(version);
	deallocate(name);
	deallocate(vendor);
}

/* What the VM itself puts below the frames of a virtual thread. */
static const struct {
	const char *class_signature;
	const char *method;
	const char *signature;
} mounts[] = {
	{"Ljava/lang/Thread;", "runWith", "(Ljava/lang/Object;Ljava/lang/Runnable;)V"},
	{"Ljava/lang/VirtualThread;", "run", "(Ljava/lang/Runnable;)V"},
	{"Ljava/lang/VirtualThread$VThreadContinuation$1;", "run", "()V"},
	{"Ljdk/internal/vm/Continuation;", "enter", NULL},
	{"Ljdk/internal/vm/Continuation;", "enter0", NULL},
	{"Ljdk/internal/vm/Continuation;", "enterSpecial", NULL},
};
#define MOUNT_COUNT (sizeof(mounts) / sizeof(mounts[0]))

static bool
has_mounts(const char *class_signature)
{
	for (size_t i = 0; i < MOUNT_COUNT; i++)
		if (!strcmp(class_signature, mounts[i].class_signature))
			return true;
	return false;
}

static bool
is_mount(const char *class_signature, const char *method, const char *signature)
{
	for (size_t i = 0; i < MOUNT_COUNT; i++)
		if (!strcmp(class_signature, mounts[i].class_signature) &&
			!strcmp(method, mounts[i].method) &&
			(!mounts[i].signature || !strcmp(signature, mounts[i].signature)))
			return true;
	return false;
}

static void
mark_mounts(const char *class_signature, const jmethodID *ids, jint count)
{
	char *method;
	char *signature;

	for (jint i = 0; i < count; i++) {
		if ((*agent.jvmti)
				->GetMethodName(agent.jvmti, ids[i], &method, &signature, NULL))
			continue;
		if (is_mount(class_signature, method, signature))
			th_methods_mark_mount(ids[i]);
		deallocate(method);
		deallocate(signature);
	}
}

/*
 * AsyncGetCallTrace names methods by jmethodIDs, which the VM makes only on demand, and cannot
 * make while it walks a stack.
 */
static void
make_method_ids(jclass type)
{
	jint count;
	jmethodID *ids;
	char *signature;

	if ((*agent.jvmti)->GetClassMethods(agent.jvmti, type, &count, &ids))
		return;
	if (agent.feature_release >= FIRST_VIRTUAL_THREADS &&
		!(*agent.jvmti)->GetClassSignature(agent.jvmti, type, &signature, NULL)) {
		if (has_mounts(signature))
			mark_mounts(signature, ids, count);
		deallocate(signature);
	}
	deallocate(ids);
}

static void
make_all_method_ids(JNIEnv *env)
{
	jint count;
	jclass *types;

	if ((*agent.jvmti)->GetLoadedClasses(agent.jvmti, &count, &types))
		return;
	for (jint i = 0; i < count; i++) {
		make_method_ids(types[i]);
		(*env)->DeleteLocalRef(env, types[i]);
	}
	deallocate(types);
}

/* The agent thread */

static void
every_second(void)
{
	struct timespec used;

	if (!agent.samples_java && take_sampling()) {
		enable_sampling();
		note(0, "the Java heap is sampled from now on");
	}
	th_thread_log_bytes(false);
	th_heap_log_bytes(false);
	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)) {
		struct th_log_header *header = th_log_header();

		if (header)
			th_store_relaxed(&header->counters[TH_COUNTER_SELF_AGENT_NS],
				(uint64_t)used.tv_sec * TH_NS_PER_S + (uint64_t)used.tv_nsec);
	}
}

/* Sleeps for a turn; false: the agent is to stop. */
static bool
wait_turn(void)
{
	const struct timespec turn = {0, TURN_NS};

	if (!th_load_acquire(&agent.stopping))
		syscall(SYS_futex, &agent.stopping, FUTEX_WAIT_PRIVATE, 0, &turn, NULL, 0);
	return !th_load_acquire(&agent.stopping);
}

static void JNICALL
run_agent_thread(jvmtiEnv *jvmti, JNIEnv *env, void *argument)
{
	unsigned turns = 0;

	(void)argument;
	/* For good: what the agent allocates is no business of the report. */
	th_guard_enter();
	while (wait_turn()) {
		if (th_methods_are_pending())
			th_methods_log_pending(jvmti, env);
		th_log_prepare();
		if (++turns % TURNS_PER_SECOND == 0)
			every_second();
	}
	th_store_release(&agent.has_ended, 1);
}

/* A daemon thread of the VM, as jvmti.h wants it: a java.lang.Thread that was never started. */
static bool
start_agent_thread(JNIEnv *env)
{
	jclass type = (*env)->FindClass(env, "java/lang/Thread");
	jmethodID init =
		type ? (*env)->GetMethodID(env, type, "<init>", "(Ljava/lang/String;)V") : NULL;
	jstring name = init ? (*env)->NewStringUTF(env, "twinheap") : NULL;
	jobject thread = name ? (*env)->NewObject(env, type, init, name) : NULL;
	bool started = thread &&
		       !(*agent.jvmti)
				->RunAgentThread(agent.jvmti, thread, run_agent_thread, NULL,
					JVMTI_THREAD_NORM_PRIORITY);

	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, thread);
	(*env)->DeleteLocalRef(env, name);
	(*env)->DeleteLocalRef(env, type);
	return started;
}

/* Going live */

/*
 * A thread's countdown to its next Java sample is drawn when its last one was taken, so the
 * calling thread, older than our interval, still counts down with HotSpot's own.  Short-lived
 * arrays bring it to its next draw (what is allocated under the guard is not recorded); with the
 * default interval nothing has to be done.
 */
static void
use_interval_here(JNIEnv *env)
{
	const int arrays = 24; /* p(no sample) = exp(-24) */

	if (!agent.samples_java || th_recorder_settings()->interval == HOTSPOT_INTERVAL)
		return;
	for (int i = 0; i < arrays; i++)
		(*env)->DeleteLocalRef(env, (*env)->NewByteArray(env, HOTSPOT_INTERVAL));
	(*env)->ExceptionClear(env);
}

static void
go_live(JNIEnv *env, jthread thread)
{
	if (agent.is_hotspot && !th_hotspot_find_env(&agent.hotspot, env))
		agent.hotspot.env = -1;
	th_heap_init(&agent.hotspot, th_heap_sampler_of(agent.feature_release));
	log_jvm();
	set_event(JVMTI_EVENT_CLASS_PREPARE, true);
	make_all_method_ids(env);
	enable_sampling();
	use_interval_here(env);
	th_heap_thread_starts(agent.jvmti, env, thread, true);
	set_event(JVMTI_EVENT_THREAD_START, true);
	set_event(JVMTI_EVENT_THREAD_END, true);
	if (th_java_stack_provider())
		th_recorder_set_java(th_java_stack_provider());
	else
		note(1, "this VM does not tell enough of itself: native samples carry no Java "
			"frames");
	if (!start_agent_thread(env))
		note(1, "the agent thread could not be started: methods are named at the end "
			"only");
}

/* Events */

static void JNICALL
on_class_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass type)
{
	/* Its being enabled is what AsyncGetCallTrace needs (forte.cpp). */
	(void)jvmti;
	(void)env;
	(void)thread;
	(void)type;
}

static void JNICALL
on_class_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass type)
{
	(void)jvmti;
	(void)env;
	(void)thread;
	th_guard_enter();
	make_method_ids(type);
	th_guard_leave();
}

static void JNICALL
on_thread_start(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	th_heap_thread_starts(jvmti, env, thread, false);
}

static void JNICALL
on_thread_end(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	th_heap_thread_ends(jvmti, env, thread);
}

static void JNICALL
on_vm_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	(void)jvmti;
	th_guard_enter();
	go_live(env, thread);
	th_guard_leave();
}

static void
stop_agent_thread(void)
{
	uint64_t deadline = th_clock_now() + STOP_WAIT_NS;
	const struct timespec pause = {0, 1000000};

	th_store_release(&agent.stopping, 1);
	syscall(SYS_futex, &agent.stopping, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (!th_load_acquire(&agent.has_ended) && th_clock_now() < deadline)
		nanosleep(&pause, NULL);
}

/* The last moment at which the VM may be asked anything. */
static void JNICALL
on_vm_death(jvmtiEnv *jvmti, JNIEnv *env)
{
	th_guard_enter();
	th_agent_stop();
	stop_agent_thread();
	if (th_load_acquire(&agent.has_ended)) {
		th_methods_log_pending(jvmti, env);
		th_heap_log_bytes(true);
	}
	th_guard_leave();
}

static bool
set_callbacks(void)
{
	const jvmtiEventCallbacks callbacks = {
		.VMInit = on_vm_init,
		.VMDeath = on_vm_death,
		.ThreadStart = on_thread_start,
		.ThreadEnd = on_thread_end,
		.ClassLoad = on_class_load,
		.ClassPrepare = on_class_prepare,
		.SampledObjectAlloc = th_heap_sampled,
	};

	return !(*agent.jvmti)->SetEventCallbacks(agent.jvmti, &callbacks, sizeof(callbacks)) &&
	       set_event(JVMTI_EVENT_VM_DEATH, true) && set_event(JVMTI_EVENT_CLASS_LOAD, true);
}

/* Start and stop */

static void
start(enum th_agent_phase phase)
{
	JavaVM *vm = agent.host.vm;
	JNIEnv *env;
	jthread thread;
	char *version;

	if ((*vm)->GetEnv(vm, (void **)&agent.jvmti, JVMTI_VERSION_11) != JNI_OK) {
		note(1, "this VM has no JVMTI 11: the Java heap is not recorded");
		return;
	}
	if (!th_methods_init() || !th_classes_init() || !set_callbacks()) {
		note(1, "the agent could not be registered: the Java heap is not recorded");
		return;
	}
	version = get_property("java.vm.version");
	agent.feature_release = version ? parse_release(version) : 0;
	deallocate(version);
	read_hotspot();
	add_capabilities();
	th_store_release(&agent.state, RUNNING);
	if (phase == TH_AGENT_ON_LOAD) {
		set_event(JVMTI_EVENT_VM_INIT, true);
	} else if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) == JNI_OK &&
		   !(*agent.jvmti)->GetCurrentThread(agent.jvmti, &thread)) {
		go_live(env, thread);
		(*env)->DeleteLocalRef(env, thread);
	}
}

void
th_agent_start(const struct th_agent_host *host, enum th_agent_phase phase)
{
	th_guard_enter();
	if (th_load_acquire(&agent.state) == IDLE && !agent.jvmti) {
		agent.host = *host;
		start(phase);
	}
	th_guard_leave();
}

void
th_agent_stop(void)
{
	uint32_t running = RUNNING;

	if (!th_cas_acq_rel(&agent.state, &running, STOPPED))
		return;
	set_event(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, false);
	set_event(JVMTI_EVENT_CLASS_PREPARE, false);
	set_event(JVMTI_EVENT_THREAD_START, false);
	set_event(JVMTI_EVENT_THREAD_END, false);
	th_recorder_set_java(NULL);
}
