/* SPDX-License-Identifier: Apache-2.0 */
/* A stack is built leaf first, shortened in place, and stored root first. */
#include "report/symbols/call_paths.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"
#include "report/base/id_map.h"

struct path {
	size_t start; /* in `path_frames` */
	uint32_t count;
	bool is_virtual;
};

struct th_paths {
	const struct th_recording *recording;
	struct th_frames *frames;
	bool all_vm_frames;
	struct th_id_map path_ids; /* hash of the frames, stepped on collision */
	TH_ARRAY(struct path, paths);
	TH_ARRAY(uint32_t, path_frames); /* root first */
	TH_ARRAY(uint32_t, stack);       /* the current stack, leaf first */
	uint32_t *resolved[TH_HEAPS];    /* by stack index: number of its path plus one */
};

/* Shortening; `stack` is leaf first. */

static const char *
name_of(const struct th_paths *paths, uint32_t frame)
{
	const struct th_function *function = th_frames_function_of(paths->frames, frame);

	return th_frames_string(paths->frames, function->name);
}

static bool
is_kind(const struct th_paths *paths, uint32_t frame, enum th_function_kind kind)
{
	return th_frames_kind(paths->frames, frame) == kind;
}

/* A name of the C library without the prefixes of its internal aliases. */
static const char *
public_name(const char *name)
{
	static const char *const prefixes[] = {"__GI_", "__libc_"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], length))
			name += length;
	}
	return name;
}

