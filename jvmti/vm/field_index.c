/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the numbering of the JVMTI specification: collects the distinct interfaces of a class
 * and its superclasses, then adds up the fields of the classes that come first.
 */
#include "jvmti/vm/field_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A class with more interfaces is not examined. */
#define INTERFACES_MAX 64

struct walk {
	jvmtiEnv *jvmti;
	JNIEnv *env;
	jclass interfaces[INTERFACES_MAX]; /* without duplicates */
	size_t count;
	bool failed;
};

static void
deallocate(const struct walk *walk, void *memory)
{
	(*walk->jvmti)->Deallocate(walk->jvmti, memory);
}

static int
field_count(struct walk *walk, jclass type)
{
	jfieldID *fields;
	jint count = 0;

	if ((*walk->jvmti)->GetClassFields(walk->jvmti, type, &count, &fields)) {
		walk->failed = true;
		return 0;
	}
	deallocate(walk, fields);
	return count;
}

static bool
is_known(const struct walk *walk, jclass type)
{
	for (size_t i = 0; i < walk->count; i++)
		if ((*walk->env)->IsSameObject(walk->env, walk->interfaces[i], type))
			return true;
	return false;
}

static void
add_interface(struct walk *walk, jclass type)
{
	if (is_known(walk, type))
		return;
	if (walk->count < INTERFACES_MAX)
		walk->interfaces[walk->count++] = type;
	else
		walk->failed = true;
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
	for (jint i = 0; i < count; i++)
		add_interface(walk, found[i]);
	deallocate(walk, found);
}

/* Fields of all interfaces of a class and its superclasses. */
static int
interface_fields(struct walk *walk, jclass type)
{
	int sum = 0;

	for (; type; type = (*walk->env)->GetSuperclass(walk->env, type))
		add_interfaces(walk, type);
	/* The list grows during the loop, by the interfaces that interfaces extend. */
	for (size_t i = 0; i < walk->count; i++) {
		add_interfaces(walk, walk->interfaces[i]);
		sum += field_count(walk, walk->interfaces[i]);
	}
	return sum;
}

static int
inherited_fields(struct walk *walk, jclass type)
{
	int sum = 0;

	while ((type = (*walk->env)->GetSuperclass(walk->env, type)))
		sum += field_count(walk, type);
	return sum;
}

static bool
has_name(const struct walk *walk, jclass type, jfieldID field, const char *name)
{
	char *found;

	if ((*walk->jvmti)->GetFieldName(walk->jvmti, type, field, &found, NULL, NULL))
		return false;
	bool is_equal = !strcmp(found, name);
	deallocate(walk, found);
	return is_equal;
}

/* Its position among the fields of the declaring class. */
static int
position(struct walk *walk, jclass declaring, const char *name)
{
	jfieldID *fields;
	jint count;
	int found = -1;

	if ((*walk->jvmti)->GetClassFields(walk->jvmti, declaring, &count, &fields))
		return -1;
	for (jint i = 0; i < count && found < 0; i++)
		if (has_name(walk, declaring, fields[i], name))
			found = i;
	deallocate(walk, fields);
	return found;
}

/* The index of the first field that `declaring` declares, in instances of `type`. */
static int
first_of(struct walk *walk, jclass type, jclass declaring)
{
	int first;

	if ((*walk->env)->PushLocalFrame(walk->env, 2 * INTERFACES_MAX)) {
		(*walk->env)->ExceptionClear(walk->env);
		return -1;
	}
	first = interface_fields(walk, type) + inherited_fields(walk, declaring);
	(*walk->env)->PopLocalFrame(walk->env, NULL);
	return walk->failed ? -1 : first;
}

int
th_field_index(jvmtiEnv *jvmti, JNIEnv *env, jclass type, jclass declaring, const char *name)
{
	struct walk walk = {.jvmti = jvmti, .env = env};
	int first = first_of(&walk, type, declaring);
	int place = position(&walk, declaring, name);

	return first < 0 || place < 0 ? -1 : first + place;
}

int
th_field_index_own(jvmtiEnv *jvmti, JNIEnv *env, jclass type)
{
	struct walk walk = {.jvmti = jvmti, .env = env};

	return first_of(&walk, type, type);
}

/* The reverse */

/* The name of the field at a position among those of `declaring`. */
static char *
name_at(struct walk *walk, jclass declaring, int position)
{
	jfieldID *fields;
	jint count;
	char *name = NULL;

	if ((*walk->jvmti)->GetClassFields(walk->jvmti, declaring, &count, &fields))
		return NULL;
	if (position >= count || (*walk->jvmti)
					 ->GetFieldName(walk->jvmti, declaring,
						 fields[position], &name, NULL, NULL))
		name = NULL;
	deallocate(walk, fields);
	return name;
}

/* Whether the field at *index is one of `type`; if not, *index is the one among those that follow. */
static bool
is_field_of(struct walk *walk, jclass type, int *index)
{
	int count = field_count(walk, type);

	if (*index < count)
		return true;
	*index -= count;
	return false;
}

/* The class that declares a field, which is not one of an interface; NULL = none. */
static jclass
find_class(struct walk *walk, jclass type, int *index)
{
	jclass chain[INTERFACES_MAX];
	size_t depth = 0;

	for (; type && depth < INTERFACES_MAX;
		type = (*walk->env)->GetSuperclass(walk->env, type))
		chain[depth++] = type;
	while (depth-- > 0)
		if (is_field_of(walk, chain[depth], index))
			return chain[depth];
	return NULL;
}

static jclass
find_declaring(struct walk *walk, jclass type, int *index)
{
	interface_fields(walk, type); /* collects the interfaces */
	for (size_t i = 0; i < walk->count; i++)
		if (is_field_of(walk, walk->interfaces[i], index))
			return walk->interfaces[i];
	return find_class(walk, type, index);
}

char *
th_field_index_name(jvmtiEnv *jvmti, JNIEnv *env, jclass type, int index, jclass *declaring_ret)
{
	struct walk walk = {.jvmti = jvmti, .env = env};
	jclass declaring;
	char *name = NULL;

	*declaring_ret = NULL;
	if ((*env)->PushLocalFrame(env, 4 * INTERFACES_MAX)) {
		(*env)->ExceptionClear(env);
		return NULL;
	}
	declaring = find_declaring(&walk, type, &index);
	if (declaring && !walk.failed)
		name = name_at(&walk, declaring, index);
	*declaring_ret = (*env)->PopLocalFrame(env, declaring);
	return name;
}
