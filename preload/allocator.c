/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which definition of malloc the program uses and which one the library calls.  If
 * the program's malloc is not ours, the C heap is not recorded, and the reason is reported.
 */
#include "preload/allocator.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/message.h"
#include "preload/next.h"
#include "unify/base/at_start.h"
#include "unify/base/atomic.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/log.h"
#include "unify/resident/breakdown.h"
#include "unify/sample/thread.h"

/* A path and one or two sentences. */
#define TEXT_BYTES (PATH_MAX + 512)
#define UNSEEN "the C heap is not recorded"

/*
 * Determined once, at load: the loader's functions take locks and allocate, which a forked
 * child must not do before fork() has returned.  Paths are in the loader's memory.
 */
static struct {
	const void *malloc;      /* the definition found in the global scope */
	const char *malloc_path; /* if it is not ours */
	const char *next_path;   /* of the next malloc after ours, if that is not libc's */
	const void *underneath;  /* that malloc, NULL if it is libc's */
	bool is_seen;
	bool is_mmap_seen;
	bool is_malloc_in_program;
	bool misses_new;
	bool misses_mallocx;
} facts TH_AT_START;

/* The definition found in the global scope. */
static void *
find(const char *name)
{
	void *found = th_real_dlsym(RTLD_DEFAULT, name);

	if (!found)
		dlerror(); /* clears dlerror for the host */
	return found;
}

static const char *
path_of(const void *address)
{
	const char *path = th_next_path_of(address);

	return *path ? path : "the program";
}

/* Malloc */

static const void *
next_malloc(void)
{
	const void *address;

	memcpy(&address, &th_next.malloc, sizeof(address));
	return address;
}

bool
th_allocator_is_underneath(const void *function)
{
	return th_next_are_together(function, next_malloc());
}

/* Whether a call of the malloc found decrements our countdown. */
static bool
reaches_us(void *found)
{
	void *(*allocate)(size_t size);
	bool is_counted;

	memcpy(&allocate, &found, sizeof(allocate));
	th_guard_enter();
	uint64_t before = th_thread.countdown;
	void *block = allocate(1);
	is_counted = th_thread.countdown != before;
	th_next.free(block);
	th_guard_leave();
	return is_counted;
}

/* Whether a function in the global scope belongs to the underlying allocator. */
static bool
is_past_us(const char *name)
{
	const void *found = find(name);

	return found && th_allocator_is_underneath(found);
}

/*
 * A foreign malloc is not called to find out: it may not be initialized yet.  Ours is: valgrind redirects
 * calls of it, whatever the address says.
 */
static bool
is_reached_by(void *found)
{
	return (th_next_is_ours(found) || th_next_leads_on(found)) && reaches_us(found);
}

void
th_allocator_init(void)
{
	bool is_late = th_next_is_late();
	void *found = find("malloc");

	facts.malloc = found;
	facts.is_seen = is_late || is_reached_by(found);
	facts.is_mmap_seen = is_late || th_next_is_ours(find("mmap"));
	if (!facts.is_seen) {
		facts.malloc_path = path_of(found);
		facts.is_malloc_in_program = th_next_index_of(found) == 1;
	}
	if (th_next_is_in_libc(next_malloc()))
		return;
	facts.underneath = next_malloc();
	facts.next_path = path_of(next_malloc());
	facts.misses_new = !is_late && is_past_us("_Znwm");
	facts.misses_mallocx = !is_late && is_past_us("mallocx");
}

bool
th_allocator_is_seen(void)
{
	return facts.is_seen;
}

bool
th_allocator_mmap_is_seen(void)
{
	return facts.is_mmap_seen;
}

const void *
th_allocator_underneath(void)
{
	return facts.underneath;
}

/* Reports of what is not recorded */

__attribute__((format(printf, 2, 3))) static void
note(unsigned severity, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	th_log_note(severity, text);
}

/* The path is cut so that the reason stays on the line. */
static void
log_unseen_malloc(void)
{
	char text[TEXT_BYTES];

	if (th_next_is_ours(facts.malloc))
		strcpy(text, "calls of malloc are redirected past the library, as under "
			     "valgrind: " UNSEEN);
	else if (facts.is_malloc_in_program)
		snprintf(text, sizeof(text), "%.300s defines malloc itself: " UNSEEN,
			facts.malloc_path);
	else
		snprintf(text, sizeof(text),
			"the malloc of %.300s precedes the library: " UNSEEN
			"; name libtwinheap.so first in LD_PRELOAD",
			facts.malloc_path);
	th_log_note(1, text);
	th_message("%s", text);
}

