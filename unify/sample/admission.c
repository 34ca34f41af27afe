/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte counts change under one lock, which is held for a few dozen instructions at a time and,
 * when a name is matched, for a few microseconds.
 */
#include "unify/sample/admission.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "unify/base/proc_file.h"
#include "unify/log/log.h"
#include "unify/shared/glob.h"

/* Reads of a thread that is drawing: it has finished before the last try. */
#define READ_TRIES 16
/* The kernel's TASK_COMM_LEN. */
#define COMM_MAX 16
#define COMM_PATH_MAX 40

static struct {
	/* One writer: the thread that serves the control page. */
	uint32_t wanted;      /* atomic: heaps selected by the settings */
	uint32_t is_paused;   /* atomic */
	uint32_t lacks_java;  /* atomic */
	uint32_t is_filtered; /* atomic */
	uint32_t changes;     /* atomic: number of changes of these */
	uint32_t reviewed;    /* number of changes that all byte counts follow */
	bool (*read_java)(struct th_thread_record *, uint64_t *bytes_ret); /* atomic */
	struct th_spinlock lock;      /* protects the byte counts and the globs */
	char globs[TH_GLOB_TEXT_MAX]; /* valid if is_filtered */
} admission = {.wanted = TH_HEAPS_ALL};

/* Settings */

static void
changed(void)
{
	/* Pairs with the acquire in th_admission_join(): the setting is stored. */
	th_add_acq_rel(&admission.changes, 1);
}

void
th_admission_init(uint32_t heaps)
{
	admission.wanted = heaps;
	admission.is_paused = 0;
	admission.lacks_java = 1;
	admission.is_filtered = 0;
	admission.read_java = NULL;
	admission.lock.held = 0;
	changed();
}

bool
th_admission_wants(enum th_heap heap)
{
	return !th_load_relaxed(&admission.is_paused) &&
	       th_load_relaxed(&admission.wanted) >> heap & 1;
}

void
th_admission_set_paused(bool is_paused)
{
	th_store_relaxed(&admission.is_paused, is_paused);
	changed();
}

void
th_admission_set_heaps(uint32_t heaps)
{
	th_store_relaxed(&admission.wanted, heaps);
	changed();
}

/* If false, the update is skipped and not repeated. */
static bool
lock(void)
{
	if (th_lock_bounded(&admission.lock))
		return true;
	th_log_count(TH_COUNTER_LOCKS_GIVEN_UP, 1);
	return false;
}

bool
th_admission_set_threads(const char *globs, const char **problem_ret)
{
	*problem_ret = th_glob_problem(globs);
	if (*problem_ret)
		return false;
	if (!th_lock_bounded(&admission.lock)) {
		*problem_ret = "busy";
		return false;
	}
	strcpy(admission.globs, globs);
	th_store_relaxed(&admission.is_filtered, *globs != '\0');
	th_unlock(&admission.lock);
	changed();
	return true;
}

bool
th_admission_is_filtered(void)
{
	return th_load_relaxed(&admission.is_filtered);
}

void
th_admission_set_java(bool is_there)
{
	th_store_relaxed(&admission.lacks_java, !is_there);
	changed();
}

void
th_admission_read_java_by(bool (*read)(struct th_thread_record *, uint64_t *bytes_ret))
{
	th_store_release(&admission.read_java, read);
}

/* Byte counts */

static bool
is_open(const struct th_thread_record *record, enum th_heap heap)
{
	return th_admission_wants(heap) && !record->is_unwanted &&
	       (heap != TH_HEAP_JAVA || !th_load_relaxed(&admission.lacks_java));
}

static bool
read_bytes(struct th_thread_record *record, enum th_heap heap, uint64_t *bytes_ret)
{
	bool (*read_java)(struct th_thread_record *, uint64_t *) = th_load_acquire(
		&admission.read_java);

	*bytes_ret = 0;
	if (heap == TH_HEAP_JAVA)
		return !read_java || read_java(record, bytes_ret);
	if (record != th_thread.record)
		return th_thread_read_native_bytes(record, bytes_ret);
	*bytes_ret = th_thread_native_bytes();
	return true;
}

/* Under the lock. */
static void
set_count(struct th_byte_count *count, bool open, uint64_t bytes)
{
	if (open) {
		th_store_relaxed(&count->skipped, bytes - count->frozen);
		/* Pairs with the acquire in th_counted_bytes(), as below. */
		th_store_release(&count->is_closed, 0);
	} else {
		th_store_relaxed(&count->frozen, bytes - count->skipped);
		th_store_release(&count->is_closed, 1);
	}
}

