/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc's mallinfo2() locks its arenas in turn and walks their lists of free chunks: 3 ms for
 * 100,000 chunks. jemalloc's mallctl() merges the statistics of its threads.  Both are called
 * on the agent thread only: on any other thread, a signal handler may have interrupted malloc
 * while it held such a lock.
 */
#include "preload/allocator_figures.h"

#include <dlfcn.h>
#include <malloc.h>
#include <string.h>

#include "preload/next.h"
#include "unify/base/at_start.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/log.h"
#include "unify/resident/breakdown.h"

/* glibc 2.33 and later; older versions count in int. */
struct mallinfo2_result {
	size_t arena;
	size_t ordblks;
	size_t smblks;
	size_t hblks;
	size_t hblkhd;
	size_t usmblks;
	size_t fsmblks;
	size_t uordblks;
	size_t fordblks;
	size_t keepcost;
};

static struct {
	const char *name; /* file name of the library, in the loader's memory */
	struct mallinfo2_result (*mallinfo2)(void);
	int (*mallctl)(
		const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);
} allocator TH_AT_START;

static void
log_figures(const struct th_event_allocator *event)
{
	struct th_log_part name = th_log_text(allocator.name);

	th_log_append(TH_EVENT_ALLOCATOR, event, &name, 1);
}

static void
log_glibc(uint32_t account)
{
	struct mallinfo2_result info = allocator.mallinfo2();
	const struct th_event_allocator event = {
		.heaps = info.arena,
		.mapped = info.hblkhd,
		.used = info.uordblks,
		.free = info.fordblks,
		.top = info.keepcost,
		.account = account,
	};

	log_figures(&event);
}

static uint64_t
jemalloc_number(const char *name)
{
	size_t value = 0;
	size_t bytes = sizeof(value);

	return allocator.mallctl(name, &value, &bytes, NULL, 0) ? 0 : value;
}

static void
log_jemalloc(uint32_t account)
{
	uint64_t epoch = 1;
	struct th_event_allocator event = {.account = account};

	/* Statistics are as of the last advance of the epoch. */
	allocator.mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
	event.heaps = jemalloc_number("stats.resident");
	event.used = jemalloc_number("stats.allocated");
	event.free = event.heaps > event.used ? event.heaps - event.used : 0;
	event.mapped = jemalloc_number("stats.mapped");
	log_figures(&event);
}

static void
log_allocator(uint32_t account, bool on_agent_thread)
{
	if (!on_agent_thread)
		return;
	if (allocator.mallinfo2)
		log_glibc(account);
	else if (allocator.mallctl)
		log_jemalloc(account);
}

void
th_allocator_figures_init(void)
{
	static const struct th_breakdown_source source = {.log = log_allocator};
	void *mallinfo2 = th_real_dlsym(RTLD_NEXT, "mallinfo2");
	const void *next;

	memcpy(&next, &th_next.malloc, sizeof(next));
	const char *path = th_next_path_of(next);
	const char *slash = strrchr(path, '/');
	allocator.name = slash ? slash + 1 : path;
	bool is_libc = mallinfo2 && th_next_are_together(mallinfo2, next);
	void *mallctl = is_libc ? NULL : th_real_dlsym(RTLD_DEFAULT, "mallctl");
	if (is_libc)
		memcpy(&allocator.mallinfo2, &mallinfo2, sizeof(mallinfo2));
	else if (mallctl && th_next_are_together(mallctl, next))
		memcpy(&allocator.mallctl, &mallctl, sizeof(mallctl));
	if (!is_libc && *path && strncmp(allocator.name, "libc.so", 7) != 0)
		th_breakdown_set_allocator(allocator.name);
	th_breakdown_add_source(&source);
}
