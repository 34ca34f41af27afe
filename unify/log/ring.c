/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring's space and the steps of a change of chunks.
 *
 *   header and metadata | hole | [from: older chunk | next: present chunk ... tail ... maximum]
 *
 * The present chunk is full: the older one goes, by one store of its successor's start in the
 * header, and then in a hole.  The next one begins behind the last record that is complete, and in
 * two passes over the full one the copies are appended to it.  They count once the full one goes,
 * so whenever the process is killed, the log begins with a whole chunk.
 *
 * The maximum moves with `punched`, so no more than the ring's size is in use; what is appended
 * beyond it is dropped and counted.
 */
#include "unify/log/ring.h"

#include <string.h>

#include "unify/base/align.h"
#include "unify/base/memory.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/log/log_file.h"
#include "unify/log/ring_private.h"
#include "unify/shared/kept.h"

#define WORDS_MAX ((TH_RING_CARRIER_BYTES - TH_KEPT_WORDS) / 8)

/* Room at which a change of chunks becomes urgent; during the passes with that for the copies. */
#define NOW_PARTS 1
#define NOW_PARTS_IN_PASS 4
/* Room at which a chunk is full, whatever its size. */
#define FULL_PARTS 2

struct th_ring th_ring;
bool (*th_ring_is_alive)(uint32_t thread);

/* Space */

static uint64_t
parts(uint32_t count)
{
	return th_load_relaxed(&th_ring.bytes) / TH_RING_PARTS * count;
}

static void
set_maximum(struct th_log_header *header)
{
	uint64_t bytes = th_ring.punched + th_ring.bytes -
			 th_align_up(th_ring.metadata, TH_PAGE_BYTES) - TH_PAGE_BYTES;

	th_store_relaxed(&th_log_file.max_bytes, bytes);
	th_store_relaxed(&header->most_bytes, bytes);
}

/* Gives back space before the older chunk, in pieces: whoever extends the file waits meanwhile. */
static void
punch(struct th_log_header *header)
{
	uint64_t piece = th_ring.punched + parts(1);
	uint64_t end = th_align_down(
		piece < th_ring.from ? piece : th_ring.from, TH_PAGE_BYTES);
	uint64_t from = th_align_up(th_ring.punched, TH_PAGE_BYTES);

	if (end <= from || !th_lock_bounded(&th_log_file.growing))
		return;
	int descriptor = th_log_file_descriptor();
	if (descriptor >= 0 && !th_system_punch(descriptor, (off_t)from, (off_t)(end - from)))
		th_ring.punched = end;
	th_unlock(&th_log_file.growing);
	set_maximum(header);
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
	th_ring.words = th_memory_map(TH_RING_CARRIER_BYTES);
	if (!th_ring.buffer || !th_ring.words)
		return false;
	th_ring.metadata = th_ring.punched = th_ring.from = th_ring.next = metadata_end;
	th_ring.origin = th_ring.time = header->start_monotonic;
	th_ring.chunk = 1;
	th_store_relaxed(&header->ring_from, metadata_end);
	th_store_relaxed(&header->ring_bytes, bytes);
	th_store_release(&th_ring.bytes, bytes);
	set_maximum(header);
	return true;
}

void
th_ring_deinit(void)
{
	th_memory_retire(th_ring.buffer);
	th_memory_retire(th_ring.words);
	th_id_table_deinit(&th_ring.samples);
	th_id_table_deinit(&th_ring.facts);
	th_id_table_deinit(&th_ring.dead[0]);
	th_id_table_deinit(&th_ring.dead[1]);
	memset(&th_ring, 0, sizeof(th_ring));
}

void
th_ring_on_thread(bool (*is_alive)(uint32_t thread))
{
	th_ring_is_alive = is_alive;
}

/* Chunks */

static bool
has_room(const struct th_log_header *header, uint64_t bytes)
{
	return th_load_relaxed(&header->tail) + bytes <=
	       th_load_relaxed(&th_log_file.max_bytes);
}

static bool
is_full(const struct th_log_header *header)
{
	return th_load_relaxed(&header->tail) >=
		       th_load_relaxed(&th_ring.next) + parts(TH_RING_CHUNK_PARTS) ||
	       !has_room(header, parts(FULL_PARTS));
}

