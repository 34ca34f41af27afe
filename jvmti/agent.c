/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration with the VM, its event callbacks, and the start and end of Java sampling.  The
 * global `agent` is set up by the thread that loads the agent; after the live phase begins,
 * sampling is switched on and off on the agent thread only.
 */
#include "jvmti/agent.h"

#include <dlfcn.h>
#include <jvmti.h>
#include <stdlib.h>
#include <string.h>

#include "jvmti/agent_thread.h"
#include "jvmti/threads/attaching.h"
#include "jvmti/heap/buffers.h"
#include "jvmti/names/class_loaders.h"
#include "jvmti/names/classes.h"
#include "jvmti/names/code_sources.h"
#include "jvmti/heap/collections.h"
#include "jvmti/heap/collector.h"
#include "jvmti/heap/heap.h"
#include "jvmti/holders/holders.h"
#include "jvmti/vm/hotspot.h"
#include "jvmti/stacks/java_stack.h"
#include "jvmti/names/jni_names.h"
#include "jvmti/ledger/functions.h"
#include "jvmti/vm/references.h"
#include "jvmti/ledger/takes.h"
#include "jvmti/heap/live_objects.h"
#include "jvmti/names/methods.h"
#include "jvmti/shutdown.h"
#include "jvmti/heap/vm_countdown.h"
#include "jvmti/vm/vm_exports.h"
#include "jvmti/vm/vm_memory.h"
#include "unify/base/atomic.h"
#include "unify/base/real_dlsym.h"
#include "unify/base/safe_read.h"
#include "unify/log/log.h"
#include "unify/recording/control.h"
#include "unify/recording/housekeeping.h"
#include "unify/recording/recorder.h"
#include "unify/sample/admission.h"
#include "unify/sample/thread.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"

/* The first release whose own sampler is unbiased (JDK-8356372). */
#define FIRST_UNBIASED 25
#define FIRST_WITH_HIDDEN_CLASSES 15
#define FIRST_WITH_VIRTUAL_THREADS 21

/* ENDED: on request; the environment is kept. */
enum state { IDLE, RUNNING, STOPPED, ENDED };

static struct {
	struct th_agent_host host;
	JavaVM *vm;
	jvmtiEnv *jvmti;
	uint32_t state; /* atomic, enum state */
	struct th_hotspot hotspot;
	bool is_hotspot;
	/* we hold the capability; once the agent thread runs, only it writes this */
	bool samples_java;
	bool has_begun;     /* the capability was held before */
	bool is_biased;     /* the VM draws the countdowns, and counts wrongly */
	bool has_own_draws; /* the library draws them */
	bool has_frames;    /* native stacks carry Java frames */
	bool is_logged;     /* the log has a JVM event */
	bool is_elsewhere;  /* another agent holds the capability, and a note was written */
	bool is_refused;    /* samples would damage the VM's memory, and a note was written */
	uint64_t interval;  /* the interval with which the VM draws */
} agent;

static void
note(unsigned severity, const char *text)
{
	th_log_note(severity, text);
	if (severity || agent.host.is_verbose)
		agent.host.warn("%s", text);
}

/* A system property, to be freed with Deallocate; NULL if it is not set. */
static char *
get_property(const char *name)
{
	char *value;

	return (*agent.jvmti)->GetSystemProperty(agent.jvmti, name, &value) ? NULL : value;
}

/* The calling thread's; NULL: it is not attached. */
static JNIEnv *
own_env(JavaVM *vm)
{
	JNIEnv *env;

	return (*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) == JNI_OK ? env : NULL;
}

/* VM identification */

/* Reads the tables of the library that contains `function`, whatever its file name. */
static void
read_hotspot(const void *function)
{
	struct th_hotspot_source source = {
		.find_symbol = th_real_dlsym, .miss = th_missed_names_add};
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_fname)
		return;
	source.libjvm = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!source.libjvm)
		return;
	agent.is_hotspot = th_hotspot_read(&agent.hotspot, &source);
	th_vm_functions_find(&source);
	dlclose(source.libjvm);
}

static void
read_release(void)
{
	char *version = get_property("java.vm.version");

	agent.hotspot.release = version ? (uint32_t)strtoul(version, NULL, 10) : 0;
	th_vm_free(agent.jvmti, version);
}

