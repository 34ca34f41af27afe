/* SPDX-License-Identifier: Apache-2.0 */
/* Tags, cost, limits and the sequence of a walk. */
#include "jvmti/holders/holders.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "jvmti/names/class_loaders.h"
#include "jvmti/names/classes.h"
#include "jvmti/holders/holder_paths.h"
#include "jvmti/holders/holder_walk.h"
#include "jvmti/heap/live_objects.h"
#include "jvmti/vm/field_index.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/align.h"
#include "unify/base/proc_file.h"
#include "unify/log/log.h"
#include "unify/resident/cgroup.h"
#include "unify/shared/clock.h"

/*
 * Estimate of the first walk of a process: a pause of so many nanoseconds for 1,024 bytes of heap in
 * use: CPU time measured for objects of 27 bytes on average, docs/holders.md.  Later ones
 * use the CPU time of the last one: on a busy machine a walk takes longer than that.
 */
#define PAUSE_NS_PER_KIB 5000
/* Memory, in percent of the heap in use: 86 for a map of texts, much less for large arrays. */
#define MEMORY_PERCENT 100
/* A walk uses at most 1/FREE_PARTS of the memory that is free. */
#define FREE_PARTS 2
/* It reserves address space for this multiple of the estimate. */
#define RESERVED_PARTS 3
#define MEMINFO_MAX 4096
/* Class loaders whose paths are found. */
#define HELD_LOADERS_MAX 4096
/* More threads are not named. */
#define THREADS_MAX 65536
/* Class loaders beyond these have no tag: their classes are like untagged ones. */
#define LOADERS_MAX 65536

/* Local references besides those to classes: threads. */
#define OTHER_REFERENCES 4096
/* HotSpot's -XX:MaxJNILocalCapacity. */
#define REFERENCES_MAX 65536

static struct {
	uint32_t walks;      /* so far */
	uint64_t ns_per_kib; /* CPU time of the last one; 0 = none */
} history;

struct holders {
	struct th_holder_walk walk;
	struct th_holder_paths paths;
	struct th_holders_cost cost;
	uint32_t object_bytes;
	uint64_t time;
	uint32_t wanted; /* sampled objects, and those of them that were reached */
	uint32_t found;
};

/* Cost */

/* Bytes that the process could still use: of its control group and of the machine. */
static uint64_t
free_memory(void)
{
	struct th_cgroup group;
	char text[MEMINFO_MAX];
	uint64_t kib = 0;
	uint64_t bytes = UINT64_MAX;
	uint64_t used;

	if (th_proc_file_read("/proc/meminfo", text, sizeof(text)) &&
		th_proc_field(text, "MemAvailable:", &kib))
		bytes = kib << 10;
	th_cgroup_find(&group);
	if (!group.version || !group.limit)
		return bytes;
	used = th_cgroup_current(&group);
	used = group.limit > used ? group.limit - used : 0;
	return th_min(bytes, used);
}

static struct th_holders_cost
estimate(void)
{
	struct th_holders_cost cost = {.heap = 0};
	uint64_t committed;
	uint64_t each = history.ns_per_kib ? history.ns_per_kib : PAUSE_NS_PER_KIB;

	if (!th_vm_heap_use(&committed, &cost.heap))
		return cost;
	cost.pause = (cost.heap >> 10) * each;
	cost.memory = cost.heap / 100 * MEMORY_PERCENT;
	return cost;
}

/* Tags */

/* The entry of an object, made if it has none; NULL: it is dead, or the table is full. */
static struct th_holder_tag *
intern(struct th_holder_tags *tags, jobject object)
{
	jlong tag = 0;

	if ((*tags->jvmti)->GetTag(tags->jvmti, object, &tag))
		return NULL;
	if (tag)
		return th_holder_tag(tags, tag);
	if (tags->count == tags->max ||
		(*tags->jvmti)->SetTag(tags->jvmti, object, tags->count))
		return NULL;
	return &tags->items[tags->count++];
}

/* Classes come first, in the order of JVMTI's list, so the tag of a class is its position there. */

