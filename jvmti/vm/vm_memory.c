/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads no class and calls no Java method.  Buffers are counted in three static fields of
 * java.nio.Bits, which are read only if that class is already loaded.
 */
#include "jvmti/vm/vm_memory.h"

#include <string.h>

#include "jvmti/vm/finalizers.h"
#include "jvmti/vm/loaded_class.h"
#include "jvmti/vm/perf_data.h"
#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/resident/breakdown.h"

static struct {
	struct th_vm_memory_vm vm;
	uint32_t is_on; /* atomic */
	jclass bits;    /* java.nio.Bits, a global reference; NULL: not found yet */
	/* sun.nio.ch.FileChannelImpl, or the class that counts mapped buffers */
	jclass file_channel;
} memory;

/* Address ranges */

static void
claim_heap(struct th_breakdown_claims *claims)
{
	const struct th_hotspot *hotspot = memory.vm.hotspot;
	struct th_claim claim = {.name = "", .category = TH_MEMORY_JAVA_HEAP};

	if (!hotspot->collected_heap || !*hotspot->collected_heap || hotspot->heap_start < 0 ||
		hotspot->heap_words < 0)
		return;
	claim.start = *(
		const uintptr_t *)(*hotspot->collected_heap + (uintptr_t)hotspot->heap_start);
	claim.end = claim.start +
		    sizeof(void *) * *(const size_t *)(*hotspot->collected_heap +
						       (uintptr_t)hotspot->heap_words);
	th_breakdown_claim(claims, TH_CLAIM_EXACT, &claim);
}

static void
claim_code(struct th_breakdown_claims *claims)
{
	const struct th_hotspot *hotspot = memory.vm.hotspot;
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
	const struct th_vm_memory_vm *vm = &memory.vm;
	struct th_event_pool event = {.account = account, .kind = TH_POOL_MEMORY};

	if (!vm->total_memory || !vm->free_memory)
		return;
	event.committed = (uint64_t)vm->total_memory();
	event.used = event.committed - (uint64_t)vm->free_memory();
	event.limit = vm->max_memory ? (uint64_t)vm->max_memory() : 0;
	log_pool(&event, "Java heap");
}

/* A word of the VM's memory. */
static uintptr_t
word_at(uintptr_t object, int64_t offset)
{
	return *(const uintptr_t *)(object + (uintptr_t)offset);
}

/*
 * The bytes in use inside the heaps are not logged: finding them requires a walk through their
 * blocks under the VM's lock.
 */
static void
log_code_cache(uint32_t account)
{
	const struct th_hotspot *hotspot = memory.vm.hotspot;
	struct th_event_pool event = {.account = account, .kind = TH_POOL_MEMORY};

	if (!th_hotspot_has_code_heaps(hotspot))
		return;
	uintptr_t array = *hotspot->code_heaps;
	uintptr_t heaps = word_at(array, hotspot->array_data);
	int length = *(const int *)(array + (uintptr_t)hotspot->array_length);
	for (int i = 0; i < length; i++) {
		uintptr_t heap = word_at(heaps, i * (int64_t)sizeof(heap));

		event.committed += word_at(heap, hotspot->code_heap_high) -
				   word_at(heap, hotspot->code_heap_low);
		event.limit += word_at(heap, hotspot->code_heap_end) -
			       word_at(heap, hotspot->code_heap_start);
	}
	log_pool(&event, "Code cache");
}

/* The VM updates these counters at collections. */
static void
log_counters(uint32_t account, const char *used_name, const char *committed_name,
	const char *limit_name, const char *name)
{
	const char *data = memory.vm.perf_data;
	const int64_t *used = th_perf_data_long(data, used_name);
	const int64_t *committed = th_perf_data_long(data, committed_name);
	const int64_t *limit = th_perf_data_long(data, limit_name);
	struct th_event_pool event = {.account = account, .kind = TH_POOL_MEMORY};

	if (!used || !committed)
		return;
	event.used = (uint64_t)*used;
	event.committed = (uint64_t)*committed;
	event.limit = limit && *limit > 0 ? (uint64_t)*limit : 0;
	log_pool(&event, name);
}

/* Buffers */

/* A class that is already loaded, as a global reference kept in `*kept`. */
static jclass
loaded_class(JNIEnv *env, const char *name, jclass *kept)
{
	jclass found;

	if (*kept)
		return *kept;
	found = th_loaded_class_find(env, name);
	if (found)
		*kept = (*env)->NewGlobalRef(env, found);
	(*env)->DeleteLocalRef(env, found);
	return *kept;
}

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
	jclass bits = loaded_class(env, "java.nio.Bits", &memory.bits);
	struct th_event_pool event = {.account = account, .kind = TH_POOL_BUFFERS};

	if (!bits)
		return;
	event.used = atomic_long(env, bits, "RESERVED_MEMORY");
	event.committed = atomic_long(env, bits, "TOTAL_CAPACITY");
	event.count = atomic_long(env, bits, "COUNT");
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
	jclass unmapper = loaded_class(
		env, "sun.nio.ch.FileChannelImpl$DefaultUnmapper", &memory.file_channel);
	struct th_event_pool event = {.account = account, .kind = TH_POOL_BUFFERS};

	if (!unmapper)
		unmapper = loaded_class(
			env, "sun.nio.ch.FileChannelImpl$Unmapper", &memory.file_channel);
	if (!unmapper)
		return;
	event.used = (uint64_t)static_number(env, unmapper, "totalSize", "J");
	event.committed = (uint64_t)static_number(env, unmapper, "totalCapacity", "J");
	event.count = (uint64_t)static_number(env, unmapper, "count", "I");
	log_pool(&event, "mapped");
}

/* Only a thread attached to the VM may query it. */
static void
log_figures(uint32_t account, bool on_agent_thread)
{
	JNIEnv *env;

	if (!on_agent_thread || !th_load_acquire(&memory.is_on))
		return;
	log_java_heap(account);
	log_code_cache(account);
	log_counters(account, "sun.gc.metaspace.used", "sun.gc.metaspace.capacity",
		"sun.gc.metaspace.maxCapacity", "Metaspace");
	log_counters(account, "sun.gc.compressedclassspace.used",
		"sun.gc.compressedclassspace.capacity",
		"sun.gc.compressedclassspace.maxCapacity", "Compressed class space");
	if ((*memory.vm.vm)->GetEnv(memory.vm.vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
		return;
	log_direct_buffers(env, account);
	log_mapped_buffers(env, account);
	th_finalizers_log(memory.vm.jvmti, env, account);
}

void
th_vm_memory_start(const struct th_vm_memory_vm *vm)
{
	static const struct th_breakdown_source source = {claim, log_figures};

	memory.vm = *vm;
	th_store_release(&memory.is_on, 1);
	th_breakdown_add_source(&source);
}

void
th_vm_memory_stop(void)
{
	th_store_release(&memory.is_on, 0);
}
