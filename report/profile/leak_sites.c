/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns each row of a profile to a site (leak_sites.h). The first part decides which memory
 * the VM allocates for itself, by the names of its threads and functions; the second finds
 * creators.
 */
#include "report/profile/leak_sites.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"
#include "report/profile/sites.h"
#include "report/symbols/mapped_names.h"

/* Internal memory of the VM, by purpose */

/* A table of words, each of which identifies a purpose if a name contains it. */
struct business {
	const char *word;
	const char *name;
};

#define COMPILATION "[JVM-internal] compilation"
#define COLLECTION "[JVM-internal] garbage collection"
#define OTHER_BUSINESS "[JVM-internal] other"

/* By names of the VM's threads, cut to 15 characters by the kernel, and of its functions. */
static const struct business businesses[] = {
	{"JVMCI", COMPILATION},
	{"ompile", COMPILATION},
	{"Deoptimization", COMPILATION},
	{"ounter_overflow", COMPILATION},
	{"GC Thread", COLLECTION},
	{"G1", COLLECTION},
	{"XWorker", COLLECTION},
	{"ZWorker", COLLECTION},
	{"ZDriver", COLLECTION},
	{"ZDirector", COLLECTION},
	{"ZStat", COLLECTION},
	{"ZUncommit", COLLECTION},
	{"Shenandoah", COLLECTION},
	{"ollect", COLLECTION},
	{"StartThread", TH_PURPOSE_THREADS},
	{"Class", TH_PURPOSE_CLASSES},
	{"Klass", TH_PURPOSE_CLASSES},
	{"Symbol", TH_PURPOSE_CLASSES},
	{"String", TH_PURPOSE_CLASSES},
	{"resolve", TH_PURPOSE_CLASSES},
	{"link", TH_PURPOSE_CLASSES},
	{"Method", TH_PURPOSE_CLASSES},
	{"Module", TH_PURPOSE_CLASSES},
	{"Lookup", TH_PURPOSE_CLASSES},
	{"LoadLibrary", TH_PURPOSE_CLASSES},
};

/*
 * Java code that loads, makes or links classes; the memory that it retains lives as long as
 * they do. Calls that are already linked (a lambda, a string concatenation) do not use these.
 */
static const char *const class_loading[] = {
	"java.lang.ClassLoader.",
	"java.lang.Class.forName",
	"java.lang.Class.getDeclared",
	"java.lang.Class.privateGetDeclared",
	"java.lang.invoke.BootstrapMethodInvoker.",
	"java.lang.invoke.CallSite.makeSite",
	"java.lang.invoke.InnerClassLambdaMetafactory.",
	"java.lang.invoke.InvokerBytecodeGenerator.",
	"java.lang.invoke.LambdaMetafactory.",
	"java.lang.invoke.MethodHandleNatives.",
	"java.lang.invoke.StringConcatFactory.",
	"java.net.URLClassLoader.",
	"jdk.internal.loader.",
	"jdk.internal.misc.Unsafe.defineClass",
	"jdk.internal.reflect.MethodAccessorGenerator.",
	"jdk.internal.reflect.MethodHandleAccessorFactory.",
	"sun.reflect.MethodAccessorGenerator.",
	NULL,
};

/* JNI functions that make the VM load, link or initialize classes, or run Java code. */
static const char *const linking_functions[] = {"FindClass", "DefineClass", "GetMethodID",
	"GetStaticMethodID", "GetFieldID", "GetStaticFieldID", "RegisterNatives",
	"UnregisterNatives", "FromReflected", "ToReflected", "AllocObject", "NewObject", "Call",
	"Throw", "AttachCurrentThread", "DestroyJavaVM", NULL};

static const char *
business_of(const char *text)
{
	for (size_t i = 0; i < sizeof(businesses) / sizeof(businesses[0]); i++) {
		if (strstr(text, businesses[i].word))
			return businesses[i].name;
	}
	return OTHER_BUSINESS;
}

/* What the VM keeps for a Java line: interned strings, and monitors of locked objects. */
static bool
is_kept_for_caller(const char *name)
{
	static const char *const parts[] = {"JVM_InternString", "JVM_MonitorWait",
		"monitorenter", "complete_monitor_locking"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strstr(name, parts[i]))
			return true;
	}
	return false;
}

/*
 * Whether the VM allocates on behalf of the caller, which has to free it: strings, arrays and
 * references of JNI, memory of Unsafe.
 */
static bool
is_service(const char *name)
{
	if (is_kept_for_caller(name))
		return true;
	if (th_text_begins(name, "Unsafe_AllocateMemory") ||
		th_text_begins(name, "Unsafe_ReallocateMemory"))
		return true;
	if (!th_text_begins(name, "jni_"))
		return false;
	name += strlen("jni_");
	return !th_text_begins_any(name, linking_functions) || !strcmp(name, "NewObjectArray");
}

static const struct th_function *
function_at(const struct th_profile *profile, const struct th_path *path, uint32_t index)
{
	return th_frames_function_of(profile->frames, path->frames[index]);
}

