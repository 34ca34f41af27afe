/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads maps or smaps into one entry per mapping, in ascending order.  Paths are stored once for
 * consecutive mappings, in one buffer of bounded size.
 */
#include "unify/resident/address_space.h"

#include <string.h>
#include <unistd.h>

#include "unify/base/align.h"
#include "unify/base/memory.h"
#include "unify/base/observed.h"
#include "unify/log/module_elf.h"
#include "unify/shared/bisect.h"

/*
 * Some 100 objects with paths of 100 bytes are usual; the rest is for programs that map many
 * files.
 */
#define PATHS_BYTES (4u << 20)
#define BUFFER_BYTES (64u << 10)
#define SEGMENTS_MAX 32

bool
th_address_space_init(struct th_address_space *space)
{
	*space = (struct th_address_space){
		.entries = th_memory_map(TH_MAPPINGS_MAX * sizeof(*space->entries)),
		.paths = th_memory_map(PATHS_BYTES),
		.buffer = th_memory_map(BUFFER_BYTES),
	};
	return space->entries && space->paths && space->buffer;
}

/* Most mappings have the path of the previous one, or none (0). */
static uint32_t
keep_path(struct th_address_space *space, const char *path)
{
	uint32_t last = space->count ? space->entries[space->count - 1].path : 0;
	size_t bytes = strlen(path) + 1;

	if (bytes == 1)
		return 0;
	if (!strcmp(space->paths + last, path))
		return last;
	if (bytes > PATHS_BYTES - space->paths_used) {
		space->is_truncated = true;
		return 0;
	}
	uint32_t at = space->paths_used;
	memcpy(space->paths + at, path, bytes);
	space->paths_used += (uint32_t)bytes;
	return at;
}

static bool
add(const struct th_smaps_entry *found, void *data)
{
	struct th_address_space *space = data;

	space->resident += found->resident;
	space->swapped += found->swapped;
	if (space->count == TH_MAPPINGS_MAX) {
		space->is_truncated = true;
		return true;
	}
	struct th_address_space_entry entry = {
		.start = found->start,
		.end = found->end,
		.resident = found->resident,
		.swapped = found->swapped,
		.path = keep_path(space, found->path),
		.is_writable = found->is_writable,
		.is_accessible = found->is_accessible,
		.is_shared = found->is_shared,
		.has_file = found->has_file,
		.is_image = found->has_file && !found->offset && found->is_readable &&
			    !found->is_shared,
	};
	space->entries[space->count++] = entry;
	return true;
}

static bool
read_file(struct th_address_space *space, const char *name)
{
	char path[TH_OBSERVED_PATH_MAX];

	space->count = 0;
	space->is_truncated = false;
	space->resident = 0;
	space->swapped = 0;
	space->paths[0] = '\0';
	space->paths_used = 1;
	return th_smaps_read(
		th_observed_path(name, path), space->buffer, BUFFER_BYTES, add, space);
}

/* The end of the last mapping that is not the kernel's, as [vsyscall] is; 0: there is none. */
static uintptr_t
find_end(const struct th_address_space *space)
{
	size_t count = th_bisect(space->count, i, space->entries[i].end <= INTPTR_MAX);

	return count ? space->entries[count - 1].end : 0;
}

static bool
add_resident(struct th_address_space *space, struct th_page_map *pages)
{
	uintptr_t end = find_end(space);

	if (!end || space->is_truncated ||
		!th_page_map_scan(pages, space->entries[0].start, end))
		return false;
	for (uint32_t i = 0; i < space->count; i++) {
		struct th_address_space_entry *entry = &space->entries[i];

		entry->resident = th_page_map_use(pages, entry->start, entry->end).resident;
		space->resident += entry->resident;
	}
	return true;
}

bool
th_address_space_read(struct th_address_space *space, struct th_page_map *pages)
{
	return (read_file(space, "maps") && add_resident(space, pages)) ||
	       read_file(space, "smaps");
}

const struct th_address_space_entry *
th_address_space_find(const struct th_address_space *space, uintptr_t address)
{
	const struct th_address_space_entry *entries = space->entries;
	size_t first = th_bisect(space->count, i, entries[i].end <= address);

	return first < space->count && entries[first].start <= address ? &entries[first] : NULL;
}

uintptr_t
th_address_space_image_end(const struct th_address_space_entry *entry)
{
	ElfW(Phdr) headers[SEGMENTS_MAX];
	struct th_elf elf = {0};
	uintptr_t low, high;
	uint64_t bytes;

	if (entry->is_image)
		elf = th_elf_copy(entry->start, headers, SEGMENTS_MAX);
	th_elf_range(&elf, &low, &high);
	if (high <= low)
		return entry->end;
	/* The first mapping starts at a page boundary. */
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	bytes = th_align_up(high - th_align_down(low, page), page);
	return bytes > entry->end - entry->start ? entry->start + bytes : entry->end;
}
