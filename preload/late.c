/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots are written by one thread at a time: by the one that loads the agent, then by the agent
 * thread.  Waiting for the loader's lock can take as long as the constructors of a library, so
 * no other thread writes them: a thread of the program only waits for the agent thread, for a
 * limited time.
 */
#include "preload/late.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "preload/allocator.h"
#include "preload/entry.h"
#include "preload/mallocx.h"
#include "preload/message.h"
#include "preload/next.h"
#include "preload/operators.h"
#include "preload/slots.h"
#include "unify/base/atomic.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/recording/control.h"
#include "unify/recording/server.h"
#include "unify/shared/clock.h"
#include "unify/shared/heaps.h"

/*
 * Longest wait of a native method's first call: the agent thread needs some 10 ms of CPU time for
 * its first turn, which on a busy machine may take 0.5 s.  After a wait in vain, as behind a
 * constructor that keeps the loader's lock, the next ones are short.  A nap takes 0.15 ms.
 */
#define NAP_NS 100000
#define BOUND_NAPS 13000
#define NEXT_NAPS 130
#define HEAPS (1u << TH_HEAP_NATIVE | 1u << TH_HEAP_MAPPED)

#define USURPED                                                                           \
	"another tool has overwritten import slots: the C heap and mapped memory are no " \
	"longer recorded"

/* L(name): redirected to the functions late_NAME(). */
#define ALLOCATION(L)     \
	L(malloc)         \
	L(calloc)         \
	L(realloc)        \
	L(reallocarray)   \
	L(posix_memalign) \
	L(aligned_alloc)  \
	L(memalign)       \
	L(valloc)         \
	L(pvalloc)        \
	L(free)           \
	L(free_sized)     \
	L(free_aligned_sized)

/* Redirected to the exported functions of the same name. */
static const char *const exported[] = {"munmap", "mremap", "mmap", "mmap64", "mprotect",
	"madvise", "sbrk", "brk", "pthread_create", "exit", "quick_exit", "setuid", "seteuid",
	"setreuid", "setresuid", "chroot", "dlsym"};

#define EXPORTED (sizeof(exported) / sizeof(exported[0]))
/* Twelve of libc, seventeen exported, twenty operators, five of jemalloc. */
#define FUNCTIONS_MAX 64

static struct {
	struct th_slot_function functions[FUNCTIONS_MAX];
	size_t count;
	unsigned heaps;     /* atomic: open while the slots are redirected; 0: they are not */
	uint64_t next_look; /* at all slots */
	uint64_t searched;  /* objects searched for them */
	uint32_t asked;     /* atomic: threads wait for a turn */
	uint32_t in_vain;   /* atomic: the last one has waited as long as it may */
} late;

/* Entries */

/*
 * The allocation functions where import slots lead to them.  They differ from the exported ones
 * (entry.c) in one respect: some frees do not pass through a slot, such as those by a pointer that
 * was looked up before.  Their block looks alive until its address is handed out again, at which
 * time it ends.
 */
#define A(name, FUNCTION, parameters, arguments)                               \
	static void *late_##name parameters                                    \
	{                                                                      \
		return th_entry_take_fresh(                                    \
			th_next.name arguments, size, TH_FUNCTION_##FUNCTION); \
	}
A(malloc, MALLOC, (size_t size), (size))
A(aligned_alloc, ALIGNED, (size_t alignment, size_t size), (alignment, size))
A(memalign, ALIGNED, (size_t alignment, size_t size), (alignment, size))
A(valloc, ALIGNED, (size_t size), (size))
A(pvalloc, ALIGNED, (size_t size), (size))
#undef A

static void *
late_calloc(size_t count, size_t size)
{
	/* The product has not overflowed if there is a block. */
	return th_entry_take_fresh(
		th_next.calloc(count, size), count * size, TH_FUNCTION_CALLOC);
}

/* As realloc_tracked() in entry.c. */
static void *
late_realloc(void *block, size_t size)
{
	uint64_t sample = UNLIKELY(th_live_blocks_may_hold(block)) ? th_native_unlink(block)
								   : 0;
	void *moved = th_next.realloc(block, size);

	if (!moved && size) {
		th_native_relink(block, sample);
		return NULL;
	}
	th_native_freed(sample);
	return th_entry_take_fresh(moved, size, TH_FUNCTION_REALLOC);
}

static void *
late_reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return late_realloc(block, bytes);
}

static int
late_posix_memalign(void **block_ret, size_t alignment, size_t size)
{
	int result = th_next.posix_memalign(block_ret, alignment, size);

	if (!result)
		th_entry_take_fresh(*block_ret, size, TH_FUNCTION_ALIGNED);
	return result;
}

static void
late_free(void *block)
{
	if (UNLIKELY(th_live_blocks_may_hold(block)))
		th_native_freed(th_native_unlink(block));
	th_next.free(block);
}

static void
late_free_sized(void *block, size_t size)
{
	(void)size;
	late_free(block);
}

static void
late_free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	late_free(block);
}

/* Functions */

static void
append(const struct th_slot_function *function)
{
	if (function->original && function->ours && late.count < FUNCTIONS_MAX)
		late.functions[late.count++] = *function;
}

/* A function of the allocator. */
static void
add(const char *name, const void *original, const void *ours)
{
	append(&(struct th_slot_function){name, original, ours, .is_allocation = true});
}

