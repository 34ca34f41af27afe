/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call path that changes its language five times:
 *
 *   Path.first -> enterOne -> mixed_path_one -> Path.second -> enterTwo -> mixed_path_two
 *     -> Path.third -> enterThree -> mixed_path_three -> malloc, NewByteArray
 *
 * and native code in a class initializer, which the VM itself calls.
 */
#include <jni.h>
#include <stdlib.h>

#include "examples/mixed/sites.h"
#include "mixed_Initializer.h"
#include "mixed_Path.h"

#define BLOCK_BYTES 1024

static void
call_java(JNIEnv *env, jclass class, const char *method)
{
	jmethodID id = (*env)->GetStaticMethodID(env, class, method, "()V");

	if (id)
		(*env)->CallStaticVoidMethod(env, class, id);
}

static MIXED_NOINLINE void
mixed_path_one(JNIEnv *env, jclass class)
{
	call_java(env, class, "second");
	__asm__ volatile("" : : : "memory");
}

static MIXED_NOINLINE void
mixed_path_two(JNIEnv *env, jclass class)
{
	call_java(env, class, "third");
	__asm__ volatile("" : : : "memory");
}

static MIXED_NOINLINE void
mixed_path_three(JNIEnv *env, jint rounds)
{
	for (jint i = 0; i < rounds; i++) {
		void *block = malloc(BLOCK_BYTES);
		jbyteArray array = (*env)->NewByteArray(env, BLOCK_BYTES);

		MIXED_KEEP(block);
		free(block);
		if (!array)
			return;
		(*env)->DeleteLocalRef(env, array);
	}
}

JNIEXPORT void JNICALL
Java_mixed_Path_enterOne(JNIEnv *env, jclass class)
{
	mixed_path_one(env, class);
	__asm__ volatile("" : : : "memory");
}

JNIEXPORT void JNICALL
Java_mixed_Path_enterTwo(JNIEnv *env, jclass class)
{
	mixed_path_two(env, class);
	__asm__ volatile("" : : : "memory");
}

JNIEXPORT void JNICALL
Java_mixed_Path_enterThree(JNIEnv *env, jclass class, jint rounds)
{
	(void)class;
	mixed_path_three(env, rounds);
	__asm__ volatile("" : : : "memory");
}

static MIXED_NOINLINE void
mixed_initializer_block(void)
{
	void *block = malloc(BLOCK_BYTES);

	MIXED_KEEP(block);
	free(block);
	__asm__ volatile("" : : : "memory");
}

JNIEXPORT void JNICALL
Java_mixed_Initializer_fill(JNIEnv *env, jclass class, jlong rounds)
{
	(void)env;
	(void)class;
	for (jlong i = 0; i < rounds; i++)
		mixed_initializer_block();
}
