/* SPDX-License-Identifier: Apache-2.0 */
/* Cost, limits and the sequence of a walk. */
#include "jvmti/holders/holders.h"

#include <stdbool.h>
#include <stdio.h>

#include "jvmti/names/class_loaders.h"
#include "jvmti/holders/holder_paths.h"
#include "jvmti/holders/holder_walk.h"
#include "jvmti/heap/live_objects.h"
#include "jvmti/vm/vm_exports.h"
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
#define LOADERS_MAX 4096

static struct {
	uint32_t walks;      /* so far */
	uint64_t ns_per_kib; /* CPU time of the last one; 0 = none */
} history;

struct holders {
	struct th_holder_walk walk;
	struct th_holder_paths paths;
	struct th_holders_cost cost;
	const struct th_holders_request *request;
	uint32_t object_bytes;
	uint64_t time;
	uint32_t wanted; /* sampled objects, and those of them that were reached */
	uint32_t found;
};

static uint64_t
at_most(uint64_t value, uint64_t max)
{
	return value < max ? value : max;
}

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
	return at_most(bytes, used);
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

/* Samples */

/* Whether the walk answers for a sample. */
static bool
is_selected(const struct holders *holders, uint64_t sample)
{
	const struct th_holders_request *request = holders->request;
	const struct th_event_java_alloc *alloc =
		request->selected_count ? th_log_get(sample, TH_EVENT_JAVA_ALLOC) : NULL;
	bool is_found = !request->selected_count;

	for (uint32_t i = 0; alloc && i < request->selected_count && !is_found; i++)
		is_found = request->selected[i] ==
				   th_holder_selected(alloc->stack, alloc->class) ||
			   request->selected[i] == th_holder_selected(0, alloc->class);
	return is_found;
}

static void
add_sample(jweak reference, uint64_t sample, void *data)
{
	struct holders *holders = data;

	if (is_selected(holders, sample))
		holders->wanted += th_holder_tags_add(
			&holders->walk.tags, reference, sample, false);
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

	if (!is_selected(holders, sample) || tags->object_count == tags->object_max)
		return;
	struct th_held_object *object = &tags->objects[tags->object_count++];
	*object = (struct th_held_object){.what = sample};
	holders->wanted++;
	find_path(holders, object, th_holder_graph_find(&holders->walk.graph, address));
}

static void
add_loader(jweak reference, uint32_t stack, uint32_t type, void *data)
{
	th_holder_tags_add(data, reference, (uint64_t)stack << 32 | type, true);
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

	const struct th_log_part selected = {
		holders->request->selected, holders->request->selected_count};
	th_log_append(TH_EVENT_HOLDER_WALK, &event, &selected, 1);
}

static bool
find_paths(struct holders *holders)
{
	struct th_holder_walk *walk = &holders->walk;
	bool has_room = th_holder_paths_init(&holders->paths, walk);

	if (has_room) {
		th_holder_walk_find_paths(walk);
		for (uint32_t i = 0; i < walk->tags.object_count; i++) {
			struct th_held_object *object = &walk->tags.objects[i];

			find_path(holders, object, walk->tags.items[object->tag].node);
		}
		th_humongous_each(add_humongous, holders);
		history.walks++;
		th_holder_paths_log(&holders->paths, history.walks, holders->time);
		log_walk(holders);
	}
	th_holder_paths_deinit(&holders->paths);
	return has_room;
}

static void
remember(const struct holders *holders)
{
	uint64_t kib = holders->cost.heap >> 10;

	if (kib)
		history.ns_per_kib = holders->walk.cpu / kib + 1;
}

/* In an environment of its own; disposing of it removes all tags. */
static enum th_control_answer
walk_tagged(struct holders *holders, jvmtiEnv *jvmti, JNIEnv *env,
	const struct th_holders_request *request)
{
	const jvmtiCapabilities needed = {.can_tag_objects = 1};
	struct th_holder_walk *walk = &holders->walk;
	bool is_done = !(*jvmti)->AddCapabilities(jvmti, &needed) &&
		       th_holder_tags_init(&walk->tags, jvmti, env,
			       th_live_objects_count() + TH_HUMONGOUS_MAX + LOADERS_MAX);

	if (is_done) {
		th_live_objects_each(add_sample, holders);
		if (!request->selected_count)
			th_class_loaders_each(add_loader, &walk->tags);
		is_done = th_holder_walk_run(walk, request->pause_max);
	}
	if (is_done) {
		remember(holders);
		is_done = find_paths(holders);
	}
	enum th_control_answer answer = is_done ? TH_CONTROL_DONE : explain(walk);
	th_holder_walk_deinit(walk);
	th_holder_tags_deinit(&walk->tags);
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
	struct holders holders = {.time = th_clock_now(),
		.cost = estimate(),
		.request = &limits,
		.object_bytes = object_bytes};
	uint64_t room = free_memory() / FREE_PARTS;

	*cost_ret = holders.cost;
	limits.memory_max = at_most(limits.memory_max, room);
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
	limits.memory_max = at_most(limits.memory_max, RESERVED_PARTS * holders.cost.memory);
	th_live_objects_reap(env);
	enum th_control_answer answer = walk(&holders, vm, env, &limits);
	cost_ret->pause = holders.walk.paused;
	cost_ret->memory = holders.walk.graph.bytes;
	return answer;
}