/* Without HotSpot's tables the layout is empty. */
static uint32_t
features(void)
{
	const struct th_hotspot *hotspot = &agent.hotspot;
	const struct {
		uint32_t feature;
		bool is_there;
	} all[] = {
		{TH_JVM_TABLES, agent.is_hotspot},
		{TH_JVM_STUBS, th_hotspot_has_stubs(hotspot)},
		{TH_JVM_HEAP_RANGE, hotspot->collected_heap && hotspot->heap_start >= 0},
		{TH_JVM_FLAGS, hotspot->flags},
		{TH_JVM_COUNTERS, hotspot->perf_data && *hotspot->perf_data},
		{TH_JVM_SAMPLED_ALLOC, agent.samples_java},
		{TH_JVM_OWN_DRAWS, agent.has_own_draws},
		{TH_JVM_JAVA_FRAMES, agent.has_frames},
		{TH_JVM_THREAD_BYTES, th_hotspot_has_bytes(hotspot)},
		{TH_JVM_FOLLOWS_FEW, th_few_followed_is_used()},
		{TH_JVM_SHARES_APPROXIMATE, agent.is_biased},
	};
	uint32_t found = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		found |= all[i].is_there ? all[i].feature : 0;
	return found;
}

static void
log_jvm(void)
{
	struct th_event_jvm event = {
		.time = th_clock_now(),
		.feature_release = agent.hotspot.release,
		.features = features(),
	};
	char *version = get_property("java.vm.version");
	char *name = get_property("java.vm.name");
	char *vendor = get_property("java.vm.vendor");
	struct th_log_part parts[] = {
		th_log_text(version), th_log_text(name), th_log_text(vendor)};

	if (th_log_append(TH_EVENT_JVM, &event, parts, 3))
		th_store_relaxed(&th_log_header()->has_vm, 1);
	th_vm_free(agent.jvmti, version);
	th_vm_free(agent.jvmti, name);
	th_vm_free(agent.jvmti, vendor);
	agent.is_logged = true;
}

/* Events and capabilities */

static bool
set_event(jvmtiEvent event, bool on)
{
	return th_attaching_set_event(agent.jvmti, event, on);
}

static const jvmtiCapabilities sampling = {.can_generate_sampled_object_alloc_events = 1};
/* The others, each of which may be refused. */
static const jvmtiCapabilities lines = {
	.can_get_source_file_name = 1, .can_get_line_numbers = 1};
static const jvmtiCapabilities collections = {.can_generate_garbage_collection_events = 1};
static const jvmtiCapabilities binding = {.can_generate_native_method_bind_events = 1};

static bool
add_capabilities(const jvmtiCapabilities *wanted)
{
	return !(*agent.jvmti)->AddCapabilities(agent.jvmti, wanted);
}

/*
 * The VM has one interval for all threads.  Each thread uses it for the draw after its next
 * sample.
 */
static void
set_interval(uint64_t interval)
{
	if ((*agent.jvmti)->SetHeapSamplingInterval(agent.jvmti, (jint)interval))
		return;
	agent.interval = interval;
	th_heap_set_interval(interval);
}

/* On the agent thread. */
static uint64_t
every_turn(void)
{
	uint64_t interval = th_throttle_interval(TH_HEAP_JAVA);

	if (agent.samples_java && interval != agent.interval)
		set_interval(interval);
	return agent.host.turn ? agent.host.turn() : UINT64_MAX;
}

/* The sampling capability is exclusive: another agent may hold it, and may release it later. */
static void
take_sampling(void)
{
	if (agent.samples_java || agent.is_refused || !th_admission_wants(TH_HEAP_JAVA) ||
		!add_capabilities(&sampling))
		return;
	set_interval(th_throttle_interval(TH_HEAP_JAVA));
	agent.samples_java = set_event(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, true);
}

/* Releases the capability while it is not needed, so that another agent can use it. */
static void
give_sampling(void)
{
	if (!agent.samples_java)
		return;
	agent.samples_java = false;
	th_admission_set_java(false);
	set_event(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, false);
	(*agent.jvmti)->RelinquishCapabilities(agent.jvmti, &sampling);
}

