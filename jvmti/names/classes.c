/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/names/classes.h"

#include <stddef.h>
#include <string.h>

#include "jvmti/vm/references.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/base/hash_set.h"
#include "unify/log/log.h"

/* The system class loader and the platform class loader; more if the program sets its own. */
#define LOADERS_MAX 16

static struct th_hash_set classes; /* of hashes of signatures; ids are the numbers */

void
th_classes_restart(void)
{
	th_hash_set_reset(&classes);
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
	struct th_hash_entry entry = th_hash_set_add(&classes, th_hash_set_text(signature));

	if (entry.is_new)
		log_class(entry.number, signature);
	return entry.number;
}

uint32_t
th_classes_id(jvmtiEnv *jvmti, jclass type)
{
	char *signature;
	uint32_t id;

	if ((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return 0;
	id = id_of(signature);
	th_vm_free(jvmti, signature);
	return id;
}

/* Permanent loaders */

/* Weak references that are never deleted: other threads read them at any time. */
static struct {
	jweak loaders[LOADERS_MAX];
	uint32_t count;
} permanent;

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

	while (loader && !(*env)->ExceptionCheck(env) && permanent.count < LOADERS_MAX) {
		jweak reference = th_references_new_weak(env, loader);

		if (reference)
			permanent.loaders[permanent.count++] = reference;
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
