/* SPDX-License-Identifier: Apache-2.0 */
/*
 * java.lang.ApplicationShutdownHooks sets its field `hooks` to null before it starts the threads
 * of the hooks, whether the VM ends by System.exit(), a signal, or the end of the last thread (the
 * same in JDK 11 to 25).  The class is loaded with the first hook, and neither loaded nor
 * initialized here; without hooks there is nothing to mark.  A signal's thread is named by
 * jdk.internal.misc.Signal; the VM ends by those in java.lang.Terminator.
 *
 * A full collection at the end (full_collection.h) must come before the hooks, and before the VM
 * stops its collector, which is before VMDeath.  Without hooks the end is seen by
 *
 *   Shutdown.beforeHalt     a native method that System.exit() calls first: it is bound then.
 *                           Runtime.halt() calls it as well, and is not delayed
 *   DestroyJavaVM           the thread that made the VM starts again, under that name, when main
 *                           has returned; the VM ends when the other threads that are no daemons
 *                           have ended
 *
 * (JDK 11 to 25.)
 */
#include "jvmti/shutdown.h"

#include <string.h>

#include "jvmti/agent_thread.h"
#include "jvmti/heap/full_collection.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/base/system.h"
#include "unify/recording/recorder.h"

#define HOOKS_CLASS "java.lang.ApplicationShutdownHooks"
#define HOOKS_FIELD "hooks"
#define HOOKS_TYPE "Ljava/util/IdentityHashMap;"
/* jni_DestroyJavaVM() attaches under this name. */
#define DESTROYER "DestroyJavaVM"
#define EXIT_CLASS "Ljava/lang/Shutdown;"
#define EXIT_METHOD "beforeHalt"
#define EXIT_CALLER "exit"
/* Frames in which it is looked for: of the method that is bound and of its caller. */
#define CALLERS 2

static struct {
	jclass type;      /* a global reference; stored before `field` */
	jfieldID field;   /* atomic; NULL: not found yet */
	uint32_t is_over; /* atomic: the shutdown was seen, or the field does not exist */
} hooks;

/*
 * How long a thread may take from its event to the VM's count, or from there to its event: tens of
 * microseconds, or until it gets a processor.
 */
#define NAP_NS 100000
#define NAPS 200

/*
 * Threads that the VM waits for before it ends: those that are no daemons.  The VM counts them from
 * before their first event until after their last one (threadService.cpp); here they are counted
 * between their events, so threads that end at the same time see which is the last.
 */
static struct {
	const int64_t *live; /* the VM's counts; NULL: unknown, and none are made here */
	const int64_t *daemons;
	const struct th_thread_record *creator; /* of the VM */
	uint32_t count;                         /* atomic */
	uint32_t main_returned;                 /* atomic */
	uint32_t is_halted;                     /* atomic: Shutdown.beforeHalt was called */
} threads;

/* Reading a field would initialize its class, so that is left to the program. */
static bool
is_initialized(jvmtiEnv *jvmti, jclass type)
{
	jint status;

	return !(*jvmti)->GetClassStatus(jvmti, type, &status) &&
	       status & JVMTI_CLASS_STATUS_INITIALIZED;
}

/* Threads that find it at the same time store the same values; the last reference is kept. */
static void
find_field(JNIEnv *env, jclass type)
{
	jfieldID field = (*env)->GetStaticFieldID(env, type, HOOKS_FIELD, HOOKS_TYPE);

	(*env)->ExceptionClear(env);
	if (!field) {
		th_missed_names_add(HOOKS_CLASS, HOOKS_FIELD);
		th_store_relaxed(&hooks.is_over, 1);
		return;
	}
	hooks.type = (*env)->NewGlobalRef(env, type);
	/* Pairs with the acquire in have_begun(): the class is stored. */
	if (hooks.type)
		th_store_release(&hooks.field, field);
}

static void
look_for_field(jvmtiEnv *jvmti, JNIEnv *env)
{
	jclass type = th_loaded_class_find(env, HOOKS_CLASS);

	if (type && is_initialized(jvmti, type))
		find_field(env, type);
	(*env)->DeleteLocalRef(env, type);
}

/* Whether the threads of the hooks are being started. */
static bool
have_begun(jvmtiEnv *jvmti, JNIEnv *env)
{
	if (!th_load_acquire(&hooks.field))
		look_for_field(jvmti, env);
	jfieldID field = th_load_acquire(&hooks.field);
	if (!field)
		return false;
	jobject map = (*env)->GetStaticObjectField(env, hooks.type, field);

	(*env)->DeleteLocalRef(env, map);
	return !map;
}

static bool
handles_signal(const char *name)
{
	return !strcmp(name, "SIGTERM handler") || !strcmp(name, "SIGINT handler") ||
	       !strcmp(name, "SIGHUP handler");
}

/*
 * Whether the VM waits for the thread that destroys it alone, and for `ending` threads that have
 * had their event: others that the VM counts have had it as well, or are about to be counted here.
 */
