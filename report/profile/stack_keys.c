/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/stack_keys.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

void
th_stack_keys_init(struct th_stack_keys *keys)
{
	*keys = (struct th_stack_keys){0};
	th_strings_init(&keys->strings);
	th_array_append(keys, items, (struct th_stack_key){0});
}

void
th_stack_keys_deinit(struct th_stack_keys *keys)
{
	th_strings_deinit(&keys->strings);
	th_id_map_deinit(&keys->ids);
	free(keys->items);
}

void
th_stack_names_init(struct th_stack_names *names, struct th_stack_keys *keys,
	const struct th_path_prefixes *ways)
{
	*names = (struct th_stack_names){.keys = keys, .ways = ways};
}

void
th_stack_names_deinit(struct th_stack_names *names)
{
	free(names->strings);
	free(names->path);
}

/*
 * The name of a function, or "BUILDID+0xOFFSET" of one without: the name of the library may be
 * different in every run.  The caller frees it.
 */
static char *
identity_of(const struct th_frames *frames, uint32_t function)
{
	const char *name = th_frames_function_name(frames, function);
	uint32_t build_id = th_frames_function(frames, function)->build_id;

	if (!build_id || !th_frames_is_nameless(frames, function))
		return th_format_new("%s", name);
	return th_format_new("%s%s", th_frames_string(frames, build_id), strrchr(name, '+'));
}

static uint32_t
name_of(struct th_stack_names *names, uint32_t function)
{
	while (names->strings_count <= function)
		th_array_append(names, strings, 0);
	uint32_t *known = &names->strings[function];
	if (!*known) {
		char *identity = identity_of(names->ways->frames, function);

		*known = th_strings_intern(&names->keys->strings, identity) + 1;
		free(identity);
	}
	return *known - 1;
}

static uint32_t
find_child(struct th_stack_keys *keys, uint32_t parent, uint32_t name)
{
	return th_id_map_enter(&keys->ids, (uint64_t)parent << 32 | name, keys, items,
		       ((struct th_stack_key){parent, name})) +
	       1;
}

/*
 * Fills `path`, leaf first, up to the first Java method: what is above it is the startup code of
 * the VM and its launcher.
 */
static void
collect(struct th_stack_names *names, uint32_t way)
{
	const struct th_frames *frames = names->ways->frames;
	struct th_path_prefix_cursor step = th_path_prefixes_last(names->ways, way);
	size_t launching = SIZE_MAX;
	uint32_t function;

	names->path_count = 0;
	while (th_path_prefixes_step(&step, &function)) {
		th_array_append(names, path, function);
		if (th_frames_function(frames, function)->kind == TH_KIND_JAVA)
			launching = names->path_count;
	}
	if (launching < names->path_count)
		names->path_count = launching;
}

uint32_t
th_stack_names_find(struct th_stack_names *names, uint32_t way)
{
	uint32_t key = 0;

	collect(names, way);
	for (size_t i = names->path_count; i-- > 0;)
		key = find_child(names->keys, key, name_of(names, names->path[i]));
	return key;
}

uint32_t
th_stack_names_find_function(struct th_stack_names *names, uint32_t function)
{
	return find_child(names->keys, 0, name_of(names, function));
}

const char *
th_stack_keys_name(const struct th_stack_keys *keys, uint32_t key)
{
	return th_strings_get(&keys->strings, keys->items[key].name);
}
