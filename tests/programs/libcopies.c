/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -agentpath:libcopies.so: takes pointers to malloc and free when it is loaded.  When the file "leak"
 * exists in the current directory, it frees BLOCKS blocks by the one pointer, of which each has the
 * address of the one before, and allocates as many by the other one, which stay; then it prints "leaked".
 */
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 2000
#define LEAKED_BYTES 10000
#define FREED_BYTES 20000
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

typedef void *allocate(size_t size);
typedef void release(void *block);

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

static allocate *volatile copied_malloc;
static release *volatile copied_free;

static void *
leak(void *data)
{
	while (access("leak", F_OK))
		usleep(20000);
	for (int i = 0; i < BLOCKS; i++) {
		void *block = malloc(FREED_BYTES);

		KEEP(block);
		copied_free(block);
	}
	for (int i = 0; i < BLOCKS; i++) {
		void *block = copied_malloc(LEAKED_BYTES);

		KEEP(block);
	}
	printf("leaked\n");
	fflush(stdout);
	return data;
}

jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	void *found_malloc = dlsym(RTLD_DEFAULT, "malloc");
	void *found_free = dlsym(RTLD_DEFAULT, "free");
	pthread_t thread;

	(void)vm, (void)options, (void)reserved;
	memcpy((void *)(uintptr_t)&copied_malloc, &found_malloc, sizeof(found_malloc));
	memcpy((void *)(uintptr_t)&copied_free, &found_free, sizeof(found_free));
	return pthread_create(&thread, NULL, leak, NULL) ? JNI_ERR : JNI_OK;
}
