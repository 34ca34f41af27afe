/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small agent that samples the Java heap itself.  Only one agent of a VM may; a second one
 * must do without.  Prints at the end how many samples it received.  With the option "later" it
 * starts sampling on request of Holder.java.
 */
#include <jvmti.h>
#include <stdio.h>
#include <string.h>

static long samples;
static jvmtiEnv *jvmti;
static const jvmtiCapabilities wanted = {.can_generate_sampled_object_alloc_events = 1};

JNIEXPORT jboolean JNICALL Java_Holder_take(JNIEnv *env, jclass type);
JNIEXPORT void JNICALL Java_Holder_give(JNIEnv *env, jclass type);

static void JNICALL
on_sample(
	jvmtiEnv *caller, JNIEnv *env, jthread thread, jobject object, jclass type, jlong size)
{
	(void)caller;
	(void)env;
	(void)thread;
	(void)object;
	(void)type;
	(void)size;
	__atomic_fetch_add(&samples, 1, __ATOMIC_RELAXED);
}

static jboolean
take(void)
{
	return !(*jvmti)->AddCapabilities(jvmti, &wanted) &&
	       !(*jvmti)->SetEventNotificationMode(
		       jvmti, JVMTI_ENABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
}

JNIEXPORT jboolean JNICALL
Java_Holder_take(JNIEnv *env, jclass type)
{
	(void)env;
	(void)type;
	return take();
}

JNIEXPORT void JNICALL
Java_Holder_give(JNIEnv *env, jclass type)
{
	(void)env;
	(void)type;
	(*jvmti)->SetEventNotificationMode(
		jvmti, JVMTI_DISABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
	(*jvmti)->RelinquishCapabilities(jvmti, &wanted);
}

JNIEXPORT jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiEventCallbacks callbacks = {.SampledObjectAlloc = on_sample};

	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
		(*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)))
		return JNI_ERR;
	return (options && !strcmp(options, "later")) || take() ? JNI_OK : JNI_ERR;
}

JNIEXPORT void JNICALL
Agent_OnUnload(JavaVM *vm)
{
	(void)vm;
	fprintf(stderr, "holder: %ld samples\n", samples);
}
