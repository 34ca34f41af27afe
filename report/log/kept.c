/* SPDX-License-Identifier: Apache-2.0 */
#include "report/log/kept.h"

#include <stdlib.h>
#include <string.h>

#include "unify/shared/kept.h"

void
th_kept_add(struct th_kept *kept, const struct th_record *carrier, uint64_t ring_from)
{
	struct th_event_kept event;
	struct th_kept_record record;
	uint32_t word = 0;

	if (carrier->size < sizeof(event))
		return;
	memcpy(&event, carrier->bytes, sizeof(event));
	while (event.from <= ring_from &&
		th_kept_next(carrier->bytes, carrier->size, &word, &record)) {
		const struct th_record added = {
			.offset = record.offset,
			.bytes = carrier->bytes + record.at,
			.size = record.size,
			.type = record.type,
			.thinned = record.thinned,
		};

		th_array_append(kept, records, added);
	}
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
