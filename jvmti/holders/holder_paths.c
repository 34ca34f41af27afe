/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step of an object is found once, after that of its parent, and kept in the node.
 */
#include "jvmti/holders/holder_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvmti/vm/field_index.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/log/log.h"
#include "unify/shared/hash.h"

/* The step above all roots. */
#define ABOVE 1
#define SLOTS (2 * TH_HOLDER_STEPS_MAX)
/* Arrays and lists between a class loader and its classes. */
#define LIST_STEPS 4
/* The detail of a step between objects of one class: all such fields are one step. */
#define LINK UINT16_MAX
#define SAMPLES_PER_EVENT 1024
/* A longer name is cut. */
#define NAME_MAX_BYTES 512

bool
th_holder_paths_init(struct th_holder_paths *paths, struct th_holder_walk *walk)
{
	*paths = (struct th_holder_paths){.walk = walk, .step_count = ABOVE + 1};
	paths->steps = th_holder_graph_reserve(
		&walk->graph, TH_HOLDER_STEPS_MAX * sizeof(*paths->steps));
	paths->slots = th_holder_graph_reserve(&walk->graph, SLOTS * sizeof(*paths->slots));
	return paths->steps && paths->slots;
}

/* Steps */

static bool
is_equal(const struct th_holder_step *a, const struct th_holder_step *b)
{
	return a->kind == b->kind && a->what == b->what;
}

/* A step above that is the same; 0 = none. */
static uint32_t
find_above(const struct th_holder_paths *paths, const struct th_holder_step *step)
{
	for (uint32_t at = step->parent; at > ABOVE; at = paths->steps[at].parent)
		if (is_equal(&paths->steps[at], step))
			return at;
	return 0;
}

/* The number of a step below its parent. */
static uint32_t
intern(struct th_holder_paths *paths, struct th_holder_step step)
{
	uint64_t hash = th_hash_mix(
		step.what ^ (uint64_t)step.parent << 40 ^ (uint64_t)step.kind << 36);

	step.depth = paths->steps[step.parent].depth + 1;
	for (;; hash++) {
		uint32_t *slot = &paths->slots[hash % SLOTS];

		if (!*slot) {
			if (paths->step_count == TH_HOLDER_STEPS_MAX ||
				step.depth > TH_HOLDER_DEPTH_MAX)
				return step.parent;
			paths->steps[paths->step_count] = step;
			return *slot = paths->step_count++;
		}
		if (paths->steps[*slot].parent == step.parent &&
			is_equal(&paths->steps[*slot], &step))
			return *slot;
	}
}

static uint32_t
step_below(struct th_holder_paths *paths, const struct th_holder_step *step)
{
	uint32_t above = find_above(paths, step);

	return above ? above : intern(paths, *step);
}

static struct th_holder_node *
node_at(const struct th_holder_paths *paths, uint32_t node)
{
	return &paths->walk->graph.nodes[node];
}

static struct th_holder_step
thread_step(const struct th_holder_paths *paths, uint32_t node)
{
	return (struct th_holder_step){
		.parent = ABOVE,
		.kind = TH_HOLDER_THREAD,
		.what = node_at(paths, node)->class & ~TH_HOLDER_TAGGED,
	};
}

static bool
is_thread(const struct th_holder_paths *paths, uint32_t node)
{
	return th_holder_walk_tag(paths->walk, node)->flags & TH_HOLDER_TAG_THREAD;
}

static struct th_holder_step
root_step(const struct th_holder_paths *paths, uint32_t node)
{
	const struct th_holder_root *root =
		&paths->walk->roots[node_at(paths, node)->parent & ~TH_HOLDER_ROOT];
	struct th_holder_step step = {.parent = ABOVE, .kind = root->kind, .take = root->take};

	if (root->kind == TH_HOLDER_STACK) {
		step.what = (uintptr_t)root->method ^ (uint64_t)root->thread << 48;
		step.detail = (uint32_t)(root - paths->walk->roots);
	} else if (root->kind == TH_HOLDER_JNI_GLOBAL) {
		step.detail = th_holder_walk_class(paths->walk, node);
		step.what = root->take ^ (uint64_t)step.detail << 48;
	}
	return step;
}

