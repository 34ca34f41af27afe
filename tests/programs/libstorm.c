/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -agentpath:libstorm.so=DIRECTORY: threads of the process load and unload the copies of
 * libloaded.so in the directory all the time, until the process ends.  Ends it if a block has lost
 * its contents.
 */
#include <dlfcn.h>
#include <jni.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 3
#define COPIES 8

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

static char directory[PATH_MAX - 64];

static void
work(const char *path, int flags)
{
	void *library = dlopen(path, flags);
	void *found = library ? dlsym(library, "loaded_work") : NULL;
	int (*function)(void);

	memcpy(&function, &found, sizeof(function));
	if (!found || !function()) {
		fprintf(stderr, "storm: %s\n", found ? "a block is damaged" : dlerror());
		_exit(99);
	}
	dlclose(library);
}

static void *
storm(void *data)
{
	unsigned number = (unsigned)(uintptr_t)data;
	char path[PATH_MAX];

	for (unsigned i = number;; i++) {
		snprintf(path, sizeof(path), "%s/loaded%u.so", directory, i * 5 % COPIES);
		work(path, i % 2 ? RTLD_NOW : RTLD_LAZY);
		if (i % 64 == 0)
			usleep(1000);
	}
	return NULL;
}

jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)vm, (void)reserved;
	snprintf(directory, sizeof(directory), "%s", options);
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, storm, (void *)i))
			return JNI_ERR;
	}
	return JNI_OK;
}
