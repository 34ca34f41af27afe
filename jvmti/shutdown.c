/* SPDX-License-Identifier: Apache-2.0 */
/*
 * java.lang.ApplicationShutdownHooks sets its field `hooks` to null before it starts the threads
 * of the hooks, whether the VM ends by System.exit(), a signal, or the end of the last thread (the
 * same in JDK 11 to 25).  The class is loaded with the first hook, and neither loaded nor
 * initialized here unless a hook of the library is registered; without hooks there is nothing to
 * mark.  A signal's thread is named by jdk.internal.misc.Signal; the VM ends by those in
 * java.lang.Terminator.
 *
 * A full collection at the end (full_collection.h) must come before the hooks, and before the VM
 * stops its collector, which is before VMDeath: the thread of each hook waits for it when it starts.
 * For programs without hooks the library registers one, a thread that does nothing.  No hook is
 * started after Runtime.halt().
 */
#include "jvmti/shutdown.h"

#include <string.h>

#include "jvmti/agent_thread.h"
#include "jvmti/heap/full_collection.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/recording/recorder.h"

#define HOOKS_CLASS "java.lang.ApplicationShutdownHooks"
#define HOOKS_FIELD "hooks"
#define HOOKS_TYPE "Ljava/util/IdentityHashMap;"
#define OWN_HOOK "twinheap exit"

static struct {
	jclass type;      /* a global reference; stored before `field` */
	jfieldID field;   /* atomic; NULL: not found yet */
	uint32_t is_over; /* atomic: the shutdown was seen, or the field does not exist */
	bool has_own;     /* the library's is registered */
} hooks;

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

void
th_shutdown_init(JNIEnv *env)
{
	jclass type = hooks.has_own ? NULL : (*env)->FindClass(env, "java/lang/Runtime");
	jmethodID get = type ? (*env)->GetStaticMethodID(
				       env, type, "getRuntime", "()Ljava/lang/Runtime;")
			     : NULL;
	jmethodID add = get ? (*env)->GetMethodID(
				      env, type, "addShutdownHook", "(Ljava/lang/Thread;)V")
			    : NULL;
	jobject runtime = add ? (*env)->CallStaticObjectMethod(env, type, get) : NULL;
	jobject hook = runtime && !(*env)->ExceptionCheck(env)
			       ? th_agent_thread_make(env, OWN_HOOK)
			       : NULL;

	/* Fails if the VM ends already. */
	if (hook) {
		(*env)->CallVoidMethod(env, runtime, add, hook);
		hooks.has_own = !(*env)->ExceptionCheck(env);
	}
	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, hook);
	(*env)->DeleteLocalRef(env, runtime);
	(*env)->DeleteLocalRef(env, type);
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

void
th_shutdown_thread_starts(jvmtiEnv *jvmti, JNIEnv *env, const char *name)
{
	if (handles_signal(name)) {
		/* At a second signal nothing is waited for any more. */
		if (!th_full_collection_abandon())
			th_full_collection_at_exit();
		th_teardown_begins(TH_TEARDOWN_SIGNAL, name);
	}
	if (!th_load_relaxed(&hooks.is_over) && have_begun(jvmti, env))
		hooks_begin();
}