/* The first time that we hold the capability. */
static void
find_countdown(JNIEnv *env)
{
	uint64_t interval = th_throttle_interval(TH_HEAP_JAVA);
	bool own_draws = agent.is_hotspot &&
			 th_vm_countdown_find(agent.jvmti, env, &agent.hotspot, interval);

	agent.is_biased = !own_draws && agent.hotspot.release < FIRST_UNBIASED;
	agent.has_own_draws = own_draws;
	th_heap_begin(own_draws);
	agent.has_begun = true;
	/* The event says whether shares are approximate: the last one counts. */
	if (agent.is_biased && agent.is_logged)
		log_jvm();
}

/* Called each time after the capability was taken. */
static void
begin_samples(JNIEnv *env)
{
	if (agent.has_begun)
		th_heap_take_over();
	else
		find_countdown(env);
	th_admission_set_java(true);
	th_admission_review();
	th_control_show_java(false);
}

/* Publishes whether another agent holds the capability, and writes a note on the first time. */
static void
report_other_agent(void)
{
	if (!agent.is_elsewhere)
		note(1, "another agent samples the Java heap of this VM: only the C heap is "
			"recorded until that agent gives the capability back");
	agent.is_elsewhere = true;
	th_control_show_java(true);
}

/* Gives the capability back if threads that attach would do damage (attaching.h). */
static void
refuse_damage(void)
{
	if (!agent.is_hotspot || th_attaching_begin(agent.vm, agent.jvmti, &agent.hotspot))
		return;
	give_sampling();
	agent.is_refused = true;
	note(1, "Java objects are not sampled: in this VM, threads that attach meanwhile "
		"damage its memory (JDK-8319935), and it does not export what prevents that");
}

static void
start_sampling(JNIEnv *env)
{
	take_sampling();
	if (agent.samples_java)
		refuse_damage();
	if (agent.samples_java)
		begin_samples(env);
	else if (!agent.is_refused && th_admission_wants(TH_HEAP_JAVA))
		report_other_agent();
}

/*
 * On the agent thread.  False: sampling is requested, and another agent holds the capability.
 */
static bool
switch_sampling(bool is_wanted)
{
	JNIEnv *env = own_env(agent.vm);

	if (!is_wanted)
		give_sampling();
	if (!is_wanted || agent.samples_java || !env)
		return true;
	start_sampling(env);
	return agent.samples_java || agent.is_refused;
}

/* On the agent thread. */
static enum th_control_answer
collect(void)
{
	return th_full_collection_run(agent.jvmti);
}

/* On the agent thread. */
static enum th_control_answer
count_buffers(void)
{
	JNIEnv *env = own_env(agent.vm);

	return env ? th_buffers_count(agent.vm, env) : TH_CONTROL_NO_VM;
}

/* On the agent thread. */
static enum th_control_answer
find_holders(const struct th_holders_request *request, struct th_holders_cost *cost_ret)
{
	JNIEnv *env = own_env(agent.vm);

	if (!env)
		return TH_CONTROL_NO_VM;
	return th_holders_find(
		agent.vm, env, th_collector_object_bytes(&agent.hotspot), request, cost_ret);
}

/* A thread that is still attached to the VM ends: the VM keeps it for ever. */
static void
on_native_end(struct th_thread_record *record)
{
	if (!record->is_attached || th_load_acquire(&agent.state) != RUNNING ||
		!th_log_is_ours())
		return;
	record->is_attached = false;
	th_thread_log(record);
	const struct th_event_undetached event = {.time = th_clock_now(), .thread = record->id};
	th_log_append(TH_EVENT_UNDETACHED, &event, NULL, 0);
}

/* On the agent thread, or while the VM starts. */
static enum th_control_answer
switch_ledger(uint64_t interval)
{
	JNIEnv *env = own_env(agent.vm);

	if (!env)
		return TH_CONTROL_NO_VM;
	if (interval && !th_functions_install(agent.jvmti, env)) {
		note(1, "the ledger cannot be switched on: another agent has replaced the JNI "
			"functions of this VM");
		return TH_CONTROL_FAILED;
	}
	th_takes_switch(env, (uint32_t)interval);
	return TH_CONTROL_DONE;
}

static void
start_ledger(void)
{
	if (agent.host.ledger && switch_ledger(agent.host.ledger) == TH_CONTROL_DONE)
		th_control_log("ledger", agent.host.ledger);
}

