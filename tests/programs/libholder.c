/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tiny agent that samples the Java heap itself.  Only one agent of a VM may: whoever comes
 * second has to live without.  Prints at the end how many samples it got.
 */
#include <jvmti.h>
#include <stdio.h>

static long samples;

static void JNICALL
on_sample(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object, jclass type, jlong size)
{
	(void)jvmti;
	(void)env;
	(void)thread;
	(void)object;
	(void)type;
	(void)size;
	__atomic_fetch_add(&samples, 1, __ATOMIC_RELAXED);
}

JNIEXPORT jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiCapabilities wanted = {.can_generate_sampled_object_alloc_events = 1};
	const jvmtiEventCallbacks callbacks = {.SampledObjectAlloc = on_sample};
	jvmtiEnv *jvmti;

	(void)options;
	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
		(*jvmti)->AddCapabilities(jvmti, &wanted) ||
		(*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)) ||
		(*jvmti)->SetEventNotificationMode(
			jvmti, JVMTI_ENABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL))
		return JNI_ERR;
	return JNI_OK;
}

JNIEXPORT void JNICALL
Agent_OnUnload(JavaVM *vm)
{
	(void)vm;
	fprintf(stderr, "holder: %ld samples\n", samples);
}
