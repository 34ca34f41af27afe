/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts change under one lock, which is held for a few dozen instructions at a time and, when a
 * name is matched, for a few microseconds.
 */
#include "unify/sample/admission.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "unify/shared/glob.h"
#include "unify/log/log.h"
#include "unify/base/proc_file.h"

/* A holder of the lock that runs is done long before. */
#define LOCK_TURNS (1u << 16)
/* A thread that is looked at while it draws is done with that before the last try. */
#define READ_TRIES 16
/* The kernel's TASK_COMM_LEN. */
#define COMM_MAX 16
#define COMM_PATH_MAX 40

static struct {
	/* One writer: who serves the control page. */
	uint32_t wanted;      /* atomic: heaps that the settings ask for */
	uint32_t is_paused;   /* atomic */
	uint32_t lacks_java;  /* atomic */
	uint32_t is_filtered; /* atomic */
	uint32_t changes;     /* atomic: of any of these */
	uint32_t reviewed;    /* changes that all accounts follow */
	bool (*read_java)(struct th_thread_record *, uint64_t *bytes_ret); /* atomic */
	struct th_spinlock lock;      /* of the accounts and of the globs */
	char globs[TH_GLOB_TEXT_MAX]; /* when is_filtered */
} gate = {.wanted = TH_ADMISSION_ALL};

/* Settings */

static void
changed(void)
{
	/* Pairs with the acquire in th_admission_join(): the setting is there. */
	th_add_acq_rel(&gate.changes, 1);
}

void
th_admission_init(uint32_t heaps)
{
	gate.wanted = heaps;
	gate.is_paused = 0;
	gate.lacks_java = 1;
	gate.is_filtered = 0;
	gate.read_java = NULL;
	gate.lock.held = 0;
	changed();
}

bool
th_admission_wants(enum th_heap heap)
{
	return !th_load_relaxed(&gate.is_paused) && th_load_relaxed(&gate.wanted) >> heap & 1;
}

void
th_admission_set_paused(bool is_paused)
{
	th_store_relaxed(&gate.is_paused, is_paused);
	changed();
}

void
th_admission_set_heaps(uint32_t heaps)
{
	th_store_relaxed(&gate.wanted, heaps);
	changed();
}

/* An update that is skipped for lack of the lock is not repeated. */
static bool
lock(void)
{
	if (th_lock_bounded(&gate.lock, LOCK_TURNS))
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
	if (!th_lock_bounded(&gate.lock, LOCK_TURNS)) {
		*problem_ret = "busy";
		return false;
	}
	strcpy(gate.globs, globs);
	th_store_relaxed(&gate.is_filtered, *globs != '\0');
	th_unlock(&gate.lock);
	changed();
	return true;
}

bool
th_admission_is_filtered(void)
{
	return th_load_relaxed(&gate.is_filtered);
}

void
th_admission_set_java(bool is_there)
{
	th_store_relaxed(&gate.lacks_java, !is_there);
	changed();
}

void
th_admission_read_java_by(bool (*read)(struct th_thread_record *, uint64_t *bytes_ret))
{
	th_store_release(&gate.read_java, read);
}

/* Accounts */

static bool
is_open(const struct th_thread_record *record, enum th_heap heap)
{
	return th_admission_wants(heap) && !record->is_unwanted &&
	       (heap != TH_HEAP_JAVA || !th_load_relaxed(&gate.lacks_java));
}

static bool
read_bytes(struct th_thread_record *record, enum th_heap heap, uint64_t *bytes_ret)
{
	bool (*read_java)(struct th_thread_record *, uint64_t *) = th_load_acquire(
		&gate.read_java);

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
set_account(struct th_byte_count *account, bool open, uint64_t bytes)
{
	if (open) {
		th_store_relaxed(&account->skipped, bytes - account->frozen);
		/* Pairs with the acquire in th_counted_bytes(), as below. */
		th_store_release(&account->is_closed, 0);
	} else {
		th_store_relaxed(&account->frozen, bytes - account->skipped);
		th_store_release(&account->is_closed, 1);
	}
}

/* Under the lock; false: the bytes could not be read. */
static bool
follow(struct th_thread_record *record, enum th_heap heap)
{
	struct th_byte_count *account = &record->counts[heap - 1];
	bool open = is_open(record, heap);
	uint64_t bytes;

	if (open == !account->is_closed)
		return true;
	if (!read_bytes(record, heap, &bytes))
		return false;
	set_account(account, open, bytes);
	return true;
}

/* Brings the accounts of one thread in line; false: not yet. */
static bool
follow_all(struct th_thread_record *record)
{
	bool is_done;

	if (!th_lock_bounded(&gate.lock, LOCK_TURNS))
		return false;
	is_done = follow(record, TH_HEAP_JAVA);
	is_done = follow(record, TH_HEAP_NATIVE) && is_done;
	th_unlock(&gate.lock);
	return is_done;
}

bool
th_admission_admits(struct th_thread_record *record, enum th_heap heap)
{
	const uint32_t *is_closed = &record->counts[heap - 1].is_closed;
	bool was_open = !th_load_relaxed(is_closed);

	/* The review has not come by yet, or the kernel does not let it read our bytes. */
	if (is_open(record, heap) != was_open)
		follow_all(record);
	return was_open && !th_load_relaxed(is_closed);
}

void
th_admission_restart(struct th_thread_record *record, enum th_heap heap)
{
	struct th_byte_count *account = &record->counts[heap - 1];

	if (!lock())
		return;
	th_store_relaxed(&account->frozen, 0);
	th_store_relaxed(&account->skipped, 0);
	th_unlock(&gate.lock);
}

/* Names */

void
th_admission_named(struct th_thread_record *record, const char *name)
{
	if (!th_admission_is_filtered() && !record->is_unwanted)
		return;
	if (!lock())
		return;
	record->is_unwanted = th_admission_is_filtered() && !th_glob_matches(gate.globs, name);
	th_unlock(&gate.lock);
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

/* The name of another thread; "" when it has ended. */
static void
read_comm(uint32_t tid, char name[COMM_MAX + 1])
{
	char path[COMM_PATH_MAX];

	comm_path(tid, path);
	size_t length = th_proc_file_read(path, name, COMM_MAX + 1);
	if (length)
		name[length - 1] = '\0'; /* a line feed, behind at most COMM_MAX - 1 bytes */
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
	uint32_t changes = th_load_acquire(&gate.changes);
	bool is_done = true;
	int saved_errno = errno;

	for (struct th_thread_record *record = th_thread_first(); record;
		record = th_thread_next(record))
		is_done &= review_thread(record);
	if (is_done)
		gate.reviewed = changes;
	errno = saved_errno;
}

void
th_admission_review(void)
{
	if (th_load_relaxed(&gate.changes) != gate.reviewed)
		review_all();
}

void
th_admission_review_names(void)
{
	if (th_admission_is_filtered())
		review_all();
}

/* Threads that come */

uint32_t
th_admission_join(struct th_thread_record *record)
{
	/* Pairs with the release of changes. */
	uint32_t changes = th_load_acquire(&gate.changes);

	record->is_unwanted = 0;
	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		struct th_byte_count *account = &record->counts[heap - 1];

		account->skipped = 0;
		account->frozen = 0;
		account->is_closed = !is_open(record, (enum th_heap)heap);
	}
	return changes;
}

void
th_admission_joined(struct th_thread_record *record, uint32_t seen)
{
	th_admission_look_at_name(record);
	if (th_load_acquire(&gate.changes) != seen)
		follow_all(record);
}
