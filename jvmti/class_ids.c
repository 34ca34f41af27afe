/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trusted loaders are permanent: their classes are prepared when linked.  Candidates are
 * loaders that may prove to be permanent by surviving collections that unload classes.  Only
 * the agent thread handles candidates; other threads read the trusted loaders without a lock.
 */
#include "jvmti/class_ids.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "jvmti/ledger/references.h"
#include "jvmti/live_loaders.h"
#include "jvmti/methods.h"
#include "unify/base/atomic.h"
#include "unify/shared/clock.h"

/*
 * Limit of jmethodIDs for classes that may be unloaded.  At 8 to 18 bytes each (measured on 25
 * and 17) this is at most 5 MB: about 15,000 classes of ten methods.
 */
#define UNPROVED_IDS_MAX (1u << 18)
/*
 * Of these, as many are created in each second when classes are linked.  A class that was unloaded leaves
 * its IDs among the freed memory of others, which malloc then cannot join: with 262,144 IDs left by the
 * first of many short-lived classes, loading and unloading the others took 9 % more CPU time and 20 MB
 * more (17).  Unloading begins late, when memory for classes runs short.
 */
#define IDS_PER_S (1u << 14)
/* After every UNLOADED_PARTS-th class that may be unloaded was. */
#define IDS_PER_S_UNLOADING (1u << 8)
#define UNLOADED_PARTS 4
/* Overhead of a class in ids: a block of ids has a header and a minimum size. */
#define IDS_OF_CLASS 8
/* The loader of each linked class is compared with these, at about 20 ns each. */
#define TRUSTED_MAX 64
#define CANDIDATES_MAX 256
/* Classes and threads whose loaders are examined in one search. */
#define SEARCHED_MAX 1024
#define THREADS_SEARCHED 32
/* Threads whose loaders are examined at the start: in 8 pauses. */
#define THREADS_AT_START 256
/*
 * A loader first seen during a collection survives that collection in any case; only the next
 * one shows that it is reachable.
 */
#define TIMES_TO_SURVIVE 2
/*
 * A search takes at most 1/SEARCH_SPACING of one processor's time.  It ends after SEARCH_NS of CPU time: on
 * 11 the classes of a loader are expensive to find while thousands of others wait to be unloaded.
 */
#define SEARCH_SPACING 200
#define SEARCH_NS 10000000

struct loader {
	jweak reference;
	uint32_t survived; /* number of collections that unloaded classes */
};

static struct {
	/* Weak references that are never deleted: other threads read them at any time. */
	struct loader trusted[TRUSTED_MAX];
	uint32_t
		trusted_count; /* atomic; one writer: the starting thread, then the agent thread */
	uint32_t permanent_count;  /* of the trusted, the first ones; set at the start */
	uint32_t unproved_ids;     /* atomic: ids created so far */
	uint32_t unproved_classes; /* atomic: that were linked */
	const int64_t *unloaded;   /* the VM's counter of unloaded classes; NULL: it has none */
	int64_t unloaded_before;   /* its value at the start */
	/* The current second; atomic, races cost a few IDs. */
	uint64_t second;     /* ns: when it began */
	uint32_t second_ids; /* `unproved_ids` then */
	/* The fields below are used by the agent thread only. */
	int64_t unloaded_reviewed; /* the counter at the last review */
	struct loader candidates[CANDIDATES_MAX];
	uint32_t candidate_count;
	uint32_t nameless; /* frames without a name at the last search */
	uint32_t searches;
	uint64_t search_end; /* CPU time of this thread; 0: not limited */
	bool may_list;
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

/* False: the table is full. */
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
	struct loader loader = {.reference = th_references_new_weak(env, object)};

	if (loader.reference && !trust(&loader))
		th_references_delete_weak(env, loader.reference);
}

