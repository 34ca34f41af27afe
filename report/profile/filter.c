/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection and shaping of stacks (filter.h). Results are cached by function for patterns and
 * by group and whole path for shaped paths, so each is computed once.
 */
#include "report/profile/filter.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/profile/sites.h"

#define HIDDEN "[hidden]"

enum match { MATCH_UNKNOWN, MATCH_NO, MATCH_YES };

/* A pattern, and whether each function's name matches it. */
struct name_pattern {
	const struct th_pattern *pattern;
	TH_ARRAY(uint8_t, known); /* enum match by function number */
};

struct th_filter {
	const struct th_options *options;
	struct th_frames *frames;
	struct th_paths *paths;
	uint32_t internal;
	struct name_pattern include;
	struct name_pattern exclude;
	struct name_pattern focus;
	struct name_pattern hide;
	struct th_id_map shaped_ids; /* group << 32 | whole path */
	TH_ARRAY(uint32_t, shaped);
	TH_ARRAY(uint32_t, stack); /* the path under construction, root first */
};

/* Patterns */

static bool
name_matches(const struct th_filter *filter, struct name_pattern *names, uint32_t function)
{
	while (names->known_count <= function)
		th_array_append(names, known, MATCH_UNKNOWN);
	if (names->known[function] == MATCH_UNKNOWN) {
		const char *name = th_frames_function_name(filter->frames, function);

		names->known[function] = th_pattern_matches(names->pattern, name) ? MATCH_YES
										  : MATCH_NO;
	}
	return names->known[function] == MATCH_YES;
}

static bool
frame_matches(const struct th_filter *filter, struct name_pattern *names, uint32_t frame)
{
	return name_matches(filter, names, th_frames_get(filter->frames, frame)->function);
}

/* Index of the root-most frame that matches, or the path's length if none does. */
static uint32_t
first_match(
	const struct th_filter *filter, struct name_pattern *names, const struct th_path *path)
{
	uint32_t i = 0;

	while (i < path->count && !frame_matches(filter, names, path->frames[i]))
		i++;
	return i;
}

static bool
any_matches(
	struct th_filter *filter, struct name_pattern *names, const struct th_subject *subject)
{
	struct th_path path = th_paths_get(filter->paths, subject->path);

	if (subject->is_internal && name_matches(filter, names, filter->internal))
		return true;
	return first_match(filter, names, &path) < path.count;
}

bool
th_filter_selects(struct th_filter *filter, const struct th_subject *subject)
{
	const struct th_options *options = filter->options;

	if (!th_pattern_matches(&options->thread,
		    th_frames_function_name(filter->frames, subject->thread)) ||
		!th_pattern_matches(&options->class_name,
			th_frames_string(filter->frames, subject->class_name)))
		return false;
	if (options->include.is_given && !any_matches(filter, &filter->include, subject))
		return false;
	if (options->focus.is_given && !any_matches(filter, &filter->focus, subject))
		return false;
	return !options->exclude.is_given || !any_matches(filter, &filter->exclude, subject);
}

/* Groups */

/* The file of the allocating code; the C runtime is skipped unless there is nothing else. */
static uint32_t
library_of(struct th_filter *filter, const struct th_path *path)
{
	const char *module = NULL;

	for (uint32_t i = path->count; i-- > 0;) {
		const struct th_function *function = th_frames_function_of(
			filter->frames, path->frames[i]);

		if (function->kind == TH_KIND_JAVA)
			return th_frames_group(filter->frames, "(Java)");
		if (!function->module)
			continue;
		if (!module || !function->is_runtime)
			module = th_frames_string(filter->frames, function->module);
		if (!function->is_runtime)
			break;
	}
	if (!module)
		return th_frames_group(filter->frames, "(unknown)");
	return th_frames_group(filter->frames, th_text_base_name(module));
}

static uint32_t
package_of(struct th_filter *filter, const struct th_path *path)
{
	uint32_t function = th_sites_find_caller(filter->frames, path);

	if (function == TH_SITE_NO_FUNCTION)
		return library_of(filter, path);
	/* "a.b.Class.method" */
	const char *name = th_frames_function_name(filter->frames, function);
	const char *method = strrchr(name, '.');
	const char *class = method ? memrchr(name, '.', (size_t)(method - name)) : NULL;
	if (!class)
		return th_frames_group(filter->frames, "(default package)");
	char *package = th_format_new("%.*s", (int)(class - name), name);
	uint32_t group = th_frames_group(filter->frames, package);
	free(package);
	return group;
}

/* The purpose of mapped memory. */
static uint32_t
mapped_group(struct th_filter *filter, const struct th_subject *subject)
{
	char *name = th_format_new(
		"(mapped: %s)", th_frames_string(filter->frames, subject->class_name));
	uint32_t group = th_frames_group(filter->frames, name);

	free(name);
	return group;
}

