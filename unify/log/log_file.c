/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other processes may write to the file, and the tool appends to it (th_log_observe()).
 * Nothing is read from the header but the control page and the tail, and a record's position is
 * validated against state kept here: it must lie below the limit in this struct, in a window.
 * An invalid tail is restored.
 */
#include "unify/log/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/shared/clock.h"

/* Later allocations: at 72 bytes a sample, 50,000 samples. */
#define CHUNK (4u << 20)
/* Allocation size when the disk is nearly full. */
#define LAST_CHUNK (64u << 10)
/*
 * Minimum time between attempts on a full disk: each may cost a millisecond, and every sample
 * would make one.
 */
#define RETRY_NS (TH_NS_PER_S / 10)
/* Minimum number of the descriptor, to avoid programs that expect small ones. */
#define DESCRIPTOR_BASE 512

static char log_path[PATH_MAX];
struct th_log_file th_log_file = {.descriptor = -1, .path = log_path};

/* The descriptor */

int
th_log_file_open(const char *path, int flags)
{
	return th_system_open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int
th_log_file_move_high(int descriptor)
{
	int high = descriptor < 0 ? -1 : th_system_duplicate(descriptor, DESCRIPTOR_BASE);

	if (high < 0)
		return descriptor;
	th_system_close(descriptor);
	return high;
}

bool
th_log_file_is_ours(int descriptor)
{
	struct stat status;

	return descriptor >= 0 && !fstat(descriptor, &status) &&
	       status.st_dev == th_log_file.device && status.st_ino == th_log_file.inode;
}

int
th_log_file_descriptor(void)
{
	int descriptor = th_log_file.descriptor;

	if (th_log_file_is_ours(descriptor))
		return descriptor;
	if (!th_log_is_owner())
		return -1;
	descriptor = th_log_file_move_high(th_log_file_open(th_log_file.path, O_RDWR));
	if (descriptor >= 0 && !th_log_file_is_ours(descriptor)) {
		th_system_close(descriptor);
		descriptor = -1;
	}
	th_log_file.descriptor = descriptor;
	return descriptor;
}

void
th_log_hold_file(void)
{
	int saved_errno = errno;

	if (!th_log_header() || !th_log_is_ours() || th_load_acquire(&th_log_file.is_complete))
		return;
	if (th_lock_bounded(&th_log_file.growing)) {
		th_log_file_descriptor();
		th_unlock(&th_log_file.growing);
	}
	errno = saved_errno;
}

size_t
th_log_file_read(void *to, uint64_t from, size_t bytes)
{
	ssize_t got = 0;

	if (!th_lock_bounded(&th_log_file.growing))
		return 0;
	int descriptor = th_log_file_descriptor();
	if (descriptor >= 0)
		got = th_system_pread(descriptor, to, bytes, (off_t)from);
	th_unlock(&th_log_file.growing);
	return got > 0 ? (size_t)got : 0;
}

/* Growing */

/* Growing past RLIMIT_FSIZE would not only fail but raise SIGXFSZ in the host. */
static bool
file_size_allowed(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit))
		return false;
	return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/* For file systems without fallocate: writing zeros also allocates the space. */
static bool
write_zeros(int descriptor, uint64_t from, uint64_t to)
{
	static const char zeros[4096];

	for (int interrupted = 0; from < to;) {
		uint64_t left = to - from;
		ssize_t written = th_system_pwrite(descriptor, zeros,
			left < sizeof(zeros) ? left : sizeof(zeros), (off_t)from);

		if (written < 0 && errno == EINTR && ++interrupted < TH_SYSTEM_TRIES)
			continue;
		if (written <= 0)
			return false;
		from += (uint64_t)written;
	}
	return true;
}

bool
th_log_file_allocate(int descriptor, uint64_t from, uint64_t to)
{
	if (!file_size_allowed(to))
		return false;
	if (!th_system_allocate(descriptor, (off_t)from, (off_t)(to - from)))
		return true;
	/*
	 * Not from another process: its zeros could overwrite newer records of the log's own
	 * process.
	 */
	return (errno == EOPNOTSUPP || errno == ENOSYS) && !th_log_file.is_observed &&
	       write_zeros(descriptor, from, to);
}

static bool
is_recording(const struct th_log_header *header)
{
	return th_load_acquire(&header->state) == TH_LOG_RECORDING;
}

/*
 * Raises the limit in the header, which is the greatest of all appending processes.  False: the
 * log was closed.  Closing changes the state before the limit, so a process that raises the
 * limit afterwards sees the state.
 */
static bool
show_limit(struct th_log_header *header, uint64_t limit)
{
	uint64_t shown = th_load_acquire(&header->limit);

	for (unsigned i = 0; shown < limit && i < TH_LOG_TAIL_TURNS; i++)
		if (!is_recording(header) || th_cas_acq_rel(&header->limit, &shown, limit))
			return is_recording(header);
	return true;
}

