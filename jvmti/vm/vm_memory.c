/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads no class and calls no Java method.  Buffers are counted in three static fields of
 * java.nio.Bits, which are read only if that class is already loaded.
 */
#include "jvmti/vm/vm_memory.h"

#include <stdbool.h>
#include <stddef.h>

#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/resident/breakdown.h"

/* Fewer are no backlog. */
#define LEAST 16
/* Objects whose class is read, from the youngest on. */
#define READ_MAX 64
/* Local references at a time: those of the fields, and of two objects. */
#define LOCAL_REFERENCES 16

static struct {
	JavaVM *vm;
	jvmtiEnv *jvmti;
	const struct th_hotspot *hotspot;
	uint32_t is_on; /* atomic */
} memory;

/* Address ranges */

static void
claim_heap(struct th_breakdown_claims *claims)
{
	const struct th_hotspot *hotspot = memory.hotspot;
	struct th_claim claim = {.name = "", .category = TH_MEMORY_JAVA_HEAP};

	if (!hotspot->collected_heap || !*hotspot->collected_heap || hotspot->heap_start < 0 ||
		hotspot->heap_words < 0)
		return;
	claim.start = th_field_at(*hotspot->collected_heap, hotspot->heap_start);
	claim.end = claim.start +
		    sizeof(void *) * th_field_at(*hotspot->collected_heap, hotspot->heap_words);
	th_breakdown_claim(claims, TH_CLAIM_EXACT, &claim);
}

static void
claim_code(struct th_breakdown_claims *claims)
{
	const struct th_hotspot *hotspot = memory.hotspot;
	struct th_claim claim = {.name = "", .category = TH_MEMORY_CODE_CACHE};

	if (!hotspot->code_low || !hotspot->code_high)
		return;
	claim.start = *hotspot->code_low;
	claim.end = *hotspot->code_high;
	th_breakdown_claim(claims, TH_CLAIM_EXACT, &claim);
}

static void
claim(struct th_breakdown_claims *claims)
{
	claim_heap(claims);
	claim_code(claims);
}

/* Pools */

static void
log_pool(struct th_event_pool *event, const char *name)
{
	struct th_log_part part = th_log_text(name);

	th_log_append(TH_EVENT_POOL, event, &part, 1);
}

static void
log_java_heap(uint32_t account)
{
	struct th_event_pool event = {.account = account, .kind = TH_POOL_MEMORY};

	if (!th_vm_heap_use(&event.committed, &event.used))
		return;
	if (th_vm_functions.max_memory)
		event.limit = (uint64_t)th_vm_functions.max_memory();
	log_pool(&event, "Java heap");
}

/*
 * The bytes in use inside the heaps are not logged: finding them requires a walk through their
 * blocks under the VM's lock.
 */
static void
log_code_cache(uint32_t account)
{
	const struct th_hotspot *hotspot = memory.hotspot;
	struct th_event_pool event = {.account = account, .kind = TH_POOL_MEMORY};

	if (!th_hotspot_has_code_heaps(hotspot))
		return;
	uintptr_t array = *hotspot->code_heaps;
	uintptr_t heaps = th_field_at(array, hotspot->array_data);
	int length = *(const int *)(array + (uintptr_t)hotspot->array_length);
	for (int i = 0; i < length; i++) {
		uintptr_t heap = th_field_at(heaps, i * (int64_t)sizeof(heap));

		event.committed += th_field_at(heap, hotspot->code_heap_high) -
				   th_field_at(heap, hotspot->code_heap_low);
		event.limit += th_field_at(heap, hotspot->code_heap_end) -
			       th_field_at(heap, hotspot->code_heap_start);
	}
	log_pool(&event, "Code cache");
}

/* The VM updates these counters at collections. */
static void
log_counters(uint32_t account, const char *used_name, const char *committed_name,
	const char *limit_name, const char *name)
{
	const int64_t *used = th_perf_data_long(used_name);
	const int64_t *committed = th_perf_data_long(committed_name);
	const int64_t *limit = th_perf_data_long(limit_name);
	struct th_event_pool event = {.account = account, .kind = TH_POOL_MEMORY};

	if (!used || !committed)
		return;
	event.used = (uint64_t)*used;
	event.committed = (uint64_t)*committed;
	event.limit = limit && *limit > 0 ? (uint64_t)*limit : 0;
	log_pool(&event, name);
}