/* A class of a loader that may be unloaded: held by its loader, or by one of its objects. */
static bool
is_class(const struct th_holder_paths *paths, uint32_t node)
{
	return th_holder_walk_tag(paths->walk, node)->flags & TH_HOLDER_TAG_CLASS;
}

/* The loader of a class if that is close above it, else what is above it. */
static uint32_t
holder_of_class(const struct th_holder_paths *paths, uint32_t node)
{
	uint32_t loader = th_holder_walk_tag(paths->walk, node)->loader;
	uint32_t above = node_at(paths, node)->parent;
	uint32_t found = above;

	for (int i = 0; i < LIST_STEPS && !(found & TH_HOLDER_ROOT); i++) {
		if (loader && node_at(paths, found)->class == (TH_HOLDER_TAGGED | loader))
			return found;
		found = node_at(paths, found)->parent;
	}
	return above;
}

/* Named by the class of the loader. */
static struct th_holder_step
loader_step(const struct th_holder_paths *paths, uint32_t node)
{
	const struct th_holder_tags *tags = &paths->walk->tags;
	uint32_t holder = holder_of_class(paths, node);
	uint32_t class =
		th_holder_tag(tags, th_holder_walk_tag(paths->walk, node)->loader)->class;

	return (struct th_holder_step){
		.parent = holder & TH_HOLDER_ROOT ? ABOVE : node_at(paths, holder)->step,
		.kind = TH_HOLDER_LOADER,
		.what = class,
		.detail = class,
	};
}

static struct th_holder_step
field_step(const struct th_holder_paths *paths, uint32_t from, uint32_t node)
{
	bool is_static = is_class(paths, from);
	uint32_t how = node_at(paths, node)->how;
	uint64_t class = is_static ? node_at(paths, from)->class & ~TH_HOLDER_TAGGED
				   : th_holder_walk_class(paths->walk, from);
	bool is_link = !is_static && class == th_holder_walk_class(paths->walk, node);

	return (struct th_holder_step){
		.parent = node_at(paths, from)->step,
		.kind = is_static ? TH_HOLDER_STATIC : TH_HOLDER_FIELD,
		.what = class << 16 | (is_link ? LINK : how),
		.detail = how,
	};
}

static struct th_holder_step
reference_step(const struct th_holder_paths *paths, uint32_t from, uint32_t node)
{
	uint32_t how = node_at(paths, node)->how;
	struct th_holder_step step = {
		.parent = node_at(paths, from)->step, .kind = TH_HOLDER_VM};

	if (how < TH_HOLDER_NOT_FIELD)
		return field_step(paths, from, node);
	step.detail = th_holder_walk_class(paths->walk, from);
	if (how == TH_HOLDER_NOT_FIELD + JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT)
		step.kind = TH_HOLDER_ELEMENT;
	if (how == TH_HOLDER_NOT_FIELD + JVMTI_HEAP_REFERENCE_CLASS_LOADER) {
		step.kind = TH_HOLDER_LOADER;
		step.detail = th_holder_walk_class(paths->walk, node);
	}
	step.what = step.detail;
	return step;
}

/* The parent has its step. */
static uint32_t
find_step(struct th_holder_paths *paths, uint32_t node)
{
	uint32_t parent = node_at(paths, node)->parent;
	struct th_holder_step step;

	if (parent == TH_HOLDER_ROOT)
		return ABOVE; /* a class: its static fields are the roots */
	if (is_thread(paths, node))
		step = thread_step(paths, node);
	else if (is_class(paths, node))
		step = loader_step(paths, node);
	else if (parent & TH_HOLDER_ROOT)
		step = root_step(paths, node);
	else
		step = reference_step(paths, parent, node);
	return step_below(paths, &step);
}

