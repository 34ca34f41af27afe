/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -agentpath:libslow_start.so: the VM takes a second longer from the start of its first thread to
 * the live phase.  Meanwhile it can be attached to, but has no environments for agents.
 */
#include <jvmti.h>
#include <unistd.h>

#define DELAY_US 1000000

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

static void JNICALL
on_start(jvmtiEnv *jvmti, JNIEnv *env)
{
	(void)jvmti, (void)env;
	usleep(DELAY_US);
}

jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiEventCallbacks callbacks = {.VMStart = on_start};
	jvmtiEnv *jvmti;

	(void)options, (void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
		(*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)) ||
		(*jvmti)->SetEventNotificationMode(
			jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_START, NULL))
		return JNI_ERR;
	return JNI_OK;
}