/* Buffers */

/* The value of a static field that is an AtomicLong; 0 if there is none. */
static uint64_t
atomic_long(JNIEnv *env, jclass type, const char *name)
{
	jfieldID field = (*env)->GetStaticFieldID(
		env, type, name, "Ljava/util/concurrent/atomic/AtomicLong;");
	jobject object = field ? (*env)->GetStaticObjectField(env, type, field) : NULL;
	jclass counter = object ? (*env)->GetObjectClass(env, object) : NULL;
	jfieldID value = counter ? (*env)->GetFieldID(env, counter, "value", "J") : NULL;
	uint64_t result = value ? (uint64_t)(*env)->GetLongField(env, object, value) : 0;

	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, counter);
	(*env)->DeleteLocalRef(env, object);
	return result;
}

/* java.nio.Bits: the values that the BufferPoolMXBean "direct" returns. */
static void
log_direct_buffers(JNIEnv *env, uint32_t account)
{
	jclass bits = th_loaded_class_find(env, "java.nio.Bits");
	struct th_event_pool event = {.account = account, .kind = TH_POOL_BUFFERS};

	if (!bits)
		return;
	event.used = atomic_long(env, bits, "RESERVED_MEMORY");
	event.committed = atomic_long(env, bits, "TOTAL_CAPACITY");
	event.count = atomic_long(env, bits, "COUNT");
	(*env)->DeleteLocalRef(env, bits);
	log_pool(&event, "direct");
}

static jlong
static_number(JNIEnv *env, jclass type, const char *name, const char *signature)
{
	jfieldID field = (*env)->GetStaticFieldID(env, type, name, signature);
	jlong result = 0;

	if (field)
		result = *signature == 'J' ? (*env)->GetStaticLongField(env, type, field)
					   : (*env)->GetStaticIntField(env, type, field);
	(*env)->ExceptionClear(env);
	return result;
}

/* Buffers of FileChannel.map(), counted by the class that unmaps them. */
static void
log_mapped_buffers(JNIEnv *env, uint32_t account)
{
	jclass unmapper = th_loaded_class_find(
		env, "sun.nio.ch.FileChannelImpl$DefaultUnmapper");
	struct th_event_pool event = {.account = account, .kind = TH_POOL_BUFFERS};

	if (!unmapper)
		unmapper = th_loaded_class_find(env, "sun.nio.ch.FileChannelImpl$Unmapper");
	if (!unmapper)
		return;
	event.used = (uint64_t)static_number(env, unmapper, "totalSize", "J");
	event.committed = (uint64_t)static_number(env, unmapper, "totalCapacity", "J");
	event.count = (uint64_t)static_number(env, unmapper, "count", "I");
	(*env)->DeleteLocalRef(env, unmapper);
	log_pool(&event, "mapped");
}

/* Unreachable objects that wait for finalize(): the queue of java.lang.ref.Finalizer */

/* A class, and by how many objects it is ahead of all others: the majority vote of Boyer and Moore. */
struct vote {
	jclass type;
	unsigned lead;
};

static jobject
queue_of(JNIEnv *env, jclass finalizer)
{
	/* Up to 17 or so, and later. */
	static const char *const types[] = {
		"Ljava/lang/ref/ReferenceQueue;", "Ljava/lang/ref/NativeReferenceQueue;"};
	static size_t known; /* a wrong one costs an exception */

	for (; known < sizeof(types) / sizeof(types[0]); known++) {
		jfieldID field = (*env)->GetStaticFieldID(
			env, finalizer, "queue", types[known]);

		if (field)
			return (*env)->GetStaticObjectField(env, finalizer, field);
		(*env)->ExceptionClear(env);
	}
	return NULL;
}

static void
count(JNIEnv *env, struct vote *vote, jobject object)
{
	jclass type = object ? (*env)->GetObjectClass(env, object) : NULL;

	if (vote->lead && (*env)->IsSameObject(env, type, vote->type)) {
		vote->lead++;
	} else if (vote->lead) {
		vote->lead--;
	} else {
		(*env)->DeleteLocalRef(env, vote->type);
		*vote = (struct vote){type, 1};
		return;
	}
	(*env)->DeleteLocalRef(env, type);
}

