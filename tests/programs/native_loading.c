/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_loading LIBRARY DIRECTORY ROUNDS: several threads load and unload copies of a library
 * that allocates (libvisitor.c), each thread its own copies, so that a name, an address range
 * or both are reused with other contents; other threads allocate meanwhile.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/programs/sites.h"

#define LOADERS 3
#define COPIES 3
#define BLOCKS 5
#define SECONDS 200

TH_SITE(loader_site)
TH_SITE(walker_site)

static const char *library;
static const char *directory;
static int rounds;
static bool stop;
static int good;

static void
copy_library(const char *path)
{
	int from = open(library, O_RDONLY | O_CLOEXEC);
	int to = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
	struct stat status;

	if (from < 0 || to < 0 || fstat(from, &status) ||
		sendfile(to, from, NULL, (size_t)status.st_size) != status.st_size)
		abort();
	close(from);
	close(to);
}

static void
visit(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*site)(int blocks);
	void *found;

	if (!handle)
		abort();
	found = dlsym(handle, "visitor_site");
	memcpy(&site, &found, sizeof(site));
	__atomic_fetch_add(&good, site(BLOCKS), __ATOMIC_RELAXED);
	allocate_and_free(loader_site, BLOCKS, 100);
	dlclose(handle);
}

static void *
load_and_unload(void *number)
{
	char paths[COPIES][4096];

	for (int i = 0; i < COPIES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/copy-%ld-%d.so", directory,
			(long)number, i);
		copy_library(paths[i]);
	}
	for (int i = 0; i < rounds; i++)
		visit(paths[i % COPIES]);
	return NULL;
}

/* Allocates while holding the loader's lock: a capture that takes it would deadlock. */
static int
allocate_in_callback(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)info;
	(void)bytes;
	(void)data;
	allocate_and_free(walker_site, 1, 100);
	return 0;
}

static void *
walk(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		dl_iterate_phdr(allocate_in_callback, NULL);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t loaders[LOADERS];
	pthread_t walker;

	if (argc != 4)
		return 2;
	library = argv[1];
	directory = argv[2];
	rounds = atoi(argv[3]);
	alarm(SECONDS);
	pthread_create(&walker, NULL, walk, NULL);
	for (long i = 0; i < LOADERS; i++)
		pthread_create(&loaders[i], NULL, load_and_unload, (void *)i);
	for (int i = 0; i < LOADERS; i++)
		pthread_join(loaders[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(walker, NULL);
	printf("{\"good\": %d}\n", good);
	print_site(&loader_site_truth);
	return good != LOADERS * rounds * BLOCKS;
}
