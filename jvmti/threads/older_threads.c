/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JavaThread may be deleted while it is read; the VM clears the field eetop of its thread before
 * that, so what was read is valid if the field is unchanged afterwards.
 */
#include "jvmti/threads/older_threads.h"

#include <stddef.h>

#include "jvmti/threads/thread_bytes.h"
#include "unify/base/atomic.h"

/* Further threads are counted from their first sample on. */
#define THREADS_MAX 4096

struct older {
	const char *thread; /* atomic: its JavaThread; NULL: taken, or not known */
	uint64_t past;
};

static struct {
	const struct th_hotspot *hotspot;
	jfieldID eetop;
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
add(JNIEnv *env, jthread thread)
{
	struct older *entry = &older.threads[older.count];
	const char *found = java_thread(env, thread, older.eetop);

	if (!older.hotspot || !found || older.count == THREADS_MAX ||
		!th_thread_bytes_of(older.hotspot, found, &entry->past) ||
		java_thread(env, thread, older.eetop) != found)
		return &older.threads[0];
	th_store_release(&entry->thread, found);
	older.count++;
	return entry;
}

void
th_older_threads_meet(jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot)
{
	jthread *threads;
	jint count;

	older.hotspot = hotspot;
	older.eetop = hotspot ? find_eetop(env) : NULL;
	older.count = 1;
	if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
		return;
	for (jint i = 0; i < count; i++) {
		(*jvmti)->SetThreadLocalStorage(jvmti, threads[i], add(env, threads[i]));
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
	const char *found;

	if ((*jvmti)->GetThreadLocalStorage(jvmti, NULL, &mark) ||
		!th_older_threads_is_mark(mark) ||
		(*jvmti)->SetThreadLocalStorage(jvmti, NULL, record))
		return false;
	entry = mark;
	found = th_load_acquire(&entry->thread);
	*past_ret = TH_OLDER_THREADS_UNKNOWN;
	/* Without one: it has no known past, or its bytes are settled. */
	if (found && th_cas_acq_rel(&entry->thread, &found, NULL))
		*past_ret = entry->past;
	return true;
}

/* The bytes of a live thread with a mark, once; 0: it has none. */
static uint64_t
settle(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	struct older *entry;
	const char *found;
	uint64_t bytes;
	void *mark;

	if ((*jvmti)->GetThreadLocalStorage(jvmti, thread, &mark) ||
		!th_older_threads_is_mark(mark))
		return 0;
	entry = mark;
	found = th_load_acquire(&entry->thread);
	if (!found || java_thread(env, thread, older.eetop) != found ||
		!th_thread_bytes_of(older.hotspot, found, &bytes) ||
		java_thread(env, thread, older.eetop) != found || bytes < entry->past ||
		!th_cas_acq_rel(&entry->thread, &found, NULL))
		return 0;
	return bytes - entry->past;
}

uint64_t
th_older_threads_settle(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint64_t sum = 0;
	jthread *threads;
	jint count;

	if (!older.hotspot || !older.eetop || (*jvmti)->GetAllThreads(jvmti, &count, &threads))
		return 0;
	for (jint i = 0; i < count; i++) {
		sum += settle(jvmti, env, threads[i]);
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
	return sum;
}
