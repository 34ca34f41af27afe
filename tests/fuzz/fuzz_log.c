/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a log, in one of the views.
 *
 * A reader skips a record whose check field is wrong, so blind changes would only test that.
 * The mutator therefore works on whole records: it drops, repeats and changes them, and then
 * corrects their check fields, also of the records in the KEPT events of a ring.  One change in eight
 * is blind.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/views/every_view.h"

#define RECORDS_MAX 2048

struct layout {
	size_t count;
	size_t at[RECORDS_MAX + 1]; /* offset of each record, and the end of the last */
};

/* The target */

/* Chooses the view: deterministic for an input, and arbitrary for a changed one. */
static unsigned
checksum(const uint8_t *data, size_t size)
{
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ data[i]) * 16777619u;
	return sum >> 8;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static int file = -1;

	if (file < 0) {
		file = memfd_create("fuzz.thl", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
		abort();
	some_views(path, checksum(data, size), 1, 1);
	return 0;
}

/* Mutations */

static struct th_log_record
record_at(const uint8_t *data, size_t at)
{
	struct th_log_record record;

	memcpy(&record, data + at, sizeof(record));
	return record;
}

/* The first word from `at` on that is not 0: a ring has a hole where its past was. */
static size_t
skip_hole(const uint8_t *data, size_t size, size_t at)
{
	static const uint8_t hole[8];

	while (at + sizeof(hole) <= size && !memcmp(data + at, hole, sizeof(hole)))
		at += sizeof(hole);
	return at;
}

/* Finds the records, as far as their sizes are valid. */
static void
find_records(const uint8_t *data, size_t size, struct layout *layout)
{
	size_t at = TH_LOG_HEADER_BYTES;

	layout->count = 0;
	while (layout->count < RECORDS_MAX && at + sizeof(struct th_log_record) <= size) {
		struct th_log_record record = record_at(data, at);

		if (record.size < sizeof(record) || record.size % 8 || record.size > size - at)
			break;
		layout->at[layout->count++] = at;
		at = skip_hole(data, size, at + record.size);
	}
	layout->at[layout->count] = at;
}

/*
 * Changes the length of the `size` bytes at `at` to `wanted`; the data is `*total` bytes long.
 */
static bool
resize(uint8_t *data, size_t *total, size_t capacity, size_t at, size_t size, size_t wanted)
{
	if (*total - size + wanted > capacity)
		return false;
	memmove(data + at + wanted, data + at + size, *total - at - size);
	*total += wanted - size;
	return true;
}

/* Corrects the check fields of the records in the KEPT at `at`, as far as their sizes are valid. */
static void
repair_kept(uint8_t *data, size_t at, uint32_t bytes)
{
	size_t next = at + sizeof(struct th_event_kept) + 8;
	const size_t end = at + bytes;
	uint64_t offset;

	while (next + 8 + sizeof(struct th_log_record) <= end) {
		memcpy(&offset, data + next, sizeof(offset));
		next += offset & TH_KEPT_THINNED ? 16 : 8;
		if (next + sizeof(struct th_log_record) > end)
			return;
		struct th_log_record record = record_at(data, next);
		if (record.size < sizeof(record) || record.size % 8 || record.size > end - next)
			return;
		record.check = th_log_check(offset & ~(uint64_t)7, record.size, record.type);
		memcpy(data + next, &record, sizeof(record));
		next += record.size;
	}
}

/* Corrects the check fields, from the first record on, as far as the sizes are valid. */
static void
repair(uint8_t *data, size_t size)
{
	static struct layout layout;
	struct th_log_header *header = (struct th_log_header *)(void *)data;

	find_records(data, size, &layout);
	for (size_t i = 0; i < layout.count; i++) {
		struct th_log_record record = record_at(data, layout.at[i]);

		record.check = th_log_check(layout.at[i], record.size, record.type);
		memcpy(data + layout.at[i], &record, sizeof(record));
		if (record.type == TH_EVENT_KEPT)
			repair_kept(data, layout.at[i], record.size);
	}
	header->tail = size;
}

/* Changes the contents of a record, and thereby its size. */
static void
change_record(uint8_t *data, size_t *size, size_t capacity, size_t at, uint32_t bytes)
{
	static uint8_t body[1 << 16];
	const size_t head = sizeof(struct th_log_record);
	struct th_log_record record = record_at(data, at);
	size_t length = bytes - head;

	if (length > sizeof(body) / 2)
		return;
	memcpy(body, data + at + head, length);
	length = LLVMFuzzerMutate(body, length, length + 64);
	memset(body + length, 0, 8);
	length = (length + 7) & ~(size_t)7;
	if (!resize(data, size, capacity, at, bytes, length + head))
		return;
	record.size = (uint32_t)(length + head);
	memcpy(data + at, &record, head);
	memcpy(data + at + head, body, length);
}

/* Inserts a copy of a record before another. */
static void
repeat_record(
	uint8_t *data, size_t *size, size_t capacity, size_t from, uint32_t bytes, size_t to)
{
	static uint8_t copy[1 << 16];

	if (bytes > sizeof(copy))
		return;
	memcpy(copy, data + from, bytes);
	if (resize(data, size, capacity, to, 0, bytes))
		memcpy(data + to, copy, bytes);
}

/* In three of four cases a record after the descriptions, which make up most of a log. */
static size_t
choose(const uint8_t *data, const struct layout *layout, unsigned *random)
{
	size_t first = 0;

	if (fuzz_below(random, 4)) {
		while (first + 1 < layout->count) {
			uint32_t type = record_at(data, layout->at[first]).type;

			if (type != TH_EVENT_EVENT_TYPE && type != TH_EVENT_EVENT_FIELD &&
				type != TH_EVENT_COUNTER_NAME)
				break;
			first++;
		}
	}
	return first + fuzz_below(random, (unsigned)(layout->count - first));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
	static struct layout layout;
	unsigned random = seed;

	if (size <= TH_LOG_HEADER_BYTES)
		return LLVMFuzzerMutate(data, size, capacity);
	find_records(data, size, &layout);
	if (!layout.count || !fuzz_below(&random, 8))
		return LLVMFuzzerMutate(data, size, capacity);
	size_t at = layout.at[choose(data, &layout, &random)];
	uint32_t bytes = record_at(data, at).size;
	switch (fuzz_below(&random, 8)) {
	case 0:
		LLVMFuzzerMutate(
			data, sizeof(struct th_log_header), sizeof(struct th_log_header));
		break;
	case 1:
		resize(data, &size, capacity, at, bytes, 0);
		break;
	case 2:
		repeat_record(data, &size, capacity, at, bytes,
			layout.at[choose(data, &layout, &random)]);
		break;
	default:
		change_record(data, &size, capacity, at, bytes);
	}
	repair(data, size);
	return size;
}
