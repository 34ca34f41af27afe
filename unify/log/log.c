/* SPDX-License-Identifier: Apache-2.0 */
/* Appending.  The header stays mapped, the records are mapped in windows (log_window.h). */
#include "unify/log/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/log/log_events.h"
#include "unify/log/log_file.h"
#include "unify/log/log_window.h"
#include "unify/log/ring.h"
#include "unify/shared/clock.h"

/* Bytes that the agent thread keeps ready ahead of the tail. */
#define AHEAD (1u << 18)
/* Four texts and the other fields fit into a record; names in class files are shorter. */
#define TEXT_MAX 65535
/* Upper bound of the fixed part of every event. */
#define RECORD_FIXED_MAX 256

bool
th_log_is_ours(void)
{
	return th_log_file.mark ? th_load_relaxed(th_log_file.mark) != 0 : th_log_is_owner();
}

bool
th_log_is_owner(void)
{
	return getpid() == th_log_file.owner;
}

struct th_log_header *
th_log_header(void)
{
	return th_load_acquire(&th_log_file.header);
}

struct th_log_part
th_log_text(const char *text)
{
	size_t length = text ? strlen(text) : 0;

	if (length > TEXT_MAX)
		length = TEXT_MAX;
	return (struct th_log_part){text, (uint32_t)length};
}

/* Appending */

/* The position of a record: reserved space, in a window that was entered. */
struct place {
	struct th_log_window *window;
	uint64_t offset;
};

/*
 * Closing a log sets the state, moves the limit to the tail, reads the tail again and truncates
 * the file there.  Space that was reserved while the limit was above it therefore stays in the
 * file.  Another process uses the limit in the header for this check.  Pairs with the stores in
 * th_log_close().
 */
static bool
is_ours_to_fill(const struct th_log_header *header, uint64_t end)
{
	const uint64_t *limit = th_log_file.is_observed ? &header->limit : &th_log_file.limit;

	return end <= __atomic_load_n(limit, __ATOMIC_SEQ_CST);
}

/*
 * Reserves `bytes` from `tail` on, if that is still the tail.  False: try again.  True:
 * place->offset is the position, or 0 on failure.
 */
