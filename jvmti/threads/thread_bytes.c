/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/threads/thread_bytes.h"

#include <stddef.h>

#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/base/observed.h"

/*
 * Each try coincides with a change of the TLAB with a probability below 1/1000.  A collection that
 * is stopped in the middle of a change fails them all.
 */
#define READ_TRIES 4
/* Further threads are counted from their first sample on. */
#define THREADS_MAX 4096

static uint64_t
read_field(const char *thread, int64_t offset)
{
	return offset > 0 ? th_load_acquire((const uint64_t *)(const void *)(thread + offset))
			  : 0;
}

static bool
is_ordered(const struct th_hotspot *hotspot, const struct th_thread_bytes *bytes)
{
	return bytes->tlab_start <= bytes->tlab_top &&
	       (hotspot->tlab_end <= 0 || bytes->tlab_top <= bytes->tlab_end);
}

/*
 * If two reads of count and start agree, top and end, read between them, belong to them.  Stores of
 * another thread may be seen in another order on aarch64: then top or end is out of order.
 */
bool
th_thread_bytes_read(
	const struct th_hotspot *hotspot, const char *thread, struct th_thread_bytes *ret)
{
	for (int i = 0; i < READ_TRIES; i++) {
		ret->retired = read_field(thread, hotspot->allocated_bytes);
		ret->tlab_start = read_field(thread, hotspot->tlab_start);
		ret->tlab_top = read_field(thread, hotspot->tlab_top);
		ret->tlab_end = read_field(thread, hotspot->tlab_end);
		if (read_field(thread, hotspot->allocated_bytes) == ret->retired &&
			read_field(thread, hotspot->tlab_start) == ret->tlab_start &&
			is_ordered(hotspot, ret))
			return true;
	}
	return false;
}

bool
th_thread_bytes(const struct th_hotspot *hotspot, const char *thread, uint64_t *bytes_ret)
{
	struct th_thread_bytes bytes;

	if (!th_thread_bytes_read(hotspot, thread, &bytes))
		return false;
	*bytes_ret = bytes.retired + (bytes.tlab_top - bytes.tlab_start);
	return true;
}

/* Reads in this order, without the end.  The copy fails where a plain read would fault. */
static bool
copy_bytes(const struct th_hotspot *hotspot, const char *thread, struct th_thread_bytes *ret)
{
	char *start = (char *)(uintptr_t)thread;
	struct iovec local[] = {{&ret->retired, 8}, {&ret->tlab_start, 8}, {&ret->tlab_top, 8}};
	struct iovec remote[] = {{start + hotspot->allocated_bytes, 8},
		{start + hotspot->tlab_start, 8}, {start + hotspot->tlab_top, 8}};

	return th_observed_copy_pieces(remote, local, 3, 24);
}

/*
 * A thread that changes its TLAB adds the old one to its bytes and then sets start and top.
 * Read in between, they are inconsistent (a top of 0 makes 2^64 bytes).  If a second read finds
 * bytes and start unchanged, the top read between the two belongs to them.
 */
bool
th_thread_bytes_of(const struct th_hotspot *hotspot, const char *thread, uint64_t *bytes_ret)
{
	struct th_thread_bytes first, second;

	for (int i = 0; i < READ_TRIES; i++) {
		if (!copy_bytes(hotspot, thread, &first) ||
			!copy_bytes(hotspot, thread, &second))
			return false;
		if (first.retired != second.retired || first.tlab_start != second.tlab_start ||
			first.tlab_top < first.tlab_start)
			continue;
		*bytes_ret = first.retired + (first.tlab_top - first.tlab_start);
		return true;
	}
	return false;
}

/* Older threads */

/*
 * A JavaThread may be deleted while it is read; the VM clears the field eetop of its thread before
 * that, so what was read is valid if the field is unchanged afterwards.
 */
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
	older.eetop = th_vm_field(env, "java/lang/Thread", "eetop", "J");
	th_store_relaxed(&older.count, 0);
	th_store_relaxed(&older.is_vague, 0);
	if ((*jvmti)->GetAllThreads(jvmti, &count, &threads))
		return;
	for (jint i = 0; i < count; i++) {
		if (!add(env, threads[i]))
			th_store_relaxed(&older.is_vague, 1);
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	th_vm_free(jvmti, threads);
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

uint64_t
th_older_threads_take(const char *java_thread)
{
	struct older *entry = find(java_thread);

	if (!entry || !th_cas_acq_rel(&entry->thread, &java_thread, NULL))
		return th_load_relaxed(&older.is_vague) ? TH_OLDER_THREADS_UNKNOWN : 0;
	return entry->past;
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
	th_vm_free(jvmti, threads);
	return sum;
}
