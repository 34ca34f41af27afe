/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry is followed by its event, of the size of its type: with the size of the largest one a
 * batch would not stay in the caches.
 */
#include "report/log/batch.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/log/events.h"

/* Of a full batch: about ten thousand samples, in the second-level caches of two processors. */
#define FULL_BYTES (1u << 20)
/* Entries whose stacks are prefetched. */
#define AHEAD 8

struct entry {
	struct th_record record;
	enum th_decoding decoding;
	uint32_t bytes; /* to the next entry */
};

/* Of a decoded event of each type, rounded up. */
static const uint32_t event_bytes[TH_EVENT_NUMBERS] = {
#define E(NUMBER, NAME, name, label, description) \
	[NUMBER] = (sizeof(struct th_decoded_##name) + 7) & ~(size_t)7,
	TH_EVENTS(E)
#undef E
};

void
th_batch_init(struct th_batch *batch)
{
	*batch = (struct th_batch){.bytes = th_allocate(1, FULL_BYTES + sizeof(struct entry) +
								   sizeof(union th_decoded))};
}

void
th_batch_deinit(struct th_batch *batch)
{
	free(batch->bytes);
}

static struct entry *
entry_at(const struct th_batch *batch, size_t at)
{
	return (struct entry *)(void *)(batch->bytes + at);
}

static union th_decoded *
event_of(struct entry *entry)
{
	return (union th_decoded *)(void *)(entry + 1);
}

void
th_batch_fill(struct th_batch *batch, struct th_cursor *cursor, struct th_schema *schema)
{
	struct th_record record;

	batch->used = 0;
	batch->is_last = false;
	while (batch->used < FULL_BYTES) {
		if (!th_reader_next(cursor, &record)) {
			batch->is_last = true;
			return;
		}
		struct entry *entry = entry_at(batch, batch->used);

		entry->record = record;
		entry->decoding = th_event_decode(schema, &record, event_of(entry));
		entry->bytes = sizeof(*entry);
		if (entry->decoding == TH_DECODING_DONE)
			entry->bytes += event_bytes[record.type];
		batch->used += entry->bytes;
		batch->after = *cursor;
	}
}

/* Prefetches the entry of the table of stacks that a sample needs. */
static void
expect_stack(const struct th_recording *recording, struct entry *entry)
{
	const union th_decoded *event = event_of(entry);

	if (entry->decoding != TH_DECODING_DONE)
		return;
	if (entry->record.type == TH_EVENT_NATIVE_ALLOC)
		th_id_map_expect(&recording->stacks_ids, event->native_alloc.stack);
	else if (entry->record.type == TH_EVENT_JAVA_ALLOC)
		th_id_map_expect(&recording->stacks_ids, event->java_alloc.stack);
}

void
th_batch_add(const struct th_batch *batch, struct th_recording *recording)
{
	size_t ahead = 0;
	size_t expected = 0;
	size_t added = 0;

	for (size_t at = 0; at < batch->used; added++) {
		for (; ahead < batch->used && expected < added + AHEAD; expected++) {
			expect_stack(recording, entry_at(batch, ahead));
			ahead += entry_at(batch, ahead)->bytes;
		}
		struct entry *entry = entry_at(batch, at);
		th_recording_add_decoded(
			recording, &entry->record, entry->decoding, event_of(entry));
		at += entry->bytes;
	}
}
