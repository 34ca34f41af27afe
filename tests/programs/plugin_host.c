/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_host local|deepbind [none]: a C program that loads a C++ library by dlopen, into a
 * separate scope or so that it prefers its own definitions.  Each frees blocks of the other.
 * Prints on stdout the bytes that pass through interposable functions, as one JSON object; the
 * exit status is 0 if all blocks kept their contents.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 2000

static uint64_t objects;
static uint64_t bytes;
static int status;

struct plugin {
	void *(*malloc)(size_t size);
	void (*free)(void *block);
	void *(*new)(size_t size);
	void (*delete)(void *block);
	int (*is_refused)(void);
};

static void *
find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

/* In the directory of this program. */
static void
load(int flags, struct plugin *ret)
{
	char path[PATH_MAX] = "";
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);
	void *library;

	if (length > 0)
		path[length] = '\0';
	strcpy(strrchr(path, '/'), "/libplugin.so");
	library = dlopen(path, RTLD_NOW | flags);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&ret->malloc = find(library, "plugin_malloc");
	*(void **)&ret->free = find(library, "plugin_free");
	*(void **)&ret->new = find(library, "plugin_new");
	*(void **)&ret->delete = find(library, "plugin_delete");
	*(void **)&ret->is_refused = find(library, "plugin_is_refused");
}

static void *
fill(void *block, size_t size, int is_counted)
{
	memset(block, 0x5a, size);
	objects += is_counted;
	bytes += is_counted ? size : 0;
	return block;
}

static void *
check(char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		status |= block[i] != 0x5a;
	return block;
}

static void
exchange(const struct plugin *plugin, int is_seen)
{
	void *blocks[BLOCKS][4];

	for (size_t i = 0; i < BLOCKS; i++) {
		size_t size = 1 + i % 700;

		blocks[i][0] = fill(malloc(size), size, 1);
		blocks[i][1] = fill(malloc(size), size, 1);
		blocks[i][2] = fill(plugin->malloc(size), size, is_seen);
		blocks[i][3] = fill(plugin->new (size), size, is_seen);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		size_t size = 1 + i % 700;

		free(check(blocks[i][0], size));
		plugin->free(check(blocks[i][1], size));
		free(check(blocks[i][2], size));
		plugin->delete (check(blocks[i][3], size));
	}
}

int
main(int argc, char **argv)
{
	int is_deep = argc > 1 && !strcmp(argv[1], "deepbind");
	struct plugin plugin;

	load(is_deep ? RTLD_DEEPBIND : RTLD_LOCAL, &plugin);
	status |= plugin.is_refused();
	if (argc < 3)
		exchange(&plugin, !is_deep);
	printf("{\"objects\": %llu, \"bytes\": %llu}\n", (unsigned long long)objects,
		(unsigned long long)bytes);
	return status;
}
