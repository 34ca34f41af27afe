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

#include <stddef.h>
#include <string.h>

#include "unify/base/align.h"
#include "unify/base/memory.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/log/log_file.h"
#include "unify/log/log_window.h"
#include "unify/log/ring_private.h"
#include "unify/shared/kept.h"

/* Read at once; every record fits. */
#define BUFFER_BYTES (TH_LOG_WINDOW_OVERLAP + (64u << 10))
/* The largest KEPT event, and the words in it. */
#define CARRIER_BYTES TH_LOG_WINDOW_OVERLAP
#define WORDS_MAX ((CARRIER_BYTES - TH_KEPT_WORDS) / 8)

/* Room at which a change of chunks becomes urgent; during the passes with that for the copies. */
#define NOW_PARTS 1
#define NOW_PARTS_IN_PASS 4
/* Room at which a chunk is full, whatever its size. */
#define FULL_PARTS 2

struct th_ring th_ring;

static struct {
	uint64_t metadata; /* their end; they stay */
	uint64_t punched;  /* the file has no space before it, but for header and metadata */
	char *buffer; /* BUFFER_BYTES of the file, from `buffered` on; behind them the carrier */
	uint64_t buffered;
	uint64_t buffered_end;
	char *carrier;  /* the next KEPT event */
	uint32_t words; /* in it */
} space;

/* Space */

static uint64_t
parts(uint32_t count)
{
	return th_load_relaxed(&th_ring.bytes) / TH_RING_PARTS * count;
}

static void
set_maximum(struct th_log_header *header)
{
	uint64_t bytes = space.punched + th_ring.bytes -
			 th_align_up(space.metadata, TH_PAGE_BYTES) - TH_PAGE_BYTES;

	th_store_relaxed(&th_log_file.max_bytes, bytes);
	th_store_relaxed(&header->most_bytes, bytes);
}

/* Gives back space before the older chunk, in pieces: whoever extends the file waits meanwhile. */
static void
punch(struct th_log_header *header)
{
	uint64_t piece = space.punched + parts(1);
	uint64_t end = th_align_down(
		piece < th_ring.from ? piece : th_ring.from, TH_PAGE_BYTES);
	uint64_t from = th_align_up(space.punched, TH_PAGE_BYTES);

	if (end <= from || !th_lock_bounded(&th_log_file.growing))
		return;
	int descriptor = th_log_file_descriptor();
	if (descriptor >= 0 && !th_system_punch(descriptor, (off_t)from, (off_t)(end - from)))
		space.punched = end;
	th_unlock(&th_log_file.growing);
	set_maximum(header);
}

/* Start and end */

/* While the log is created, no other thread grows it. */
static bool
can_punch(uint64_t at)
{
	int descriptor = th_log_file_descriptor();

	return descriptor >= 0 && !th_system_punch(descriptor, (off_t)at, TH_PAGE_BYTES) &&
	       !th_system_allocate(descriptor, (off_t)at, TH_PAGE_BYTES);
}

bool
th_ring_init(uint64_t bytes, uint64_t metadata_end)
{
	struct th_log_header *header = th_log_header();

	th_ring_deinit();
	if (!header || !can_punch(th_align_up(metadata_end, TH_PAGE_BYTES) + TH_PAGE_BYTES))
		return false;
	space.buffer = th_memory_map(BUFFER_BYTES + CARRIER_BYTES);
	if (!space.buffer)
		return false;
	space.carrier = space.buffer + BUFFER_BYTES;
	space.metadata = space.punched = th_ring.from = th_ring.next = metadata_end;
	th_ring_keep_init(header->start_monotonic);
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
	th_memory_retire(space.buffer);
	memset(&space, 0, sizeof(space));
	th_ring_keep_deinit();
	memset(&th_ring, 0, sizeof(th_ring));
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
	const uint64_t *place;

	if (!th_load_acquire(&th_ring.bytes) || !th_lock_bounded(&th_ring.working))
		return sample;
	place = th_ring_find_place(sample);
	if (place)
		sample = *place;
	th_unlock(&th_ring.working);
	return sample;
}

/* Reading */

/* `bytes` at `offset`, before which all in the buffer may be dropped; NULL: not readable now. */
static const char *
provide(uint64_t offset, uint64_t bytes)
{
	if (offset < space.buffered || offset + bytes > space.buffered_end) {
		space.buffered = offset;
		space.buffered_end = offset +
				     th_log_file_read(space.buffer, offset, BUFFER_BYTES);
	}
	return offset + bytes <= space.buffered_end ? space.buffer + (offset - space.buffered)
						    : NULL;
}

/* The record at th_ring.at, or behind it; a KEPT as a whole. */
static bool
find_record(struct th_ring_record *record_ret)
{
	struct th_log_record head;
	const char *bytes;

	for (; th_ring.at < th_ring.next && (bytes = provide(th_ring.at, sizeof(head)));
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
		return true;
	}
	return false;
}

