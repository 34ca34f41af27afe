/* SPDX-License-Identifier: Apache-2.0 */
/* Each is logged at its end, with its duration as the value. */
#include "report/statistics/forced_collection.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "unify/shared/bisect.h"

#define AT_EXIT "gc at exit"
#define RUNNING "gc forced"

static struct th_forced_collection
decode(const struct th_decoded_control *change)
{
	uint64_t duration = change->value < change->time ? change->value : change->time;

	return (struct th_forced_collection){change->time - duration, change->time};
}

void
th_forced_collections_init(
	struct th_forced_collections *collections, const struct th_recording *recording)
{
	*collections = (struct th_forced_collections){0};
	for (size_t i = 0; i < recording->changes_count; i++) {
		const struct th_decoded_control *change = &recording->changes[i];

		if (th_text_equals(change->name, AT_EXIT) ||
			th_text_equals(change->name, RUNNING))
			th_array_append(collections, items, decode(change));
	}
}

void
th_forced_collections_deinit(struct th_forced_collections *collections)
{
	free(collections->items);
}

bool
th_forced_collections_contain(const struct th_forced_collections *collections, uint64_t time)
{
	const struct th_forced_collection *items = collections->items;
	size_t next = th_bisect(collections->items_count, i, items[i].end < time);

	return next < collections->items_count && items[next].start <= time;
}

bool
th_forced_collection_at_exit(
	const struct th_recording *recording, struct th_forced_collection *ret)
{
	for (size_t i = recording->changes_count; i-- > 0;) {
		if (!th_text_equals(recording->changes[i].name, AT_EXIT))
			continue;
		*ret = decode(&recording->changes[i]);
		return true;
	}
	return false;
}
