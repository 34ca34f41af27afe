/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of the log file.  A thread that enters a window increments `users` and then checks
 * `number`; a thread that unmaps it clears `number` and then checks `users`.  Both are
 * sequentially consistent, so at least one of the two sees the other.
 */
#include "unify/log/log_window.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/system.h"
#include "unify/log/log_file.h"

/* More than two are mapped only while threads are stopped in the middle of a record. */
#define WINDOWS 8
#define MAPPED_BYTES ((size_t)TH_LOG_WINDOW_BYTES + TH_LOG_WINDOW_OVERLAP)

struct th_log_window {
	uint64_t number; /* atomic: number of the window, from 1; 0: no thread may enter */
	uint32_t users;  /* atomic */
	char *start;     /* NULL: not mapped; changes only while `number` and `users` are 0 */
};

static struct {
	struct th_spinlock changing;
	struct th_log_window windows[WINDOWS];
} log_map;

static uint64_t
number_of(uint64_t offset)
{
	return offset / TH_LOG_WINDOW_BYTES + 1;
}

/* Entering */

void
th_log_window_leave(struct th_log_window *window)
{
	/* Pairs with the check in retire(): writes to the window are complete. */
	__atomic_fetch_sub(&window->users, 1, __ATOMIC_SEQ_CST);
}

static bool
enter(struct th_log_window *window, uint64_t number)
{
	if (th_load_acquire(&window->number) != number)
		return false;
	__atomic_fetch_add(&window->users, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&window->number, __ATOMIC_SEQ_CST) == number)
		return true;
	th_log_window_leave(window);
	return false;
}

struct th_log_window *
th_log_window_enter(uint64_t offset)
{
	uint64_t number = number_of(offset);

	for (unsigned i = 0; i < WINDOWS; i++) {
		struct th_log_window *window = &log_map.windows[(number + i) % WINDOWS];

		if (enter(window, number))
			return window;
	}
	return NULL;
}

char *
th_log_window_at(const struct th_log_window *window, uint64_t offset)
{
	return window->start + offset % TH_LOG_WINDOW_BYTES;
}

/* Mapping; under the lock */

static struct th_log_window *
newest_window(void)
{
	struct th_log_window *newest = NULL;

	for (unsigned i = 0; i < WINDOWS; i++) {
		struct th_log_window *window = &log_map.windows[i];

		if (window->number && (!newest || window->number > newest->number))
			newest = window;
	}
	return newest;
}

/* Unmaps windows without users before window `number`, but not `kept`. */
static void
retire(uint64_t number, const struct th_log_window *kept)
{
	for (unsigned i = 0; i < WINDOWS; i++) {
		struct th_log_window *window = &log_map.windows[i];
		uint64_t own = window->number;

		if (!own || own >= number || window == kept)
			continue;
		__atomic_store_n(&window->number, 0, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&window->users, __ATOMIC_SEQ_CST)) {
			th_store_release(&window->number, own);
			continue;
		}
		/*
		 * Cleared first: a child forked in between must not unmap a new mapping at that
		 * address.
		 */
		char *start = window->start;
		th_store_release(&window->start, NULL);
		th_memory_system_unmap(start, MAPPED_BYTES);
	}
}

static struct th_log_window *
find_free(uint64_t number)
{
	for (unsigned i = 0; i < WINDOWS; i++) {
		struct th_log_window *window = &log_map.windows[(number + i) % WINDOWS];

		if (!window->start && !th_load_relaxed(&window->users))
			return window;
	}
	return NULL;
}

/*
 * Maps the window after `previous`: mremap with an old size of 0 creates a second mapping of a
 * shared one (mremap(2)).  If the host locks its memory, the first mapping must be unlocked
 * before; otherwise the second would also be locked, and count against the host's limit.
 */
static void *
map_behind(const struct th_log_window *previous)
{
	syscall(SYS_munlock, previous->start, MAPPED_BYTES);
	return (void *)syscall(SYS_mremap, previous->start + TH_LOG_WINDOW_BYTES, 0UL,
		MAPPED_BYTES, MREMAP_MAYMOVE, 0UL);
}

/*
 * The same from the file, where the kernel cannot create one mapping from another, as under emulators.
 * The program may close the descriptor at any time and open another file under its number: checks the
 * file before and after mapping.
 */