void
th_allocator_log(void)
{
	if (!th_allocator_is_seen()) {
		log_unseen_malloc();
		return;
	}
	const char *path = facts.next_path;
	if (facts.underneath)
		note(0, "malloc is provided by %s", path);
	if (facts.misses_new)
		note(1,
			"operator new of %s is not recorded, and with it C++ allocations: "
			"preload "
			"libtwinheap-new.so behind libtwinheap.so, as twinheap run does",
			path);
	if (facts.misses_mallocx)
		note(1,
			"mallocx of %s is not recorded: preload libtwinheap-mallocx.so behind "
			"libtwinheap.so, as twinheap run does for a preloaded allocator",
			path);
}

/* Functions that call others */

#define PROBE_ALIGNMENT 64
/*
 * One block from a pool and one mapped separately; multiples of the alignment, because
 * aligned_alloc may require that.
 */
static const size_t probe_sizes[] = {PROBE_ALIGNMENT, 1 << 20};

/*
 * F(name, type, parameters, arguments, expression that gets a block of `size` bytes from
 * `next`)
 */
#define FUNCTIONS(F)                                                                        \
	F(malloc, void *, (size_t size), (size), next.malloc(size))                         \
	F(calloc, void *, (size_t count, size_t size), (count, size), next.calloc(1, size)) \
	F(realloc, void *, (void *block, size_t size), (block, size),                       \
		next.realloc(next.malloc(1), size))                                         \
	F(memalign, void *, (size_t alignment, size_t size), (alignment, size),             \
		next.memalign(PROBE_ALIGNMENT, size))                                       \
	F(aligned_alloc, void *, (size_t alignment, size_t size), (alignment, size),        \
		next.aligned_alloc(PROBE_ALIGNMENT, size))                                  \
	F(posix_memalign, int, (void **block_ret, size_t alignment, size_t size),           \
		(block_ret, alignment, size), get_posix_memalign(size))                     \
	F(valloc, void *, (size_t size), (size), next.valloc(size))                         \
	F(pvalloc, void *, (size_t size), (size), next.pvalloc(size))

/* The functions as found. */
static struct th_next next;

#define QUIET(name, type, parameters, arguments, get) \
	static type quiet_##name parameters           \
	{                                             \
		th_guard_enter();                     \
		type result = next.name arguments;    \
		th_guard_leave();                     \
		return result;                        \
	}
FUNCTIONS(QUIET)
#undef QUIET

static void *
get_posix_memalign(size_t size)
{
	void *block = NULL;

	return next.posix_memalign(&block, PROBE_ALIGNMENT, size) ? NULL : block;
}

/* Whether the function decrements the countdown of the calling thread. */
#define IS_NESTED(name, type, parameters, arguments, get)                                   \
	static bool is_nested_##name(void)                                                  \
	{                                                                                   \
		uint64_t before = th_thread.countdown;                                      \
                                                                                            \
		for (size_t i = 0; i < sizeof(probe_sizes) / sizeof(probe_sizes[0]); i++) { \
			size_t size = probe_sizes[i];                                       \
			next.free(get);                                                     \
		}                                                                           \
		return th_thread.countdown != before;                                       \
	}
FUNCTIONS(IS_NESTED)
#undef IS_NESTED

void
th_allocator_silence_nested(void)
{
	next = th_next;
	/* Test allocations are not the program's. */
	th_guard_enter();
#define SILENCE(name, type, parameters, arguments, get) \
	if (is_nested_##name())                         \
		th_store_release(&th_next.name, quiet_##name);
	FUNCTIONS(SILENCE)
#undef SILENCE
	th_guard_leave();
}

/* Statistics */

/*
 * glibc's mallinfo2() locks its arenas in turn and walks their lists of free chunks: 3 ms for
 * 100,000 chunks. jemalloc's mallctl() merges the statistics of its threads.  Both are called
 * on the agent thread only: on any other thread, a signal handler may have interrupted malloc
 * while it held such a lock.
 */

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
log_allocator(uint32_t account)
{
	if (allocator.mallinfo2)
		log_glibc(account);
	else if (allocator.mallctl)
		log_jemalloc(account);
}

void
th_allocator_figures_init(void)
{
	void *mallinfo2 = th_real_dlsym(RTLD_NEXT, "mallinfo2");
	const char *path = th_next_path_of(next_malloc());
	const char *slash = strrchr(path, '/');
	allocator.name = slash ? slash + 1 : path;
	bool is_libc = mallinfo2 && th_allocator_is_underneath(mallinfo2);
	void *mallctl = is_libc ? NULL : th_real_dlsym(RTLD_DEFAULT, "mallctl");
	if (is_libc)
		memcpy(&allocator.mallinfo2, &mallinfo2, sizeof(mallinfo2));
	else if (mallctl && th_allocator_is_underneath(mallctl))
		memcpy(&allocator.mallctl, &mallctl, sizeof(mallctl));
	th_breakdown_set_allocator(
		is_libc || !strncmp(allocator.name, "libc.so", 7) ? "" : allocator.name,
		log_allocator);
}
