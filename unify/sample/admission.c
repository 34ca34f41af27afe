/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte counts change under one lock, which is held for a few dozen instructions at a time.
 */
#include "unify/sample/admission.h"

#include "unify/log/log.h"

/* Reads of a thread that is drawing: it has finished before the last try. */
#define READ_TRIES 16

static struct {
	/* One writer: the thread that serves the control page. */
	uint32_t wanted;     /* atomic: heaps selected by the settings */
	uint32_t is_paused;  /* atomic */
	uint32_t lacks_java; /* atomic */
	uint32_t changes;    /* atomic: number of changes of these */
	uint32_t reviewed;   /* number of changes that all byte counts follow */
	bool (*read_java)(struct th_thread_record *, uint64_t *bytes_ret); /* atomic */
	struct th_spinlock lock; /* protects the byte counts */
} admission = {.wanted = TH_HEAPS_ALL};

/* Settings */

static void
changed(void)
{
	/* Pairs with the acquire in th_admission_review(): the setting is stored. */
	th_add_acq_rel(&admission.changes, 1);
}

void
th_admission_init(uint32_t heaps)
{
	admission.wanted = heaps;
	admission.is_paused = 0;
	admission.lacks_java = 1;
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
is_open(enum th_heap heap)
{
	return th_admission_wants(heap) &&
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
	bool open = is_open(heap);
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
	if (is_open(heap) != was_open)
		follow_all(record);
	return was_open && !th_load_relaxed(is_closed);
}

void
th_admission_restart(struct th_thread_record *record, enum th_heap heap)
{
	struct th_byte_count *count = &record->counts[heap - 1];

	/* If not, the update is skipped and not repeated. */
	if (!th_log_lock(&admission.lock))
		return;
	th_store_relaxed(&count->frozen, 0);
	th_store_relaxed(&count->skipped, 0);
	th_unlock(&admission.lock);
}

/* Reviewing */

static bool
review_thread(struct th_thread_record *record)
{
	if (!th_load_acquire(&record->state))
		return true;
	for (int i = 0; i < READ_TRIES; i++) {
		if (follow_all(record))
			return true;
		sched_yield();
	}
	return !th_load_acquire(&record->state);
}

bool
th_admission_is_pending(void)
{
	return th_load_relaxed(&admission.changes) != admission.reviewed;
}

void
th_admission_review(void)
{
	uint32_t changes = th_load_acquire(&admission.changes);
	bool is_done = true;

	if (!th_admission_is_pending())
		return;
	for (struct th_thread_record *record = th_thread_first(); record;
		record = th_thread_next(record))
		is_done &= review_thread(record);
	if (is_done)
		admission.reviewed = changes;
}

/* New threads */

/*
 * The review finds the record from now on.  What it may have done to the counts of the thread before is
 * overwritten: it had the lock before, and its settings are seen here.
 */
void
th_admission_join(struct th_thread_record *record)
{
	bool is_locked = th_lock_bounded(&admission.lock);

	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		struct th_byte_count *count = &record->counts[heap - 1];

		th_store_relaxed(&count->skipped, 0);
		th_store_relaxed(&count->frozen, 0);
		/* As in set_count(). */
		th_store_release(&count->is_closed, !is_open((enum th_heap)heap));
	}
	if (is_locked)
		th_unlock(&admission.lock);
}