/* Our definition of an exported name: the library itself comes first in its own scope. */
static void
add_exported(void)
{
	const char *path = th_next_path_of(&late);

	for (size_t i = 0; i < EXPORTED; i++) {
		const void *ours = th_next_in_object(path, exported[i]);
		const void *original = th_next_find(exported[i]);

		/* Ours make system calls themselves, which would pass over another tool. */
		if (th_next_is_ours(ours) && original && th_next_is_in_libc(original))
			append(&(struct th_slot_function){
				.name = exported[i], .original = original, .ours = ours});
	}
}

static void
find_functions(void)
{
	void *ours;

	late.count = 0;
#define L(name)                                                              \
	memcpy(&ours, &(__typeof(&late_##name)){late_##name}, sizeof(ours)); \
	add(#name, th_next_find(#name), ours);
	ALLOCATION(L)
#undef L
	add_exported();
	th_operators_each_late(add);
	th_mallocx_each_late(add);
}

void *
th_late_function(const char *name)
{
	if (!th_load_acquire(&late.heaps))
		return NULL;
	for (size_t i = 0; i < late.count; i++)
		if (!strcmp(name, late.functions[i].name))
			return (void *)(uintptr_t)late.functions[i].ours;
	return NULL;
}

/* Redirection */

static void
count(const struct th_slots_report *report)
{
	th_log_set_counter(TH_COUNTER_SLOT_OBJECTS, report->objects);
	th_log_set_counter(TH_COUNTER_SLOTS, report->slots);
	th_log_set_counter(TH_COUNTER_SLOTS_FOREIGN, report->foreign);
}

static void
log_redirected(const struct th_slots_report *report, uint64_t ns)
{
	char text[512];

	snprintf(text, sizeof(text),
		"loaded into a running process: the C heap and mapped memory are recorded "
		"through %u import slots of %u objects, redirected in %u us%s",
		report->slots, report->objects, (unsigned)(ns / 1000),
		report->failed
			? "; some objects are not seen, because their slots cannot be written"
			: "");
	th_log_note(0, text);
	if (!report->foreign)
		return;
	snprintf(text, sizeof(text),
		"%u import slots hold functions of another tool or library: their calls are "
		"not "
		"recorded",
		report->foreign);
	th_log_note(1, text);
}

void
th_late_redirect(unsigned heaps)
{
	struct th_slots_report report;
	uint64_t begin = th_clock_now();

	if (!(heaps & HEAPS))
		return;
	find_functions();
	th_slots_redirect(late.functions, late.count, th_allocator_underneath(), &report);
	log_redirected(&report, th_clock_now() - begin);
	count(&report);
	late.next_look = th_clock_next_second(th_clock_now());
	late.searched = 0;
	th_store_release(&late.heaps, heaps);
	th_control_open(heaps);
}

/* The agent thread */

/* Under the loader's lock, which protects the path. */
static void
log_copies(const char *path, uint32_t copies)
{
	const struct th_event_slot_copies event = {.time = th_clock_now(), .copies = copies};
	struct th_log_part part = th_log_text(*path ? path : th_module_executable());

	late.searched++;
	if (copies)
		th_log_append(TH_EVENT_SLOT_COPIES, &event, &part, 1);
	th_log_set_counter(TH_COUNTER_SLOT_SEARCHED, late.searched);
}

void
th_late_leave(void)
{
	if (!th_load_relaxed(&late.heaps))
		return;
	/* A short recording. */
	if (!late.searched)
		th_slots_search(log_copies);
	th_slots_restore();
	th_store_release(&late.heaps, 0);
}

static void
give_up(void)
{
	th_late_leave();
	th_control_close(HEAPS);
	th_message(USURPED);
	th_log_note(1, USURPED);
}

static void
look(void)
{
	struct th_slots_report report;

	th_slots_review(&report);
	count(&report);
	if (report.usurped)
		give_up();
}

uint64_t
th_late_turn(void)
{
	uint64_t now = th_clock_now();
	bool is_asked = th_load_acquire(&late.asked);
	bool is_search_due = false;

	if (th_load_relaxed(&late.heaps) &&
		(now >= late.next_look || th_slots_have_changed())) {
		look();
		is_search_due = now >= late.next_look;
		late.next_look = th_clock_next_second(now);
	}
	/* Pairs with the acquire in th_late_bound(): the slots are written. */
	if (is_asked)
		th_store_release(&late.asked, 0);
	/* Later than new slots, for which threads wait; constructors of new objects are over. */
	if (is_search_due && th_load_relaxed(&late.heaps))
		th_slots_search(log_copies);
	return th_load_relaxed(&late.heaps) ? late.next_look : UINT64_MAX;
}

void
th_late_looked_up(void)
{
	if (th_load_relaxed(&late.heaps) && th_slots_have_changed())
		th_server_wake();
}

void
th_late_bound(void)
{
	uint32_t naps = th_load_relaxed(&late.in_vain) ? NEXT_NAPS : BOUND_NAPS;

	if (!th_load_relaxed(&late.heaps) || !th_slots_have_changed())
		return;
	th_store_release(&late.asked, 1);
	th_server_wake();
	for (; th_load_acquire(&late.asked) && th_load_relaxed(&late.heaps) && naps; naps--)
		th_system_nap(NAP_NS);
	th_store_relaxed(&late.in_vain, !naps);
}