/* The name of a VM frame without the prefix of a folded run; NULL if it is not a VM frame. */
static const char *
vm_name_at(const struct th_profile *profile, const struct th_path *path, uint32_t index)
{
	const char mark[] = "[jvm] ";
	const struct th_function *function = function_at(profile, path, index);
	const char *name = th_frames_string(profile->frames, function->name);

	/* Functions that the report makes up have no module. */
	if (function->kind != TH_KIND_VM || !function->module)
		return NULL;
	return th_text_begins(name, mark) ? name + strlen(mark) : name;
}

/*
 * Whether a Java method requests memory of the VM for its caller. The VM's own function is not
 * always on the stack: it may have been replaced by a tail call.
 */
static bool
is_request(const char *method)
{
	static const char *const methods[] = {"jdk.internal.misc.Unsafe.allocateMemory",
		"jdk.internal.misc.Unsafe.reallocateMemory", "sun.misc.Unsafe.allocateMemory",
		"sun.misc.Unsafe.reallocateMemory", NULL};

	return th_text_begins_any(method, methods);
}

/*
 * Native memory allocated below Java code: the first call into the VM determines the purpose.
 * Frames above it are of the calling library, frames below it are called by the VM.
 */
static const char *
business_below(const struct th_profile *profile, const struct th_path *path, uint32_t java)
{
	const struct th_function *method = function_at(profile, path, java);

	if (is_request(th_frames_string(profile->frames, method->name)))
		return NULL;
	for (uint32_t i = java + 1; i < path->count; i++) {
		const char *name = vm_name_at(profile, path, i);

		if (name)
			return is_service(name) ? NULL : business_of(name);
	}
	return NULL;
}

/* Without Java code: the first frame above the C runtime is the owner. */
static const char *
native_business(const struct th_profile *profile, const struct th_path *path)
{
	uint32_t java = th_path_last_java(profile->frames, path);

	if (java < path->count)
		return business_below(profile, path, java);
	for (uint32_t i = path->count; i-- > 0;) {
		const char *name = vm_name_at(profile, path, i);

		if (name)
			return is_service(name) ? NULL : business_of(name);
		if (!function_at(profile, path, i)->is_runtime)
			return NULL;
	}
	return NULL;
}

/* Java memory: whether the runtime loads or links classes between creator and leaf. */
static const char *
java_business(const struct th_profile *profile, const struct th_path *path, uint32_t creator)
{
	for (uint32_t i = creator; i < path->count; i++) {
		const char *name = th_frames_string(
			profile->frames, function_at(profile, path, i)->name);

		if (th_text_begins_any(name, class_loading))
			return TH_PURPOSE_CLASSES;
	}
	return NULL;
}

/* Sites */

static uint32_t
line_at(const struct th_profile *profile, const struct th_path *path, uint32_t index)
{
	return th_frames_get(profile->frames, path->frames[index])->line;
}

uint32_t
th_leak_sites_creator_length(const struct th_profile *profile, const struct th_path *path)
{
	uint32_t fallback = 0;

	for (uint32_t i = path->count; i-- > 0;) {
		if (!function_at(profile, path, i)->is_application)
			continue;
		if (line_at(profile, path, i))
			return i + 1;
		if (!fallback)
			fallback = i + 1;
	}
	return fallback ? fallback : th_sites_client_length(profile->frames, path);
}

static void
walk(struct th_leak_sites *places, const struct th_path *path, struct th_leak_site *place)
{
	const struct th_frames *frames = places->profile->frames;
	uint32_t creator = th_leak_sites_creator_length(places->profile, path);

	place->way = th_path_prefixes_add(&places->ways, place->path, creator, &place->creator);
	if (place->heap == TH_HEAP_NATIVE)
		place->internal = native_business(places->profile, path);
	else if (place->heap == TH_HEAP_JAVA)
		place->internal = java_business(places->profile, path, creator);
	else
		place->internal = th_mapped_names_business(
			th_frames_string(frames, place->class_name));
}

/* The group at the root of a row's path. */
static void
take_group(struct th_leak_sites *places, struct th_leak_site *place)
{
	uint32_t group;

	th_path_prefixes_add(&places->ways, place->path, 1, &group);
	place->class_name = 0;
	place->way = group;
}

/* One path for all memory of the VM with this purpose. */
static void
take_business(struct th_leak_sites *places, struct th_leak_site *place)
{
	const struct th_profile *profile = places->profile;
	uint32_t frame = th_frames_special(profile->frames, place->internal, "", TH_KIND_GROUP);
	uint32_t path = th_paths_intern(profile->paths, &frame, 1);

	place->way = th_path_prefixes_add(&places->ways, path, 0, &place->creator);
	place->class_name = 0;
}