static bool
is_allocation_function(const struct th_paths *paths, uint32_t frame)
{
	static const char *const names[] = {"malloc", "calloc", "realloc", "reallocarray",
		"posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
		"operator new", "operator new[]"};

	if (is_kind(paths, frame, TH_KIND_JAVA))
		return false;
	const char *name = public_name(name_of(paths, frame));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static bool
is_jni_function(const struct th_paths *paths, uint32_t frame)
{
	if (!is_kind(paths, frame, TH_KIND_VM))
		return false;
	const char *name = name_of(paths, frame);
	return th_text_begins(name, "jni_") || th_text_begins(name, "JNI_");
}

/* End of the run of VM frames at `start`. */
static size_t
vm_run_end(const struct th_paths *paths, size_t start)
{
	size_t end = start;

	while (end < paths->stack_count && is_kind(paths, paths->stack[end], TH_KIND_VM))
		end++;
	return end;
}

static void
remove_leaves(struct th_paths *paths, size_t count)
{
	if (!count)
		return;
	paths->stack_count -= count;
	memmove(paths->stack, paths->stack + count, paths->stack_count * sizeof(*paths->stack));
}

/* Keeps at least one frame, so that the allocation has a site. */
static void
drop_allocation_functions(struct th_paths *paths)
{
	size_t count = 0;

	while (count + 1 < paths->stack_count &&
		is_allocation_function(paths, paths->stack[count]))
		count++;
	remove_leaves(paths, count);
}

/*
 * Drops the frames between the allocation and the sample; only the called JNI function is kept.
 */
static void
drop_event_posting(struct th_paths *paths)
{
	size_t end = vm_run_end(paths, 0);
	size_t kept = end;

	if (end == paths->stack_count)
		return;
	for (size_t i = 0; i < end; i++) {
		if (is_jni_function(paths, paths->stack[i]))
			kept = i;
	}
	if (kept < end) {
		paths->stack[end - 1] = paths->stack[kept];
		end--;
	}
	remove_leaves(paths, end);
}

/* The outermost JNI function of the run [start, end), or its first entry. */
static uint32_t
find_entry(const struct th_paths *paths, size_t start, size_t end)
{
	for (size_t i = end; i-- > start;) {
		if (is_jni_function(paths, paths->stack[i]))
			return paths->stack[i];
	}
	return paths->stack[end - 1];
}

/* The frame that replaces the run [start, end). */
static uint32_t
fold(struct th_paths *paths, size_t start, size_t end)
{
	uint32_t entry = find_entry(paths, start, end);
	uint32_t module = th_frames_function_of(paths->frames, entry)->module;
	char *name = th_format_new("[jvm] %s", name_of(paths, entry));
	uint32_t folded = th_frames_special(
		paths->frames, name, th_frames_string(paths->frames, module), TH_KIND_VM);

	free(name);
	return folded;
}

static void
fold_vm_runs(struct th_paths *paths)
{
	size_t kept = 0;

	for (size_t i = 0; i < paths->stack_count;) {
		size_t end = vm_run_end(paths, i);

		if (end > i + 1) {
			paths->stack[kept++] = fold(paths, i, end);
			i = end;
		} else {
			paths->stack[kept++] = paths->stack[i++];
		}
	}
	paths->stack_count = kept;
}

/* Whole stacks */

static void
push_special(struct th_paths *paths, const char *name)
{
	uint32_t frame = th_frames_special(paths->frames, name, "", TH_KIND_VM);

	th_array_append(paths, stack, frame);
}

/* Sets the current stack to the frames of these words. */
static void
read_words(struct th_paths *paths, const struct th_words *words)
{
	for (uint32_t i = 0; i < words->count; i++) {
		const uint32_t *frames;
		uint32_t count = th_frames_expand(paths->frames, words->words[i], &frames);

		for (uint32_t k = 0; k < count; k++)
			th_array_append(paths, stack, frames[k]);
	}
}

static uint64_t
hash_stack(const struct th_paths *paths)
{
	uint64_t hash = paths->stack_count;

	for (size_t i = 0; i < paths->stack_count; i++)
		hash = th_hash_word(hash ^ paths->stack[i]);
	return hash;
}

static bool
is_path(const struct th_paths *paths, uint32_t number)
{
	const struct path *path = &paths->paths[number];
	const uint32_t *frames = &paths->path_frames[path->start];

	if (path->count != paths->stack_count)
		return false;
	for (uint32_t i = 0; i < path->count; i++) {
		if (frames[i] != paths->stack[path->count - 1 - i])
			return false;
	}
	return true;
}

/* Appends the current stack to `path_frames`. */
static void
append_stack(struct th_paths *paths)
{
	size_t count = paths->stack_count;

	while (paths->path_frames_capacity - paths->path_frames_count < count)
		paths->path_frames = th_array_grow(paths->path_frames,
			paths->path_frames_capacity, &paths->path_frames_capacity,
			sizeof(*paths->path_frames));
	for (size_t i = 0; i < count; i++)
		paths->path_frames[paths->path_frames_count + i] = paths->stack[count - 1 - i];
	paths->path_frames_count += count;
}

/* The number of the path of the current stack. */
static uint32_t
intern_path(struct th_paths *paths, bool is_virtual)
{
	struct path path = {paths->path_frames_count, (uint32_t)paths->stack_count, is_virtual};

	for (uint64_t hash = hash_stack(paths);; hash++) {
		bool added;
		uint32_t number = th_id_map_intern(&paths->path_ids, hash, &added);

		if (added) {
			append_stack(paths);
			th_array_append(paths, paths, path);
			return number;
		}
		if (is_path(paths, number))
			return number;
	}
}

static uint32_t
resolve(struct th_paths *paths, uint32_t stack, enum th_heap heap)
{
	const struct th_decoded_stack *info = &paths->recording->stacks[stack];
	struct th_words words = info->frames;
	/* The marker at the root end is no frame. */
	bool is_virtual = words.count && words.words[words.count - 1] ==
						 th_frame_marker(TH_MARKER_VIRTUAL_THREAD);

	paths->stack_count = 0;
	if (!info->stack) {
		push_special(paths, "[lost stack]");
		return intern_path(paths, false);
	}
	words.count -= is_virtual;
	read_words(paths, &words);
	if (heap != TH_HEAP_JAVA)
		drop_allocation_functions(paths);
	if (!paths->all_vm_frames) {
		if (heap == TH_HEAP_JAVA)
			drop_event_posting(paths);
		fold_vm_runs(paths);
	}
	if (!paths->stack_count)
		push_special(paths, "[no frames]");
	if (info->flags & TH_STACK_TRUNCATED)
		push_special(paths, "[deeper frames cut]");
	if (is_virtual)
		push_special(paths, "[virtual thread]");
	return intern_path(paths, is_virtual);
}

uint32_t
th_paths_resolve(struct th_paths *paths, uint32_t stack, enum th_heap heap)
{
	uint32_t *resolved = &paths->resolved[heap][stack];

	if (!*resolved)
		*resolved = resolve(paths, stack, heap) + 1;
	return *resolved - 1;
}

uint32_t
th_paths_intern(struct th_paths *paths, const uint32_t *frames, uint32_t count)
{
	paths->stack_count = 0;
	for (uint32_t i = count; i-- > 0;)
		th_array_append(paths, stack, frames[i]);
	return intern_path(paths, false);
}

uint32_t
th_path_last_java(const struct th_frames *frames, const struct th_path *path)
{
	for (uint32_t i = path->count; i-- > 0;)
		if (th_frames_kind(frames, path->frames[i]) == TH_KIND_JAVA)
			return i;
	return path->count;
}

/* Public functions */

struct th_paths *
th_paths_create(
	const struct th_recording *recording, struct th_frames *frames, bool all_vm_frames)
{
	struct th_paths *paths = th_allocate(1, sizeof(*paths));

	paths->recording = recording;
	paths->frames = frames;
	paths->all_vm_frames = all_vm_frames;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		paths->resolved[heap] = th_allocate(recording->stacks_count, sizeof(uint32_t));
	return paths;
}

void
th_paths_destroy(struct th_paths *paths)
{
	if (!paths)
		return;
	th_id_map_deinit(&paths->path_ids);
	free(paths->paths);
	free(paths->path_frames);
	free(paths->stack);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		free(paths->resolved[heap]);
	free(paths);
}

struct th_path
th_paths_get(const struct th_paths *paths, uint32_t path)
{
	const struct path *found = &paths->paths[path];

	return (struct th_path){
		.frames = &paths->path_frames[found->start],
		.count = found->count,
		.is_virtual = found->is_virtual,
	};
}