static void
start_references(JNIEnv *env)
{
	if (!th_references_start(&agent.hotspot, env))
		note(0, "the number of JNI references is not known: this VM does not export "
			"it");
	th_thread_on_end(on_native_end);
}

/* On the agent thread. */
static void
retry_sampling(void)
{
	if (!agent.is_elsewhere || !th_admission_wants(TH_HEAP_JAVA))
		return;
	switch_sampling(true);
	if (!agent.samples_java)
		return;
	agent.is_elsewhere = false;
	note(0, "the Java heap is sampled from now on");
}

static void
start_collections(void)
{
	th_collections_init(th_collector_find(&agent.hotspot));
	if (!set_event(JVMTI_EVENT_GARBAGE_COLLECTION_START, true) ||
		!set_event(JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, true))
		note(1, "this VM does not report collections: what is alive in the Java heap "
			"is not known");
}

/*
 * The environment stays, without events and capabilities, for the next recording, and because VMs
 * need one: a thread that ends while there is none keeps its JvmtiThreadState (JavaThread::exit():
 * "if (JvmtiEnv::environments_might_exist())"), and the next change of events in a new environment
 * writes through it to the freed JavaThread (11 to 25).
 */
static void
retire(void)
{
	th_vm_memory_stop();
	(*agent.jvmti)->RelinquishCapabilities(agent.jvmti, &lines);
	(*agent.jvmti)->RelinquishCapabilities(agent.jvmti, &collections);
	(*agent.jvmti)->RelinquishCapabilities(agent.jvmti, &binding);
	th_store_release(&agent.state, ENDED);
}

/* On the agent thread, as its last work.  The recording cannot be resumed. */
static void
end_recording(JNIEnv *env)
{
	if (agent.host.leave)
		agent.host.leave();
	th_heap_settle(agent.jvmti, env);
	th_takes_switch(env, TH_LEDGER_OFF);
	give_sampling();
	th_agent_stop();
	th_heap_log_bytes(true);
	th_live_objects_release(env);
	th_class_loaders_release(env);
	th_recorder_end();
	if (agent.host.leave)
		retire();
}

/* Without checked reads all checks fail. */
static void
report_fault(const char *text)
{
	if (th_safe_read_works())
		note(1, text);
}

static void
check_hotspot(JNIEnv *env)
{
	th_hotspot_check(&agent.hotspot, env, report_fault);
	if (!th_safe_read_works())
		note(1, "the VM's exported offsets cannot be checked on this kernel: they are "
			"not used");
}

/* Without the event the end of a VM that has no hooks is not seen in time. */
static void
start_exit_collection(JNIEnv *env, jthread thread)
{
	if (agent.host.gc_at_exit == TH_GC_AT_EXIT_NEVER)
		return;
	th_shutdown_init(agent.jvmti, env, thread);
	if (add_capabilities(&binding))
		set_event(JVMTI_EVENT_NATIVE_METHOD_BIND, true);
}

/* Names of later releases are missed in those that should have them. */
static void
log_missed_names(void)
{
	if (agent.hotspot.release >= FIRST_WITH_HIDDEN_CLASSES && !th_vm_functions.is_hidden)
		th_missed_names_add(NULL, "JVM_IsHiddenClass");
	if (agent.hotspot.release >= FIRST_WITH_VIRTUAL_THREADS && agent.is_hotspot &&
		agent.hotspot.virtual_thread < 0)
		th_missed_names_add("JavaThread", "_vthread");
	if (agent.is_hotspot && agent.hotspot.env <= 0)
		th_missed_names_add("java.lang.Thread", "eetop");
	th_missed_names_log();
}