/* Instances without references: arrays of primitives, and frequent small classes. */
static bool
is_leaf(const struct th_holder_tags *tags, jclass type)
{
	static const char *const leaves[] = {"[B", "[C", "[D", "[F", "[I", "[J", "[S", "[Z",
		"Ljava/lang/Integer;", "Ljava/lang/Long;", "Ljava/lang/Double;",
		"Ljava/lang/Boolean;", "Ljava/lang/Character;", "Ljava/lang/Short;",
		"Ljava/lang/Byte;", "Ljava/lang/Float;", "Ljava/lang/Object;",
		"Ljava/util/concurrent/atomic/AtomicInteger;",
		"Ljava/util/concurrent/atomic/AtomicLong;"};
	bool is_found = false;
	char *signature;

	if ((*tags->jvmti)->GetClassSignature(tags->jvmti, type, &signature, NULL))
		return false;
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]) && !is_found; i++)
		is_found = !strcmp(signature, leaves[i]);
	th_vm_free(tags->jvmti, signature);
	return is_found;
}

/* A loader that cannot be tagged is 0, as the boot loader. */
static void
tag_loader_of(struct th_holder_tags *tags, struct th_holder_tag *item)
{
	struct th_holder_tag *found;
	jobject loader = NULL;

	if ((*tags->jvmti)->GetClassLoader(tags->jvmti, item->object, &loader))
		return;
	if (th_permanent_loaders_have(tags->env, loader))
		item->flags |= TH_HOLDER_TAG_PERMANENT;
	found = loader ? intern(tags, loader) : NULL;
	if (found) {
		found->flags |= item->flags & TH_HOLDER_TAG_PERMANENT;
		item->loader = (uint32_t)(found - tags->items);
	}
	(*tags->env)->DeleteLocalRef(tags->env, loader);
}

/* All classes are instances of java.lang.Class. */
static bool
set_class_of_classes(struct th_holder_tags *tags, jint count)
{
	jclass type = (*tags->env)->GetObjectClass(tags->env, tags->classes[0]);
	const struct th_holder_tag *item = intern(tags, type);

	for (jint i = 1; item && i <= count; i++)
		tags->items[i].class = (uint32_t)(item - tags->items);
	(*tags->env)->DeleteLocalRef(tags->env, type);
	return item;
}

static bool
tag_classes(struct th_holder_tags *tags, jint count)
{
	for (jint i = 0; i < count; i++) {
		struct th_holder_tag *item = intern(tags, tags->classes[i]);

		if (!item)
			return false;
		item->object = tags->classes[i];
		item->flags = TH_HOLDER_TAG_CLASS;
		item->referent = TH_HOLDER_NO_FIELD;
		if (is_leaf(tags, tags->classes[i]))
			item->flags |= TH_HOLDER_TAG_LEAF;
	}
	for (jint i = 1; i <= count; i++)
		tag_loader_of(tags, &tags->items[i]);
	return set_class_of_classes(tags, count);
}

static bool
note_referent(jclass type, jint i, int referent, void *data)
{
	struct th_holder_tags *tags = data;

	(void)type;
	tags->items[i + 1].referent = (uint16_t)referent;
	return true;
}

/* Threads */

static void
tag_thread(struct th_holder_tags *tags, jthread thread, jthread own)
{
	struct th_holder_tag *item = intern(tags, thread);
	jvmtiThreadInfo info;

	if (!item || !th_vm_thread_info(tags->jvmti, tags->env, thread, &info))
		return;
	item->flags |= TH_HOLDER_TAG_THREAD;
	if ((*tags->env)->IsSameObject(tags->env, thread, own))
		item->flags |= TH_HOLDER_TAG_OWN;
	item->name = info.name;
}

static bool
tag_threads(struct th_holder_tags *tags)
{
	jthread own;
	jthread *threads;
	jint count;

	if ((*tags->jvmti)->GetCurrentThread(tags->jvmti, &own) ||
		(*tags->jvmti)->GetAllThreads(tags->jvmti, &count, &threads))
		return false;
	for (jint i = 0; i < count; i++) {
		if (i < THREADS_MAX)
			tag_thread(tags, threads[i], own);
		(*tags->env)->DeleteLocalRef(tags->env, threads[i]);
	}
	th_vm_free(tags->jvmti, threads);
	return true;
}

/* For -Xcheck:jni, which warns of local references beyond those announced. */
static void
announce_references(JNIEnv *env, jint count)
{
	jint room = count + OTHER_REFERENCES;

	if ((*env)->EnsureLocalCapacity(env, room < REFERENCES_MAX ? room : REFERENCES_MAX))
		(*env)->ExceptionClear(env);
}

