/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that a walk of the Java heap can take: FollowReferences without any tag, with a callback
 * that only has each object visited.  Walks once when System.load() loads it, and prints the times.
 */
#include <jvmti.h>
#include <stdio.h>
#include <time.h>

static double
milliseconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static jint JNICALL
visit(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
	jlong referrer_class_tag, jlong size, jlong *tag, jlong *referrer_tag, jint length,
	void *data)
{
	(void)kind;
	(void)info;
	(void)class_tag;
	(void)referrer_class_tag;
	(void)size;
	(void)tag;
	(void)referrer_tag;
	(void)length;
	(void)data;
	return JVMTI_VISIT_OBJECTS;
}

static void
walk(jvmtiEnv *jvmti)
{
	const jvmtiCapabilities needed = {.can_tag_objects = 1};
	const jvmtiHeapCallbacks callbacks = {.heap_reference_callback = visit};
	double time = milliseconds(CLOCK_MONOTONIC);
	double cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID);

	if ((*jvmti)->AddCapabilities(jvmti, &needed) ||
		(*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &callbacks, NULL))
		return;
	time = milliseconds(CLOCK_MONOTONIC) - time;
	cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("empty walk: %.1f ms, %.1f ms of CPU time\n", time, cpu);
	fflush(stdout);
}

JNIEXPORT jint JNICALL
JNI_OnLoad(JavaVM *vm, void *reserved)
{
	jvmtiEnv *jvmti;

	(void)reserved;
	if (!(*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11)) {
		walk(jvmti);
		(*jvmti)->DisposeEnvironment(jvmti);
	}
	return JNI_VERSION_1_8;
}