static void
go_live(JNIEnv *env, jthread thread)
{
	static struct th_agent_duties duties = {.every_turn = every_turn,
		.every_second = retry_sampling,
		.control.flush = th_agent_thread_flush,
		.control.switch_ledger = switch_ledger,
		.control.switch_sampling = switch_sampling,
		.control.collect = collect,
		.control.count_buffers = count_buffers,
		.control.find_holders = find_holders,
		.end_recording = end_recording};

	if (agent.is_hotspot && th_hotspot_find_env(&agent.hotspot, env, thread))
		check_hotspot(env);
	th_perf_data_find(&agent.hotspot);
	th_permanent_loaders_find(env);
	agent.has_frames = agent.is_hotspot && th_java_stack_start(agent.vm, agent.jvmti);
	if (!agent.has_frames)
		note(1, "this VM does not export enough of its layout: native stacks carry no "
			"Java frames");
	th_heap_init(agent.jvmti, env, &agent.hotspot, !agent.host.tells_names);
	th_live_objects_begin(env, &agent.hotspot, th_collector_find(&agent.hotspot));
	start_sampling(env);
	th_class_loaders_start();
	th_code_sources_start(agent.jvmti, env);
	log_jvm();
	th_jni_names_log(env);
	start_references(env);
	start_ledger();
	start_collections();
	if (agent.is_hotspot)
		th_vm_memory_start(agent.vm, agent.jvmti, &agent.hotspot);
	th_heap_thread_starts(agent.jvmti, env, thread, true);
	set_event(JVMTI_EVENT_THREAD_START, true);
	set_event(JVMTI_EVENT_THREAD_END, true);
	start_exit_collection(env, thread);
	log_missed_names();
	duties.full_collections = (struct th_full_collection_plan){
		.period = agent.host.gc_every, .at_exit = agent.host.gc_at_exit};
	if (!th_agent_thread_start(agent.jvmti, env, &duties))
		note(1, "the agent thread could not be started");
	else if (agent.host.bound)
		set_event(JVMTI_EVENT_NATIVE_METHOD_BIND, true);
}

static void JNICALL
on_class_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass type)
{
	(void)thread;
	th_class_loaders_defined(jvmti, env, type);
}

static void JNICALL
on_thread_start(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	struct th_thread_record *record;

	th_heap_thread_starts(jvmti, env, thread, false);
	th_guard_enter();
	record = th_thread_record();
	if (record)
		record->is_attached = true;
	th_shutdown_thread_starts(jvmti, env, thread, record);
	th_guard_leave();
}

static void JNICALL
on_thread_end(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	(void)jvmti;
	(void)thread;
	th_guard_enter();
	if (th_thread.record)
		th_thread.record->is_attached = false;
	th_shutdown_thread_ends(th_thread.record);
	th_guard_leave();
	th_heap_thread_ends(env);
}

/* The first call of a method is about to come; its library may have been loaded just now. */
static void JNICALL
on_native_bind(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jmethodID method, void *address,
	void **replacement)
{
	(void)thread;
	(void)address;
	(void)replacement;
	th_guard_enter();
	if (agent.host.bound)
		agent.host.bound();
	if (agent.host.gc_at_exit != TH_GC_AT_EXIT_NEVER)
		th_shutdown_native_bound(jvmti, env, method);
	th_guard_leave();
}

static void JNICALL
on_vm_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	(void)jvmti;
	th_guard_enter();
	go_live(env, thread);
	th_guard_leave();
}

/* The last event during which JVMTI and JNI functions may be called. */
static void JNICALL
on_vm_death(jvmtiEnv *jvmti, JNIEnv *env)
{
	th_guard_enter();
	th_heap_settle(jvmti, env);
	th_agent_stop();
	if (th_agent_thread_stop() && !th_housekeeping_is_ending())
		th_heap_log_bytes(true);
	/* After the agent thread's last breakdown and search for dead objects. */
	th_teardown_begins(TH_TEARDOWN_VM_DEATH, NULL);
	th_vm_memory_stop();
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
		.NativeMethodBind = on_native_bind,
		.ClassLoad = on_class_load,
		.GarbageCollectionStart = th_collections_started,
		.GarbageCollectionFinish = th_collections_finished,
		.SampledObjectAlloc = th_heap_sampled,
	};

	return !(*agent.jvmti)->SetEventCallbacks(agent.jvmti, &callbacks, sizeof(callbacks)) &&
	       set_event(JVMTI_EVENT_VM_DEATH, true) && set_event(JVMTI_EVENT_CLASS_LOAD, true);
}

/* Start and stop */

bool
th_agent_can_start(JavaVM *vm)
{
	jint status = JNI_OK;

	th_guard_enter();
	/* JNI_EDETACHED: "called at the wrong time" (jvmtiExport.cpp), before the live phase. */
	if (!agent.jvmti)
		status = (*vm)->GetEnv(vm, (void **)&agent.jvmti, JVMTI_VERSION_11);
	th_guard_leave();
	return status != JNI_EDETACHED;
}

