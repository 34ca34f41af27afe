/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/class_ids.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "jvmti/methods.h"
#include "unify/base/atomic.h"
#include "unify/shared/clock.h"

/*
 * jmethodIDs for classes that may be unloaded, 8 to 18 bytes each (measured on 25 and 17), so 5 MB
 * at the most: some 15,000 classes of ten methods.
 */
#define UNPROVED_IDS_MAX (1u << 18)
/* What a class costs beside its methods, in ids: a block of them has a header and a minimum. */
#define IDS_OF_CLASS 8
/* The loader of each linked class is compared with these, some 20 ns each. */
#define TRUSTED_MAX 64
#define CANDIDATES_MAX 256
/* Classes whose loaders are looked at in one search. */
#define SEARCHED_MAX 1024
/*
 * A loader that was first seen while a collection was under way survives that one in any case; only
 * the next one shows that it is reachable.
 */
#define TIMES_TO_SURVIVE 2
/* Looking through the loaded classes takes at most one part in so many of a processor's time. */
#define SEARCH_SPACING 100

struct loader {
	jweak reference;
	uint32_t survived; /* collections that unloaded classes */
};

static struct {
	/* Weak references that are never deleted: other threads read them at any time. */
	struct loader trusted[TRUSTED_MAX];
	uint32_t
		trusted_count; /* atomic; one writer: the starting thread, then the agent thread */
	uint32_t unproved_ids; /* atomic: made so far */
	/* The rest is the agent thread's own. */
	struct loader candidates[CANDIDATES_MAX];
	uint32_t candidate_count;
	uint32_t nameless; /* frames, when the classes were last looked through */
	uint32_t searches;
	uint64_t next_search;
} ids;

/* Loaders */

static bool
is_among(JNIEnv *env, const struct loader *loaders, uint32_t count, jobject object)
{
	while (count && !(*env)->IsSameObject(env, loaders[count - 1].reference, object))
		count--;
	return count > 0;
}

/* False: there is no room. */
static bool
trust(const struct loader *loader)
{
	uint32_t count = th_load_relaxed(&ids.trusted_count);

	if (count == TRUSTED_MAX)
		return false;
	ids.trusted[count] = *loader;
	/* Pairs with the acquire in is_trusted(). */
	th_store_release(&ids.trusted_count, count + 1);
	return true;
}

/* NULL is the boot loader. */
static bool
is_trusted(JNIEnv *env, jobject object)
{
	return !object ||
	       is_among(env, ids.trusted, th_load_acquire(&ids.trusted_count), object);
}

static void
trust_object(JNIEnv *env, jobject object)
{
	struct loader loader = {.reference = (*env)->NewWeakGlobalRef(env, object)};

	if (loader.reference && !trust(&loader))
		(*env)->DeleteWeakGlobalRef(env, loader.reference);
}

/* The system class loader and its parents. */
static void
trust_system_loaders(JNIEnv *env)
{
	jclass type = (*env)->FindClass(env, "java/lang/ClassLoader");
	jmethodID system = type ? (*env)->GetStaticMethodID(env, type, "getSystemClassLoader",
					  "()Ljava/lang/ClassLoader;")
				: NULL;
	jmethodID parent = system ? (*env)->GetMethodID(
					    env, type, "getParent", "()Ljava/lang/ClassLoader;")
				  : NULL;
	jobject loader = parent ? (*env)->CallStaticObjectMethod(env, type, system) : NULL;

	while (loader && !(*env)->ExceptionCheck(env)) {
		trust_object(env, loader);
		jobject next = (*env)->CallObjectMethod(env, loader, parent);
		(*env)->DeleteLocalRef(env, loader);
		loader = next;
	}
	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, type);
}

/* Classes */

/*
 * Hidden classes may be unloaded before their loader: "Lapp/Main.0x123;", of VM-anonymous ones
 * (before JDK 15) "Lapp/Main/0x123;".
 */
static bool
is_hidden(const char *signature)
{
	const char *slash = strrchr(signature, '/');

	return strchr(signature, '.') || (slash && slash[1] >= '0' && slash[1] <= '9');
}

