/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent that wraps two JNI functions, as some tools do, and prints at the end how many calls it has
 * seen.  It wraps when the VM is initialized, before or after other agents.
 */
#include <jvmti.h>
#include <stdio.h>

static long created;
static long deleted;
static jvmtiEnv *jvmti;
static jobject(JNICALL *next_new)(JNIEnv *, jobject);
static void(JNICALL *next_delete)(JNIEnv *, jobject);

static jobject JNICALL
new_reference(JNIEnv *env, jobject object)
{
	__atomic_fetch_add(&created, 1, __ATOMIC_RELAXED);
	return next_new(env, object);
}

static void JNICALL
delete_reference(JNIEnv *env, jobject reference)
{
	__atomic_fetch_add(&deleted, 1, __ATOMIC_RELAXED);
	next_delete(env, reference);
}

static void JNICALL
on_init(jvmtiEnv *caller, JNIEnv *env, jthread thread)
{
	struct JNINativeInterface_ *table;

	(void)env;
	(void)thread;
	if ((*caller)->GetJNIFunctionTable(caller, &table))
		return;
	next_new = table->NewGlobalRef;
	next_delete = table->DeleteGlobalRef;
	table->NewGlobalRef = new_reference;
	table->DeleteGlobalRef = delete_reference;
	(*caller)->SetJNIFunctionTable(caller, table);
	(*caller)->Deallocate(caller, (unsigned char *)table);
}

JNIEXPORT jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiEventCallbacks callbacks = {.VMInit = on_init};

	(void)options;
	(void)reserved;
	return (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
			       (*jvmti)->SetEventCallbacks(
				       jvmti, &callbacks, sizeof(callbacks)) ||
			       (*jvmti)->SetEventNotificationMode(
				       jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL)
		       ? JNI_ERR
		       : JNI_OK;
}

JNIEXPORT void JNICALL
Agent_OnUnload(JavaVM *vm)
{
	(void)vm;
	fprintf(stderr, "wraps: %ld created, %ld deleted\n", created, deleted);
}
