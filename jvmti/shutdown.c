/* SPDX-License-Identifier: Apache-2.0 */
/*
 * java.lang.ApplicationShutdownHooks sets its field `hooks` to null before it starts the threads
 * of the hooks, whether the VM ends by System.exit(), a signal, or the end of the last thread (the
 * same in JDK 11 to 25).  The class is loaded with the first hook, and neither loaded nor
 * initialized here; without hooks there is nothing to observe.  A signal's thread is named by
 * jdk.internal.misc.Signal; the VM ends by those in java.lang.Terminator.
 */
#include "jvmti/shutdown.h"

#include <string.h>

#include "jvmti/agent_thread.h"
#include "jvmti/loaded_class.h"
#include "unify/base/atomic.h"
#include "unify/recording/teardown.h"

#define HOOKS_CLASS "java.lang.ApplicationShutdownHooks"
#define HOOKS_FIELD "hooks"
#define HOOKS_TYPE "Ljava/util/IdentityHashMap;"

static struct {
	jclass type;      /* a global reference; stored before `field` */
	jfieldID field;   /* atomic; NULL: not found yet */
	uint32_t is_over; /* atomic: the shutdown was seen, or the field does not exist */
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
th_shutdown_thread_starts(jvmtiEnv *jvmti, JNIEnv *env, const char *name)
{
	if (handles_signal(name))
		th_teardown_begins(TH_TEARDOWN_SIGNAL, name);
	if (th_load_relaxed(&hooks.is_over) || !have_begun(jvmti, env))
		return;
	th_store_relaxed(&hooks.is_over, 1);
	th_teardown_begins(TH_TEARDOWN_HOOKS, NULL);
	th_agent_thread_vm_ends();
}
