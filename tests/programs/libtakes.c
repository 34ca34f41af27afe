/* SPDX-License-Identifier: Apache-2.0 */
/* Native methods of Ledger.java: each takes one thing from the VM, and gives it back or not. */
#include <jni.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define METHOD(type, name) JNIEXPORT type JNICALL Java_Ledger_##name
#define STEP_NS 5000000
#define LONG_NS 30000000
#define CACHED 50

static void
nap(long nanoseconds)
{
	nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

METHOD(void, global)(JNIEnv *env, jclass type, jobject object, jboolean leaking);
METHOD(void, weak)(JNIEnv *env, jclass type, jobject object, jboolean leaking);
METHOD(void, elements)(JNIEnv *env, jclass type, jbyteArray bytes, jboolean leaking);
METHOD(void, commit)(JNIEnv *env, jclass type, jintArray numbers, jboolean leaking);
METHOD(void, chars)(JNIEnv *env, jclass type, jstring text, jboolean leaking);
METHOD(void, utf)(JNIEnv *env, jclass type, jstring text, jboolean leaking);
METHOD(void, critical)(JNIEnv *env, jclass type, jbyteArray bytes, jboolean leaking);
METHOD(void, stringCritical)(JNIEnv *env, jclass type, jstring text, jboolean leaking);
METHOD(void, monitor)(JNIEnv *env, jclass type, jobject object, jboolean leaking);
METHOD(jobject, direct)(JNIEnv *env, jclass type);
METHOD(void, cached)(JNIEnv *env, jclass type, jobject object);
METHOD(void, once)(JNIEnv *env, jclass type, jobject object);
METHOD(void, startLocals)(JNIEnv *env, jclass type, jobject object, jboolean leaking);
METHOD(void, references)(JNIEnv *env, jclass type, jobject object, jint globals, jint weaks);
METHOD(void, threads)(JNIEnv *env, jclass type, jint count, jboolean leaking);
METHOD(jdouble, pairs)(JNIEnv *env, jclass type, jobject object, jint kind, jint count);

METHOD(void, global)(JNIEnv *env, jclass type, jobject object, jboolean leaking)
{
	jobject reference = (*env)->NewGlobalRef(env, object);

	(void)type;
	if (!leaking)
		(*env)->DeleteGlobalRef(env, reference);
}

METHOD(void, weak)(JNIEnv *env, jclass type, jobject object, jboolean leaking)
{
	jweak reference = (*env)->NewWeakGlobalRef(env, object);

	(void)type;
	if (!leaking)
		(*env)->DeleteWeakGlobalRef(env, reference);
}

METHOD(void, elements)(JNIEnv *env, jclass type, jbyteArray bytes, jboolean leaking)
{
	jbyte *elements = (*env)->GetByteArrayElements(env, bytes, NULL);

	(void)type;
	if (!leaking)
		(*env)->ReleaseByteArrayElements(env, bytes, elements, 0);
}

METHOD(void, commit)(JNIEnv *env, jclass type, jintArray numbers, jboolean leaking)
{
	jint *elements = (*env)->GetIntArrayElements(env, numbers, NULL);

	(void)type;
	(*env)->ReleaseIntArrayElements(env, numbers, elements, JNI_COMMIT);
	if (!leaking)
		(*env)->ReleaseIntArrayElements(env, numbers, elements, JNI_ABORT);
}

METHOD(void, chars)(JNIEnv *env, jclass type, jstring text, jboolean leaking)
{
	const jchar *chars = (*env)->GetStringChars(env, text, NULL);

	(void)type;
	if (!leaking)
		(*env)->ReleaseStringChars(env, text, chars);
}

METHOD(void, utf)(JNIEnv *env, jclass type, jstring text, jboolean leaking)
{
	const char *chars = (*env)->GetStringUTFChars(env, text, NULL);

	(void)type;
	if (!leaking)
		(*env)->ReleaseStringUTFChars(env, text, chars);
}

/* Always given back: a collection would wait for ever. */
METHOD(void, critical)(JNIEnv *env, jclass type, jbyteArray bytes, jboolean leaking)
{
	void *elements = (*env)->GetPrimitiveArrayCritical(env, bytes, NULL);

	(void)type;
	if (leaking)
		nap(LONG_NS);
	(*env)->ReleasePrimitiveArrayCritical(env, bytes, elements, 0);
}

METHOD(void, stringCritical)(JNIEnv *env, jclass type, jstring text, jboolean leaking)
{
	const jchar *chars = (*env)->GetStringCritical(env, text, NULL);

	(void)type;
	if (leaking)
		nap(LONG_NS);
	(*env)->ReleaseStringCritical(env, text, chars);
}

METHOD(void, monitor)(JNIEnv *env, jclass type, jobject object, jboolean leaking)
{
	(void)type;
	(*env)->MonitorEnter(env, object);
	if (!leaking)
		(*env)->MonitorExit(env, object);
}

METHOD(jobject, direct)(JNIEnv *env, jclass type)
{
	static char memory[64];

	(void)type;
	return (*env)->NewDirectByteBuffer(env, memory, sizeof(memory));
}

/* A cache of limited size is not a leak. */
METHOD(void, cached)(JNIEnv *env, jclass type, jobject object)
{
	static jobject entries[CACHED];
	static unsigned next;
	jobject *entry = &entries[next++ % CACHED];

	(void)type;
	if (*entry)
		(*env)->DeleteGlobalRef(env, *entry);
	*entry = (*env)->NewGlobalRef(env, object);
}

METHOD(void, once)(JNIEnv *env, jclass type, jobject object)
{
	(void)type;
	(*env)->NewGlobalRef(env, object);
}

METHOD(void, references)(JNIEnv *env, jclass type, jobject object, jint globals, jint weaks)
{
	(void)type;
	for (jint i = 0; i < globals; i++)
		(*env)->NewGlobalRef(env, object);
	for (jint i = 0; i < weaks; i++)
		(*env)->NewWeakGlobalRef(env, object);
}

static void
pair(JNIEnv *env, jobject object, jint kind)
{
	void *taken;

	switch (kind) {
	case 0:
		(*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, object));
		break;
	case 1:
		taken = (*env)->GetByteArrayElements(env, object, NULL);
		(*env)->ReleaseByteArrayElements(env, object, taken, JNI_ABORT);
		break;
	case 2:
		taken = (void *)(*env)->GetStringUTFChars(env, object, NULL);
		(*env)->ReleaseStringUTFChars(env, object, taken);
		break;
	default:
		taken = (*env)->GetPrimitiveArrayCritical(env, object, NULL);
		(*env)->ReleasePrimitiveArrayCritical(env, object, taken, JNI_ABORT);
	}
}

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* CPU time of a pair, in nanoseconds. */
METHOD(jdouble, pairs)(JNIEnv *env, jclass type, jobject object, jint kind, jint count)
{
	double begun = cpu_ns();

	(void)type;
	for (jint i = 0; i < count; i++)
		pair(env, object, kind);
	return (cpu_ns() - begun) / count;
}

