/* SPDX-License-Identifier: Apache-2.0 */
/* Native methods of Deep. */
#include <jni.h>
#include <stdlib.h>

/* Prevents a tail call, so that the caller's frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")

JNIEXPORT void JNICALL Java_Deep_block(JNIEnv *env, jclass type, jint bytes);
JNIEXPORT void JNICALL Java_Deep_call(JNIEnv *env, jclass type, jint depth);

__attribute__((noinline)) static void
deep_block(size_t bytes)
{
	void *block = malloc(bytes);

	__asm__ volatile("" : "+r"(block) : : "memory");
	free(block);
}

JNIEXPORT void JNICALL
Java_Deep_block(JNIEnv *env, jclass type, jint bytes)
{
	(void)env;
	(void)type;
	deep_block((size_t)bytes);
	STAY();
}

JNIEXPORT void JNICALL
Java_Deep_call(JNIEnv *env, jclass type, jint depth)
{
	jmethodID recurse = (*env)->GetStaticMethodID(env, type, "recurse", "(I)V");

	if (recurse)
		(*env)->CallStaticVoidMethod(env, type, recurse, depth);
	STAY();
}