/* The next record of the full chunk, also one in a KEPT.  False: none, or it is not readable now. */
static bool
read_record(struct th_ring_record *ret)
{
	struct th_kept_record kept;

	while (find_record(ret)) {
		if (ret->type == TH_EVENT_KEPT &&
			th_kept_next(ret->bytes, ret->size, &th_ring.word, &kept)) {
			*ret = (struct th_ring_record){
				.offset = kept.offset,
				.place = ret->place + kept.at,
				.bytes = ret->bytes + kept.at,
				.size = kept.size,
				.type = kept.type,
				.is_copy = true,
				.thinned = kept.thinned,
			};
			return true;
		}
		th_ring.at += ret->size;
		th_ring.word = 0;
		if (ret->type != TH_EVENT_KEPT)
			return true;
	}
	return false;
}

/* Copying */

/*
 * Appends what was copied; it counts when the older chunk has gone.  False: to be tried again.  In a
 * full ring what could not be appended is lost: only when the passes are complete it can give space
 * back.
 */
static bool
flush(void)
{
	const struct th_event_kept event = {.from = th_ring.next};
	const struct th_log_part part = {space.carrier + TH_KEPT_WORDS, space.words};
	struct th_kept_record kept;
	uint32_t word = 0;

	if (!space.words)
		return true;
	uint64_t place = th_log_append(TH_EVENT_KEPT, &event, &part, 1);
	if (!place && (th_log_refusal() != TH_COUNTER_DROPPED_LOG_FULL ||
			      space.punched < th_align_down(th_ring.from, TH_PAGE_BYTES)))
		return false;
	th_log_count(TH_COUNTER_RING_LOST, !place);
	memcpy(space.carrier + TH_KEPT_WORDS - 8, &space.words, sizeof(space.words));
	while (place && th_kept_next(space.carrier, CARRIER_BYTES, &word, &kept)) {
		uint64_t *sample = th_ring_find_place(kept.offset);

		if (sample)
			*sample = place + kept.at;
	}
	space.words = 0;
	return true;
}

/* Copies a record, if it stays; false: to be tried again. */
static bool
copy(const struct th_ring_record *record)
{
	const double part = th_ring_part(record);
	const bool is_thinned = part < 1;
	const uint32_t words = 1 + is_thinned + record->size / 8;
	uint64_t first = record->offset | (is_thinned ? TH_KEPT_THINNED : 0);

	if (part <= 0)
		return true;
	if (words > WORDS_MAX) {
		th_log_count(TH_COUNTER_RING_LOST, 1);
		return true;
	}
	if (space.words + words > WORDS_MAX && !flush())
		return false;
	char *to = space.carrier + TH_KEPT_WORDS + 8 * (size_t)space.words;
	memcpy(to, &first, sizeof(first));
	memcpy(to + 8, &part, sizeof(part));
	memcpy(to + 8 * (size_t)(words - record->size / 8), record->bytes, record->size);
	space.words += words;
	return true;
}

/* Changes of chunks */

/* The older chunk goes: not while a thread is stopped in the middle of a record in the full one. */
static void
begin(struct th_log_header *header, uint64_t tail)
{
	/* Unmaps the windows in which no thread writes: records before the others are complete. */
	th_log_window_open(tail - 1, tail);
	uint64_t end = th_log_windows_start();
	if (end < th_ring.next + parts(1))
		return;
	th_ring.from = th_ring.at = th_ring.next;
	th_store_relaxed(&th_ring.next, end);
	th_store_release(&header->ring_from, th_ring.from);
	space.buffered_end = 0;
	th_store_relaxed(&th_ring.chunk, th_ring.chunk + 1);
	th_store_relaxed(&th_ring.pass, 1);
	th_ring_keep_begin();
}

/* False: its last copies are to be appended later. */
static bool
end_pass(void)
{
	if (th_ring.pass == 1) {
		/* Behind the last record of the full chunk. */
		th_store_relaxed(&th_ring.next, th_ring.at);
		th_ring_thin();
		th_ring.at = th_ring.from;
		th_store_relaxed(&th_ring.pass, 2);
		return true;
	}
	if (!flush())
		return false;
	th_store_relaxed(&th_ring.pass, 0);
	return true;
}

static void
work(uint32_t bytes)
{
	for (uint32_t done = 0; th_ring.pass && done < bytes;) {
		const uint64_t at = th_ring.at;
		const uint32_t word = th_ring.word;
		struct th_ring_record record;

		if (!read_record(&record)) {
			if (th_ring.at < th_ring.next || !end_pass())
				return;
			continue;
		}
		done += record.size;
		if (th_ring.pass == 1) {
			th_ring_look(&record);
		} else if (!copy(&record)) {
			th_ring.at = at;
			th_ring.word = word;
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
