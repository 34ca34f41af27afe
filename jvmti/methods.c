/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock-free hash table from jmethodIDs to ids, and a list of ids in order of first
 * occurrence.  Any thread appends to the list inside malloc; one thread at a time logs the
 * names.
 */
#include "jvmti/methods.h"

#include <string.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"

#define SLOTS (TH_METHODS_MAX * 2)
#define PROBES 128
/* Longest line table kept; javac writes one entry per statement. */
#define LINES_MAX 8192
/* One cache line. */
#define FILTER_BITS 512

static struct {
	jmethodID *slots; /* atomic, claimed by compare-and-swap; id = index + 1 */
	/* ids in order of first occurrence; atomic, 0 = not yet stored */
	uint32_t *pending;
	uint32_t count; /* atomic: entries of `pending` */
	/* entries of `pending` already named; writer: the naming thread */
	uint32_t named;
	uint32_t nameless;     /* atomic: frames without a jmethodID */
	unsigned char *mounts; /* atomic, enum th_method_mount, by index of the slot */
	/* atomic: bits id % FILTER_BITS of the ids in `mounts`, which are few */
	uint64_t filter[FILTER_BITS / 64];
	uint64_t *lines; /* buffer for line tables */
} methods;

bool
th_methods_init(void)
{
	if (methods.slots)
		return true;
	methods.pending = th_memory_map(TH_METHODS_MAX * sizeof(*methods.pending));
	methods.lines = th_memory_map(LINES_MAX * sizeof(*methods.lines));
	methods.mounts = th_memory_map(SLOTS);
	methods.slots = th_memory_map(SLOTS * sizeof(*methods.slots));
	return methods.slots && methods.pending && methods.lines && methods.mounts;
}

void
th_methods_restart(void)
{
	th_memory_retire(methods.pending);
	th_memory_retire(methods.lines);
	th_memory_retire(methods.mounts);
	th_memory_retire(methods.slots);
	memset(&methods, 0, sizeof(methods));
}

static uint32_t
announce(uint32_t id)
{
	uint32_t at = th_add_relaxed(&methods.count, 1);

	if (at >= TH_METHODS_MAX) {
		th_log_count(TH_COUNTER_METHODS_FULL, 1);
		return 0;
	}
	/* Pairs with the acquire in th_methods_log_pending. */
	th_store_release(&methods.pending[at], id);
	return id;
}

/* jmethodIDs are addresses of neighboring words: the multiplication spreads them. */
static uint64_t
first_index(jmethodID method)
{
	return (uint64_t)(uintptr_t)method * 0x9e3779b97f4a7c15u >> 40;
}

void
th_methods_prefetch(jmethodID method)
{
	__builtin_prefetch(&methods.slots[first_index(method) & (SLOTS - 1)]);
}

uint32_t
th_methods_id(jmethodID method)
{
	uint64_t index = first_index(method);

	if (!method) {
		th_add_relaxed(&methods.nameless, 1);
		th_log_count(TH_COUNTER_METHODS_NAMELESS, 1);
		return 0;
	}
	for (uint32_t probe = 0; probe < PROBES; probe++, index++) {
		jmethodID *slot = &methods.slots[index & (SLOTS - 1)];
		jmethodID found = th_load_relaxed(slot);

		if (!found && th_cas_acq_rel(slot, &found, method))
			return announce((uint32_t)(index & (SLOTS - 1)) + 1);
		if (found == method)
			return (uint32_t)(index & (SLOTS - 1)) + 1;
	}
	th_log_count(TH_COUNTER_METHODS_FULL, 1);
	return 0;
}

uint32_t
th_methods_nameless(void)
{
	return th_load_relaxed(&methods.nameless);
}

enum th_method_mount
th_methods_mount(uint32_t id)
{
	uint32_t bit = id % FILTER_BITS;

	if (!id || !(th_load_relaxed(&methods.filter[bit / 64]) >> bit % 64 & 1))
		return TH_MOUNT_NONE;
	return (enum th_method_mount)th_load_relaxed(&methods.mounts[id - 1]);
}

/* Classes */

/* Methods of the JDK below the frames of a virtual thread. */
static const struct mount {
	const char *class_signature;
	const char *method;
	const char *signature; /* NULL: any */
	enum th_method_mount mount;
} mounts[] = {
	{"Ljava/lang/Thread;", "runWith", NULL, TH_MOUNT_ABOVE},
	{"Ljava/lang/VirtualThread;", "run", "(Ljava/lang/Runnable;)V", TH_MOUNT_BASE},
	{"Ljava/lang/VirtualThread$VThreadContinuation$1;", "run", "()V", TH_MOUNT_BASE},
	{"Ljdk/internal/vm/Continuation;", "enter", NULL, TH_MOUNT_BASE},
	{"Ljdk/internal/vm/Continuation;", "enter0", NULL, TH_MOUNT_BASE},
	{"Ljdk/internal/vm/Continuation;", "enterSpecial", NULL, TH_MOUNT_BASE},
};
#define MOUNT_COUNT (sizeof(mounts) / sizeof(mounts[0]))