/* Raises the limit to `needed` and, within the maximum size, by `more`. */
static bool
grow_by(int descriptor, uint64_t needed, uint64_t more)
{
	struct th_log_header *header = th_log_header();
	uint64_t target = needed + more;

	if (target > th_load_relaxed(&th_log_file.max_bytes))
		target = th_load_relaxed(&th_log_file.max_bytes);
	if (!header ||
		!th_log_file_allocate(
			descriptor, th_load_relaxed(&th_log_file.limit), target) ||
		th_load_acquire(&th_log_file.is_complete))
		return false;
	if (!show_limit(header, target) && th_log_file.is_observed)
		return false;
	/* Pairs with the acquire load in reserve(): the blocks are allocated. */
	th_store_release(&th_log_file.limit, target);
	return true;
}

/* Under `growing`. */
static bool
grow_file(uint64_t needed)
{
	int descriptor;

	if (th_load_relaxed(&th_log_file.limit) >= needed)
		return true;
	/* The descriptor is closed, and stays so. */
	if (th_load_acquire(&th_log_file.is_complete))
		return false;
	descriptor = th_log_file_descriptor();
	if (descriptor < 0)
		th_log_file_refuse(TH_COUNTER_DROPPED_LOG_UNREACHABLE);
	else if (grow_by(descriptor, needed, CHUNK) || grow_by(descriptor, needed, LAST_CHUNK))
		return true;
	else
		th_log_file_refuse(TH_COUNTER_DROPPED_NO_SPACE);
	th_store_relaxed(&th_log_file.next_try, th_clock_now() + RETRY_NS);
	return false;
}

bool
th_log_file_grow(uint64_t needed)
{
	bool grown;

	if (needed > th_load_relaxed(&th_log_file.max_bytes) ||
		th_load_acquire(&th_log_file.is_complete))
		return th_log_file_refuse(TH_COUNTER_DROPPED_LOG_FULL);
	/* Until then the reason is the previous one. */
	if (th_clock_now() < th_load_relaxed(&th_log_file.next_try))
		return false;
	if (!th_lock_bounded(&th_log_file.growing))
		return th_log_file_refuse(TH_COUNTER_DROPPED_BUSY);
	grown = grow_file(needed);
	th_unlock(&th_log_file.growing);
	return grown;
}

/* The tail */

/* Space is allocated before a record is appended, so a valid tail lies within the file. */
enum whereabouts { IN_FILE, BEYOND, UNKNOWN };

static enum whereabouts
look_for(uint64_t tail)
{
	enum whereabouts result = UNKNOWN;
	struct stat status;

	if (tail <= th_load_acquire(&th_log_file.limit))
		return IN_FILE;
	/* The maximum of a ring moves; the tool knows that of the time at which it mapped the log. */
	if (tail > th_load_relaxed(&th_log_file.max_bytes) && th_log_file.is_observed &&
		th_log_header()->ring_bytes) {
		th_log_file_refuse(TH_COUNTER_DROPPED_LOG_FULL);
		return UNKNOWN;
	}
	if (tail > th_load_relaxed(&th_log_file.max_bytes))
		return BEYOND;
	if (!th_lock_bounded(&th_log_file.growing)) {
		th_log_file_refuse(TH_COUNTER_DROPPED_BUSY);
		return UNKNOWN;
	}
	int descriptor = th_log_file_descriptor();
	if (descriptor >= 0 && !fstat(descriptor, &status))
		result = tail <= (uint64_t)status.st_size ? IN_FILE : BEYOND;
	else
		th_log_file_refuse(TH_COUNTER_DROPPED_LOG_UNREACHABLE);
	th_unlock(&th_log_file.growing);
	return result;
}

uint64_t
th_log_file_tail(struct th_log_header *header)
{
	for (unsigned i = 0; i < TH_LOG_TAIL_TURNS; i++) {
		/* In this order, `seen` cannot be greater than the tail. */
		uint64_t seen = th_load_acquire(&th_log_file.seen);
		uint64_t tail = __atomic_load_n(&header->tail, __ATOMIC_SEQ_CST);
		bool can_be = tail >= seen && tail % 8 == 0;
		enum whereabouts where = can_be ? look_for(tail) : BEYOND;

		if (where == IN_FILE) {
			th_log_file_raise_seen(tail);
			return tail;
		}
		if (where == UNKNOWN)
			return 0;
		if (th_cas_acq_rel(&header->tail, &tail, seen))
			return seen;
	}
	th_log_file_refuse(TH_COUNTER_DROPPED_BUSY);
	return 0;
}
