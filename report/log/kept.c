/* SPDX-License-Identifier: Apache-2.0 */
#include "report/log/kept.h"

#include <stdlib.h>
#include <string.h>

/* The words of a KEPT event: behind the count, aligned. */
#define COUNT_AT sizeof(struct th_event_kept)
#define WORDS_AT (COUNT_AT + 8)

static uint64_t
word_at(const unsigned char *words, uint32_t at)
{
	uint64_t word;

	memcpy(&word, words + (size_t)at * 8, sizeof(word));
	return word;
}

/* The record that begins at word `at`; false: it is malformed. */
static bool
read_record(const unsigned char *words, uint32_t count, uint32_t *at, struct th_record *ret)
{
	uint64_t place = word_at(words, (*at)++);
	double thinned = 0;
	struct th_log_record head;

	if (place & TH_KEPT_THINNED && *at < count) {
		uint64_t bits = word_at(words, (*at)++);

		memcpy(&thinned, &bits, sizeof(thinned));
	}
	if (*at >= count)
		return false;
	memcpy(&head, words + (size_t)*at * 8, sizeof(head));
	*ret = (struct th_record){
		.offset = place & ~(uint64_t)7,
		.bytes = words + (size_t)*at * 8,
		.size = head.size,
		.type = head.type,
		/* A probability from a damaged log counts as none. */
		.thinned = thinned > 0 && thinned < 1 ? thinned : 0,
	};
	if (!head.type || head.type == TH_EVENT_KEPT || head.size < sizeof(head) ||
		head.size % 8 || head.size > 8 * (uint64_t)(count - *at) ||
		head.check != th_log_check(ret->offset, head.size, head.type))
		return false;
	*at += head.size / 8;
	return true;
}

void
th_kept_add(struct th_kept *kept, const struct th_record *carrier, uint64_t ring_from)
{
	struct th_event_kept event;
	struct th_record record;
	uint32_t count, at = 0;

	if (carrier->size < WORDS_AT)
		return;
	memcpy(&event, carrier->bytes, sizeof(event));
	memcpy(&count, carrier->bytes + COUNT_AT, sizeof(count));
	if (event.from > ring_from || count > (carrier->size - WORDS_AT) / 8)
		return;
	while (at < count && read_record(carrier->bytes + WORDS_AT, count, &at, &record))
		th_array_append(kept, records, record);
}

static int
compare(const void *a, const void *b)
{
	const struct th_record *left = a;
	const struct th_record *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

void
th_kept_sort(struct th_kept *kept)
{
	size_t count = 0;

	if (kept->records_count)
		qsort(kept->records, kept->records_count, sizeof(*kept->records), compare);
	for (size_t i = 0; i < kept->records_count; i++)
		if (!count || kept->records[i].offset != kept->records[count - 1].offset)
			kept->records[count++] = kept->records[i];
	kept->records_count = count;
}

void
th_kept_deinit(struct th_kept *kept)
{
	free(kept->records);
	*kept = (struct th_kept){0};
}