static bool
reserve_at(struct th_log_header *header, uint64_t tail, uint32_t bytes, struct place *place)
{
	/* Entered before the reservation: a window without users may be unmapped. */
	place->window = th_log_window_enter(tail);
	place->offset = 0;
	if (!place->window)
		/* If the tail has moved on meanwhile, another window is needed. */
		return !th_log_window_open(tail, tail) && th_log_file_tail(header) == tail;
	/* Sequentially consistent: ordered before the second read of the limit. */
	if (__atomic_compare_exchange_n(&header->tail, &tail, tail + bytes, false,
		    __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
		th_log_file_raise_seen(tail + bytes);
		place->offset = is_ours_to_fill(header, tail + bytes) ? tail : 0;
		if (!place->offset)
			th_log_window_leave(place->window);
		return true;
	}
	th_log_window_leave(place->window);
	return false;
}

static bool
reserve(struct th_log_header *header, uint32_t bytes, struct place *place)
{
	if (th_load_acquire(&th_log_file.is_complete))
		return th_log_file_refuse(TH_COUNTER_DROPPED_LOG_FULL);
	for (unsigned i = 0; i < TH_LOG_TAIL_TURNS; i++) {
		uint64_t tail = th_log_file_tail(header);

		if (!tail)
			return false;
		if (tail + bytes > th_load_acquire(&th_log_file.limit) &&
			!th_log_file_grow(tail + bytes))
			return false;
		if (reserve_at(header, tail, bytes, place))
			return place->offset != 0;
	}
	return th_log_file_refuse(TH_COUNTER_DROPPED_BUSY);
}

/*
 * The end of a record with these parts, which are written to `record` unless it is NULL.  New pages of
 * the file are zero, so padding need not be written.
 */
static uint32_t
put_parts(char *record, const struct th_log_event_type *event, const struct th_log_part *parts,
	unsigned part_count)
{
	uint32_t at = th_log_file.fixed_bytes[event->type];
	const struct th_log_field *field = event->fields;

	for (unsigned i = 0; i < part_count; i++, field++) {
		uint32_t bytes = parts[i].length;

		while (th_log_data_bytes((enum th_data_type)field->data))
			field++;
		at = (uint32_t)th_align_up(at, 4);
		if (record)
			memcpy(record + at, &parts[i].length, 4);
		at += 4;
		if (field->data == TH_DATA_U64_ARRAY) {
			at = (uint32_t)th_align_up(at, 8);
			bytes *= 8;
		}
		if (record && bytes)
			memcpy(record + at, parts[i].data, bytes);
		at += bytes;
	}
	return (uint32_t)th_align_up(at, 8);
}

/* The commit: pairs with the acquire load of the header word in a reader. */
static void
commit(char *record, uint64_t offset, uint32_t size, enum th_event_type type)
{
	struct th_log_record header = {size, (uint16_t)type, 0};
	uint64_t word;

	header.check = th_log_check(offset, size, (uint16_t)type);
	memcpy(&word, &header, sizeof(word));
	th_store_release((uint64_t *)(void *)record, word);
}

uint64_t
th_log_append(enum th_event_type type, const void *fixed, const struct th_log_part *parts,
	unsigned part_count)
{
	struct th_log_header *header = th_log_header();
	const struct th_log_event_type *event = &th_log_events[type];
	const size_t head = sizeof(struct th_log_record);
	int saved_errno = errno;
	struct place place;

	if (!header || !th_log_is_ours())
		return 0;
	uint32_t size = put_parts(NULL, event, parts, part_count);
	if (size > TH_LOG_WINDOW_OVERLAP || !reserve(header, size, &place)) {
		errno = saved_errno;
		return 0;
	}
	char *record = th_log_window_at(place.window, place.offset);
	memcpy(record + head, (const char *)fixed + head, th_log_file.fixed_bytes[type] - head);
	put_parts(record, event, parts, part_count);
	commit(record, place.offset, size, type);
	th_log_window_leave(place.window);
	errno = saved_errno;
	return place.offset;
}

enum th_log_counter
th_log_refusal(void)
{
	return (enum th_log_counter)th_load_relaxed(&th_log_file.refusal);
}

/* Counters freeze on close. */
static bool
takes_counts(const struct th_log_header *header)
{
	return header && !th_load_relaxed(&th_log_file.is_complete);
}

void
th_log_count(enum th_log_counter counter, uint64_t amount)
{
	struct th_log_header *header = th_log_header();

	if (takes_counts(header))
		th_add_relaxed(&header->counters[counter], amount);
}

void
th_log_set_counter(enum th_log_counter counter, uint64_t value)
{
	struct th_log_header *header = th_log_header();

	if (takes_counts(header))
		th_store_relaxed(&header->counters[counter], value);
}

void
th_log_note(unsigned severity, const char *text)
{
	struct th_event_note note = {.time = th_clock_now(), .severity = severity};
	struct th_log_part part = th_log_text(text);

	th_log_append(TH_EVENT_NOTE, &note, &part, 1);
}

/* OR with 0 makes the page writable without changing a producer's data. */
static void
touch(uint64_t end)
{
	struct th_log_window *window;

	while (th_log_file.touched < end &&
		(window = th_log_window_enter(th_log_file.touched))) {
		th_or_relaxed(
			(uint64_t *)(void *)th_log_window_at(window, th_log_file.touched), 0);
		th_store_relaxed(&th_log_file.touched, th_log_file.touched + 4096);
		th_log_window_leave(window);
	}
}

void
th_log_prepare(void)
{
	struct th_log_header *header = th_log_header();

	if (!header || th_load_acquire(&th_log_file.is_complete))
		return;
	uint64_t tail = th_log_file_tail(header);
	uint64_t end = tail + AHEAD;
	if (!tail)
		return;
	if (th_load_relaxed(&th_log_file.limit) < end)
		th_log_file_grow(end);
	if (end > th_load_relaxed(&th_log_file.limit))
		end = th_load_relaxed(&th_log_file.limit);
	if (th_log_file.touched < tail)
		th_store_relaxed(&th_log_file.touched, th_align_down(tail, TH_PAGE_BYTES));
	if (end > tail)
		th_log_window_open(end - 1, tail);
	touch(end);
}

bool
th_log_needs_preparation(void)
{
	const struct th_log_header *header = th_log_header();

	uint64_t touched = th_load_relaxed(&th_log_file.touched);

	return header && touched < th_load_relaxed(&header->tail) + AHEAD / 4 &&
	       touched < th_load_relaxed(&th_log_file.max_bytes);
}

/* Reading back */

const void *
th_log_get(uint64_t offset, enum th_event_type type)
{
	static _Alignas(8) char record[RECORD_FIXED_MAX];
	uint32_t bytes = th_log_file.fixed_bytes[type];
	struct th_log_record head;

	if (!th_log_header() || offset < TH_LOG_HEADER_BYTES || bytes > sizeof(record) ||
		th_log_file_read(record, th_ring_place(offset), bytes) != bytes)
		return NULL;
	memcpy(&head, record, sizeof(head));
	return head.type == type && head.check == th_log_check(offset, head.size, head.type)
		       ? record
		       : NULL;
}