/* False: a hidden class, which may be unloaded although its loader is permanent. */
static bool
prepare_trusted(jvmtiEnv *jvmti, jclass type)
{
	char *signature;
	bool stays;

	if ((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return true;
	stays = !is_hidden(signature);
	if (stays)
		th_methods_prepare(jvmti, type, signature);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
	return stays;
}

static void
prepare_unproved(jvmtiEnv *jvmti, jclass type)
{
	if (th_load_relaxed(&ids.unproved_ids) < UNPROVED_IDS_MAX)
		th_add_relaxed(&ids.unproved_ids,
			IDS_OF_CLASS + th_methods_prepare(jvmti, type, NULL));
}

void
th_class_ids_prepare(jvmtiEnv *jvmti, JNIEnv *env, jclass type)
{
	jobject loader;

	if ((*jvmti)->GetClassLoader(jvmti, type, &loader))
		return;
	if (!is_trusted(env, loader) || !prepare_trusted(jvmti, type))
		prepare_unproved(jvmti, type);
	(*env)->DeleteLocalRef(env, loader);
}

/* Calls `visit` with every `stride`-th of the loaded classes from `first` on. */
static void
for_loaded(jvmtiEnv *jvmti, JNIEnv *env, uint32_t sought,
	void (*visit)(jvmtiEnv *jvmti, JNIEnv *env, jclass type))
{
	jint count;
	jclass *types;

	if ((*jvmti)->GetLoadedClasses(jvmti, &count, &types))
		return;
	uint32_t stride = (uint32_t)count / sought + 1;
	uint32_t first = ids.searches % stride;

	/* They are here already; -Xcheck:jni wants to be told. */
	(*env)->EnsureLocalCapacity(env, count);
	for (uint32_t i = 0; i < (uint32_t)count; i++) {
		if (i % stride == first)
			visit(jvmti, env, types[i]);
		(*env)->DeleteLocalRef(env, types[i]);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)types);
}

void
th_class_ids_start(jvmtiEnv *jvmti, JNIEnv *env)
{
	trust_system_loaders(env);
	for_loaded(jvmti, env, UINT32_MAX, th_class_ids_prepare);
}

/* Loaders that outlive others */

static void
add_candidate(jvmtiEnv *jvmti, JNIEnv *env, jclass type)
{
	struct loader found = {0};
	jobject loader;

	if (ids.candidate_count == CANDIDATES_MAX ||
		(*jvmti)->GetClassLoader(jvmti, type, &loader) || !loader)
		return;
	if (!is_trusted(env, loader) &&
		!is_among(env, ids.candidates, ids.candidate_count, loader))
		found.reference = (*env)->NewWeakGlobalRef(env, loader);
	if (found.reference)
		ids.candidates[ids.candidate_count++] = found;
	(*env)->DeleteLocalRef(env, loader);
}

/* Every n-th class, starting with another one each time: the largest loaders are found first. */
static void
search(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint64_t cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID);

	for_loaded(jvmti, env, SEARCHED_MAX, add_candidate);
	ids.searches++;
	cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - cost;
	ids.next_search = th_clock_now() + SEARCH_SPACING * cost;
}

/* Removes dead loaders.  False: none died, which shows nothing about the others. */
static bool
bury(JNIEnv *env)
{
	uint32_t kept = 0;
	bool died;

	for (uint32_t i = 0; i < ids.candidate_count; i++) {
		if ((*env)->IsSameObject(env, ids.candidates[i].reference, NULL))
			(*env)->DeleteWeakGlobalRef(env, ids.candidates[i].reference);
		else
			ids.candidates[kept++] = ids.candidates[i];
	}
	died = kept < ids.candidate_count;
	ids.candidate_count = kept;
	return died;
}

/* Classes that loaders loaded before they were trusted; classes of other loaders are left. */
static void
prepare_loaded(jvmtiEnv *jvmti, JNIEnv *env, jclass type)
{
	jobject loader;

	if ((*jvmti)->GetClassLoader(jvmti, type, &loader) || !loader)
		return;
	if (is_trusted(env, loader))
		prepare_trusted(jvmti, type);
	(*env)->DeleteLocalRef(env, loader);
}

/* After classes were unloaded.  True: more loaders are trusted now. */
static bool
judge(void)
{
	uint32_t kept = 0;
	bool found = false;

	for (uint32_t i = 0; i < ids.candidate_count; i++) {
		struct loader loader = ids.candidates[i];

		if (++loader.survived >= TIMES_TO_SURVIVE && trust(&loader))
			found = true;
		else
			ids.candidates[kept++] = loader;
	}
	ids.candidate_count = kept;
	return found;
}

void
th_class_ids_review(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint32_t nameless = th_methods_nameless();

	if (ids.candidate_count && bury(env) && judge())
		for_loaded(jvmti, env, UINT32_MAX, prepare_loaded);
	if (nameless != ids.nameless && th_clock_now() >= ids.next_search) {
		ids.nameless = nameless;
		search(jvmti, env);
	}
}
