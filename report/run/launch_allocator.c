/* SPDX-License-Identifier: Apache-2.0 */
#include "report/run/launch_allocator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/run/launch_objects.h"
#include "report/run/launch_options.h"

#if defined(__x86_64__)
#	define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#	define MULTIARCH "aarch64-linux-gnu"
#endif

#define FORWARD_NEW "libtwinheap-new.so"
#define FORWARD_MALLOCX "libtwinheap-mallocx.so"

/* The files that an allocator comes in, the likeliest first. */
struct known {
	const char *name;
	const char *files[5];
};
static const struct known known_allocators[] = {
	{"jemalloc", {"libjemalloc.so.2", "libjemalloc.so", "libjemalloc.so.1"}},
	{"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so",
			     "libtcmalloc.so"}},
	{"mimalloc", {"libmimalloc.so.2", "libmimalloc.so", "libmimalloc.so.1"}},
};

static const char *const directories[] = {"/usr/local/lib/" MULTIARCH, "/usr/local/lib",
	"/usr/lib/" MULTIARCH, "/lib/" MULTIARCH, "/usr/lib64", "/lib64", "/usr/lib", "/lib"};

/* --- the one that was asked for ------------------------------------------------------------- */

static bool
find_file(const char *file, char path_ret[PATH_MAX])
{
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		int length = snprintf(path_ret, PATH_MAX, "%s/%s", directories[i], file);

		if (length < PATH_MAX && access(path_ret, R_OK) == 0)
			return true;
	}
	return false;
}

static bool
find_known(const struct known *known, char path_ret[PATH_MAX])
{
	for (const char *const *file = known->files; *file != NULL; file++) {
		if (find_file(*file, path_ret))
			return true;
	}
	return false;
}

bool
th_launch_allocator_find(
	const char *name, char path_ret[PATH_MAX], char *reason_ret, size_t reason_bytes)
{
	for (size_t i = 0; i < sizeof(known_allocators) / sizeof(*known_allocators); i++) {
		const struct known *known = &known_allocators[i];

		if (strcmp(name, known->name) != 0)
			continue;
		if (find_known(known, path_ret))
			return true;
		snprintf(reason_ret, reason_bytes,
			"--allocator %s: it is not installed (there is no %s)", name,
			known->files[0]);
		return false;
	}
	if (strchr(name, '/') != NULL ? access(name, R_OK) == 0 && realpath(name, path_ret)
				      : find_file(name, path_ret))
		return true;
	snprintf(reason_ret, reason_bytes,
		"--allocator %s: neither jemalloc, tcmalloc, mimalloc nor a library that can "
		"be "
		"read",
		name);
	return false;
}

/* --- the one that is underneath ------------------------------------------------------------- */

enum symbol { MALLOC, OPERATOR_NEW, MALLOCX, SYMBOLS };
static const char *const symbols[SYMBOLS] = {"malloc", "_Znwm", "mallocx"};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool
begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Whether a list of preloads, separated by blanks or colons, names a file, by whatever path. */
static bool
is_named(const char *list, const char *file)
{
	while (*list != '\0') {
		size_t length = strcspn(list, " :");
		const char *entry = list;

		for (size_t i = 0; i < length; i++)
			entry = list[i] == '/' ? list + i + 1 : entry;
		if ((size_t)(list + length - entry) == strlen(file) && begins_with(entry, file))
			return true;
		list += length + (list[length] != '\0');
	}
	return false;
}

/*
 * The first of the objects, in the order of lookup, whose malloc is neither ours nor libc's, and
 * what else it defines; NULL: none.
 */
static const char *
find_underneath(const struct th_launch_objects *objects, bool defined_ret[SYMBOLS])
{
	for (size_t i = 0; i < objects->count; i++) {
		const char *name = base_name(objects->paths[i]);

		if (begins_with(name, "libtwinheap"))
			continue;
		if (begins_with(name, "libc.so.") || begins_with(name, "ld-linux"))
			continue;
		th_launch_objects_define(objects->paths[i], symbols, SYMBOLS, defined_ret);
		if (defined_ret[MALLOC])
			return objects->paths[i];
	}
	memset(defined_ret, 0, SYMBOLS * sizeof(*defined_ret));
	return NULL;
}

/* Appends ":DIRECTORY/NAME", the directory being that of `library`. */
static void
add_beside(FILE *file, const char *library, const char *name)
{
	char path[PATH_MAX];
	int directory = (int)(base_name(library) - library);

	if (snprintf(path, sizeof(path), "%.*s%s", directory, library, name) >= PATH_MAX)
		return;
	if (access(path, R_OK) == 0)
		fprintf(file, ":%s", path);
	else
		th_launch_say(0, "there is no %s: a part of the C heap goes unseen", path);
}

static void
write_preload(FILE *file, const char *library, const char *further, const bool *defined,
	bool is_inherited)
{
	fputs(library, file);
	if (defined[OPERATOR_NEW])
		add_beside(file, library, FORWARD_NEW);
	/* Children have it too, where it would stand for an allocator that only this program has. */
	if (defined[MALLOCX] && is_inherited)
		add_beside(file, library, FORWARD_MALLOCX);
	if (*further != '\0')
		fprintf(file, ":%s", further);
}

char *
th_launch_allocator_preload(
	const char *program, const char *library, const char *allocator, const char *before)
{
	bool has_both = *allocator != '\0' && *before != '\0';
	bool defined[SYMBOLS];
	struct th_launch_objects objects;
	char *further, *value = NULL;
	size_t bytes;
	FILE *file;

	if (asprintf(&further, "%s%s%s", allocator, has_both ? ":" : "", before) < 0)
		return NULL;
	th_launch_objects_list(program, further, &objects);
	const char *underneath = find_underneath(&objects, defined);
	if (underneath == NULL && *allocator != '\0') {
		/* The linker did not tell; it will load this one at least. */
		th_launch_objects_define(allocator, symbols, SYMBOLS, defined);
		underneath = allocator;
	}
	bool is_inherited = underneath != NULL && is_named(further, base_name(underneath));
	file = open_memstream(&value, &bytes);
	if (file != NULL) {
		write_preload(file, library, further, defined, is_inherited);
		fclose(file);
	}
	th_launch_objects_deinit(&objects);
	free(further);
	return value;
}
