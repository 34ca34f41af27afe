/* SPDX-License-Identifier: Apache-2.0 */
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
#include "unify/log.h"
#include "unify/thread.h"

/* Two paths and a sentence. */
#define TEXT_BYTES (2 * PATH_MAX)
#define UNSEEN "the C heap is not recorded"

/* Of the linker: where this library begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Not compared with our malloc by name: that name means the program's here as well. */
static bool
is_ours(const void *address)
{
	return (uintptr_t)address >= (uintptr_t)__ehdr_start &&
	       (uintptr_t)address < (uintptr_t)_end;
}

/* What everybody finds under a name who does not ask for more. */
static void *
find(const char *name)
{
	void *found = th_real_dlsym(RTLD_DEFAULT, name);

	if (!found)
		dlerror(); /* nobody is to hear of our question */
	return found;
}

static const char *
path_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && *info.dli_fname ? info.dli_fname : "the program";
}

static bool
is_in_libc(const void *address)
{
	unsigned long (*function)(unsigned long) = getauxval;
	const void *of_libc;

	memcpy(&of_libc, &function, sizeof(of_libc));
	return th_next_are_together(address, of_libc);
}

static bool
is_in_program(const void *address)
{
	struct link_map *object;
	Dl_info info;

	return dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP) && !*object->l_name;
}

/* --- malloc --------------------------------------------------------------------------------- */

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

/* Whether a call of what is found as malloc takes its bytes off our countdown. */
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

/*
 * A program that is not position-independent and takes the address of malloc has an entry of that
 * name, which everybody finds and which only leads on: its symbol has an address, but is undefined.
 */
static bool
leads_on(const void *address)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       symbol->st_shndx == SHN_UNDEF;
}

bool
th_allocator_is_seen(void)
{
	void *found = find("malloc");

	/* Another's is not called to find out: it may not be ready yet. */
	return (is_ours(found) || leads_on(found)) && reaches_us(found);
}

bool
th_allocator_mmap_is_seen(void)
{
	return is_ours(find("mmap"));
}

const void *
th_allocator_underneath(void)
{
	return is_in_libc(next_malloc()) ? NULL : next_malloc();
}

/* --- what goes unseen ----------------------------------------------------------------------- */

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
	const void *found = find("malloc");
	const char *path = path_of(found);

	if (is_ours(found)) {
		note(1, "calls of malloc are led past the library, as valgrind does "
			"it: " UNSEEN);
		th_message("calls of malloc are led past the library, as valgrind does "
			   "it: " UNSEEN);
	} else if (is_in_program(found)) {
		note(1, "%s defines malloc itself: " UNSEEN, path);
		th_message("%.200s defines malloc itself: " UNSEEN, path);
	} else if (is_in_libc(found)) {
		note(1, "the library was not there from the start: " UNSEEN);
	} else {
		note(1,
			"the malloc of %s stands in front of the library: " UNSEEN "; name "
			"libtwinheap.so first in LD_PRELOAD",
			path);
		th_message("the malloc of %.200s stands in front of the library: " UNSEEN
			   "; name libtwinheap.so first in LD_PRELOAD",
			path);
	}
}

/* Whether a function that everybody finds is that of the allocator underneath. */
static bool
is_past_us(const char *name)
{
	const void *found = find(name);

	return found && th_allocator_is_underneath(found);
}

void
th_allocator_log(void)
{
	if (!th_allocator_is_seen()) {
		log_unseen_malloc();
		return;
	}
	const char *path = path_of(next_malloc());
	if (!is_in_libc(next_malloc()))
		note(0, "malloc is that of %s", path);
	if (is_past_us("_Znwm"))
		note(1,
			"operator new of %s goes unseen, and with it what C++ allocates: "
			"preload "
			"libtwinheap-new.so behind libtwinheap.so, as twinheap run does",
			path);
	if (is_past_us("mallocx"))
		note(1,
			"mallocx of %s goes unseen: preload libtwinheap-mallocx.so behind "
			"libtwinheap.so, as twinheap run does for a preloaded allocator",
			path);
}