static uint32_t
class_of(struct th_filter *filter, const struct th_subject *subject)
{
	if (subject->heap == TH_HEAP_NATIVE)
		return th_frames_group(filter->frames, "(native memory)");
	if (subject->heap == TH_HEAP_MAPPED)
		return mapped_group(filter, subject);
	return th_frames_group(filter->frames,
		subject->class_name ? th_frames_string(filter->frames, subject->class_name)
				    : "(unknown class)");
}

uint32_t
th_filter_group(struct th_filter *filter, enum th_group_by by, const struct th_subject *subject)
{
	struct th_path path = th_paths_get(filter->paths, subject->path);

	switch (by) {
	case TH_GROUP_PACKAGE:
		return package_of(filter, &path);
	case TH_GROUP_LIBRARY:
		return library_of(filter, &path);
	case TH_GROUP_CLASS:
		return class_of(filter, subject);
	default:
		return subject->thread;
	}
}

/* Shapes */

static void
take_frames(struct th_filter *filter, const struct th_subject *subject)
{
	const struct th_options *options = filter->options;
	struct th_path path = th_paths_get(filter->paths, subject->path);
	uint32_t first = 0;

	if (options->focus.is_given)
		first = first_match(filter, &filter->focus, &path);
	if (first == path.count) /* the match is the group of the VM's threads */
		first = 0;
	for (uint32_t i = first; i < path.count; i++) {
		if (!options->hide.is_given ||
			!frame_matches(filter, &filter->hide, path.frames[i]))
			th_array_append(filter, stack, path.frames[i]);
	}
}

static uint32_t
shape(struct th_filter *filter, const struct th_subject *subject, uint32_t group)
{
	filter->stack_count = 0;
	if (group) {
		const char *name = th_frames_function_name(filter->frames, group - 1);
		uint32_t frame = th_frames_special(filter->frames, name, "", TH_KIND_GROUP);

		th_array_append(filter, stack, frame);
	}
	size_t above = filter->stack_count;
	take_frames(filter, subject);
	if (filter->stack_count == above) {
		uint32_t hidden = th_frames_special(filter->frames, HIDDEN, "", TH_KIND_VM);

		th_array_append(filter, stack, hidden);
	}
	return th_paths_intern(filter->paths, filter->stack, (uint32_t)filter->stack_count);
}

uint32_t
th_filter_shape(struct th_filter *filter, const struct th_subject *subject)
{
	enum th_group_by by = filter->options->group_by;

	if (!th_options_shape_stacks(filter->options))
		return subject->path;
	uint32_t group = by ? th_filter_group(filter, by, subject) + 1 : 0;
	uint32_t number = th_id_map_enter(&filter->shaped_ids,
		(uint64_t)group << 32 | subject->path, filter, shaped,
		shape(filter, subject, group));
	return filter->shaped[number];
}

bool
th_filter_shows_thread(const struct th_filter *filter, const struct th_subject *subject)
{
	/* A virtual thread's first frame repeats its label. */
	return !filter->options->focus.is_given && !filter->options->group_by &&
	       !th_paths_get(filter->paths, subject->path).is_virtual;
}

uint32_t
th_filter_below_internal(
	struct th_filter *filter, const struct th_subject *subject, uint32_t path)
{
	struct th_path below = th_paths_get(filter->paths, path);

	if (!subject->is_internal || !th_filter_shows_thread(filter, subject) ||
		(filter->options->hide.is_given &&
			name_matches(filter, &filter->hide, filter->internal)))
		return path;
	filter->stack_count = 0;
	th_array_append(filter, stack,
		th_frames_special(filter->frames,
			th_frames_function_name(filter->frames, filter->internal), "",
			TH_KIND_GROUP));
	for (uint32_t i = 0; i < below.count; i++)
		th_array_append(filter, stack, below.frames[i]);
	return th_paths_intern(filter->paths, filter->stack, (uint32_t)filter->stack_count);
}

/* Public functions */

struct th_filter *
th_filter_create(const struct th_options *options, struct th_frames *frames,
	struct th_paths *paths, uint32_t internal)
{
	struct th_filter *filter = th_allocate(1, sizeof(*filter));

	*filter = (struct th_filter){
		.options = options,
		.frames = frames,
		.paths = paths,
		.internal = internal,
		.include.pattern = &options->include,
		.exclude.pattern = &options->exclude,
		.focus.pattern = &options->focus,
		.hide.pattern = &options->hide,
	};
	return filter;
}

void
th_filter_destroy(struct th_filter *filter)
{
	if (!filter)
		return;
	free(filter->include.known);
	free(filter->exclude.known);
	free(filter->focus.known);
	free(filter->hide.known);
	th_id_map_deinit(&filter->shaped_ids);
	free(filter->shaped);
	free(filter->stack);
	free(filter);
}