bool
th_class_ids_is_permanent(JNIEnv *env, jobject loader)
{
	return !loader || is_among(env, ids.trusted, ids.permanent_count, loader);
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

static bool
may_prepare_unproved(void)
{
	return th_load_relaxed(&ids.unproved_ids) < UNPROVED_IDS_MAX;
}

static void
prepare_unproved(jvmtiEnv *jvmti, jclass type)
{
	if (may_prepare_unproved())
		th_add_relaxed(&ids.unproved_ids,
			IDS_OF_CLASS + th_methods_prepare(jvmti, type, NULL));
}

static bool
are_unloaded(void)
{
	const int64_t *unloaded = ids.unloaded;

	return unloaded && (*unloaded - ids.unloaded_before) * UNLOADED_PARTS >
				   (int64_t)th_load_relaxed(&ids.unproved_classes);
}

/* Whether IDs of another class that may be unloaded are created when it is linked. */
static bool
may_prepare_linked(void)
{
	uint64_t now;

	if (!may_prepare_unproved())
		return false;
	now = th_clock_now();
	if (now - th_load_relaxed(&ids.second) >= TH_NS_PER_S) {
		th_store_relaxed(&ids.second_ids, th_load_relaxed(&ids.unproved_ids));
		th_store_relaxed(&ids.second, now);
	}
	return th_load_relaxed(&ids.unproved_ids) - th_load_relaxed(&ids.second_ids) <
	       (are_unloaded() ? IDS_PER_S_UNLOADING : IDS_PER_S);
}

static void
prepare_linked(jvmtiEnv *jvmti, jclass type)
{
	th_add_relaxed(&ids.unproved_classes, 1);
	if (may_prepare_linked())
		prepare_unproved(jvmti, type);
}

void
th_class_ids_prepare(jvmtiEnv *jvmti, JNIEnv *env, jclass type)
{
	jobject loader;

	if ((*jvmti)->GetClassLoader(jvmti, type, &loader))
		return;
	if (!is_trusted(env, loader) || !prepare_trusted(jvmti, type))
		prepare_linked(jvmti, type);
	(*env)->DeleteLocalRef(env, loader);
}

/* Loaders that are in use */

/* A loader is asked for classes that it found in others, too. */
static bool
is_defined_by(jvmtiEnv *jvmti, JNIEnv *env, jclass type, jobject loader)
{
	jobject found;
	bool is_same;

	if ((*jvmti)->GetClassLoader(jvmti, type, &found))
		return false;
	is_same = (*env)->IsSameObject(env, found, loader);
	(*env)->DeleteLocalRef(env, found);
	return is_same;
}

/*
 * The classes of a loader, all but hidden ones.  A loader holds its classes, so the references to
 * them keep nothing alive but the loader.
 */
static void
prepare_loader(jvmtiEnv *jvmti, JNIEnv *env, jobject loader)
{
	bool trusted = is_trusted(env, loader);
	jclass *types;
	jint count;

	if ((*jvmti)->GetClassLoaderClasses(jvmti, loader, &count, &types))
		return;
	/* The references exist already; -Xcheck:jni requires the capacity to be declared. */
	(*env)->EnsureLocalCapacity(env, count);
	for (jint i = 0; i < count; i++) {
		if (is_defined_by(jvmti, env, types[i], loader) &&
			(!trusted || !prepare_trusted(jvmti, types[i])))
			prepare_unproved(jvmti, types[i]);
		(*env)->DeleteLocalRef(env, types[i]);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)types);
}

/* Of a loader that may have been unloaded. */
static void
prepare_weak(jvmtiEnv *jvmti, JNIEnv *env, jweak reference)
{
	jobject loader = (*env)->NewLocalRef(env, reference);

	if (loader)
		prepare_loader(jvmti, env, loader);
	(*env)->DeleteLocalRef(env, loader);
}

/* A loader in use: it becomes a candidate when it is met first, and its classes are prepared. */
static void
meet(jvmtiEnv *jvmti, JNIEnv *env, jobject loader)
{
	struct loader met = {0};

	if (ids.candidate_count == CANDIDATES_MAX || is_trusted(env, loader) ||
		is_among(env, ids.candidates, ids.candidate_count, loader))
		return;
	met.reference = th_references_new_weak(env, loader);
	if (!met.reference)
		return;
	ids.candidates[ids.candidate_count++] = met;
	/* On 11 the VM looks at all loaders to find the classes of one: 0.2 us for each. */
	if (may_prepare_unproved())
		prepare_loader(jvmti, env, loader);
}

static void
forget_candidates(JNIEnv *env)
{
	while (ids.candidate_count)
		th_references_delete_weak(env, ids.candidates[--ids.candidate_count].reference);
}

/* All classes */

/*
 * Local references keep unreachable classes alive, so they are exchanged for weak ones before any
 * work is done.  Those left out become NULL.
 */
static void
weaken(JNIEnv *env, jclass *types, uint32_t count, uint32_t first, uint32_t stride)
{
	for (uint32_t i = 0; i < count; i++) {
		jclass type = types[i];

		types[i] = i % stride == first ? th_references_new_weak(env, type) : NULL;
		(*env)->DeleteLocalRef(env, type);
	}
}

