/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring's space and the steps of compaction.
 *
 *   header and metadata | hole | [punched ...  from ... tail ... maximum]
 *
 * The maximum moves with `punched`, so no more than the ring's size is in use; what is appended
 * beyond it is dropped and counted.  Space is given back one segment later than its records were
 * compacted, so a reader that has just read the header has the time of a segment to read them.
 *
 * The commit is one store of `from` in the header: KEPT events count if they were written for that
 * start or an earlier one.  Whenever the process is killed, the records before `from` are in KEPT
 * events, and those after it in the file.
 */
#include "unify/log/ring.h"

#include <string.h>

#include "unify/base/align.h"
#include "unify/base/memory.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/log/log_file.h"
#include "unify/log/ring_private.h"

/* Segments of a ring. */
#define SEGMENTS 16
/* Part of the ring from which on the oldest segment is compacted. */
#define FULL_NUMERATOR 5
#define FULL_DENOMINATOR 8

#define CREDIT_SEGMENTS 2
/* Room, in segments, at which compaction becomes urgent: it usually begins with five. */
#define SOON_SEGMENTS 3
#define NOW_SEGMENTS 2
/* Slots of the table of marks that a step looks at. */
#define PRUNED_AT_ONCE 512

struct th_ring th_ring;
bool (*th_ring_is_alive)(uint32_t thread);

/* Space */

void
th_ring_set_maximum(uint64_t bytes)
{
	struct th_log_header *header = th_log_header();

	th_store_relaxed(&th_log_file.max_bytes, bytes);
	if (header)
		th_store_relaxed(&header->most_bytes, bytes);
}

/* Gives back the space up to `end`. */
static void
punch(uint64_t end)
{
	uint64_t from = th_align_up(th_ring.punched, TH_PAGE_BYTES);
	bool is_done = true;

	end = th_align_down(end, TH_PAGE_BYTES);
	if (end > from) {
		if (!th_lock_bounded(&th_log_file.growing))
			return;
		int descriptor = th_log_file_descriptor();
		is_done = descriptor >= 0 &&
			  !th_system_punch(descriptor, (off_t)from, (off_t)(end - from));
		th_unlock(&th_log_file.growing);
	}
	if (is_done && end > th_ring.punched)
		th_ring.punched = end;
}

/* Start and end */

static bool
can_punch(uint64_t at)
{
	bool can = false;

	if (!th_lock_bounded(&th_log_file.growing))
		return false;
	int descriptor = th_log_file_descriptor();
	if (descriptor >= 0)
		can = !th_system_punch(descriptor, (off_t)at, TH_PAGE_BYTES) &&
		      !th_system_allocate(descriptor, (off_t)at, TH_PAGE_BYTES);
	th_unlock(&th_log_file.growing);
	return can;
}

bool
th_ring_init(uint64_t bytes, uint64_t metadata_end)
{
	struct th_log_header *header = th_log_header();

	th_ring_deinit();
	if (!header || !can_punch(th_align_up(metadata_end, TH_PAGE_BYTES) + TH_PAGE_BYTES))
		return false;
	th_ring.buffer = th_memory_map(TH_RING_BUFFER_BYTES);
	/* Before the words there is space for the fixed part of the event: see th_ring_flush(). */
	char *words = th_memory_map(TH_RING_CARRIER_BYTES + TH_PAGE_BYTES);
	if (!th_ring.buffer || !words)
		return false;
	th_ring.carrier.words = (uint64_t *)(void *)(words + TH_PAGE_BYTES);
	th_ring.segment = th_align_down(bytes / SEGMENTS, TH_PAGE_BYTES);
	th_ring.start = th_ring.from = th_ring.punched = metadata_end;
	th_ring.origin = th_ring.time = header->start_monotonic;
	th_store_relaxed(&th_ring.lap, 1);
	th_store_relaxed(&header->ring_from, metadata_end);
	th_store_relaxed(&header->ring_bytes, bytes);
	th_ring_set_maximum(metadata_end + bytes - th_ring.segment);
	th_store_release(&th_ring.bytes, bytes);
	return true;
}

void
th_ring_deinit(void)
{
	char *words = (char *)th_ring.carrier.words;

	th_memory_retire(th_ring.buffer);
	th_memory_retire(words ? words - TH_PAGE_BYTES : NULL);
	th_id_table_deinit(&th_ring.open);
	th_id_table_deinit(&th_ring.latest);
	th_id_table_deinit(&th_ring.marks);
	memset(&th_ring, 0, sizeof(th_ring));
}

void
th_ring_on_thread(bool (*is_alive)(uint32_t thread))
{
	th_ring_is_alive = is_alive;
}

enum th_ring_urgency
th_ring_urgency(void)
{
	const struct th_log_header *header = th_log_header();
	uint64_t bytes = th_load_relaxed(&th_ring.bytes);

	if (!bytes || !header)
		return TH_RING_IDLE;
	uint64_t tail = th_load_relaxed(&header->tail);
	uint64_t most = th_load_relaxed(&th_log_file.max_bytes);
	uint64_t room = most > tail ? most - tail : 0;
	if (room > bytes / SEGMENTS * SOON_SEGMENTS)
		return TH_RING_IDLE;
	return room > bytes / SEGMENTS * NOW_SEGMENTS ? TH_RING_SOON : TH_RING_NOW;
}

bool
th_ring_has_room(void)
{
	const struct th_log_header *header = th_log_header();
	uint64_t bytes = th_load_relaxed(&th_ring.bytes);

	return !bytes || !header ||
	       th_load_relaxed(&header->tail) + bytes / SEGMENTS / 2 <=
		       th_load_relaxed(&th_log_file.max_bytes) ||
	       th_log_file_refuse(TH_COUNTER_DROPPED_LOG_FULL);
}

