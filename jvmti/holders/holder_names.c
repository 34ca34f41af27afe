/* SPDX-License-Identifier: Apache-2.0 */
/* JVMTI's names are those of class files: "Lpkg/Class;" becomes "pkg.Class", "[I" "int[]". */
#include "jvmti/holders/holder_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "jvmti/vm/field_index.h"

#define SIZE TH_HOLDER_NAME_MAX

static void
deallocate(const struct th_holder_walk *walk, char *text)
{
	(*walk->tags.jvmti)->Deallocate(walk->tags.jvmti, (unsigned char *)text);
}

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
		snprintf(name, SIZE, "%.*s", (int)strcspn(element + 1, ";"), element + 1);
	else
		snprintf(name, SIZE, "%s", primitive_name(*element));
	for (char *at = name; (at = strchr(at, '/'));)
		*at = '.';
	length = strlen(name);
	for (; dimensions && length + 2 < SIZE; dimensions--, length += 2)
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
	deallocate(walk, signature);
}

static void
append(char *name, const char *separator, const char *text)
{
	size_t length = strlen(name);

	snprintf(name + length, SIZE - length, "%s%s", separator, text);
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
		deallocate(walk, field);
}

static void
write_thread(const struct th_holder_walk *walk, uint64_t tag, char *name)
{
	const struct th_holder_tag *item = th_holder_tag(&walk->tags, (jlong)tag);
	bool is_thread = item->flags & TH_HOLDER_TAG_THREAD;

	snprintf(name, SIZE, "%s", is_thread && item->name ? item->name : "virtual thread");
}

static void
append_method(const struct th_holder_walk *walk, jmethodID method, char *name)
{
	jvmtiEnv *jvmti = walk->tags.jvmti;
	JNIEnv *env = walk->tags.env;
	char text[SIZE];
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
	deallocate(walk, found);
}

void
th_holder_name(const struct th_holder_walk *walk, const struct th_holder_step *step, char *name)
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
