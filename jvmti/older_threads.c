/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JavaThread may be deleted while it is read, but not before its thread has taken its mark, in
 * the event at its end: bytes count only if the mark is still there afterwards.
 */
#include "jvmti/older_threads.h"

#include <stddef.h>

#include "jvmti/thread_bytes.h"
#include "unify/base/atomic.h"

/* Further threads are counted from their first sample on. */
#define THREADS_MAX 4096

struct older {
	const char *thread; /* atomic: its JavaThread; NULL: taken, or not known */
	uint64_t past;
};

static struct {
	const struct th_hotspot *hotspot;
	struct older threads[THREADS_MAX]; /* the first: without a known past */
	uint32_t count;
} older;

/* A thread's JavaThread; NULL: it does not run, or the field is not known. */
static const char *
java_thread(JNIEnv *env, jthread thread, jfieldID eetop)
{
	return eetop ? (const char *)(uintptr_t)(*env)->GetLongField(env, thread, eetop) : NULL;
}

static jfieldID
find_eetop(JNIEnv *env)
{
	jclass type = (*env)->FindClass(env, "java/lang/Thread");
	jfieldID field = type ? (*env)->GetFieldID(env, type, "eetop", "J") : NULL;

	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, type);
	return field;
}

static struct older *
add(JNIEnv *env, jthread thread, jfieldID eetop)
{
	struct older *entry = &older.threads[older.count];
	const char *found = java_thread(env, thread, eetop);

	if (!older.hotspot || !found || older.count == THREADS_MAX ||
		!th_thread_bytes_of(older.hotspot, found, &entry->past) ||
		java_thread(env, thread, eetop) != found)
		return &older.threads[0];
	th_store_release(&entry->thread, found);
	older.count++;
	return entry;
}

void
th_older_threads_meet(jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot)
{
	jfieldID eetop = hotspot ? find_eetop(env) : NULL;
	jthread *threads;
	jint count;

	older.hotspot = hotspot;
	older.count = 1;
	if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
		return;
	for (jint i = 0; i < count; i++) {
		(*jvmti)->SetThreadLocalStorage(jvmti, threads[i], add(env, threads[i], eetop));
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}

bool
th_older_threads_is_mark(const void *mark)
{
	return (uintptr_t)mark - (uintptr_t)older.threads < sizeof(older.threads);
}

bool
th_older_threads_take(jvmtiEnv *jvmti, void *record, uint64_t *past_ret)
{
	void *mark;
	struct older *entry;

	if ((*jvmti)->GetThreadLocalStorage(jvmti, NULL, &mark) ||
		!th_older_threads_is_mark(mark) ||
		(*jvmti)->SetThreadLocalStorage(jvmti, NULL, record))
		return false;
	entry = mark;
	*past_ret = entry == older.threads ? TH_OLDER_THREADS_UNKNOWN : entry->past;
	th_store_release(&entry->thread, NULL);
	return true;
}

uint64_t
th_older_threads_bytes(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < older.count; i++) {
		struct older *entry = &older.threads[i];
		const char *thread = th_load_acquire(&entry->thread);
		uint64_t bytes;

		if (thread && th_thread_bytes_of(older.hotspot, thread, &bytes) &&
			th_load_acquire(&entry->thread) == thread)
			sum += bytes - entry->past;
	}
	return sum;
}
