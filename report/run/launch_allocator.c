/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD is the library, the forwarding libraries that the allocator needs, the requested
 * allocator, and the previous value.  The underlying allocator is found in the dynamic linker's
 * list of objects; the program is not run.
 */
#include "report/run/launch_allocator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"
#include "report/run/launch_objects.h"
#include "report/run/launch_target.h"

#define FORWARD_NEW "libtwinheap-new.so"
#define FORWARD_MALLOCX "libtwinheap-mallocx.so"

/* File names of an allocator, the most likely first. */
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

static const char *const directories[] = {"/usr/local/lib/" TH_LAUNCH_MULTIARCH,
	"/usr/local/lib", "/usr/lib/" TH_LAUNCH_MULTIARCH, "/lib/" TH_LAUNCH_MULTIARCH,
	"/usr/lib64", "/lib64", "/usr/lib", "/lib"};

/* The requested allocator */

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

struct th_error *
th_launch_allocator_find(const char *name, char path_ret[PATH_MAX])
{
	for (size_t i = 0; i < sizeof(known_allocators) / sizeof(*known_allocators); i++) {
		const struct known *known = &known_allocators[i];

		if (strcmp(name, known->name) != 0)
			continue;
		return find_known(known, path_ret)
			       ? NULL
			       : th_error_create(TH_ERROR_USAGE,
					 "--allocator %s: it is not installed (there is no %s)",
					 name, known->files[0]);
	}
	if (strchr(name, '/') ? access(name, R_OK) == 0 && realpath(name, path_ret)
			      : find_file(name, path_ret))
		return NULL;
	return th_error_create(TH_ERROR_USAGE,
		"--allocator %s: neither jemalloc, tcmalloc, mimalloc nor a library that can "
		"be read",
		name);
}

/* The underlying allocator */

enum symbol { MALLOC, OPERATOR_NEW, MALLOCX, SYMBOLS };
static const char *const symbols[SYMBOLS] = {"malloc", "_Znwm", "mallocx"};

/* Whether a list of preloads, separated by spaces or colons, contains a file, by any path. */
static bool
is_named(const char *list, const char *file)
{
	while (*list != '\0') {
		size_t length = strcspn(list, " :");
		const char *entry = list;

		for (size_t i = 0; i < length; i++)
			entry = list[i] == '/' ? list + i + 1 : entry;
		if ((size_t)(list + length - entry) == strlen(file) &&
			th_text_begins(entry, file))
			return true;
		list += length + (list[length] != '\0');
	}
	return false;
}

/*
 * The first object in lookup order whose malloc is neither ours nor libc's, and which of the
 * symbols it defines; NULL: none.
 */
static const char *
find_underneath(const struct th_launch_objects *objects, bool defined_ret[SYMBOLS])
{
	for (size_t i = 0; i < objects->paths_count; i++) {
		const char *name = th_text_base_name(objects->paths[i]);

		if (th_text_begins(name, "libtwinheap"))
			continue;
		if (th_text_begins(name, "libc.so.") || th_text_begins(name, "ld-linux"))
			continue;
		th_launch_objects_define(objects->paths[i], symbols, SYMBOLS, defined_ret);
		if (defined_ret[MALLOC])
			return objects->paths[i];
	}
	memset(defined_ret, 0, SYMBOLS * sizeof(*defined_ret));
	return NULL;
}

/* Appends ":DIRECTORY/NAME" to a list; DIRECTORY is that of `library`. */
static char *
add_beside(char *list, const char *library, const char *name)
{
	int directory = (int)(th_text_base_name(library) - library);
	char *path = th_format_new("%.*s%s", directory, library, name);

	if (access(path, R_OK) == 0) {
		char *longer = th_format_new("%s:%s", list, path);

		free(list);
		list = longer;
	} else {
		th_notice("%s is missing: part of the C heap is not recorded", path);
	}
	free(path);
	return list;
}

char *
th_launch_allocator_preload(
	const char *program, const char *library, const char *allocator, const char *before)
{
	bool defined[SYMBOLS];
	struct th_launch_objects objects;
	char *further = th_format_new(
		"%s%s%s", allocator, *allocator && *before ? ":" : "", before);
	char *list = th_format_new("%s", library);

	th_launch_objects_list(program, further, &objects);
	const char *underneath = find_underneath(&objects, defined);
	if (!underneath && *allocator) {
		/* No list from the dynamic linker; it will load at least this one. */
		th_launch_objects_define(allocator, symbols, SYMBOLS, defined);
		underneath = allocator;
	}
	if (defined[OPERATOR_NEW])
		list = add_beside(list, library, FORWARD_NEW);
	/*
	 * Children inherit the list, where it would suggest an allocator that only this program
	 * has.
	 */
	if (defined[MALLOCX] && underneath && is_named(further, th_text_base_name(underneath)))
		list = add_beside(list, library, FORWARD_MALLOCX);
	char *value = th_format_new("%s%s%s", list, *further ? ":" : "", further);
	th_launch_objects_deinit(&objects);
	free(further);
	free(list);
	return value;
}