/* The class of most of the youngest objects; NULL: not known. */
static jclass
most_common(JNIEnv *env, jobject first, jclass reference)
{
	jfieldID next = (*env)->GetFieldID(env, reference, "next", "Ljava/lang/ref/Reference;");
	jfieldID referent = next ? (*env)->GetFieldID(
					   env, reference, "referent", "Ljava/lang/Object;")
				 : NULL;
	struct vote vote = {0};

	bool is_last = false;

	for (int i = 0; referent && first && !is_last && i < READ_MAX; i++) {
		jobject object = (*env)->GetObjectField(env, first, referent);
		jobject after = (*env)->GetObjectField(env, first, next);

		count(env, &vote, object);
		is_last = (*env)->IsSameObject(env, after, first);
		(*env)->DeleteLocalRef(env, object);
		(*env)->DeleteLocalRef(env, first);
		first = after;
	}
	return vote.type;
}

static void
log_class(jclass type, struct th_event_pool *event)
{
	jvmtiEnv *jvmti = memory.jvmti;
	char *signature = NULL;

	if (!type || (*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return;
	struct th_log_part part = th_log_text(signature);
	th_log_append(TH_EVENT_POOL, event, &part, 1);
	th_vm_free(jvmti, signature);
}

static void
log_queue(JNIEnv *env, jobject queue, struct th_event_pool *event)
{
	jclass type = th_loaded_class_find(env, "java.lang.ref.ReferenceQueue");
	jclass reference = th_loaded_class_find(env, "java.lang.ref.Reference");
	jfieldID length = type ? (*env)->GetFieldID(env, type, "queueLength", "J") : NULL;
	jfieldID head = length ? (*env)->GetFieldID(
					 env, type, "head", "Ljava/lang/ref/Reference;")
			       : NULL;

	if (!head || !reference)
		return;
	event->count = (uint64_t)(*env)->GetLongField(env, queue, length);
	if (event->count >= LEAST)
		log_class(most_common(env, (*env)->GetObjectField(env, queue, head), reference),
			event);
}

/*
 * Their number, and the class of most, if they are many.  Private fields are read, and no Java method is
 * called.  The Finalizer thread may take an object out of the queue meanwhile: its reference then refers to
 * itself, as the last one does.
 */
static void
log_finalizers(JNIEnv *env, uint32_t account)
{
	struct th_event_pool event = {.account = account, .kind = TH_POOL_FINALIZERS};

	if ((*env)->PushLocalFrame(env, LOCAL_REFERENCES)) {
		(*env)->ExceptionClear(env);
		return;
	}
	jclass finalizer = th_loaded_class_find(env, "java.lang.ref.Finalizer");
	jobject queue = finalizer ? queue_of(env, finalizer) : NULL;
	if (queue)
		log_queue(env, queue, &event);
	(*env)->ExceptionClear(env);
	(*env)->PopLocalFrame(env, NULL);
}

/* Only a thread attached to the VM may query it. */
static void
log_figures(uint32_t account)
{
	JNIEnv *env;

	if (!th_load_acquire(&memory.is_on))
		return;
	log_java_heap(account);
	log_code_cache(account);
	log_counters(account, "sun.gc.metaspace.used", "sun.gc.metaspace.capacity",
		"sun.gc.metaspace.maxCapacity", "Metaspace");
	log_counters(account, "sun.gc.compressedclassspace.used",
		"sun.gc.compressedclassspace.capacity",
		"sun.gc.compressedclassspace.maxCapacity", "Compressed class space");
	if ((*memory.vm)->GetEnv(memory.vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
		return;
	log_direct_buffers(env, account);
	log_mapped_buffers(env, account);
	log_finalizers(env, account);
}

void
th_vm_memory_start(JavaVM *vm, jvmtiEnv *jvmti, const struct th_hotspot *hotspot)
{
	static const struct th_breakdown_vm source = {claim, log_figures};

	memory.vm = vm;
	memory.jvmti = jvmti;
	memory.hotspot = hotspot;
	th_store_release(&memory.is_on, 1);
	th_breakdown_set_vm(&source);
}

void
th_vm_memory_stop(void)
{
	th_store_release(&memory.is_on, 0);
}