/*
 * Tags classes, their loaders and threads.  `room`: objects that will be added.  Creates local
 * references, which must remain until deinit, in a frame of the caller.  False: the VM does not
 * allow it, or there is no memory.
 */
static bool
tags_init(struct th_holder_walk *walk, jvmtiEnv *jvmti, JNIEnv *env, uint32_t room)
{
	struct th_holder_tags *tags = &walk->tags;
	jint count;

	*tags = (struct th_holder_tags){.jvmti = jvmti, .env = env, .count = 1};
	if ((*jvmti)->GetLoadedClasses(jvmti, &count, &tags->classes))
		return false;
	announce_references(env, count);
	tags->max = 1 + (uint32_t)count + THREADS_MAX + LOADERS_MAX + room;
	tags->object_max = room;
	tags->items = th_holder_graph_reserve(&walk->graph, tags->max * sizeof(*tags->items));
	tags->objects = th_holder_graph_reserve(&walk->graph, room * sizeof(*tags->objects));
	return tags->items && tags->objects && tag_classes(tags, count) &&
	       th_referents_each(jvmti, env, tags->classes, count, note_referent, tags) &&
	       tag_threads(tags);
}

/* The environment is disposed of by the caller, which removes the tags. */
static void
tags_deinit(struct th_holder_tags *tags)
{
	for (uint32_t i = 1; tags->items && i < tags->count; i++)
		if (tags->items[i].name)
			th_vm_free(tags->jvmti, tags->items[i].name);
	if (tags->classes)
		th_vm_free(tags->jvmti, tags->classes);
}

/* Adds an object whose path is to be found; false: it is dead, or there is no room. */
static bool
tags_add(struct th_holder_tags *tags, jobject object, uint64_t what, bool is_loader)
{
	const struct th_holder_tag *item = tags->object_count < tags->object_max
						   ? intern(tags, object)
						   : NULL;

	if (item)
		tags->objects[tags->object_count++] = (struct th_held_object){.what = what,
			.tag = (uint32_t)(item - tags->items),
			.is_loader = is_loader};
	return item;
}

/* Samples */

static void
add_sample(jweak reference, uint64_t sample, void *data)
{
	struct holders *holders = data;

	holders->wanted += tags_add(&holders->walk.tags, reference, sample, false);
}

static void
find_path(struct holders *holders, struct th_held_object *object, uint32_t node)
{
	object->step = th_holder_paths_add(&holders->paths, node);
	holders->found += object->step && !object->is_loader;
}

static void
add_humongous(uintptr_t address, uint64_t sample, void *data)
{
	struct holders *holders = data;
	struct th_holder_tags *tags = &holders->walk.tags;

	if (tags->object_count == tags->object_max)
		return;
	struct th_held_object *object = &tags->objects[tags->object_count++];
	*object = (struct th_held_object){.what = sample};
	holders->wanted++;
	find_path(holders, object, th_holder_graph_find(&holders->walk.graph, address));
}

static void
add_loader(jweak reference, uint32_t stack, uint32_t type, void *data)
{
	tags_add(data, reference, (uint64_t)stack << 32 | type, true);
}

/* The walk */

/* Why there is no result; the pause of a walk that ended early is logged, too. */
static enum th_control_answer
explain(const struct th_holder_walk *walk)
{
	char text[128];

	snprintf(text, sizeof(text), "holders: a walk without result stopped the VM for %.3f s",
		(double)walk->paused / TH_NS_PER_S);
	if (walk->paused)
		th_log_note(0, text);
	if (walk->is_late)
		return TH_CONTROL_TOO_LONG;
	if (walk->graph.is_full)
		return TH_CONTROL_TOO_LARGE;
	th_log_note(1, walk->is_wrong || walk->graph.is_broken
			       ? "holders: this VM passes objects to heap walks in another way"
			       : "holders: this VM does not allow heap walks, or there is no "
				 "memory");
	return TH_CONTROL_FAILED;
}

