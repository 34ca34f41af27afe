/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -agentpath:libusurper.so: as soon as the library's import slot of malloc has been redirected, it is
 * overwritten with a function of its own, as by another tool that patches slots.  It leaves
 * the page of the slot writable, and writes again and again, as async-profiler does.
 */
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

/* Relocated, then read-only, so that the page of the slots is not the first that is. */
static const void *const padding[1024] = {[0 ... 1023] = &padding};

static void *(*original)(size_t size);

/* NULL on other processors, where nothing is overwritten. */
static void **
slot_of_malloc(void)
{
	void **slot = NULL;

#if defined(__x86_64__)
	__asm__("leaq malloc@GOTPCREL(%%rip), %0" : "=r"(slot));
#endif
	return slot;
}

static void *
other_malloc(size_t size)
{
	return original(size);
}

static void *
watch(void *data)
{
	void *(*ours)(size_t size) = other_malloc;
	void *volatile *slot = slot_of_malloc();
	uintptr_t page = (uintptr_t)slot & -(uintptr_t)sysconf(_SC_PAGESIZE);
	void *first;

	(void)data;
	if (!slot)
		return NULL;
	first = *slot;
	*(void **)&original = first;
	while (*slot == first)
		usleep(10000);
	usleep(200000);
	mprotect((void *)page, 1, PROT_READ | PROT_WRITE);
	for (;; usleep(20000))
		*slot = *(void **)&ours;
}

jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	pthread_t thread;

	(void)vm, (void)options, (void)reserved;
	__asm__ volatile("" : : "r"(padding));
	return pthread_create(&thread, NULL, watch, NULL) ? JNI_ERR : JNI_OK;
}
