/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that stay are collected and appended as KEPT.  They count from the next start of the ring
 * on, which a reader sees in the header: until then the originals are in the file.
 */
#include <string.h>

#include "unify/base/align.h"
#include "unify/log/log.h"
#include "unify/log/log_events.h"
#include "unify/log/log_file.h"
#include "unify/log/ring_private.h"

/* Without the fixed part and the count of the array. */
#define WORDS_MAX ((TH_RING_CARRIER_BYTES - sizeof(struct th_event_kept) - 8) / 8)

/* Room for the records behind that of a sample: its end and a JAVA_FOLLOWED. */
#define GROUP_WORDS 64

/* An append that failed for want of space may succeed when the ring takes some more. */
static uint64_t
append_kept(const struct th_event_kept *kept, const struct th_log_part *part)
{
	uint64_t place = th_log_append(TH_EVENT_KEPT, kept, part, 1);

	while (!place && th_log_refusal() == TH_COUNTER_DROPPED_LOG_FULL &&
		th_ring.extra < 2 * th_ring.segment) {
		th_ring.extra += th_ring.segment / 2;
		th_ring_set_maximum(th_log_file.max_bytes + th_ring.segment / 2);
		place = th_log_append(TH_EVENT_KEPT, kept, part, 1);
	}
	return place;
}

/* Samples that have not ended are found at their new places. */
static void
update_places(const struct th_ring_record *carrier)
{
	struct th_ring_record record;
	uint32_t at = 0;

	while (th_ring_next_inner(carrier, &at, &record)) {
		struct th_id_entry *entry = th_ring_is_sample(record.type)
						    ? th_id_table_find(
							      &th_ring.open, record.offset)
						    : NULL;

		if (entry)
			entry->place = record.place;
	}
}

bool
th_ring_flush(void)
{
	struct th_ring_carrier *carrier = &th_ring.carrier;
	/* At most the next start of the ring, and more than the present one. */
	const struct th_event_kept kept = {.from = th_ring.from + th_ring.segment};
	const struct th_log_part part = {carrier->words, carrier->count};
	const uint32_t start = sizeof(kept) + 8;
	uint64_t place;

	if (!carrier->count)
		return true;
	place = append_kept(&kept, &part);
	if (!place)
		return false;
	/* As it is in the file now, with the count before the words. */
	memcpy((char *)carrier->words - 8, &carrier->count, sizeof(carrier->count));
	update_places(&(struct th_ring_record){
		.place = place,
		.bytes = (const char *)carrier->words - start,
		.size = start + 8 * carrier->count,
	});
	carrier->count = 0;
	return true;
}

static void
mark(uint32_t type, uint32_t id)
{
	struct th_id_entry *entry =
		id ? th_id_table_add(&th_ring.marks, th_ring_key(type, id, 0)) : NULL;

	if (entry)
		entry->place = th_ring.lap;
}

/* Marks the stacks and threads to which the record refers. */
static void
mark_references(const struct th_ring_record *record)
{
	const struct th_log_field *field;
	uint32_t at = sizeof(struct th_log_record);

	if (record->type == TH_EVENT_STACK || record->type >= TH_EVENT_NUMBERS)
		return;
	for (field = th_log_events[record->type].fields; field->data; field++) {
		uint32_t bytes = th_log_data_bytes((enum th_data_type)field->data);
		uint32_t id;

		if (!bytes)
			return;
		at = (uint32_t)th_align_up(at, bytes);
		if (bytes == sizeof(id) && at + bytes <= record->size) {
			memcpy(&id, record->bytes + at, sizeof(id));
			if (field->content == TH_CONTENT_STACK)
				mark(TH_EVENT_STACK, id);
			else if (field->content == TH_CONTENT_THREAD &&
				 record->type != TH_EVENT_THREAD &&
				 record->type != TH_EVENT_THREAD_BYTES)
				mark(TH_EVENT_THREAD, id);
		}
		at += bytes;
	}
}

bool
th_ring_carry(const struct th_ring_record *record, double thinned)
{
	struct th_ring_carrier *carrier = &th_ring.carrier;
	uint32_t words = 2 + record->size / 8;

	if (words > WORDS_MAX) {
		th_log_count(TH_COUNTER_RING_LOST, 1);
		return true;
	}
	/* A sample that has ended, and the records of its end, stay together. */
	uint32_t room = th_ring_is_sample(record->type) ? GROUP_WORDS : 0;
	if (carrier->count + words + room > WORDS_MAX && !th_ring_flush())
		return false;
	carrier->words[carrier->count++] = record->offset | (thinned > 0 ? TH_KEPT_THINNED : 0);
	if (thinned > 0)
		memcpy(&carrier->words[carrier->count++], &thinned, sizeof(thinned));
	memcpy(&carrier->words[carrier->count], record->bytes, record->size);
	carrier->count += record->size / 8;
	th_ring.cycle.kept += record->size + 8 * (1 + (thinned > 0));
	mark_references(record);
	return true;
}