static bool
is_destroyed_after(int64_t ending)
{
	for (int i = 0; i < NAPS && th_load_acquire(&threads.count) == 1; i++) {
		if (*threads.live - *threads.daemons <= 1 + ending)
			return true;
		th_system_nap(NAP_NS);
	}
	return false;
}

/* Before anything is released: the VM's own hooks do so, such as that of File.deleteOnExit(). */
static void
vm_ends(void)
{
	th_full_collection_at_exit();
	th_teardown_begins(TH_TEARDOWN_VM_ENDS, NULL);
}

static void
hooks_begin(void)
{
	/* Other hooks' threads come here until it is over: none runs before. */
	th_full_collection_at_exit();
	th_store_relaxed(&hooks.is_over, 1);
	th_teardown_begins(TH_TEARDOWN_HOOKS, NULL);
	th_agent_thread_vm_ends();
}

static void
count_thread(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, struct th_thread_record *record)
{
	jvmtiThreadInfo info;

	/* The event of the thread that made the VM may come after VMInit. */
	if (!threads.live || !record || record->keeps_vm ||
		!th_vm_thread_info(jvmti, env, thread, &info))
		return;
	/* By this name, which its record may not have: it was "main" before. */
	bool is_destroyer = record == threads.creator && !strcmp(info.name, DESTROYER);
	th_vm_free(jvmti, info.name);
	if (info.is_daemon)
		return;
	record->keeps_vm = true;
	th_add_acq_rel(&threads.count, 1);
	if (!is_destroyer)
		return;
	th_store_release(&threads.main_returned, 1);
	if (is_destroyed_after(0))
		vm_ends();
}

void
th_shutdown_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	struct th_thread_record *record = th_thread_record();
	const int64_t *live = th_perf_data_long("java.threads.live");

	threads.daemons = th_perf_data_long("java.threads.daemon");
	if (th_perf_data_exists() && (!live || !threads.daemons))
		th_missed_names_add("counter", "java.threads.live or daemon");
	/* In a VM that has run for a while others may be starting and ending. */
	if (!live || !threads.daemons || !record || *live - *threads.daemons != 1)
		return;
	threads.live = live;
	count_thread(jvmti, env, thread, record);
	threads.creator = record;
	if (!record->keeps_vm)
		threads.live = NULL;
}

void
th_shutdown_thread_starts(
	jvmtiEnv *jvmti, JNIEnv *env, jthread thread, struct th_thread_record *record)
{
	const char *name = record ? record->name : "";

	count_thread(jvmti, env, thread, record);
	if (handles_signal(name)) {
		/* At a second signal nothing is waited for any more. */
		if (!th_full_collection_abandon())
			th_full_collection_at_exit();
		th_teardown_begins(TH_TEARDOWN_SIGNAL, name);
	}
	if (!th_load_relaxed(&hooks.is_over) && have_begun(jvmti, env))
		hooks_begin();
}

/* The thread that calls System.exit() or Runtime.halt() has its last event, too. */
void
th_shutdown_thread_ends(struct th_thread_record *record)
{
	if (!record || !record->keeps_vm)
		return;
	record->keeps_vm = false;
	uint32_t before = th_add_acq_rel(&threads.count, -1);
	if (before == 2 && th_load_acquire(&threads.main_returned) &&
		!th_load_relaxed(&threads.is_halted) && is_destroyed_after(1))
		vm_ends();
}

static bool
is_of_class(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method, const char *expected)
{
	jclass type;
	char *signature;

	if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &type))
		return false;
	bool found = !(*jvmti)->GetClassSignature(jvmti, type, &signature, NULL);
	(*env)->DeleteLocalRef(env, type);
	if (!found)
		return false;
	found = !strcmp(signature, expected);
	th_vm_free(jvmti, signature);
	return found;
}

static bool
is_method(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method, const char *expected)
{
	char *name;

	if ((*jvmti)->GetMethodName(jvmti, method, &name, NULL, NULL))
		return false;
	bool found = !strcmp(name, expected);
	th_vm_free(jvmti, name);
	return found && is_of_class(jvmti, env, method, EXIT_CLASS);
}

/* Not by Runtime.halt(). */
static bool
is_called_by_exit(jvmtiEnv *jvmti, JNIEnv *env)
{
	jvmtiFrameInfo frames[CALLERS];
	jint count = 0;

	if ((*jvmti)->GetStackTrace(jvmti, NULL, 0, CALLERS, frames, &count))
		return false;
	for (jint i = 0; i < count; i++)
		if (is_method(jvmti, env, frames[i].method, EXIT_CALLER))
			return true;
	return false;
}

void
th_shutdown_native_bound(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method)
{
	if (!is_method(jvmti, env, method, EXIT_METHOD))
		return;
	th_store_relaxed(&threads.is_halted, 1);
	if (is_called_by_exit(jvmti, env))
		vm_ends();
	else
		th_full_collection_abandon();
}
