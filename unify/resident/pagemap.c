/* SPDX-License-Identifier: Apache-2.0 */
/* Documentation/admin-guide/mm/pagemap.rst: bit 63 page present, bit 62 page swapped. */
#include "unify/resident/pagemap.h"

#include <linux/ioctl.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "unify/base/memory.h"
#include "unify/base/observed.h"
#include "unify/base/proc_file.h"
#include "unify/base/system.h"
#include "unify/shared/bisect.h"

#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

/* struct pm_scan_arg and its values, linux/fs.h of Linux 6.7. */
struct scan {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end; /* the kernel's */
	uint64_t ranges;
	uint64_t ranges_max;
	uint64_t pages_max;
	uint64_t inverted;
	uint64_t all_of; /* of these categories */
	uint64_t any_of;
	uint64_t returned;
};
/* Its text has 1.5 KB; the field is in the first. */
#define STATUS_BYTES 2048
#define SCAN_REQUEST _IOWR('f', 16, struct scan)
#define IS_PRESENT (UINT64_C(1) << 3)
#define IS_ZERO_PAGE (UINT64_C(1) << 5)

bool
th_page_map_open(struct th_page_map *map)
{
	char path[TH_OBSERVED_PATH_MAX];

	map->descriptor = th_system_open(
		th_observed_path("pagemap", path), O_RDONLY | O_CLOEXEC, 0);
	map->page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	map->count = 0;
	map->is_scanned = false;
	return map->descriptor >= 0;
}

void
th_page_map_close(struct th_page_map *map)
{
	if (map->descriptor >= 0)
		th_system_close(map->descriptor);
	map->descriptor = -1;
}

/* Scans do not find pages of shared memory in swap. */
static bool
is_swap_in_use(void)
{
	struct sysinfo info;

	return sysinfo(&info) || info.totalswap != info.freeswap;
}

/* Scans do not distinguish them from other pages. */
static bool
has_pages_of_hugetlbfs(void)
{
	char path[TH_OBSERVED_PATH_MAX];
	char text[STATUS_BYTES];
	uint64_t kib = 0;

	th_proc_file_read(th_observed_path("status", path), text, sizeof(text));
	return th_proc_field(text, "HugetlbPages:", &kib) && kib;
}

/* The kernel's `walk_end` may be too low (6.18), so that more ranges cannot be asked for. */
static bool
find_ranges(struct th_page_map *map, uintptr_t start, uintptr_t end)
{
	struct scan scan = {
		.size = sizeof(scan),
		.start = start,
		.end = end,
		.ranges = (uintptr_t)map->ranges,
		.ranges_max = TH_PAGE_MAP_RANGES,
		.inverted = IS_ZERO_PAGE,
		.all_of = IS_PRESENT | IS_ZERO_PAGE,
		.returned = IS_PRESENT,
	};
	long count = syscall(SYS_ioctl, map->descriptor, SCAN_REQUEST, &scan);

	if (count < 0 || count >= TH_PAGE_MAP_RANGES)
		return false;
	map->range_count = (uint32_t)count;
	return true;
}

bool
th_page_map_scan(struct th_page_map *map, uintptr_t start, uintptr_t end)
{
	map->is_scanned = map->descriptor >= 0 && !is_swap_in_use() &&
			  !has_pages_of_hugetlbfs() &&
			  th_memory_map_once(
				  &map->ranges, TH_PAGE_MAP_RANGES * sizeof(*map->ranges)) &&
			  find_ranges(map, start, end);
	return map->is_scanned;
}

/* Resident bytes of [start, end) by the ranges. */
static uint64_t
sum_ranges(const struct th_page_map *map, uintptr_t start, uintptr_t end)
{
	const struct th_page_range *ranges = map->ranges;
	uint64_t sum = 0;

	for (size_t i = th_bisect(map->range_count, k, ranges[k].end <= start);
		i < map->range_count && ranges[i].start < end; i++) {
		uint64_t from = ranges[i].start > start ? ranges[i].start : start;
		uint64_t to = ranges[i].end < end ? ranges[i].end : end;

		sum += to - from;
	}
	return sum;
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

	if (map->is_scanned)
		return (struct th_page_use){sum_ranges(map, start, end), 0};
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
	return use;
}
