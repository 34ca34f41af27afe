/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the ring's own file: by pread(), since the windows of old parts are unmapped, and the
 * program may have closed the descriptor.  As in a reader, what is no record is passed over by
 * words: space that was reserved and never committed.
 */
#include <stddef.h>
#include <string.h>

#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/log/log_file.h"
#include "unify/log/ring_private.h"

void
th_ring_forget_buffer(void)
{
	th_ring.buffered = th_ring.buffered_end = 0;
}

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

/* Bytes of the buffer from `offset` on. */
static uint64_t
available(uint64_t offset)
{
	return offset >= th_ring.buffered && offset < th_ring.buffered_end
		       ? th_ring.buffered_end - offset
		       : 0;
}

static const char *
bytes_at(uint64_t offset)
{
	return th_ring.buffer + (offset - th_ring.buffered);
}

/* Whether `bytes` at `offset` are in the buffer, from which all before may be dropped. */
static bool
provide(uint64_t offset, uint64_t bytes)
{
	if (available(offset) >= bytes)
		return true;
	th_ring.buffered = offset;
	th_ring.buffered_end = offset + read_file(th_ring.buffer, offset, TH_RING_BUFFER_BYTES);
	return available(offset) >= bytes;
}

/* A committed record with this header, which was appended at `offset`. */
static bool
is_record(const struct th_log_record *head, uint64_t offset, uint64_t room)
{
	return head->type && head->size >= sizeof(*head) && head->size % 8 == 0 &&
	       head->size <= room && head->size <= TH_LOG_WINDOW_OVERLAP &&
	       head->check == th_log_check(offset, head->size, head->type);
}

bool
th_ring_read(uint64_t end, struct th_ring_record *record_ret)
{
	struct th_ring_cycle *cycle = &th_ring.cycle;
	struct th_log_record head;

	for (; cycle->at < end && provide(cycle->at, sizeof(head)); cycle->at += 8) {
		memcpy(&head, bytes_at(cycle->at), sizeof(head));
		if (!is_record(&head, cycle->at, TH_LOG_WINDOW_OVERLAP) ||
			!provide(cycle->at, head.size))
			continue;
		*record_ret = (struct th_ring_record){
			.offset = cycle->at,
			.place = cycle->at,
			.bytes = bytes_at(cycle->at),
			.size = head.size,
			.type = head.type,
		};
		cycle->at += head.size;
		return true;
	}
	return false;
}

bool
th_ring_read_at(
	uint64_t place, uint64_t offset, uint32_t bytes, struct th_ring_record *record_ret)
{
	static _Alignas(8) char copy[256];
	struct th_log_record head;

	if (bytes > sizeof(copy))
		return false;
	if (available(place) >= bytes)
		memcpy(copy, bytes_at(place), bytes);
	else if (read_file(copy, place, bytes) < bytes)
		return false;
	memcpy(&head, copy, sizeof(head));
	*record_ret = (struct th_ring_record){.offset = offset,
		.place = place,
		.bytes = copy,
		.size = head.size,
		.type = head.type};
	return is_record(&head, offset, bytes);
}

/* The words of a KEPT, and their number. */
static uint32_t
words_of(const struct th_ring_record *carrier, const char **words_ret)
{
	const uint32_t at = sizeof(struct th_event_kept);
	uint32_t count;

	if (carrier->size < at + 8)
		return 0;
	memcpy(&count, carrier->bytes + at, sizeof(count));
	*words_ret = carrier->bytes + at + 8;
	return count <= (carrier->size - at - 8) / 8 ? count : 0;
}

bool
th_ring_next_inner(
	const struct th_ring_record *carrier, uint32_t *at, struct th_ring_record *record_ret)
{
	const char *words = NULL;
	uint32_t count = words_of(carrier, &words);
	struct th_log_record head;
	uint64_t offset;
	double thinned = 0;
	uint32_t next = *at;

	if (next + 2 > count)
		return false;
	memcpy(&offset, words + 8 * (size_t)next++, sizeof(offset));
	if (offset & TH_KEPT_THINNED)
		memcpy(&thinned, words + 8 * (size_t)next++, sizeof(thinned));
	offset &= ~(uint64_t)7;
	if (next >= count)
		return false;
	const char *bytes = words + 8 * (size_t)next;
	memcpy(&head, bytes, sizeof(head));
	if (!is_record(&head, offset, 8 * (uint64_t)(count - next)))
		return false;
	*at = next + head.size / 8;
	*record_ret = (struct th_ring_record){
		.offset = offset,
		.place = carrier->place + (uint64_t)(bytes - carrier->bytes),
		.bytes = bytes,
		.size = head.size,
		.type = head.type,
		.is_carried = true,
		.thinned = thinned,
	};
	return true;
}
