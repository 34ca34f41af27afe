/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which definition of malloc the program uses and which one the library calls.  If
 * the program's malloc is not ours, the C heap is not recorded, and the reason is reported.
 */
#include "preload/allocator.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/message.h"
#include "preload/next.h"
#include "unify/base/at_start.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/log.h"
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

static bool
is_in_program(const void *address)
{
	const struct link_map *object = th_next_object_of(address);

	return object && !object->l_prev; /* the first of the list */
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
		facts.is_malloc_in_program = is_in_program(found);
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

static void
log_unseen_malloc(void)
{
	const char *path = facts.malloc_path;

	if (th_next_is_ours(facts.malloc)) {
		note(1, "calls of malloc are redirected past the library, as under "
			"valgrind: " UNSEEN);
		th_message("calls of malloc are redirected past the library, as under "
			   "valgrind: " UNSEEN);
	} else if (facts.is_malloc_in_program) {
		note(1, "%s defines malloc itself: " UNSEEN, path);
		th_message("%.200s defines malloc itself: " UNSEEN, path);
	} else {
		note(1,
			"the malloc of %s precedes the library: " UNSEEN "; name "
			"libtwinheap.so first in LD_PRELOAD",
			path);
		th_message("the malloc of %.200s precedes the library: " UNSEEN
			   "; name libtwinheap.so first in LD_PRELOAD",
			path);
	}
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