static struct th_leak_site
place_of(struct th_leak_sites *places, const struct th_row *row)
{
	const struct th_profile *profile = places->profile;
	struct th_path path = th_paths_get(profile->paths, row->path);
	struct th_leak_site place = {
		.heap = row->heap,
		.class_name = row->class_name,
		.path = row->path,
		.thread = row->thread,
		.is_internal = row->is_internal,
		.live = th_sums_point(
			&th_profile_row_sum(profile, row, TH_MEASURE_LIVE)->bytes),
	};

	if (profile->options->group_by && !profile->is_whole) {
		take_group(places, &place);
		return place;
	}
	walk(places, &path, &place);
	if (row->is_internal && row->heap != TH_HEAP_MAPPED)
		place.internal = business_of(
			th_frames_function_name(profile->frames, row->thread));
	if (place.internal)
		take_business(places, &place);
	return place;
}

/* The heaps have separate sites along one path. */
static uint64_t
key_of(enum th_heap heap, uint32_t way, uint32_t class_name)
{
	return (uint64_t)(way << 2 | heap) << 32 | class_name;
}

/* Key of the two lines that distinguish sites of one path. */
static uint64_t
lines_of(const struct th_profile *profile, const struct th_leak_site *place)
{
	struct th_path path = th_paths_get(profile->paths, place->path);
	uint32_t creator = th_leak_sites_creator_length(profile, &path);
	uint64_t creator_line = creator ? line_at(profile, &path, creator - 1) : 0;

	if (profile->options->group_by && !profile->is_whole)
		return 0;
	return place->internal ? 0
			       : creator_line << 32 | line_at(profile, &path, path.count - 1);
}

/* Enters a site unless it exists already; returns its number. */
static uint32_t
add_place(struct th_leak_sites *places, struct th_leak_site *place)
{
	bool is_new;
	uint32_t lines = th_id_map_intern(
		&places->line_ids, lines_of(places->profile, place), NULL);
	uint32_t what = th_id_map_enter(&places->what_ids,
		key_of(place->heap, place->way, place->class_name), places, first, TH_NO_PLACE);
	uint32_t number = th_id_map_intern(
		&places->place_ids, (uint64_t)what << 32 | lines, &is_new);

	if (is_new) {
		place->next = places->first[what];
		places->first[what] = number;
		th_array_append(places, items, *place);
	} else if (place->live > places->items[number].live) {
		places->items[number].path = place->path;
		places->items[number].thread = place->thread;
		places->items[number].is_internal = place->is_internal;
		places->items[number].live = place->live;
	}
	return number;
}

void
th_leak_sites_init(struct th_leak_sites *places, const struct th_profile *profile)
{
	*places = (struct th_leak_sites){
		.profile = profile,
		.of_row = th_allocate(profile->rows_count, sizeof(uint32_t)),
	};
	th_path_prefixes_init(&places->ways, profile->frames, profile->paths);
	for (size_t i = 0; i < profile->rows_count; i++) {
		struct th_leak_site place = place_of(places, &profile->rows[i]);

		places->of_row[i] = add_place(places, &place);
	}
}

void
th_leak_sites_deinit(struct th_leak_sites *places)
{
	th_path_prefixes_deinit(&places->ways);
	th_id_map_deinit(&places->line_ids);
	th_id_map_deinit(&places->what_ids);
	th_id_map_deinit(&places->place_ids);
	free(places->first);
	free(places->items);
	free(places->of_row);
}

struct th_subject
th_leak_sites_subject(const struct th_leak_site *place)
{
	return (struct th_subject){
		.heap = place->heap,
		.thread = place->thread,
		.class_name = place->class_name,
		.path = place->path,
		.is_internal = place->is_internal,
	};
}

uint32_t
th_leak_sites_find(const struct th_leak_sites *places, enum th_heap heap, uint32_t way,
	uint32_t class_name)
{
	uint32_t what = th_id_map_find(&places->what_ids, key_of(heap, way, class_name));

	return what == TH_ID_MAP_NONE ? TH_NO_PLACE : places->first[what];
}

uint32_t
th_leak_sites_creator_frame(
	const struct th_leak_sites *places, const struct th_leak_site *place)
{
	struct th_path path = th_paths_get(places->profile->paths, place->path);

	return path.frames[th_leak_sites_creator_length(places->profile, &path) - 1];
}

uint32_t
th_leak_sites_user_of(const struct th_profile *profile, const struct th_path *path)
{
	uint32_t length = th_leak_sites_creator_length(profile, path);
	const struct th_function *creator = function_at(profile, path, length - 1);
	uint32_t other = TH_NO_FRAME;

	for (uint32_t i = length - 1; i-- > 0;) {
		const struct th_function *function = function_at(profile, path, i);

		if (!function->is_application || function->library == creator->library)
			continue;
		if (function->is_program)
			return path->frames[i];
		if (other == TH_NO_FRAME && !creator->is_program)
			other = path->frames[i];
	}
	return other;
}

uint32_t
th_leak_sites_user_frame(const struct th_leak_sites *places, const struct th_leak_site *place)
{
	struct th_path path = th_paths_get(places->profile->paths, place->path);

	return th_leak_sites_user_of(places->profile, &path);
}