static bool
register_with_vm(void)
{
	if (!agent.jvmti && (*agent.vm)->GetEnv(agent.vm, (void **)&agent.jvmti,
				    JVMTI_VERSION_11) != JNI_OK) {
		note(1, "this VM has no JVMTI 11: the Java heap is not recorded");
		return false;
	}
	if (!th_methods_init() || !th_live_objects_init() || !set_callbacks()) {
		note(1, "the agent could not be registered: the Java heap is not recorded");
		return false;
	}
	/* if refused, the events cannot be enabled, see below */
	add_capabilities(&collections);
	if (agent.host.bound && !add_capabilities(&binding))
		note(0, "the VM does not report the first calls of native methods");
	if (!add_capabilities(&lines))
		note(0, "the VM does not provide source files and lines");
	return true;
}

/* False: this VM cannot be recorded. */
static bool
start(enum th_agent_phase phase)
{
	JavaVM *vm = agent.vm;
	JNIEnv *env;
	jthread thread;
	const void *function;

	if (!register_with_vm())
		return false;
	memcpy(&function, &(*vm)->GetEnv, sizeof(function));
	if (!agent.is_hotspot)
		read_hotspot(function);
	th_java_stack_expect(&agent.hotspot);
	read_release();
	th_store_release(&agent.state, RUNNING);
	if (phase == TH_AGENT_ON_LOAD) {
		/* Later, from the live phase on, another agent could have taken it. */
		take_sampling();
		set_event(JVMTI_EVENT_VM_INIT, true);
	} else if ((env = own_env(vm)) &&
		   !(*agent.jvmti)->GetCurrentThread(agent.jvmti, &thread)) {
		go_live(env, thread);
		(*env)->DeleteLocalRef(env, thread);
	}
	return true;
}

void
th_agent_expect(const struct th_agent_host *host, const void *create_java_vm)
{
	th_guard_enter();
	if (th_load_acquire(&agent.state) == IDLE) {
		agent.host = *host;
		read_hotspot(create_java_vm);
		th_java_stack_expect(&agent.hotspot);
	}
	th_guard_leave();
}

bool
th_agent_has_ended(void)
{
	uint32_t state = th_load_acquire(&agent.state);

	return !agent.vm || (state == ENDED && !th_agent_thread_is_alive());
}

/*
 * For another recording.  What callbacks read that may still be in progress stays as it is.
 */
static void
restart(void)
{
	th_classes_restart();
	agent.samples_java = false;
	agent.has_begun = false;
	agent.is_biased = false;
	agent.has_frames = false;
	agent.is_logged = false;
	agent.is_elsewhere = false;
}

void
th_agent_start(const struct th_agent_host *host, JavaVM *vm, enum th_agent_phase phase)
{
	th_guard_enter();
	bool has_ended = th_load_acquire(&agent.state) == ENDED;

	if (has_ended)
		restart();
	if (!agent.vm || has_ended) {
		agent.host = *host;
		agent.vm = vm;
		if (!start(phase))
			agent.vm = NULL;
	}
	th_guard_leave();
}

void
th_agent_renamed(JNIEnv *env, jthread thread)
{
	/* In another VM of this process the handle is not valid. */
	if (th_load_acquire(&agent.state) != RUNNING || own_env(agent.vm) != env)
		return;
	th_guard_enter();
	th_heap_look_at_name(agent.jvmti, env, thread);
	th_guard_leave();
}

void
th_agent_stop(void)
{
	uint32_t running = RUNNING;

	if (!th_cas_acq_rel(&agent.state, &running, STOPPED))
		return;
	th_takes_switch(NULL, TH_LEDGER_OFF);
	th_code_sources_stop();
	set_event(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, false);
	set_event(JVMTI_EVENT_GARBAGE_COLLECTION_START, false);
	set_event(JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, false);
	set_event(JVMTI_EVENT_THREAD_START, false);
	set_event(JVMTI_EVENT_THREAD_END, false);
	set_event(JVMTI_EVENT_NATIVE_METHOD_BIND, false);
	th_attaching_end(agent.vm);
	th_capture_set_java(NULL);
}
