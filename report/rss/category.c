/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a block is the library that was called from Java, or from the VM, on the path to
 * the allocation, whatever libraries it uses itself (libzip of the JDK, not libz). The C and
 * C++ runtimes do not count as owners.
 */
#include <string.h>

#include "report/base/allocate.h"
#include "report/rss/breakdown.h"

/* The native methods behind ByteBuffer.allocateDirect() and all other Unsafe memory. */
static const char *const unsafe_methods[] = {
	"jdk.internal.misc.Unsafe.", "sun.misc.Unsafe.", NULL};

/* Length of the JDK's own lib directory in the path of libjvm, ".../lib/server/libjvm.so". */
static size_t
jdk_directory(const struct th_recording *recording, const char **path_ret)
{
	static const char tail[] = "/server/libjvm.so";

	for (size_t i = 0; i < recording->modules_count; i++) {
		struct th_text path = recording->modules[i].path;

		if (th_text_ends(path, tail)) {
			*path_ret = path.bytes;
			return path.length - strlen(tail) + 1;
		}
	}
	return 0;
}

static bool
is_of_jdk(const struct th_recording *recording, const char *module)
{
	const char *jdk;
	size_t length = jdk_directory(recording, &jdk);

	return length && !strncmp(module, jdk, length);
}

static enum th_breakdown_kind
kind_of_function(const struct th_profile *profile, uint32_t function)
{
	const struct th_function *owner = th_frames_function(profile->frames, function);
	const char *module = th_frames_string(profile->frames, owner->module);

	return is_of_jdk(profile->recording, module) ? TH_BREAKDOWN_MALLOC_JDK
						     : TH_BREAKDOWN_MALLOC_APPLICATION;
}

/* VM allocations below a method of Unsafe belong to the caller; all others to the VM itself. */
static enum th_breakdown_kind
kind_below(const struct th_profile *profile, const uint32_t *frames, uint32_t count)
{
	if (!count)
		return TH_BREAKDOWN_MALLOC_VM;
	uint32_t caller = th_frames_get(profile->frames, frames[count - 1])->function;
	return th_text_begins_any(
		       th_frames_function_name(profile->frames, caller), unsafe_methods)
		       ? TH_BREAKDOWN_MALLOC_DIRECT
		       : TH_BREAKDOWN_MALLOC_VM;
}

enum th_breakdown_kind
th_breakdown_kind_of(const struct th_profile *profile, const struct th_row *row)
{
	struct th_path path = th_paths_get(profile->paths, row->path);
	enum th_breakdown_kind found = profile->recording->has_jvm
					       ? TH_BREAKDOWN_MALLOC_VM
					       : TH_BREAKDOWN_MALLOC_APPLICATION;
	bool is_found = false;
	uint32_t at = path.count;

	if (row->is_internal)
		return TH_BREAKDOWN_MALLOC_VM;
	while (at-- > 0) {
		uint32_t number = th_frames_get(profile->frames, path.frames[at])->function;

		switch (th_frames_function(profile->frames, number)->kind) {
		case TH_KIND_VM:
			return is_found ? found : kind_below(profile, path.frames, at);
		case TH_KIND_JAVA:
			return is_found ? found : kind_below(profile, path.frames, at + 1);
		case TH_KIND_NATIVE:
			if (th_frames_function(profile->frames, number)->is_runtime)
				break;
			found = kind_of_function(profile, number);
			is_found = true;
			break;
		default:
			break;
		}
	}
	return found;
}

/* Buffers cached by threads */

/* getTemporaryDirectBuffer, and getTemporaryAlignedDirectBuffer for direct I/O. */
static const char temporary_methods[] = "sun.nio.ch.Util.getTemporary";

/* The constructor allocates, whatever code creates the buffer. */
static const char constructor[] = "java.nio.DirectByteBuffer.<init>";

static bool
passes_method(const struct th_profile *profile, const struct th_row *row, const char *start)
{
	struct th_path path = th_paths_get(profile->paths, row->path);

	for (uint32_t i = 0; i < path.count; i++) {
		const struct th_function *function = th_frames_function_of(
			profile->frames, path.frames[i]);
		const char *name = th_frames_string(profile->frames, function->name);

		if (function->kind == TH_KIND_JAVA && th_text_begins(name, start))
			return true;
	}
	return false;
}

bool
th_breakdown_is_cached_buffer(const struct th_profile *profile, const struct th_row *row)
{
	return passes_method(profile, row, temporary_methods);
}

bool
th_breakdown_is_cleaned_buffer(const struct th_profile *profile, const struct th_row *row)
{
	return passes_method(profile, row, constructor) &&
	       !passes_method(profile, row, temporary_methods);
}

/* Mappings of the VM */

/* Every mapping of the VM passes through these, so they do not show its purpose. */
static bool
is_general(const char *name)
{
	static const char *const starts[] = {"os::", "ReservedSpace", "VirtualSpace",
		"MemTracker", "ReservedMemoryRegion", "anon_mmap", "reserve_", "commit_",
		"attempt_reserve", "mmap", "MemoryReserver", "ReservedHeapSpace",
		"CodeMemoryReserver", "0x", NULL};

	return th_text_begins_any(name, starts);
}

/* JDK 11 names only the classes of metaspace, later versions a namespace. */
static enum th_breakdown_kind
kind_of_name(const char *name)
{
	if (strstr(name, "etaspace") || strstr(name, "VirtualSpaceNode::") ||
		strstr(name, "VirtualSpaceList::"))
		return TH_BREAKDOWN_METASPACE;
	if (strstr(name, "CodeCache::") || strstr(name, "CodeHeap::"))
		return TH_BREAKDOWN_CODE_CACHE;
	return TH_BREAKDOWN_VM;
}

enum th_breakdown_kind
th_breakdown_vm_kind(const struct th_profile *profile, uint32_t stack, char **name_ret)
{
	const struct th_recording *recording = profile->recording;
	uint32_t index = th_id_map_find(&recording->stacks_ids, stack);
	enum th_breakdown_kind kind = TH_BREAKDOWN_VM;

	*name_ret = NULL;
	if (!stack || index == TH_ID_MAP_NONE || !recording->stacks[index].stack)
		return kind;
	const struct th_words *words = &recording->stacks[index].frames;
	for (uint32_t i = 0; i < words->count && kind == TH_BREAKDOWN_VM; i++) {
		const uint32_t *frames;
		uint32_t count = th_frames_expand(profile->frames, words->words[i], &frames);
		const struct th_function *function = th_frames_function_of(
			profile->frames, frames[count - 1]);
		const char *name = th_frames_string(profile->frames, function->name);

		if (function->kind != TH_KIND_VM)
			continue;
		kind = kind_of_name(name);
		if (!*name_ret && !is_general(name))
			*name_ret = th_format_new("%s", name);
	}
	return kind;
}
