/* SPDX-License-Identifier: Apache-2.0 */
/* Stays in a JNI critical section: HotSpot does not collect meanwhile. */
#include <jni.h>
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

JNIEXPORT void JNICALL Java_Aged_hold(JNIEnv *env, jclass type, jbyteArray array);
JNIEXPORT void JNICALL Java_Aged_awaitHold(JNIEnv *env, jclass type);

static sem_t held;

JNIEXPORT void JNICALL
Java_Aged_hold(JNIEnv *env, jclass type, jbyteArray array)
{
	(void)type;
	(*env)->GetPrimitiveArrayCritical(env, array, NULL);
	sem_post(&held);
	for (;;)
		pause();
}

JNIEXPORT void JNICALL
Java_Aged_awaitHold(JNIEnv *env, jclass type)
{
	(void)env;
	(void)type;
	while (sem_wait(&held))
		continue;
}
