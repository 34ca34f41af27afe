/* SPDX-License-Identifier: Apache-2.0 */
/* Java objects created by C, for SampledObjects.java: each by one function of JNI. */
#include <jni.h>

JNIEXPORT jobject JNICALL Java_SampledObjects_newObject(JNIEnv *env, jclass self, jclass type);
JNIEXPORT jobject JNICALL Java_SampledObjects_allocObject(
	JNIEnv *env, jclass self, jclass type);
JNIEXPORT jobject JNICALL Java_SampledObjects_newIntArray(
	JNIEnv *env, jclass self, jint length);
JNIEXPORT jobject JNICALL Java_SampledObjects_newObjectArray(
	JNIEnv *env, jclass self, jclass type, jint length);

/* Keeps the frame: a call at the end would be a jump. */
static jobject
keep_frame(jobject object)
{
	__asm__ volatile("" : : : "memory");
	return object;
}

JNIEXPORT jobject JNICALL
Java_SampledObjects_newObject(JNIEnv *env, jclass self, jclass type)
{
	jmethodID constructor = (*env)->GetMethodID(env, type, "<init>", "()V");

	(void)self;
	return constructor ? keep_frame((*env)->NewObject(env, type, constructor)) : NULL;
}

JNIEXPORT jobject JNICALL
Java_SampledObjects_allocObject(JNIEnv *env, jclass self, jclass type)
{
	(void)self;
	return keep_frame((*env)->AllocObject(env, type));
}

JNIEXPORT jobject JNICALL
Java_SampledObjects_newIntArray(JNIEnv *env, jclass self, jint length)
{
	(void)self;
	return keep_frame((*env)->NewIntArray(env, length));
}

JNIEXPORT jobject JNICALL
Java_SampledObjects_newObjectArray(JNIEnv *env, jclass self, jclass type, jint length)
{
	(void)self;
	return keep_frame((*env)->NewObjectArray(env, length, type, NULL));
}
