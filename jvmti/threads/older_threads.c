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
	const char *thread; /* atomic: its JavaThread; NULL: taken */
	uint64_t past;
};

static struct {
	const struct th_hotspot *hotspot;
	jfieldID eetop;
	struct older threads[THREADS_MAX];
	uint32_t count;    /* atomic */
	uint32_t is_vague; /* atomic: the past of some threads is not known */
} older;

const char *
th_older_threads_java_thread(JNIEnv *env, jthread thread)
{
	return older.eetop
		       ? (const char *)(uintptr_t)(*env)->GetLongField(env, thread, older.eetop)
		       : NULL;
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

/* False: its past is not known. */
static bool
add(JNIEnv *env, jthread thread)
{
	uint32_t count = older.count;
	const char *found = th_older_threads_java_thread(env, thread);

	if (!older.hotspot || !found || count == THREADS_MAX ||
		!th_thread_bytes_of(older.hotspot, found, &older.threads[count].past) ||
		th_older_threads_java_thread(env, thread) != found)
		return false;
	th_store_relaxed(&older.threads[count].thread, found);
	th_store_release(&older.count, count + 1);
	return true;
}

void
th_older_threads_meet(jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot)
{
	jthread *threads;
	jint count;

	older.hotspot = hotspot;
	older.eetop = find_eetop(env);
	th_store_relaxed(&older.count, 0);
	th_store_relaxed(&older.is_vague, 0);
	if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
		return;
	for (jint i = 0; i < count; i++) {
		if (!add(env, threads[i]))
			th_store_relaxed(&older.is_vague, 1);
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
}

/* NULL: not, or no longer, one of them. */
static struct older *
find(const char *java_thread)
{
	for (uint32_t i = th_load_acquire(&older.count); i-- > 0;)
		if (th_load_relaxed(&older.threads[i].thread) == java_thread)
			return &older.threads[i];
	return NULL;
}

bool
th_older_threads_take(const char *java_thread, uint64_t *past_ret)
{
	struct older *entry = find(java_thread);

	*past_ret = TH_OLDER_THREADS_UNKNOWN;
	if (!entry || !th_cas_acq_rel(&entry->thread, &java_thread, NULL))
		return th_load_relaxed(&older.is_vague);
	*past_ret = entry->past;
	return true;
}

/* The bytes of a live thread, once; 0: it is not one of them. */
static uint64_t
settle(JNIEnv *env, jthread thread)
{
	const char *found = th_older_threads_java_thread(env, thread);
	struct older *entry = found ? find(found) : NULL;
	uint64_t bytes;

	if (!entry || !th_thread_bytes_of(older.hotspot, found, &bytes) ||
		th_older_threads_java_thread(env, thread) != found || bytes < entry->past ||
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
	th_store_relaxed(&older.is_vague, 1);
	for (jint i = 0; i < count; i++) {
		sum += settle(env, threads[i]);
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)threads);
	return sum;
}
