/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_slots LIBRARY OPTIONS: loads the library as a VM would load an agent into a running process,
 * but without a VM, and then calls allocation functions CALLS times in each of the ways in which
 * a program reaches them.  Some blocks are allocated before and freed after, and some are freed past
 * all import slots, by a pointer that was copied before.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLS 1000
#define SITE extern "C" __attribute__((noinline))
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

typedef void *allocate(size_t size);
typedef void release(void *block);

/* A slot in the program's data. */
static allocate *volatile in_data = malloc;
static allocate *volatile copied;
static allocate *volatile looked_up;
static release *volatile copied_free;

#if __has_attribute(noplt)
#	define NO_PLT __attribute__((noplt))
#else
#	define NO_PLT /* clang: only for a whole file */
#endif
extern "C" void *plt_less_malloc(size_t size) __asm__("malloc") NO_PLT;

SITE void
by_table(void)
{
	for (int i = 0; i < CALLS; i++) {
		void *block = malloc(100);

		KEEP(block);
		free(block);
	}
}

SITE void
without_plt(void)
{
	for (int i = 0; i < CALLS; i++)
		free(plt_less_malloc(100));
}

SITE void
by_data(void)
{
	for (int i = 0; i < CALLS; i++)
		free(in_data(100));
}

SITE void
by_copy(void)
{
	for (int i = 0; i < CALLS; i++)
		copied_free(copied(100));
}

SITE void
by_dlsym(void)
{
	for (int i = 0; i < CALLS; i++)
		copied_free(looked_up(100));
}

SITE void
by_new(void)
{
	for (int i = 0; i < CALLS; i++) {
		char *block = new char[100];

		KEEP(block);
		delete[] block;
	}
}

SITE void
by_libc(void)
{
	for (int i = 0; i < CALLS; i++) {
		char *copy = strdup("some text");

		KEEP(copy);
		free(copy);
	}
}

SITE void
by_format(void)
{
	for (int i = 0; i < CALLS; i++) {
		char *text = NULL;

		if (asprintf(&text, "number %d", i) > 0)
			free(text);
	}
}

/* A new line each time, from the program's own file. */
SITE void
by_line(void)
{
	FILE *file = fopen("/proc/self/status", "r");

	for (int i = 0; file && i < CALLS; i++) {
		char *line = NULL;
		size_t size = 0;

		rewind(file);
		if (getline(&line, &size, file) > 0)
			free(line);
	}
	if (file)
		fclose(file);
}

SITE void
by_stdio(void)
{
	for (int i = 0; i < CALLS; i++) {
		FILE *file = fopen("/dev/null", "r");

		if (file)
			fclose(file);
	}
}

SITE void
by_directory(void)
{
	for (int i = 0; i < CALLS; i++) {
		DIR *directory = opendir("/");

		if (directory)
			closedir(directory);
	}
}

SITE void
by_realloc(void)
{
	void *block = NULL;

	for (size_t i = 1; i <= CALLS; i++)
		block = realloc(block, 16 * i);
	free(block);
}

/* Each frees its block past the slots; the next one gets the same address. */
SITE void
freed_past(void)
{
	for (int i = 0; i < CALLS; i++) {
		void *block = malloc(200);

		KEEP(block);
		copied_free(block);
	}
}

SITE void
leaked(void)
{
	for (int i = 0; i < CALLS; i++) {
		void *block = malloc(300);

		KEEP(block);
	}
}

static jint JNICALL
get_env(JavaVM *vm, void **env_ret, jint version)
{
	(void)vm, (void)version;
	*env_ret = NULL;
	return JNI_EVERSION;
}

static int
attach(const char *path, char *options)
{
	static struct JNIInvokeInterface_ functions;
	static JavaVM_ vm = {&functions};
	void *library = dlopen(path, RTLD_LAZY);
	jint (*start)(JavaVM * vm, char *options, void *reserved);

	functions.GetEnv = get_env;
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	start = reinterpret_cast<jint (*)(JavaVM *, char *, void *)>(
		dlsym(library, "Agent_OnAttach"));
	return start(&vm, options, NULL);
}

int
main(int argc, char **argv)
{
	void *old[CALLS];

	copied = malloc;
	copied_free = free;
	looked_up = reinterpret_cast<allocate *>(dlsym(RTLD_DEFAULT, "malloc"));
	for (int i = 0; i < CALLS; i++)
		old[i] = malloc(400);
	if (argc < 3 || attach(argv[1], argv[2]))
		return 1;
	for (int i = 0; i < CALLS; i++)
		free(old[i]);
	by_table();
	without_plt();
	by_data();
	by_copy();
	by_dlsym();
	by_new();
	by_libc();
	by_format();
	by_line();
	by_stdio();
	by_directory();
	by_realloc();
	freed_past();
	leaked();
	return 0;
}