static bool
has_mounts(const char *class_signature)
{
	for (size_t i = 0; i < MOUNT_COUNT; i++)
		if (!strcmp(class_signature, mounts[i].class_signature))
			return true;
	return false;
}

static enum th_method_mount
find_mount(const char *class_signature, const char *method, const char *signature)
{
	for (const struct mount *mount = mounts; mount < mounts + MOUNT_COUNT; mount++)
		if (!strcmp(class_signature, mount->class_signature) &&
			!strcmp(method, mount->method) &&
			(!mount->signature || !strcmp(signature, mount->signature)))
			return mount->mount;
	return TH_MOUNT_NONE;
}

static void
mark_mount(jmethodID method, enum th_method_mount mount)
{
	uint32_t id = mount == TH_MOUNT_NONE ? 0 : th_methods_id(method);

	if (!id)
		return;
	th_store_relaxed(&methods.mounts[id - 1], (unsigned char)mount);
	th_or_relaxed(&methods.filter[id % FILTER_BITS / 64], UINT64_C(1) << id % 64);
}

static void
mark_mounts(jvmtiEnv *jvmti, const char *class_signature, const jmethodID *ids, jint count)
{
	char *method;
	char *signature;

	for (jint i = 0; i < count; i++) {
		if ((*jvmti)->GetMethodName(jvmti, ids[i], &method, &signature, NULL))
			continue;
		mark_mount(ids[i], find_mount(class_signature, method, signature));
		(*jvmti)->Deallocate(jvmti, (unsigned char *)method);
		(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
	}
}

uint32_t
th_methods_prepare(jvmtiEnv *jvmti, jclass type, const char *signature)
{
	jint count;
	jmethodID *ids;

	if ((*jvmti)->GetClassMethods(jvmti, type, &count, &ids))
		return 0;
	if (signature && has_mounts(signature))
		mark_mounts(jvmti, signature, ids, count);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)ids);
	return (uint32_t)count;
}

/* Names */

bool
th_methods_are_pending(void)
{
	return th_load_relaxed(&methods.count) > th_load_relaxed(&methods.named);
}

static uint32_t
read_lines(jvmtiEnv *jvmti, jmethodID method)
{
	jvmtiLineNumberEntry *entries;
	jint count;
	uint32_t kept = 0;

	if ((*jvmti)->GetLineNumberTable(jvmti, method, &count, &entries))
		return 0;
	for (; kept < LINES_MAX && kept < (uint32_t)count; kept++)
		methods.lines[kept] = (uint64_t)entries[kept].start_location << 32 |
				      (uint32_t)entries[kept].line_number;
	(*jvmti)->Deallocate(jvmti, (unsigned char *)entries);
	return kept;
}

/* The texts of a method; NULL where the VM does not provide one. */
struct names {
	char *class_signature;
	char *source_file;
	char *name;
	char *signature;
	jint modifiers;
};

static void
get_names(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method, struct names *names)
{
	jclass type;

	memset(names, 0, sizeof(*names));
	/* Fails for a method whose class was unloaded in between. */
	if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &type))
		return;
	(*jvmti)->GetClassSignature(jvmti, type, &names->class_signature, NULL);
	(*jvmti)->GetSourceFileName(jvmti, type, &names->source_file);
	(*jvmti)->GetMethodName(jvmti, method, &names->name, &names->signature, NULL);
	(*jvmti)->GetMethodModifiers(jvmti, method, &names->modifiers);
	(*env)->DeleteLocalRef(env, type);
}

static void
free_names(jvmtiEnv *jvmti, struct names *names)
{
	(*jvmti)->Deallocate(jvmti, (unsigned char *)names->class_signature);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)names->source_file);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)names->name);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)names->signature);
}

static void
log_method(jvmtiEnv *jvmti, JNIEnv *env, uint32_t id)
{
	jmethodID method = methods.slots[id - 1];
	struct names names;

	get_names(jvmti, env, method, &names);
	struct th_event_method event = {.method = id, .modifiers = (uint32_t)names.modifiers};
	struct th_log_part parts[] = {
		th_log_text(names.class_signature),
		th_log_text(names.name ? names.name : "[unloaded]"),
		th_log_text(names.signature),
		th_log_text(names.source_file),
		{methods.lines, names.name ? read_lines(jvmti, method) : 0},
	};
	th_log_append(TH_EVENT_METHOD, &event, parts, 5);
	free_names(jvmti, &names);
}

void
th_methods_log_pending(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint32_t count = th_load_relaxed(&methods.count);

	if (count > TH_METHODS_MAX)
		count = TH_METHODS_MAX;
	while (methods.named < count) {
		uint32_t id = th_load_acquire(&methods.pending[methods.named]);

		if (!id)
			return; /* the thread that found it is about to store it */
		log_method(jvmti, env, id);
		th_store_relaxed(&methods.named, methods.named + 1);
	}
}
