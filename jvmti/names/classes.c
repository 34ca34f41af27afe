/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/names/classes.h"

#include <stddef.h>
#include <string.h>

#include "jvmti/ledger/references.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/shared/hash.h"

#define SLOTS (TH_CLASSES_MAX * 2)
#define PROBES 128
/* The system class loader and the platform class loader; more if the program sets its own. */
#define LOADERS_MAX 16

static uint64_t *slots; /* atomic; hashes, atomic, 0 = empty; id = index + 1 */

void
th_classes_restart(void)
{
	th_memory_retire(slots);
	slots = NULL;
}

static uint64_t
hash_text(const char *text)
{
	/* Mixed, because the high bits select the slot. */
	uint64_t hash = th_hash_mix(th_hash_bytes(TH_HASH_START, text, strlen(text)));

	return hash | !hash;
}

static void
log_class(uint32_t id, const char *signature)
{
	struct th_event_class event = {.class = id};
	struct th_log_part part = th_log_text(signature);

	th_log_append(TH_EVENT_CLASS, &event, &part, 1);
}

static uint32_t
id_of(const char *signature)
{
	uint64_t *table = th_memory_map_once(&slots, SLOTS * sizeof(*slots));
	uint64_t hash = hash_text(signature);

	for (uint64_t probe = 0; table && probe < PROBES; probe++) {
		uint32_t index = (uint32_t)(hash + probe) & (SLOTS - 1);
		uint64_t found = th_load_relaxed(&table[index]);

		if (!found && th_cas_acq_rel(&table[index], &found, hash)) {
			log_class(index + 1, signature);
			return index + 1;
		}
		if (found == hash)
			return index + 1;
	}
	return 0;
}

uint32_t
th_classes_id(jvmtiEnv *jvmti, jclass type)
{
	char *signature;
	uint32_t id;

	if ((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return 0;
	id = id_of(signature);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
	return id;
}

/* Permanent loaders */

/* Weak references that are never deleted: other threads read them at any time. */
static struct {
	jweak loaders[LOADERS_MAX];
	uint32_t count;
} permanent;

static void
add(JNIEnv *env, jobject loader)
{
	jweak reference = permanent.count < LOADERS_MAX ? th_references_new_weak(env, loader)
							: NULL;

	if (reference)
		permanent.loaders[permanent.count++] = reference;
}

void
th_permanent_loaders_find(JNIEnv *env)
{
	if (permanent.count)
		return;
	jclass type = (*env)->FindClass(env, "java/lang/ClassLoader");
	jmethodID system = type ? (*env)->GetStaticMethodID(env, type, "getSystemClassLoader",
					  "()Ljava/lang/ClassLoader;")
				: NULL;
	jmethodID parent = system ? (*env)->GetMethodID(
					    env, type, "getParent", "()Ljava/lang/ClassLoader;")
				  : NULL;
	jobject loader = parent ? (*env)->CallStaticObjectMethod(env, type, system) : NULL;

	while (loader && !(*env)->ExceptionCheck(env)) {
		add(env, loader);
		jobject next = (*env)->CallObjectMethod(env, loader, parent);
		(*env)->DeleteLocalRef(env, loader);
		loader = next;
	}
	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, type);
}

bool
th_permanent_loaders_have(JNIEnv *env, jobject loader)
{
	uint32_t i = permanent.count;

	while (loader && i && !(*env)->IsSameObject(env, permanent.loaders[i - 1], loader))
		i--;
	return !loader || i > 0;
}