/* Under the lock; false: the bytes could not be read. */
static bool
follow(struct th_thread_record *record, enum th_heap heap)
{
	struct th_byte_count *count = &record->counts[heap - 1];
	bool open = is_open(record, heap);
	uint64_t bytes;

	if (open == !count->is_closed)
		return true;
	if (!read_bytes(record, heap, &bytes))
		return false;
	set_count(count, open, bytes);
	return true;
}

/* Brings the byte counts of one thread in line; false: not all of them yet. */
static bool
follow_all(struct th_thread_record *record)
{
	bool is_done;

	if (!th_lock_bounded(&admission.lock))
		return false;
	is_done = follow(record, TH_HEAP_JAVA);
	is_done = follow(record, TH_HEAP_NATIVE) && is_done;
	th_unlock(&admission.lock);
	return is_done;
}

bool
th_admission_admits(struct th_thread_record *record, enum th_heap heap)
{
	const uint32_t *is_closed = &record->counts[heap - 1].is_closed;
	bool was_open = !th_load_relaxed(is_closed);

	/*
	 * The review has not reached this thread yet, or the kernel prevents it from reading
	 * our bytes.
	 */
	if (is_open(record, heap) != was_open)
		follow_all(record);
	return was_open && !th_load_relaxed(is_closed);
}

void
th_admission_restart(struct th_thread_record *record, enum th_heap heap)
{
	struct th_byte_count *count = &record->counts[heap - 1];

	if (!lock())
		return;
	th_store_relaxed(&count->frozen, 0);
	th_store_relaxed(&count->skipped, 0);
	th_unlock(&admission.lock);
}

/* Names */

void
th_admission_named(struct th_thread_record *record, const char *name)
{
	if (!th_admission_is_filtered() && !record->is_unwanted)
		return;
	if (!lock())
		return;
	record->is_unwanted = th_admission_is_filtered() &&
			      !th_glob_matches(admission.globs, name);
	th_unlock(&admission.lock);
	follow_all(record);
}

void
th_admission_look_at_name(struct th_thread_record *record)
{
	char name[COMM_MAX];

	if (!record->java_named && th_admission_is_filtered() && !prctl(PR_GET_NAME, name))
		th_admission_named(record, name);
}

/* "/proc/self/task/TID/comm" */
static void
comm_path(uint32_t tid, char path[COMM_PATH_MAX])
{
	char digits[10];
	unsigned count = 0;
	char *end = stpcpy(path, "/proc/self/task/");

	do {
		digits[count++] = (char)('0' + tid % 10);
		tid /= 10;
	} while (tid);
	while (count)
		*end++ = digits[--count];
	strcpy(end, "/comm");
}

/* The name of another thread; "" if it has ended. */
static void
read_comm(uint32_t tid, char name[COMM_MAX + 1])
{
	char path[COMM_PATH_MAX];

	comm_path(tid, path);
	size_t length = th_proc_file_read(path, name, COMM_MAX + 1);
	if (length)
		name[length - 1] = '\0'; /* a line feed, after at most COMM_MAX - 1 bytes */
}

static void
review_name(struct th_thread_record *record)
{
	char name[COMM_MAX + 1];

	if (record->java_named || !th_admission_is_filtered()) {
		th_admission_named(record, record->name);
		return;
	}
	read_comm(record->tid, name);
	th_admission_named(record, name);
}

/* Reviewing */

static bool
review_thread(struct th_thread_record *record)
{
	if (!th_load_acquire(&record->state))
		return true;
	review_name(record);
	for (int i = 0; i < READ_TRIES; i++) {
		if (follow_all(record))
			return true;
		sched_yield();
	}
	return !th_load_acquire(&record->state);
}

static void
review_all(void)
{
	uint32_t changes = th_load_acquire(&admission.changes);
	bool is_done = true;
	int saved_errno = errno;

	for (struct th_thread_record *record = th_thread_first(); record;
		record = th_thread_next(record))
		is_done &= review_thread(record);
	if (is_done)
		admission.reviewed = changes;
	errno = saved_errno;
}

bool
th_admission_is_pending(void)
{
	return th_load_relaxed(&admission.changes) != admission.reviewed;
}

void
th_admission_review(void)
{
	if (th_admission_is_pending())
		review_all();
}

void
th_admission_review_names(void)
{
	if (th_admission_is_filtered())
		review_all();
}

/* New threads */

uint32_t
th_admission_join(struct th_thread_record *record)
{
	/* Pairs with the release of changes. */
	uint32_t changes = th_load_acquire(&admission.changes);

	record->is_unwanted = 0;
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		struct th_byte_count *count = &record->counts[heap - 1];

		count->skipped = 0;
		count->frozen = 0;
		count->is_closed = !is_open(record, (enum th_heap)heap);
	}
	return changes;
}

void
th_admission_joined(struct th_thread_record *record, uint32_t seen)
{
	th_admission_look_at_name(record);
	if (th_load_acquire(&admission.changes) != seen)
		follow_all(record);
}
