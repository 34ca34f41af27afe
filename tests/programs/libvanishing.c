/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that allocates in a function that it exports and in one that it does not.  Its file
 * is deleted after it was loaded, by Vanishing.java and native_vanishing.c.
 */
#include <jni.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 1000

/* With a name even in .dynsym; the frame stays, since the block is used after the call. */
__attribute__((visibility("default"), noinline)) void *vanishing_exported(void);
void vanishing_work(int count);
const void *vanishing_local_address(void);
JNIEXPORT void JNICALL Java_Vanishing_work(JNIEnv *env, jclass self, jint count);
JNIEXPORT void JNICALL Java_Vanishing_die(JNIEnv *env, jclass self);

static void *
keep(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

/* Only .symtab has its name. */
static __attribute__((noinline)) void *
vanishing_local(void)
{
	return keep(malloc(BLOCK_BYTES));
}

void *
vanishing_exported(void)
{
	return keep(malloc(BLOCK_BYTES));
}

__attribute__((visibility("default"))) const void *
vanishing_local_address(void)
{
	void *(*function)(void) = vanishing_local;
	const void *address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

__attribute__((visibility("default"))) void
vanishing_work(int count)
{
	for (int i = 0; i < count; i++) {
		free(vanishing_local());
		free(vanishing_exported());
	}
}

JNIEXPORT void JNICALL
Java_Vanishing_work(JNIEnv *env, jclass self, jint count)
{
	(void)env, (void)self;
	vanishing_work(count);
	__asm__ volatile("" : : : "memory"); /* the call is no jump */
}

JNIEXPORT void JNICALL
Java_Vanishing_die(JNIEnv *env, jclass self)
{
	(void)env, (void)self;
	kill(getpid(), SIGKILL);
}