enum th_ring_urgency
th_ring_urgency(void)
{
	const struct th_log_header *header = th_log_header();
	bool is_working = th_load_relaxed(&th_ring.pass) != 0;

	if (!th_load_relaxed(&th_ring.bytes) || !header)
		return TH_RING_IDLE;
	if (!has_room(header, parts(is_working ? NOW_PARTS_IN_PASS : NOW_PARTS)))
		return TH_RING_NOW;
	return is_working || is_full(header) ? TH_RING_SOON : TH_RING_IDLE;
}

bool
th_ring_has_room(void)
{
	const struct th_log_header *header = th_log_header();

	return !th_load_relaxed(&th_ring.bytes) || !header || has_room(header, parts(1) / 2) ||
	       th_log_file_refuse(TH_COUNTER_DROPPED_LOG_FULL);
}

uint32_t
th_ring_chunk(void)
{
	uint32_t chunk = th_load_relaxed(&th_ring.chunk);

	return chunk ? chunk : 1;
}

uint64_t
th_ring_place(uint64_t sample)
{
	const struct th_id_entry *entry;
	uint64_t place = sample;

	if (!th_load_acquire(&th_ring.bytes) || !th_lock_bounded(&th_ring.working))
		return sample;
	entry = th_id_table_find(&th_ring.samples, sample);
	if (entry)
		place = entry->place;
	th_unlock(&th_ring.working);
	return place;
}

/* Reading */

/* The number of bytes read; 0 on failure. */
static size_t
read_file(void *to, uint64_t from, size_t bytes)
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

/* `bytes` at `offset`, before which all in the buffer may be dropped; NULL: not readable now. */
static const char *
provide(uint64_t offset, uint64_t bytes)
{
	if (offset < th_ring.buffered || offset + bytes > th_ring.buffered_end) {
		th_ring.buffered = offset;
		th_ring.buffered_end = offset +
				       read_file(th_ring.buffer, offset, TH_RING_BUFFER_BYTES);
	}
	return offset + bytes <= th_ring.buffered_end
		       ? th_ring.buffer + (offset - th_ring.buffered)
		       : NULL;
}

static bool
read_record(uint64_t end, struct th_ring_record *record_ret)
{
	struct th_log_record head;
	const char *bytes;

	for (; th_ring.at < end && (bytes = provide(th_ring.at, sizeof(head)));
		th_ring.at += 8) {
		memcpy(&head, bytes, sizeof(head));
		if (!head.type || head.size < sizeof(head) || head.size % 8 ||
			head.size > TH_LOG_WINDOW_OVERLAP ||
			head.check != th_log_check(th_ring.at, head.size, head.type) ||
			!(bytes = provide(th_ring.at, head.size)))
			continue;
		*record_ret = (struct th_ring_record){
			.offset = th_ring.at,
			.place = th_ring.at,
			.bytes = bytes,
			.size = head.size,
			.type = head.type,
		};
		th_ring.at += head.size;
		return true;
	}
	return false;
}

typedef bool record_visit(const struct th_ring_record *record);

/* Visits the record, or those in a KEPT, until a visit returns false: then false. */
static bool
visit_each(const struct th_ring_record *record, record_visit *visit)
{
	struct th_kept_record kept;
	uint32_t word = 0;

	if (record->type != TH_EVENT_KEPT)
		return visit(record);
	while (th_kept_next(record->bytes, record->size, &word, &kept)) {
		const struct th_ring_record copy = {
			.offset = kept.offset,
			.place = record->place + kept.at,
			.bytes = record->bytes + kept.at,
			.size = kept.size,
			.type = kept.type,
			.is_copy = true,
			.thinned = kept.thinned,
		};

		if (!visit(&copy))
			return false;
	}
	return true;
}

/* Copying */

