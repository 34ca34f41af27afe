/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings are kept in one lock-free list, which only grows: th_memory_resident() counts
 * their resident pages, th_memory_each() claims them in breakdowns of resident memory.
 */
#include "unify/base/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unify/base/atomic.h"

/* Maximum number of listed mappings: parts of tables, and slabs of thread records. */
#define REGIONS_MAX 1024
/* Pages per mincore() call. */
#define PAGES_AT_ONCE 1024

struct region {
	char *start; /* atomic, stored last */
	size_t bytes;
	uint32_t is_retired; /* atomic */
};

static struct {
	struct region regions[REGIONS_MAX];
	uint32_t count; /* atomic; may exceed the array size */
} memory;

static void
remember(void *start, size_t bytes)
{
	uint32_t at = th_add_relaxed(&memory.count, 1);

	if (at >= REGIONS_MAX)
		return;
	memory.regions[at].bytes = bytes;
	/* Pairs with the acquire in th_memory_resident(): the size is set. */
	th_store_release(&memory.regions[at].start, start);
}

/*
 * After mlockall(MCL_FUTURE) by the host, a readable mapping is locked and made resident at
 * once, completely, and counts against the host's limit.  A mapping without access is not made
 * resident, and can be unlocked before it becomes accessible.
 */
void *
th_memory_system_map(void *address, size_t bytes, int flags, int descriptor)
{
	long start = syscall(SYS_mmap, address, bytes, PROT_NONE, flags, descriptor, 0L);

	if (start == -1)
		return MAP_FAILED;
	syscall(SYS_munlock, start, bytes);
	if (!syscall(SYS_mprotect, start, bytes, PROT_READ | PROT_WRITE))
		return (void *)start;
	th_memory_system_unmap((void *)start, bytes);
	return MAP_FAILED;
}

void
th_memory_system_unmap(void *start, size_t bytes)
{
	syscall(SYS_munmap, start, bytes);
}

void *
th_memory_reserve(size_t bytes)
{
	int saved_errno = errno;
	/* NORESERVE: most tables stay nearly empty, far below their bound. */
	void *start = th_memory_system_map(
		NULL, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	errno = saved_errno;
	return start == MAP_FAILED ? NULL : start;
}

void
th_memory_release(void *start, size_t bytes)
{
	if (start)
		th_memory_system_unmap(start, bytes);
}

/* Retired mappings */

static uint32_t
listed(void)
{
	uint32_t count = th_load_acquire(&memory.count);

	return count < REGIONS_MAX ? count : REGIONS_MAX;
}

/* A retired mapping of this size; NULL: there is none. */
static void *
take_retired(size_t bytes)
{
	for (uint32_t i = 0; i < listed(); i++) {
		struct region *region = &memory.regions[i];
		uint32_t is_retired = 1;

		/* Pairs with the release in th_memory_retire(): the pages are zero. */
		if (th_load_acquire(&region->is_retired) && region->bytes == bytes &&
			th_cas_acq_rel(&region->is_retired, &is_retired, 0))
			return region->start;
	}
	return NULL;
}

/* Locked pages cannot be given back, and some emulators ignore the request. */
static void
clear(char *start, size_t bytes)
{
	volatile char *first = start;
	int saved_errno = errno;

	*first = 1;
	if (syscall(SYS_madvise, start, bytes, MADV_DONTNEED) || *first)
		memset(start, 0, bytes);
	errno = saved_errno;
}

void
th_memory_retire(void *start)
{
	for (uint32_t i = 0; start && i < listed(); i++) {
		struct region *region = &memory.regions[i];

		if (th_load_acquire(&region->start) != start)
			continue;
		clear(start, region->bytes);
		th_store_release(&region->is_retired, 1);
		return;
	}
}

void *
th_memory_map(size_t bytes)
{
	void *start = take_retired(bytes);

	if (start)
		return start;
	start = th_memory_reserve(bytes);
	if (start)
		remember(start, bytes);
	return start;
}

void *
th_memory_map_once(void *place, size_t bytes)
{
	void **pointer = place;
	void *found = th_load_acquire(pointer);
	void *start;

	if (found)
		return found;
	start = th_memory_map(bytes);
	if (!start || th_cas_acq_rel(pointer, &found, start))
		return start;
	th_memory_retire(start);
	return found;
}

static uint64_t
resident_pages(char *start, size_t pages, size_t page_bytes)
{
	unsigned char in_memory[PAGES_AT_ONCE];
	uint64_t found = 0;

	while (pages) {
		size_t some = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;

		if (mincore(start, some * page_bytes, in_memory))
			return found;
		for (size_t i = 0; i < some; i++)
			found += in_memory[i] & 1;
		start += some * page_bytes;
		pages -= some;
	}
	return found;
}

uint64_t
th_memory_resident(void)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t pages = 0;

	for (uint32_t i = 0; i < listed(); i++) {
		char *start = th_load_acquire(&memory.regions[i].start);
		size_t bytes = memory.regions[i].bytes;

		if (start)
			pages += resident_pages(
				start, (bytes + page_bytes - 1) / page_bytes, page_bytes);
	}
	return pages * page_bytes;
}

void
th_memory_each(void (*visit)(const void *start, size_t bytes, void *data), void *data)
{
	for (uint32_t i = 0; i < listed(); i++) {
		const char *start = th_load_acquire(&memory.regions[i].start);

		if (start)
			visit(start, memory.regions[i].bytes, data);
	}
}

static bool
observe(const void *start)
{
	return th_observed_copy((uintptr_t)start, &memory, sizeof(memory));
}

const struct th_observed_tables th_memory_tables = {&memory, sizeof(memory), observe};