static void
log_walk(const struct holders *holders)
{
	const struct th_holder_walk *walk = &holders->walk;
	const struct th_event_holder_walk event = {
		.time = holders->time,
		.paused = walk->paused,
		.expected = holders->cost.pause,
		.cpu = walk->cpu,
		.heap = holders->cost.heap,
		.objects = walk->graph.node_count,
		.references = walk->seen,
		.memory = walk->graph.bytes,
		.walk = history.walks,
		.wanted = holders->wanted,
		.found = holders->found,
	};

	th_log_append(TH_EVENT_HOLDER_WALK, &event, NULL, 0);
}

static bool
find_paths(struct holders *holders)
{
	struct th_holder_walk *walk = &holders->walk;

	if (!th_holder_paths_init(&holders->paths, walk))
		return false;
	th_holder_walk_find_paths(walk);
	for (uint32_t i = 0; i < walk->tags.object_count; i++) {
		struct th_held_object *object = &walk->tags.objects[i];

		find_path(holders, object, walk->tags.items[object->tag].node);
	}
	th_humongous_each(add_humongous, holders);
	history.walks++;
	th_holder_paths_log(&holders->paths, history.walks, holders->time);
	log_walk(holders);
	return true;
}

/* In an environment of its own; disposing of it removes all tags. */
static enum th_control_answer
walk_tagged(struct holders *holders, jvmtiEnv *jvmti, JNIEnv *env,
	const struct th_holders_request *request)
{
	const jvmtiCapabilities needed = {.can_tag_objects = 1};
	struct th_holder_walk *walk = &holders->walk;
	bool is_done = !(*jvmti)->AddCapabilities(jvmti, &needed) &&
		       tags_init(walk, jvmti, env,
			       th_live_objects_count() + TH_HUMONGOUS_MAX + HELD_LOADERS_MAX);

	if (is_done) {
		th_live_objects_each(add_sample, holders);
		th_class_loaders_each(add_loader, &walk->tags);
		is_done = th_holder_walk_run(walk, request->pause_max);
	}
	if (is_done) {
		history.ns_per_kib = walk->cpu / ((holders->cost.heap >> 10) + 1) + 1;
		is_done = find_paths(holders);
	}
	enum th_control_answer answer = is_done ? TH_CONTROL_DONE : explain(walk);
	tags_deinit(&walk->tags);
	return answer;
}

static enum th_control_answer
walk(struct holders *holders, JavaVM *vm, JNIEnv *env, const struct th_holders_request *request)
{
	enum th_control_answer answer = TH_CONTROL_FAILED;
	jvmtiEnv *jvmti;

	if (!th_holder_graph_init(
		    &holders->walk.graph, holders->object_bytes, request->memory_max) ||
		(*env)->PushLocalFrame(env, 64)) {
		(*env)->ExceptionClear(env);
		th_holder_graph_deinit(&holders->walk.graph);
		return TH_CONTROL_TOO_LARGE;
	}
	if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) == JNI_OK) {
		answer = walk_tagged(holders, jvmti, env, request);
		(*jvmti)->DisposeEnvironment(jvmti);
	}
	(*env)->PopLocalFrame(env, NULL);
	th_holder_graph_deinit(&holders->walk.graph);
	return answer;
}

enum th_control_answer
th_holders_find(JavaVM *vm, JNIEnv *env, uint32_t object_bytes,
	const struct th_holders_request *request, struct th_holders_cost *cost_ret)
{
	struct th_holders_request limits = *request;
	struct holders holders = {
		.time = th_clock_now(), .cost = estimate(), .object_bytes = object_bytes};
	uint64_t room = free_memory() / FREE_PARTS;

	*cost_ret = holders.cost;
	limits.memory_max = th_min(limits.memory_max, room);
	if (!holders.cost.heap) {
		th_log_note(1, "holders: this VM does not export the heap in use");
		return TH_CONTROL_FAILED;
	}
	if (request->is_estimate)
		return TH_CONTROL_DONE;
	if (holders.cost.pause > limits.pause_max)
		return TH_CONTROL_TOO_LONG;
	if (holders.cost.memory > limits.memory_max)
		return TH_CONTROL_TOO_LARGE;
	limits.memory_max = th_min(limits.memory_max, RESERVED_PARTS * holders.cost.memory);
	th_live_objects_reap(env);
	enum th_control_answer answer = walk(&holders, vm, env, &limits);
	cost_ret->pause = holders.walk.paused;
	cost_ret->memory = holders.walk.graph.bytes;
	return answer;
}