/* Threads of C */

struct attached {
	JavaVM *vm;
	jobject object;
	bool is_leaking;
};

static struct attached *
make_attached(JNIEnv *env, jobject object, bool is_leaking)
{
	struct attached *attached = malloc(sizeof(*attached));

	(*env)->GetJavaVM(env, &attached->vm);
	attached->object = object;
	attached->is_leaking = is_leaking;
	return attached;
}

__attribute__((noinline)) void take_local(JNIEnv *env, const struct attached *attached);

__attribute__((noinline)) void
take_local(JNIEnv *env, const struct attached *attached)
{
	jobject reference = (*env)->NewLocalRef(env, attached->object);

	if (!attached->is_leaking)
		(*env)->DeleteLocalRef(env, reference);
}

/* A thread that never returns to Java: its local references are only released by hand. */
static void *
run_locals(void *data)
{
	const struct attached *attached = data;
	JNIEnv *env;

	(*attached->vm)->AttachCurrentThreadAsDaemon(attached->vm, (void **)&env, NULL);
	for (;;) {
		take_local(env, attached);
		nap(STEP_NS);
	}
	return NULL;
}

METHOD(void, startLocals)(JNIEnv *env, jclass type, jobject object, jboolean leaking)
{
	pthread_t thread;
	jobject kept = (*env)->NewGlobalRef(env, object);

	(void)type;
	pthread_create(&thread, NULL, run_locals, make_attached(env, kept, leaking));
	pthread_detach(thread);
}

static pthread_key_t detach_key;

/* As many programs do, so that no thread can forget it. */
static void
detach(void *data)
{
	JavaVM *vm = data;

	(*vm)->DetachCurrentThread(vm);
}

static __attribute__((constructor)) void
make_key(void)
{
	pthread_key_create(&detach_key, detach);
}

static void *
run_attached(void *data)
{
	struct attached *attached = data;
	JNIEnv *env;

	(*attached->vm)->AttachCurrentThread(attached->vm, (void **)&env, NULL);
	if (!attached->is_leaking)
		pthread_setspecific(detach_key, attached->vm);
	free(attached);
	return NULL;
}

METHOD(void, threads)(JNIEnv *env, jclass type, jint count, jboolean leaking)
{
	(void)type;
	for (jint i = 0; i < count; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, run_attached, make_attached(env, NULL, leaking));
		pthread_join(thread, NULL);
	}
}
