/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -agentpath:libloader.so=LIBRARY: when the process is attached to, opens libloaded.so again and
 * again, outside of the VM and just after a whole second of CLOCK_MONOTONIC, and prints "soon" when
 * one of ATTEMPTS copies has its import slots redirected within WITHIN_NS, else "late".
 */
#include <dlfcn.h>
#include <jni.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPTS 6
#define SECOND_NS 1000000000
/* Objects that nothing announces are found at the next whole second. */
#define WITHIN_NS 500000000
#define AFTER_NS 100000000

typedef void *allocate(size_t size);

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

static char path[PATH_MAX];
static allocate *volatile in_data = malloc;

static uint64_t
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static void
sleep_past_second(void)
{
	usleep((SECOND_NS - now() % SECOND_NS + AFTER_NS) / 1000);
}

/* The library's function that calls malloc is not called: its slot is only read. */
static int
is_redirected_soon(allocate *original)
{
	void *library = dlopen(path, RTLD_NOW);
	void *found = library ? dlsym(library, "loaded_malloc") : NULL;
	allocate *(*function)(void);
	uint64_t begin = now();
	int is_soon;

	memcpy(&function, &found, sizeof(function));
	if (!found)
		return 0;
	while (function() == original && now() - begin < WITHIN_NS)
		usleep(1000);
	is_soon = function() != original;
	dlclose(library);
	return is_soon;
}

static void *
load(void *data)
{
	allocate *original = in_data;
	int is_soon = 0;

	(void)data;
	while (in_data == original)
		usleep(10000);
	for (int i = 0; i < ATTEMPTS && !is_soon; i++) {
		sleep_past_second();
		is_soon = is_redirected_soon(original);
	}
	printf("%s\n", is_soon ? "soon" : "late");
	fflush(stdout);
	return NULL;
}

jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	pthread_t thread;

	(void)vm, (void)reserved;
	snprintf(path, sizeof(path), "%s", options);
	return pthread_create(&thread, NULL, load, NULL) ? JNI_ERR : JNI_OK;
}