/* Steps of all nodes above are found first; the queue of the graph is free for their list. */
uint32_t
th_holder_paths_add(struct th_holder_paths *paths, uint32_t node)
{
	uint32_t *list = paths->walk->graph.queue;
	uint32_t depth = 0;
	uint32_t above = node;

	if (!node || !node_at(paths, node)->parent)
		return 0;
	while (!(above & TH_HOLDER_ROOT) && !node_at(paths, above)->step) {
		list[depth++] = above;
		above = node_at(paths, above)->parent;
	}
	while (depth-- > 0)
		node_at(paths, list[depth])->step = find_step(paths, list[depth]);
	return node_at(paths, node)->step;
}

/* Names.  JVMTI's are those of class files: "Lpkg/Class;" becomes "pkg.Class", "[I" "int[]". */

static const char *
primitive_name(char code)
{
	static const char codes[] = "BCDFIJSZ";
	static const char *const names[] = {
		"byte", "char", "double", "float", "int", "long", "short", "boolean"};
	const char *found = code ? strchr(codes, code) : NULL;

	return found ? names[found - codes] : "";
}

static void
write_class(const char *signature, char *name)
{
	size_t dimensions = strspn(signature, "[");
	const char *element = signature + dimensions;
	size_t length;

	if (*element == 'L')
		snprintf(name, NAME_MAX_BYTES, "%.*s", (int)strcspn(element + 1, ";"),
			element + 1);
	else
		snprintf(name, NAME_MAX_BYTES, "%s", primitive_name(*element));
	for (char *at = name; (at = strchr(at, '/'));)
		*at = '.';
	length = strlen(name);
	for (; dimensions && length + 2 < NAME_MAX_BYTES; dimensions--, length += 2)
		memcpy(name + length, "[]", 3);
}

