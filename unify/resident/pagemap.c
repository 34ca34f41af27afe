/* SPDX-License-Identifier: Apache-2.0 */
/* Documentation/admin-guide/mm/pagemap.rst: bit 63 page present, bit 62 page swapped. */
#include "unify/resident/pagemap.h"

#include <errno.h>
#include <unistd.h>

#include "unify/base/observed.h"
#include "unify/base/system.h"

#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

bool
th_page_map_open(struct th_page_map *map)
{
	char path[TH_OBSERVED_PATH_MAX];
	int saved_errno = errno;

	map->descriptor = th_system_open(
		th_observed_path("pagemap", path), O_RDONLY | O_CLOEXEC, 0);
	map->page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	map->count = 0;
	errno = saved_errno;
	return map->descriptor >= 0;
}

void
th_page_map_close(struct th_page_map *map)
{
	if (map->descriptor >= 0)
		th_system_close(map->descriptor);
	map->descriptor = -1;
}

/* Loads the entry of `page` into the cache; at most `wanted` pages are read. */
static bool
load(struct th_page_map *map, uintptr_t page, uintptr_t wanted)
{
	size_t count = wanted < TH_PAGE_MAP_ENTRIES ? wanted : TH_PAGE_MAP_ENTRIES;
	ssize_t got;

	if (page - map->first < map->count)
		return true;
	got = th_system_pread(map->descriptor, map->entries, count * sizeof(uint64_t),
		(off_t)(page * sizeof(uint64_t)));
	map->first = page;
	map->count = got < 0 ? 0 : (size_t)got / sizeof(uint64_t);
	return map->count > 0;
}

struct th_page_use
th_page_map_use(struct th_page_map *map, uintptr_t start, uintptr_t end)
{
	struct th_page_use use = {0, 0};
	int saved_errno = errno;

	while (map->descriptor >= 0 && start < end) {
		uintptr_t page = start / map->page_bytes;
		uintptr_t last = (end - 1) / map->page_bytes;
		uintptr_t next = (page + 1) * map->page_bytes;

		if (!load(map, page, last - page + 1))
			break;
		uintptr_t bytes = (next < end ? next : end) - start;
		uint64_t entry = map->entries[page - map->first];
		if (entry & PRESENT)
			use.resident += bytes;
		else if (entry & SWAPPED)
			use.swapped += bytes;
		start += bytes;
	}
	errno = saved_errno;
	return use;
}
