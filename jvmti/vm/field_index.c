/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the numbering of the JVMTI specification: lists the classes whose fields an object has, in
 * the order of their indexes, and adds up the fields of those that come first.
 */
#include "jvmti/vm/field_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "jvmti/vm/vm_exports.h"

/* A class with more interfaces, or more superclasses, is not examined. */
#define INTERFACES_MAX 64
#define SUPERCLASSES_MAX 64

struct walk {
	jvmtiEnv *jvmti;
	JNIEnv *env;
	jclass classes[INTERFACES_MAX +
		       SUPERCLASSES_MAX]; /* interfaces without duplicates first */
	size_t count;
	bool failed;
};

static bool
is_known(const struct walk *walk, jclass type)
{
	for (size_t i = 0; i < walk->count; i++)
		if ((*walk->env)->IsSameObject(walk->env, walk->classes[i], type))
			return true;
	return false;
}

static void
add_interfaces(struct walk *walk, jclass type)
{
	jclass *found;
	jint count = 0;

	if ((*walk->jvmti)->GetImplementedInterfaces(walk->jvmti, type, &count, &found)) {
		walk->failed = true;
		return;
	}
	for (jint i = 0; i < count; i++) {
		if (is_known(walk, found[i]))
			continue;
		if (walk->count < INTERFACES_MAX)
			walk->classes[walk->count++] = found[i];
		else
			walk->failed = true;
	}
	th_vm_free(walk->jvmti, found);
}

/* The interfaces of a class and its superclasses, then these, from the root down. */
static void
list_classes(struct walk *walk, jclass type)
{
	jclass chain[SUPERCLASSES_MAX];
	size_t depth = 0;

	for (; type && depth < SUPERCLASSES_MAX;
		type = (*walk->env)->GetSuperclass(walk->env, type)) {
		add_interfaces(walk, type);
		chain[depth++] = type;
	}
	walk->failed |= type != NULL;
	/* The list grows during the loop, by the interfaces that interfaces extend. */
	for (size_t i = 0; i < walk->count; i++)
		add_interfaces(walk, walk->classes[i]);
	while (depth > 0)
		walk->classes[walk->count++] = chain[--depth];
}

static bool
has_name(const struct walk *walk, jclass type, jfieldID field, const char *name)
{
	char *found;

	if ((*walk->jvmti)->GetFieldName(walk->jvmti, type, field, &found, NULL, NULL))
		return false;
	bool is_equal = !strcmp(found, name);
	th_vm_free(walk->jvmti, found);
	return is_equal;
}

/*
 * The index of the field `name` that `declaring` declares; NULL: of its first one, if it had any.  -1:
 * there is none.
 */
static int
find_index(struct walk *walk, jclass declaring, const char *name)
{
	int index = 0;
	bool is_found = false;

	for (size_t i = 0; i < walk->count && !walk->failed && !is_found; i++) {
		jclass type = walk->classes[i];
		bool is_declaring = (*walk->env)->IsSameObject(walk->env, type, declaring);
		jfieldID *fields;
		jint count;

		if (is_declaring && !name)
			return index;
		if ((*walk->jvmti)->GetClassFields(walk->jvmti, type, &count, &fields))
			return -1;
		for (jint k = 0; k < count && !is_found; k++) {
			is_found = is_declaring && has_name(walk, type, fields[k], name);
			index += !is_found;
		}
		th_vm_free(walk->jvmti, fields);
	}
	return is_found ? index : -1;
}

/* Starts a walk, in a frame of local references; false: there is no memory for it. */
static bool
begin(struct walk *walk, jvmtiEnv *jvmti, JNIEnv *env, jclass type)
{
	*walk = (struct walk){.jvmti = jvmti, .env = env};
	if ((*env)->PushLocalFrame(env, 2 * (INTERFACES_MAX + SUPERCLASSES_MAX))) {
		(*env)->ExceptionClear(env);
		return false;
	}
	list_classes(walk, type);
	return true;
}

int
th_field_index(jvmtiEnv *jvmti, JNIEnv *env, jclass type, jclass declaring, const char *name)
{
	struct walk walk;
	int index;

	if (!begin(&walk, jvmti, env, type))
		return -1;
	index = find_index(&walk, declaring, name);
	(*env)->PopLocalFrame(env, NULL);
	return index;
}

/* The name of the field at `index`, and the class that declares it. */
static char *
name_at(struct walk *walk, int index, jclass *declaring_ret)
{
	char *name = NULL;

	for (size_t i = 0; i < walk->count && !walk->failed && !*declaring_ret; i++) {
		jvmtiEnv *jvmti = walk->jvmti;
		jfieldID *fields;
		jint count;

		if ((*jvmti)->GetClassFields(jvmti, walk->classes[i], &count, &fields))
			return NULL;
		if (index < count) {
			*declaring_ret = walk->classes[i];
			if ((*jvmti)->GetFieldName(
				    jvmti, *declaring_ret, fields[index], &name, NULL, NULL))
				name = NULL;
		}
		index -= count;
		th_vm_free(walk->jvmti, fields);
	}
	return name;
}

char *
th_field_index_name(jvmtiEnv *jvmti, JNIEnv *env, jclass type, int index, jclass *declaring_ret)
{
	struct walk walk;
	char *name;

	*declaring_ret = NULL;
	if (!begin(&walk, jvmti, env, type))
		return NULL;
	name = name_at(&walk, index, declaring_ret);
	*declaring_ret = (*env)->PopLocalFrame(env, *declaring_ret);
	return name;
}

/* A class that is not prepared has no instances. */
static bool
is_prepared(jvmtiEnv *jvmti, jclass type)
{
	jint status = 0;

	return !(*jvmti)->GetClassStatus(jvmti, type, &status) &&
	       status & JVMTI_CLASS_STATUS_PREPARED;
}

bool
th_referents_each(jvmtiEnv *jvmti, JNIEnv *env, const jclass *types, jint count,
	th_referent_visit *visit, void *data)
{
	jclass reference = th_loaded_class_find(env, "java.lang.ref.Reference");
	jclass soft = th_loaded_class_find(env, "java.lang.ref.SoftReference");
	bool is_done = reference && soft;

	for (jint i = 0; is_done && i < count; i++) {
		if (!(*env)->IsAssignableFrom(env, types[i], reference) ||
			(*env)->IsAssignableFrom(env, types[i], soft) ||
			!is_prepared(jvmti, types[i]))
			continue;
		int index = th_field_index(jvmti, env, types[i], reference, "referent");
		is_done = index >= 0 && visit(types[i], i, index, data);
	}
	return is_done;
}
