/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/names/permanent_loaders.h"

#include <stdint.h>

#include "jvmti/ledger/references.h"

/* The system class loader and the platform class loader; more if the program sets its own. */
#define LOADERS_MAX 16

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