uint32_t
th_ring_lap(void)
{
	uint32_t lap = th_load_relaxed(&th_ring.lap);

	return lap ? lap : 1;
}

uint64_t
th_ring_place(uint64_t sample)
{
	const struct th_id_entry *entry;
	uint64_t place = sample;

	if (!th_load_acquire(&th_ring.bytes) || !th_lock_bounded(&th_ring.working))
		return sample;
	entry = th_id_table_find(&th_ring.open, sample);
	if (entry)
		place = entry->place;
	th_unlock(&th_ring.working);
	return place;
}

/* Compaction */

/*
 * Whether the oldest segment is to be compacted: not if a thread was stopped in the middle of a
 * record in it.
 */
static bool
is_due(uint64_t tail)
{
	uint64_t full = th_ring.bytes / FULL_DENOMINATOR * FULL_NUMERATOR;
	uint64_t end = th_ring.from + th_ring.segment + TH_LOG_WINDOW_OVERLAP;

	return tail > th_ring.punched + full && end < tail && end <= th_log_windows_start();
}

static void
begin(uint64_t tail)
{
	if (!th_ring.lap_end)
		th_ring.lap_end = tail;
	th_ring.cycle = (struct th_ring_cycle){.pass = 1, .at = th_ring.from};
	th_ring_forget_buffer();
}

/* At most CREDIT_SEGMENTS, in either direction: the room beyond the usual start of compaction. */
static void
keep_credit(int64_t more)
{
	const int64_t most = (int64_t)(CREDIT_SEGMENTS * th_ring.segment);
	int64_t credit = th_ring.credit + more;

	th_ring.credit = credit > most ? most : credit < -most ? -most : credit;
}

/* The records before the cut are represented by KEPT events from here on. */
static void
commit(struct th_log_header *header)
{
	uint64_t before = th_ring.from;

	keep_credit((int64_t)(th_ring.cycle.cut - before) / 2 - (int64_t)th_ring.cycle.kept);
	th_ring.from = th_ring.cycle.cut;
	th_store_release(&header->ring_from, th_ring.from);
	th_ring.cycle = (struct th_ring_cycle){.pass = 0};
	punch(before);
	th_ring.extra = 0;
	th_ring_set_maximum(th_ring.punched + th_ring.bytes - th_ring.segment);
	if (th_ring.from < th_ring.lap_end)
		return;
	th_store_relaxed(&th_ring.lap, th_ring.lap + 1);
	th_ring.lap_end = th_load_relaxed(&header->tail);
	memset(th_ring.few, 0, sizeof(th_ring.few));
	memset(th_ring.slots, 0, sizeof(th_ring.slots));
}

/*
 * Whether an append that failed may succeed later.  Otherwise what could not be appended is lost:
 * the ring has to go on, and its next hole gives the space back that was missing.
 */
static bool
can_retry(void)
{
	if (th_log_refusal() == TH_COUNTER_DROPPED_BUSY)
		return true;
	th_log_count(TH_COUNTER_RING_LOST, 1);
	th_ring.carrier.count = 0;
	return false;
}

static bool
end_pass(struct th_log_header *header)
{
	struct th_ring_cycle *cycle = &th_ring.cycle;

	if (cycle->pass == 1) {
		cycle->pass = 2;
		cycle->cut = cycle->at;
		cycle->at = th_ring.from;
		return true;
	}
	if (!th_ring_flush() && can_retry())
		return false;
	commit(header);
	return true;
}

/* False: not now. */
static bool
work_on(const struct th_ring_record *record)
{
	if (th_ring.cycle.pass == 1) {
		th_ring_look(record);
	} else if (!th_ring_keep(record) && can_retry()) {
		/* A reader ignores what was carried twice. */
		th_ring.cycle.at = record->place;
		return false;
	}
	return true;
}

static void
work(struct th_log_header *header, uint32_t bytes)
{
	struct th_ring_cycle *cycle = &th_ring.cycle;
	struct th_ring_record record;

	for (uint32_t done = 0; cycle->pass && done < bytes;) {
		uint64_t end = cycle->pass == 1 ? th_ring.from + th_ring.segment : cycle->cut;

		if (th_ring_read(end, &record)) {
			done += record.size;
			if (!work_on(&record))
				return;
		} else if (cycle->at < end || !end_pass(header)) {
			return;
		}
	}
}

/* Removes marks that no longer count, from a part of the table in each step. */
static void
prune_marks(void)
{
	struct th_id_table *marks = &th_ring.marks;

	for (unsigned i = 0; i < PRUNED_AT_ONCE && marks->slots; i++) {
		struct th_id_entry *entry =
			&marks->entries[th_ring.pruned++ & (marks->slots - 1)];

		if (entry->key && entry->place + 2 < th_ring.lap)
			th_id_table_remove(marks, entry);
	}
}

bool
th_ring_step(uint32_t bytes)
{
	struct th_log_header *header = th_log_header();
	bool is_busy = false;

	if (!header || !th_load_acquire(&th_ring.bytes) ||
		th_load_acquire(&th_log_file.is_complete) || !th_trylock(&th_ring.working))
		return false;
	if (th_ring.bytes) {
		uint64_t tail = th_log_file_tail(header);

		if (!th_ring.cycle.pass && tail && is_due(tail))
			begin(tail);
		if (th_ring.cycle.pass) {
			prune_marks();
			work(header, bytes);
		}
		is_busy = th_ring.cycle.pass || (tail && is_due(tail));
	}
	th_unlock(&th_ring.working);
	return is_busy;
}
