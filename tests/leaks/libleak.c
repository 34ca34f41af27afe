/* SPDX-License-Identifier: Apache-2.0 */
/* What leaks.Native declares. */
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "leaks_Native.h"

/* A function of its own, so that stacks show more than the JNI function. */
static __attribute__((noinline)) void *
leak_block(size_t bytes)
{
	char *block = malloc(bytes);

	if (block)
		block[0] = 1;
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

JNIEXPORT jlong JNICALL
Java_leaks_Native_allocate(JNIEnv *env, jclass class, jlong bytes)
{
	(void)env;
	(void)class;
	return (jlong)(uintptr_t)leak_block((size_t)bytes);
}

JNIEXPORT void JNICALL
Java_leaks_Native_free(JNIEnv *env, jclass class, jlong address)
{
	(void)env;
	(void)class;
	free((void *)(uintptr_t)address);
}

JNIEXPORT jlong JNICALL
Java_leaks_Native_length(JNIEnv *env, jclass class, jstring text, jboolean release)
{
	const char *copy = (*env)->GetStringUTFChars(env, text, NULL);
	jlong length;

	(void)class;
	if (!copy)
		return -1;
	length = (jlong)strlen(copy);
	if (release)
		(*env)->ReleaseStringUTFChars(env, text, copy);
	return length;
}

JNIEXPORT jlong JNICALL
Java_leaks_Native_newReference(JNIEnv *env, jclass class, jobject object)
{
	(void)class;
	return (jlong)(uintptr_t)(*env)->NewGlobalRef(env, object);
}

JNIEXPORT void JNICALL
Java_leaks_Native_deleteReference(JNIEnv *env, jclass class, jlong reference)
{
	(void)class;
	(*env)->DeleteGlobalRef(env, (jobject)(uintptr_t)reference);
}