static void *
map_file(uint64_t offset)
{
	void *mapping = MAP_FAILED;

	if (!th_lock_bounded(&th_log_file.growing))
		return MAP_FAILED;
	int descriptor = th_log_file_descriptor();
	if (descriptor >= 0)
		mapping = (void *)syscall(SYS_mmap, NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_NORESERVE, descriptor, offset);
	if (mapping != MAP_FAILED && !th_log_file_is_ours(descriptor)) {
		th_memory_system_unmap(mapping, MAPPED_BYTES);
		mapping = MAP_FAILED;
	}
	th_unlock(&th_log_file.growing);
	return mapping;
}

/* The window after `previous`; NULL: not possible. */
static struct th_log_window *
open_behind(const struct th_log_window *previous)
{
	const uint64_t number = previous->number + 1;
	struct th_log_window *window = find_free(number);
	void *start = window ? map_behind(previous) : MAP_FAILED;

	if (window && start == MAP_FAILED)
		start = map_file((number - 1) * TH_LOG_WINDOW_BYTES);
	if (start == MAP_FAILED)
		return NULL;
	window->start = start;
	/* Pairs with the acquire in enter(): the start is set. */
	th_store_release(&window->number, number);
	return window;
}

/*
 * Opens windows in sequence, since each is made from the previous one: another process may have
 * moved the tail by more than a window.
 */
static bool
open_up_to(uint64_t number, uint64_t used)
{
	struct th_log_window *newest = newest_window();

	/* A child that was forked after the tail was read has none. */
	if (newest && newest->number > number)
		return false;
	while (newest && newest->number < number) {
		newest = open_behind(newest);
		if (newest)
			retire(th_min(newest->number, used), newest);
	}
	return newest;
}

static bool
open_locked(uint64_t offset, uint64_t used)
{
	struct th_log_window *window;
	bool is_open;

	if (!th_lock_bounded(&log_map.changing))
		return th_log_file_refuse(TH_COUNTER_DROPPED_BUSY);
	window = th_log_window_enter(offset);
	if (window)
		th_log_window_leave(window);
	is_open = window || open_up_to(number_of(offset), number_of(used));
	/* The last one stays: the next is made from it. */
	if (is_open)
		retire(number_of(used), newest_window());
	th_unlock(&log_map.changing);
	return is_open || th_log_file_refuse(TH_COUNTER_DROPPED_LOG_UNREACHABLE);
}

/*
 * Blocks signals: if a handler forked here, its child, which detaches, would continue in the
 * middle of a change.
 */
bool
th_log_window_open(uint64_t offset, uint64_t used)
{
	uint64_t signals = th_system_block_signals();
	bool is_open = open_locked(offset, used);

	th_system_restore_signals(signals);
	return is_open;
}

/* Start and reset */

static bool
has_windows(void)
{
	for (unsigned i = 0; i < WINDOWS; i++)
		if (log_map.windows[i].start)
			return true;
	return false;
}

uint64_t
th_log_windows_start(void)
{
	uint64_t least = 0;

	for (unsigned i = 0; i < WINDOWS; i++) {
		uint64_t number = th_load_acquire(&log_map.windows[i].number);

		if (number && (!least || number < least))
			least = number;
	}
	return least ? (least - 1) * TH_LOG_WINDOW_BYTES : 0;
}

bool
th_log_windows_retire(void)
{
	retire(UINT64_MAX, NULL);
	return !has_windows();
}

bool
th_log_windows_init(int descriptor, uint64_t offset)
{
	const uint64_t number = number_of(offset);
	void *start = number == 1 ? th_memory_system_map(NULL, MAPPED_BYTES,
					    MAP_SHARED | MAP_NORESERVE, descriptor)
				  : map_file((number - 1) * TH_LOG_WINDOW_BYTES);

	if (start == MAP_FAILED)
		return false;
	/* After th_log_windows_retire() another thread may be about to leave one. */
	if (has_windows())
		memset(&log_map, 0, sizeof(log_map));
	log_map.windows[0].start = start;
	th_store_release(&log_map.windows[0].number, number);
	return true;
}

void
th_log_windows_detach(void)
{
	for (unsigned i = 0; i < WINDOWS; i++) {
		struct th_log_window *window = &log_map.windows[i];

		if (!window->start)
			continue;
		/*
		 * If the child cannot map memory, its thread writes the same data as the
		 * parent's.
		 */
		if (window->users)
			th_memory_system_map(window->start, MAPPED_BYTES,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
		else
			th_memory_system_unmap(window->start, MAPPED_BYTES);
		window->number = 0;
	}
	log_map.changing.held = 0;
}
