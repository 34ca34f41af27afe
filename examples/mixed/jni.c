/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions called from Java: run native sites by name, and use the ways in which JNI itself
 * allocates, in either heap, on behalf of C.
 */
#include <jni.h>
#include <stdlib.h>
#include <string.h>

#include "examples/mixed/sites.h"
#include "mixed_NativeSites.h"

/* Maximum number of sites that one call of runSites() runs in turn. */
#define SITES_MAX 64

static void
throw_error(JNIEnv *env, const char *class_name, const char *message)
{
	jclass error = (*env)->FindClass(env, class_name);

	if (error)
		(*env)->ThrowNew(env, error, message);
}

static const struct mixed_site *
find_site(JNIEnv *env, jstring name)
{
	const struct mixed_site *found = NULL;
	const char *text = (*env)->GetStringUTFChars(env, name, NULL);

	for (const struct mixed_site *site = mixed_sites; text && site->function; site++) {
		if (strcmp(site->function, text) == 0)
			found = site;
	}
	if (text)
		(*env)->ReleaseStringUTFChars(env, name, text);
	if (!found)
		throw_error(env, "java/lang/IllegalArgumentException", "no such native site");
	return found;
}

JNIEXPORT jlong JNICALL
Java_mixed_NativeSites_bytesPerCall(JNIEnv *env, jclass class, jstring name)
{
	const struct mixed_site *site = find_site(env, name);

	(void)class;
	return site ? (jlong)site->size : 0;
}

JNIEXPORT jlong JNICALL
Java_mixed_NativeSites_blocksPerCall(JNIEnv *env, jclass class, jstring name)
{
	const struct mixed_site *site = find_site(env, name);

	(void)class;
	return site ? (jlong)site->calls : 0;
}

/* Keeps a block forever: the list is reachable, so leak checkers do not report it. */
static void
retain(void *block)
{
	static void *head;
	void *next = __atomic_load_n(&head, __ATOMIC_RELAXED);

	do {
		*(void **)block = next;
	} while (!__atomic_compare_exchange_n(
		&head, &next, block, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/*
 * Runs the named sites in turn, `rounds` times.  Of each site every `keep_every`th block is
 * kept forever, starting with the one in round 0; with 0 all are freed.
 */
JNIEXPORT void JNICALL
Java_mixed_NativeSites_runSites(
	JNIEnv *env, jclass class, jobjectArray names, jlong rounds, jlong keep_every)
{
	const struct mixed_site *sites[SITES_MAX];
	jsize count = (*env)->GetArrayLength(env, names);

	(void)class;
	if (count > SITES_MAX)
		count = SITES_MAX;
	for (jsize i = 0; i < count; i++) {
		jstring name = (*env)->GetObjectArrayElement(env, names, i);

		sites[i] = find_site(env, name);
		if (!sites[i])
			return;
	}
	for (jlong round = 0; round < rounds; round++) {
		for (jsize i = 0; i < count; i++) {
			void *block = sites[i]->allocate();

			if (block && keep_every > 0 && round % keep_every == 0)
				retain(block);
			else
				sites[i]->release(block);
		}
	}
}

/* A Java array, allocated by C: NewByteArray is the JNI frame between this one and the VM. */
static MIXED_NOINLINE jbyteArray
mixed_new_byte_array(JNIEnv *env, jint length)
{
	jbyteArray array = (*env)->NewByteArray(env, length);

	MIXED_KEEP(array);
	return array;
}

JNIEXPORT jbyteArray JNICALL
Java_mixed_NativeSites_newByteArray(JNIEnv *env, jclass class, jint length)
{
	jbyteArray array = mixed_new_byte_array(env, length);

	(void)class;
	MIXED_KEEP(array);
	return array;
}

/* A native copy of a string, allocated by the VM and released at once. */
static MIXED_NOINLINE void
mixed_string_chars(JNIEnv *env, jstring text)
{
	const char *copy = (*env)->GetStringUTFChars(env, text, NULL);

	MIXED_KEEP(copy);
	if (copy)
		(*env)->ReleaseStringUTFChars(env, text, copy);
}

JNIEXPORT void JNICALL
Java_mixed_NativeSites_stringChars(JNIEnv *env, jclass class, jstring text, jlong rounds)
{
	(void)class;
	for (jlong i = 0; i < rounds; i++)
		mixed_string_chars(env, text);
}
