/* SPDX-License-Identifier: Apache-2.0 */
#include "report/symbols/code_sources.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

static bool
has_runtime_name(const char *method)
{
	static const char *const packages[] = {
		"java.", "javax.", "jdk.", "sun.", "com.sun.", NULL};

	return th_text_begins_any(method, packages);
}

/* Locations */

/* "file:/lib/a.jar", "jar:file:/app.jar!/BOOT-INF/lib/a.jar!/" */
static bool
is_jar(const char *location)
{
	size_t length = strlen(location);

	while (length && strchr("!/", location[length - 1]))
		length--;
	return length >= 4 && !memcmp(location + length - 4, ".jar", 4);
}

/* Whether a location is inside of a jar: "jar:file:/app.jar!/classes", "jar:nested:/app.jar/!classes". */
static bool
is_inside(const char *location, const char *jar)
{
	const char *path = strchr(jar, '/');
	const char *found = path ? strstr(location, path) : NULL;
	const char *rest = found ? found + strlen(path) : "";

	return rest[0] == '!' || (rest[0] == '/' && rest[1] == '!');
}

static uint32_t
intern_package(struct th_code_sources *sources, struct th_text package)
{
	char *name = th_text_clean(package);

	for (char *at = name; *at; at++)
		*at = *at == '/' ? '.' : *at;
	uint32_t number = th_strings_intern(sources->strings, name);
	free(name);
	return number;
}

static void
learn(struct th_code_sources *sources, const struct th_decoded_code_source *source)
{
	uint32_t location = th_strings_intern_text(sources->strings, source->location);

	th_id_map_enter(&sources->packages, intern_package(sources, source->package), sources,
		locations, location);
	if (source->flags & TH_CODE_SOURCE_PROGRAM && !sources->program)
		sources->program = location;
}

void
th_code_sources_init(struct th_code_sources *sources, const struct th_recording *recording,
	struct th_strings *strings)
{
	*sources = (struct th_code_sources){.strings = strings};
	for (size_t i = 0; i < recording->code_sources_count; i++)
		learn(sources, &recording->code_sources[i]);
	for (size_t i = 0; i < sources->locations_count && sources->program; i++)
		sources->is_nested |= is_inside(
			th_strings_get(sources->strings, sources->locations[i]),
			th_strings_get(sources->strings, sources->program));
}

/* Methods */

/* The length of the package in "a.b.Class.method", 0: none. */
static size_t
package_length(const char *method)
{
	const char *name = strrchr(method, '.');
	const char *class = name ? memrchr(method, '.', (size_t)(name - method)) : NULL;

	return class ? (size_t)(class - method) : 0;
}

/* The length of the first two parts of a package. */
static size_t
prefix_length(const char *method, size_t package)
{
	const char *first = memchr(method, '.', package);
	size_t rest = first ? package - (size_t)(first + 1 - method) : 0;
	const char *second = first ? memchr(first + 1, '.', rest) : NULL;

	return second ? (size_t)(second - method) : package;
}

/* TH_NO_STRING: the package is not in the log. */
static uint32_t
find_location(const struct th_code_sources *sources, const char *method, size_t package)
{
	char *name = th_format_new("%.*s", (int)package, method);
	uint32_t string = th_strings_find(sources->strings, name);
	uint32_t number = string == TH_NO_STRING ? TH_ID_MAP_NONE
						 : th_id_map_find(&sources->packages, string);

	free(name);
	return number == TH_ID_MAP_NONE ? TH_NO_STRING : sources->locations[number];
}

/* The location is empty if the class has no code source, NULL if its package is not in the log. */
static bool
is_of_runtime(const char *method, const char *location)
{
	return location && location[0] ? th_text_begins(location, "jrt:")
				       : has_runtime_name(method);
}

struct th_code_owner
th_code_sources_owner(struct th_code_sources *sources, const char *method)
{
	size_t package = package_length(method);
	uint32_t number = find_location(sources, method, package);
	const char *location = number == TH_NO_STRING
				       ? NULL
				       : th_strings_get(sources->strings, number);
	bool is_own = number == sources->program && !sources->is_nested;
	struct th_code_owner owner = {.is_runtime = is_of_runtime(method, location)};

	if (!owner.is_runtime)
		owner.is_program = location ? is_own || !is_jar(location)
					    : !sources->locations_count;
	if (!owner.is_runtime && !owner.is_program && location) {
		owner.library = number;
		return owner;
	}
	if (!owner.is_runtime)
		package = prefix_length(method, package);
	owner.library = th_strings_intern_text(
		sources->strings, (struct th_text){method, (uint32_t)package});
	return owner;
}

void
th_code_sources_deinit(struct th_code_sources *sources)
{
	th_id_map_deinit(&sources->packages);
	free(sources->locations);
}