static void
write_type(const struct th_holder_walk *walk, jclass type, char *name)
{
	jvmtiEnv *jvmti = walk->tags.jvmti;
	char *signature;

	name[0] = '\0';
	if (!type || (*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return;
	write_class(signature, name);
	th_vm_free(walk->tags.jvmti, signature);
}

static void
append(char *name, const char *separator, const char *text)
{
	size_t length = strlen(name);

	snprintf(name + length, NAME_MAX_BYTES - length, "%s%s", separator, text);
}

static jclass
class_of(const struct th_holder_walk *walk, uint64_t tag)
{
	const struct th_holder_tag *item = th_holder_tag(&walk->tags, (jlong)tag);

	return item->flags & TH_HOLDER_TAG_CLASS ? item->object : NULL;
}

static void
write_field(const struct th_holder_walk *walk, const struct th_holder_step *step, char *name)
{
	JNIEnv *env = walk->tags.env;
	jclass type = class_of(walk, step->what >> 16);
	jclass declaring = NULL;
	char *field = NULL;

	if (type)
		field = th_field_index_name(
			walk->tags.jvmti, env, type, (int)step->detail, &declaring);
	write_type(walk, declaring ? declaring : type, name);
	append(name, ".", field ? field : "?");
	(*env)->DeleteLocalRef(env, declaring);
	if (field)
		th_vm_free(walk->tags.jvmti, field);
}

static void
write_thread(const struct th_holder_walk *walk, uint64_t tag, char *name)
{
	const struct th_holder_tag *item = th_holder_tag(&walk->tags, (jlong)tag);
	bool is_thread = item->flags & TH_HOLDER_TAG_THREAD;

	snprintf(name, NAME_MAX_BYTES, "%s",
		is_thread && item->name ? item->name : "virtual thread");
}

static void
append_method(const struct th_holder_walk *walk, jmethodID method, char *name)
{
	jvmtiEnv *jvmti = walk->tags.jvmti;
	JNIEnv *env = walk->tags.env;
	char text[NAME_MAX_BYTES];
	char *found;
	jclass type = NULL;

	if (!method || (*jvmti)->GetMethodDeclaringClass(jvmti, method, &type))
		return;
	write_type(walk, type, text);
	(*env)->DeleteLocalRef(env, type);
	if ((*jvmti)->GetMethodName(jvmti, method, &found, NULL, NULL))
		return;
	append(text, ".", found);
	append(name, "\t", text);
	th_vm_free(walk->tags.jvmti, found);
}

/* Writes the name of a step, "" if it is not known. */
static void
write_name(const struct th_holder_walk *walk, const struct th_holder_step *step, char *name)
{
	name[0] = '\0';
	switch ((enum th_holder_kind)step->kind) {
	case TH_HOLDER_STATIC:
	case TH_HOLDER_FIELD:
		write_field(walk, step, name);
		break;
	case TH_HOLDER_THREAD:
		write_thread(walk, step->what, name);
		break;
	case TH_HOLDER_STACK:
		write_thread(walk, walk->roots[step->detail].thread, name);
		append_method(walk, walk->roots[step->detail].method, name);
		break;
	default:
		write_type(walk, class_of(walk, step->detail), name);
	}
}

/* The log */

static void
log_step(const struct th_holder_paths *paths, uint32_t i, uint32_t number, uint64_t time)
{
	const struct th_holder_step *step = &paths->steps[i];
	struct th_event_holder_step event = {
		.time = time,
		.take = step->take,
		.walk = number,
		.number = i - ABOVE,
		.parent = step->parent - ABOVE,
		.kind = step->kind,
	};
	char name[NAME_MAX_BYTES];

	write_name(paths->walk, step, name);
	struct th_log_part part = th_log_text(name);
	th_log_append(TH_EVENT_HOLDER_STEP, &event, &part, 1);
}

static int
compare(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

static int
compare_objects(const void *a, const void *b)
{
	const struct th_held_object *left = a;
	const struct th_held_object *right = b;

	if (left->is_loader != right->is_loader)
		return left->is_loader ? 1 : -1;
	return left->step != right->step ? compare(left->step, right->step)
					 : compare(left->what, right->what);
}

/* Some objects of one step; returns their number. */
static uint32_t
log_objects(const struct th_held_object *objects, uint32_t left, uint32_t number, uint64_t time)
{
	uint64_t samples[SAMPLES_PER_EVENT];
	uint32_t count = 0;

	for (; count < left && count < SAMPLES_PER_EVENT && !objects[count].is_loader &&
		objects[count].step == objects[0].step;
		count++)
		samples[count] = objects[count].what;
	const struct th_event_holder_objects event = {
		.time = time, .walk = number, .step = objects[0].step - ABOVE};
	const struct th_log_part part = {samples, count};
	if (objects[0].step)
		th_log_append(TH_EVENT_HOLDER_OBJECTS, &event, &part, 1);
	return count;
}

/* Class loaders of one step, stack and class; returns their number. */
static uint32_t
log_loaders(const struct th_held_object *objects, uint32_t left, uint32_t number, uint64_t time)
{
	struct th_event_holder_loaders event = {
		.time = time,
		.walk = number,
		.step = objects[0].step - ABOVE,
		.stack = (uint32_t)(objects[0].what >> 32),
		.type = (uint32_t)objects[0].what,
	};

	while (event.count < left && !compare_objects(&objects[0], &objects[event.count]))
		event.count++;
	if (objects[0].step > ABOVE)
		th_log_append(TH_EVENT_HOLDER_LOADERS, &event, NULL, 0);
	return event.count;
}

void
th_holder_paths_log(struct th_holder_paths *paths, uint32_t number, uint64_t time)
{
	struct th_held_object *objects = paths->walk->tags.objects;
	uint32_t count = paths->walk->tags.object_count;

	for (uint32_t i = ABOVE + 1; i < paths->step_count; i++)
		log_step(paths, i, number, time);
	qsort(objects, count, sizeof(*objects), compare_objects);
	for (uint32_t i = 0; i < count;)
		i += (objects[i].is_loader ? log_loaders : log_objects)(
			&objects[i], count - i, number, time);
}
