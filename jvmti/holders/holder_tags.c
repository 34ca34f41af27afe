/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes come first, in the order of JVMTI's list, so the tag of a class is its position there.
 */
#include "jvmti/holders/holder_tags.h"

#include <stddef.h>
#include <string.h>

#include "jvmti/names/classes.h"
#include "jvmti/vm/field_index.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/memory.h"

/* More threads are not named. */
#define THREADS_MAX 65536
/* Class loaders beyond these have no tag: their classes are like untagged ones. */
#define LOADERS_MAX 65536

/* Local references besides those to classes: threads. */
#define OTHER_REFERENCES 4096
/* HotSpot's -XX:MaxJNILocalCapacity. */
#define REFERENCES_MAX 65536

static void
deallocate(const struct th_holder_tags *tags, void *memory)
{
	(*tags->jvmti)->Deallocate(tags->jvmti, memory);
}

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

/* Whether the class of an object is one of these; the list ends with NULL. */
static bool
has_signature(const struct th_holder_tags *tags, jclass type, const char *const *signatures)
{
	char *signature;
	bool is_equal = false;

	if ((*tags->jvmti)->GetClassSignature(tags->jvmti, type, &signature, NULL))
		return false;
	for (; *signatures && !is_equal; signatures++)
		is_equal = !strcmp(signature, *signatures);
	deallocate(tags, signature);
	return is_equal;
}

/* Classes and loaders */

/* The tag of a loader; 0: it cannot be tagged. */
static uint32_t
tag_loader(struct th_holder_tags *tags, jobject loader)
{
	struct th_holder_tag *item = intern(tags, loader);

	if (!item)
		return 0;
	if (!(item->flags & TH_HOLDER_TAG_LOADER)) {
		item->flags |= TH_HOLDER_TAG_LOADER;
		if (th_permanent_loaders_have(tags->env, loader))
			item->flags |= TH_HOLDER_TAG_PERMANENT;
	}
	return (uint32_t)(item - tags->items);
}

/* Instances without references: arrays of primitives, and frequent small classes. */
static bool
is_leaf(const struct th_holder_tags *tags, jclass type)
{
	static const char *const leaves[] = {"[B", "[C", "[D", "[F", "[I", "[J", "[S", "[Z",
		"Ljava/lang/Integer;", "Ljava/lang/Long;", "Ljava/lang/Double;",
		"Ljava/lang/Boolean;", "Ljava/lang/Character;", "Ljava/lang/Short;",
		"Ljava/lang/Byte;", "Ljava/lang/Float;", "Ljava/lang/Object;",
		"Ljava/util/concurrent/atomic/AtomicInteger;",
		"Ljava/util/concurrent/atomic/AtomicLong;", NULL};

	return has_signature(tags, type, leaves);
}

static void
tag_loader_of(struct th_holder_tags *tags, struct th_holder_tag *item)
{
	jobject loader = NULL;

	if ((*tags->jvmti)->GetClassLoader(tags->jvmti, item->object, &loader))
		return;
	if (!loader) {
		item->flags |= TH_HOLDER_TAG_PERMANENT;
		return;
	}
	item->loader = tag_loader(tags, loader);
	item->flags |= tags->items[item->loader].flags & TH_HOLDER_TAG_PERMANENT;
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

/* A class that is not prepared has no instances. */
static bool
is_prepared(const struct th_holder_tags *tags, jclass type)
{
	jint status = 0;

	return !(*tags->jvmti)->GetClassStatus(tags->jvmti, type, &status) &&
	       status & JVMTI_CLASS_STATUS_PREPARED;
}

/* References that do not keep their referent alive: weak, phantom and final ones. */
static bool
find_referents(struct th_holder_tags *tags, jint count)
{
	JNIEnv *env = tags->env;
	jclass reference = th_loaded_class_find(env, "java.lang.ref.Reference");
	jclass soft = th_loaded_class_find(env, "java.lang.ref.SoftReference");

	for (jint i = 1; reference && soft && i <= count; i++) {
		jclass type = tags->items[i].object;

		if (!(*env)->IsAssignableFrom(env, type, reference) ||
			(*env)->IsAssignableFrom(env, type, soft) || !is_prepared(tags, type))
			continue;
		int index = th_field_index(tags->jvmti, env, type, reference, "referent");
		if (index < 0)
			return false;
		tags->items[i].referent = (uint16_t)index;
	}
	return reference && soft;
}

/* Threads */

static void
tag_thread(struct th_holder_tags *tags, jthread thread, jthread own)
{
	struct th_holder_tag *item = intern(tags, thread);
	jvmtiThreadInfo info = {.name = NULL};

	if (!item || (*tags->jvmti)->GetThreadInfo(tags->jvmti, thread, &info))
		return;
	item->flags |= TH_HOLDER_TAG_THREAD;
	if ((*tags->env)->IsSameObject(tags->env, thread, own))
		item->flags |= TH_HOLDER_TAG_OWN;
	item->name = info.name;
	(*tags->env)->DeleteLocalRef(tags->env, info.thread_group);
	(*tags->env)->DeleteLocalRef(tags->env, info.context_class_loader);
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
	deallocate(tags, threads);
	return true;
}

/* Public functions */

static size_t
table_bytes(const struct th_holder_tags *tags)
{
	return tags->max * sizeof(*tags->items);
}

/* For -Xcheck:jni, which warns of local references beyond those announced. */
static void
announce_references(JNIEnv *env, jint count)
{
	jint room = count + OTHER_REFERENCES;

	if ((*env)->EnsureLocalCapacity(env, room < REFERENCES_MAX ? room : REFERENCES_MAX))
		(*env)->ExceptionClear(env);
}

bool
th_holder_tags_init(struct th_holder_tags *tags, jvmtiEnv *jvmti, JNIEnv *env, uint32_t room)
{
	jint count;

	*tags = (struct th_holder_tags){.jvmti = jvmti, .env = env, .count = 1};
	if ((*jvmti)->GetLoadedClasses(jvmti, &count, &tags->classes))
		return false;
	announce_references(env, count);
	tags->max = 1 + (uint32_t)count + THREADS_MAX + LOADERS_MAX + room;
	tags->object_max = room;
	tags->items = th_memory_reserve(table_bytes(tags));
	tags->objects = th_memory_reserve(room * sizeof(*tags->objects));
	return tags->items && tags->objects && tag_classes(tags, count) &&
	       find_referents(tags, count) && tag_threads(tags);
}

void
th_holder_tags_deinit(struct th_holder_tags *tags)
{
	for (uint32_t i = 1; tags->items && i < tags->count; i++)
		if (tags->items[i].name)
			deallocate(tags, tags->items[i].name);
	th_memory_release(tags->items, table_bytes(tags));
	th_memory_release(tags->objects, tags->object_max * sizeof(*tags->objects));
	if (tags->classes)
		deallocate(tags, tags->classes);
}

bool
th_holder_tags_add(struct th_holder_tags *tags, jobject object, uint64_t what, bool is_loader)
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
