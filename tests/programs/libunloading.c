/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent, -agentpath:libunloading.so=PLUGIN: opens and closes copies of PLUGIN (libloaded.c)
 * while the library, which is attached meanwhile, redirects their slots.  Prints whether their
 * destructors ran on the thread that closed them.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <jni.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIES 128
#define ROUNDS 40
/* For the agent thread to find the copies: within 20 ms on a machine that is not busy. */
#define TURNS 200000

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

static char plugin[PATH_MAX];
static char copies[COPIES][40];
static void (*volatile in_data)(void *block) = free;
static uintptr_t original; /* free, no import slot */
static int elsewhere, met;

static void *
find(void *handle, const char *name)
{
	void *found = dlsym(handle, name);

	if (!found)
		abort();
	return found;
}

static void
copy(const char *path)
{
	int from = open(plugin, O_RDONLY | O_CLOEXEC);
	int to = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
	struct stat status;

	if (from < 0 || to < 0 || fstat(from, &status) ||
		sendfile(to, from, NULL, (size_t)status.st_size) != status.st_size)
		abort();
	close(from);
	close(to);
}

/* The slot of free, which is redirected before that of malloc. */
static void *
slot_of(void *handle)
{
	return **(void *volatile **)find(handle, "loaded_free");
}

/* Closes the copies as soon as the slots of the first are redirected, while those of the last are not. */
static void
open_and_close(void)
{
	void *handles[COPIES];

	for (int i = 0; i < COPIES; i++) {
		handles[i] = dlopen(copies[i], RTLD_LAZY);
		*(pthread_t *)find(handles[i], "loaded_closer") = pthread_self();
		*(int **)find(handles[i], "loaded_elsewhere") = &elsewhere;
	}
	for (int i = 0; i < TURNS && slot_of(handles[0]) == (void *)original; i++)
		sched_yield();
	met += slot_of(handles[0]) != (void *)original;
	for (int i = COPIES - 1; i >= 0; i--)
		dlclose(handles[i]);
}

static void *
load_and_unload(void *data)
{
	(void)data;
	while ((uintptr_t)in_data == original)
		usleep(10000);
	for (int i = 0; i < ROUNDS; i++)
		open_and_close();
	printf("met %d, unloaded elsewhere: %d\n", met, elsewhere);
	fflush(stdout);
	return NULL;
}

jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	pthread_t thread;

	(void)vm, (void)reserved;
	original = (uintptr_t)in_data;
	snprintf(plugin, sizeof(plugin), "%s", options);
	for (int i = 0; i < COPIES; i++) {
		snprintf(copies[i], sizeof(copies[i]), "./copy-%d.so", i);
		copy(copies[i]);
	}
	return pthread_create(&thread, NULL, load_and_unload, NULL) ? JNI_ERR : JNI_OK;
}