/* A loader is not asked for hidden classes. */
static void
prepare_hidden(jvmtiEnv *jvmti, jclass type)
{
	char *signature;

	if ((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return;
	if (is_hidden(signature))
		prepare_unproved(jvmti, type);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static bool
is_search_over(void)
{
	return ids.search_end && th_clock_read(CLOCK_THREAD_CPUTIME_ID) >= ids.search_end;
}

/* A class that may have been unloaded, and its loader. */
static void
meet_class(jvmtiEnv *jvmti, JNIEnv *env, jweak reference)
{
	jclass type = is_search_over() ? NULL : (*env)->NewLocalRef(env, reference);
	jobject loader;

	if (type)
		prepare_hidden(jvmti, type);
	if (type && !(*jvmti)->GetClassLoader(jvmti, type, &loader)) {
		if (loader)
			meet(jvmti, env, loader);
		(*env)->DeleteLocalRef(env, loader);
	}
	(*env)->DeleteLocalRef(env, type);
	th_references_delete_weak(env, reference);
}

/*
 * Every n-th of the loaded classes, so that there are at most `sought`, starting at a different one
 * each time: this finds the largest loaders first.
 */
static void
meet_classes(jvmtiEnv *jvmti, JNIEnv *env, uint32_t sought)
{
	jint count;
	jclass *types;

	if (!ids.may_list || (*jvmti)->GetLoadedClasses(jvmti, &count, &types))
		return;
	uint32_t stride = (uint32_t)count / sought + 1;

	(*env)->EnsureLocalCapacity(env, count);
	weaken(env, types, (uint32_t)count, ids.searches % stride, stride);
	for (uint32_t i = 0; i < (uint32_t)count; i++)
		if (types[i])
			meet_class(jvmti, env, types[i]);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)types);
}

void
th_class_ids_start(jvmtiEnv *jvmti, JNIEnv *env, bool may_list, const int64_t *unloaded)
{
	ids.may_list = may_list;
	ids.unloaded_before = unloaded ? *unloaded : 0;
	ids.unloaded = unloaded;
	if (!ids.trusted_count) { /* else of an earlier recording */
		trust_system_loaders(env);
		ids.permanent_count = ids.trusted_count;
	}
	forget_candidates(env);
	prepare_loader(jvmti, env, NULL);
	for (uint32_t i = 0; i < ids.trusted_count; i++)
		prepare_weak(jvmti, env, ids.trusted[i].reference);
	th_live_loaders_find(jvmti, env, 0, THREADS_AT_START, meet);
	meet_classes(jvmti, env, UINT32_MAX);
}

static void
search(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint64_t cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID);

	ids.search_end = cost + SEARCH_NS;
	th_live_loaders_find(
		jvmti, env, ids.searches * THREADS_SEARCHED, THREADS_SEARCHED, meet);
	meet_classes(jvmti, env, SEARCHED_MAX);
	ids.search_end = 0;
	ids.searches++;
	cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - cost;
	ids.next_search = th_clock_now() + SEARCH_SPACING * cost;
}

/* Loaders that survive class unloading */

/*
 * Removes dead loaders.  False: no class was unloaded since the last review as far as is known, so
 * nothing is known about the others.
 */
static bool
remove_dead(JNIEnv *env)
{
	int64_t unloaded = ids.unloaded ? *ids.unloaded : 0;
	uint32_t kept = 0;
	bool were_unloaded = unloaded != ids.unloaded_reviewed;

	for (uint32_t i = 0; i < ids.candidate_count; i++) {
		if ((*env)->IsSameObject(env, ids.candidates[i].reference, NULL))
			th_references_delete_weak(env, ids.candidates[i].reference);
		else
			ids.candidates[kept++] = ids.candidates[i];
	}
	were_unloaded |= kept < ids.candidate_count;
	ids.candidate_count = kept;
	ids.unloaded_reviewed = unloaded;
	return were_unloaded;
}

/* Called after classes were unloaded. */
static void
judge(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ids.candidate_count; i++) {
		struct loader loader = ids.candidates[i];

		if (++loader.survived >= TIMES_TO_SURVIVE && trust(&loader))
			prepare_weak(jvmti, env, loader.reference);
		else
			ids.candidates[kept++] = loader;
	}
	ids.candidate_count = kept;
}

void
th_class_ids_review(jvmtiEnv *jvmti, JNIEnv *env)
{
	uint32_t nameless = th_methods_nameless();

	if (remove_dead(env))
		judge(jvmti, env);
	if (nameless != ids.nameless && th_clock_now() >= ids.next_search) {
		ids.nameless = nameless;
		search(jvmti, env);
	}
}
