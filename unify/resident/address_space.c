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
#include "unify/base/proc_file.h"
#include "unify/base/system.h"
#include "unify/log/module_elf.h"
#include "unify/shared/bisect.h"

/*
 * Some 100 objects with paths of 100 bytes are usual; the rest is for programs that map many
 * files.
 */
#define PATHS_BYTES (4u << 20)
#define BUFFER_BYTES (64u << 10)
#define SEGMENTS_MAX 32
#define KIB 1024u

bool
th_address_space_init(struct th_address_space *space)
{
	*space = (struct th_address_space){
		.entries = th_memory_map((TH_MAPPINGS_MAX + 1) * sizeof(*space->entries)),
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

/* Head lines: START-END rwxp OFFSET MAJOR:MINOR INODE      PATH */

static bool
skip_char(const char **text, char c)
{
	bool is_there = **text == c;

	*text += is_there;
	return is_there;
}

static bool
read_range(struct th_address_space_entry *entry, const char **at)
{
	uint64_t start, end;

	if (!th_proc_number(at, 16, &start) || !skip_char(at, '-') ||
		!th_proc_number(at, 16, &end) || !skip_char(at, ' ') || start >= end)
		return false;
	entry->start = start;
	entry->end = end;
	return strlen(*at) >= 5;
}

/* What follows the range. */
static bool
read_kind(struct th_address_space_entry *entry, const char **at)
{
	const char *access = *at;
	uint64_t offset, device, inode;

	*at += 4;
	if (!th_proc_number(at, 16, &offset) || !th_proc_number(at, 16, &device) ||
		!skip_char(at, ':') || !th_proc_number(at, 16, &device) ||
		!th_proc_number(at, 10, &inode))
		return false;
	entry->is_writable = access[1] == 'w';
	entry->is_accessible = memcmp(access, "---", 3) != 0;
	entry->is_shared = access[3] == 's';
	entry->has_file = inode != 0;
	entry->is_image = inode && !offset && access[0] == 'r' && !entry->is_shared;
	return true;
}

static bool
read_head(struct th_address_space *space, const char *at)
{
	struct th_address_space_entry entry = {0};

	if (!read_range(&entry, &at) || !read_kind(&entry, &at))
		return false;
	while (*at == ' ')
		at++;
	size_t length = strlen(at);
	if (length >= TH_MAPPING_PATH_MAX)
		at += length - TH_MAPPING_PATH_MAX + 1;
	entry.path = keep_path(space, at);
	space->last = &space->entries[space->count];
	*space->last = entry;
	if (space->count < TH_MAPPINGS_MAX)
		space->count++;
	else
		space->is_truncated = true;
	return true;
}

/* Key lines of the last mapping: "Key:  N kB" */

static bool
read_key(const char *line, const char *key, uint64_t *bytes_ret)
{
	size_t length = strlen(key);
	const char *rest = line + length;

	if (strncmp(line, key, length) != 0 || !th_proc_number(&rest, 10, bytes_ret))
		return false;
	*bytes_ret *= KIB;
	return true;
}

static void
take_key(struct th_address_space *space)
{
	uint64_t bytes;

	if (read_key(space->line, "Rss:", &bytes)) {
		space->last->resident += bytes;
		space->resident += bytes;
	} else if (read_key(space->line, "Swap:", &bytes)) {
		space->last->swapped += bytes;
		space->swapped += bytes;
	}
}

/* Keys begin with a capital letter, head lines with a hexadecimal digit in lower case. */
static void
take_line(struct th_address_space *space)
{
	space->line[space->line_length] = '\0';
	space->line_length = 0;
	if (space->line[0] < 'A' || space->line[0] > 'Z')
		space->is_malformed = !read_head(space, space->line);
	else if (space->last)
		take_key(space);
}

void
th_address_space_feed(struct th_address_space *space, const char *text, size_t length)
{
	for (size_t i = 0; i < length && !space->is_malformed; i++) {
		if (text[i] == '\n')
			take_line(space);
		else if (space->line_length < sizeof(space->line) - 1)
			space->line[space->line_length++] = text[i];
	}
}

void
th_address_space_begin(struct th_address_space *space)
{
	space->count = 0;
	space->is_truncated = space->is_malformed = false;
	space->resident = space->swapped = 0;
	space->paths[0] = '\0';
	space->paths_used = 1;
	space->line_length = 0;
	space->last = NULL;
}

bool
th_address_space_end(const struct th_address_space *space)
{
	return !space->is_malformed && !space->line_length;
}

bool
th_address_space_read_file(struct th_address_space *space, const char *name)
{
	char path[TH_OBSERVED_PATH_MAX];
	int descriptor = th_system_open(th_observed_path(name, path), O_RDONLY | O_CLOEXEC, 0);
	ssize_t got;

	th_address_space_begin(space);
	while (descriptor >= 0 &&
		(got = th_system_read(descriptor, space->buffer, BUFFER_BYTES)) > 0)
		th_address_space_feed(space, space->buffer, (size_t)got);
	if (descriptor >= 0)
		th_system_close(descriptor);
	return space->count && th_address_space_end(space);
}

/* Reading both */

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
	return (th_address_space_read_file(space, "maps") && add_resident(space, pages)) ||
	       th_address_space_read_file(space, "smaps");
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