/* Samples are found at their new places. */
static void
move_samples(uint64_t place)
{
	for (uint32_t at = 0; at < th_ring.words_count;) {
		uint64_t offset = th_ring.words[at++];
		struct th_id_entry *sample = th_id_table_find(
			&th_ring.samples, offset & ~TH_KEPT_THINNED);
		struct th_log_record head;

		at += offset & TH_KEPT_THINNED ? 1 : 0;
		if (sample)
			sample->place = place + TH_KEPT_WORDS + 8 * (uint64_t)at;
		memcpy(&head, &th_ring.words[at], sizeof(head));
		at += head.size / 8;
	}
}

/* Appends what was copied; it counts when the older chunk has gone. */
static bool
flush(void)
{
	const struct th_event_kept kept = {.from = th_ring.next};
	const struct th_log_part part = {th_ring.words, th_ring.words_count};

	if (!th_ring.words_count)
		return true;
	uint64_t place = th_log_append(TH_EVENT_KEPT, &kept, &part, 1);
	if (!place)
		return false;
	move_samples(place);
	th_ring.words_count = 0;
	return true;
}

bool
th_ring_copy(const struct th_ring_record *record, double thinned)
{
	const bool is_thinned = thinned > 0 && thinned < 1;
	uint32_t words = 1 + is_thinned + record->size / 8;

	if (words > WORDS_MAX) {
		th_log_count(TH_COUNTER_RING_LOST, 1);
		return true;
	}
	if (th_ring.words_count + words > WORDS_MAX && !flush())
		return false;
	uint64_t *to = th_ring.words + th_ring.words_count;
	*to++ = record->offset | (is_thinned ? TH_KEPT_THINNED : 0);
	if (is_thinned)
		memcpy(to++, &thinned, sizeof(thinned));
	memcpy(to, record->bytes, record->size);
	th_ring.words_count += words;
	return true;
}
/* Changes of chunks */

/* The older chunk goes: not while a thread is stopped in the middle of a record in the full one. */
static void
begin(struct th_log_header *header, uint64_t tail)
{
	/* Unmaps the windows in which no thread writes. */
	th_log_window_open(tail - 1, tail);
	th_ring.end = th_log_windows_start();
	if (th_ring.end < th_ring.next + parts(1))
		return;
	th_ring.from = th_ring.at = th_ring.next;
	th_store_release(&header->ring_from, th_ring.from);
	th_ring.buffered_end = 0;
	th_store_relaxed(&th_ring.chunk, th_ring.chunk + 1);
	th_store_relaxed(&th_ring.pass, 1);
	th_ring_begin_rules();
}

/*
 * Whether an append that failed may succeed later.  In a full ring what could not be appended is
 * lost: only when the passes are complete it can give space back.
 */
static bool
can_retry(void)
{
	if (th_log_refusal() != TH_COUNTER_DROPPED_LOG_FULL ||
		th_ring.punched < th_align_down(th_ring.from, TH_PAGE_BYTES))
		return true;
	th_log_count(TH_COUNTER_RING_LOST, 1);
	th_ring.words_count = 0;
	return false;
}

static bool
end_pass(void)
{
	if (th_ring.pass == 1) {
		th_ring_thin_samples();
		th_store_relaxed(&th_ring.next, th_ring.at);
		th_ring.at = th_ring.from;
		th_store_relaxed(&th_ring.pass, 2);
		return true;
	}
	if (!flush() && can_retry())
		return false;
	th_id_table_deinit(&th_ring.facts);
	th_store_relaxed(&th_ring.pass, 0);
	return true;
}

static void
work(uint32_t bytes)
{
	struct th_ring_record record;

	for (uint32_t done = 0; th_ring.pass && done < bytes;) {
		bool is_first = th_ring.pass == 1;
		uint64_t end = is_first ? th_ring.end : th_ring.next;

		if (!read_record(end, &record)) {
			if (th_ring.at < end || !end_pass())
				return;
			continue;
		}
		done += record.size;
		if (!visit_each(&record, is_first ? th_ring_look : th_ring_keep) &&
			can_retry()) {
			/* A reader ignores what was copied twice. */
			th_ring.at = record.place;
			return;
		}
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

		if (!th_ring.pass && tail && is_full(header))
			begin(header, tail);
		punch(header);
		work(bytes);
		is_busy = th_ring.pass != 0;
	}
	th_unlock(&th_ring.working);
	return is_busy;
}
