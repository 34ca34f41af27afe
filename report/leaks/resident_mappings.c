/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points (sample, snapshot, resident bytes) sorted by record of the sample and by snapshot, so
 * that the points of a sample are one run, found by bisection.
 */
#include "report/leaks/resident_mappings.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "unify/shared/bisect.h"

/* Records of the mapped samples, for look-ups. */
static void
find_records(const struct th_recording *recording, struct th_id_map *records)
{
	bool added;

	for (size_t i = 0; i < recording->mappings.items_count; i++)
		th_id_map_intern(records, recording->mappings.items[i].record, &added);
}

/* The snapshots up to `to` that have pages, by number of the snapshot; sets `times`. */
static void
find_accounts(struct th_resident_mappings *residency, const struct th_recording *recording,
	uint64_t to, struct th_id_map *accounts)
{
	for (size_t i = 0; i < recording->accounts_count; i++) {
		const struct th_decoded_account *account = &recording->accounts[i];
		bool added;

		if (!(account->flags & TH_BREAKDOWN_HAS_PAGES) || account->time > to)
			continue;
		th_id_map_intern(accounts, account->account, &added);
		if (added)
			th_array_append(residency, times, account->time);
	}
}

static void
add_event(struct th_resident_mappings *residency, const struct th_recording *recording,
	const struct th_decoded_touched *event, uint32_t account,
	const struct th_id_map *records)
{
	for (uint32_t k = 0; k + 1 < event->blocks.count; k += 2) {
		uint32_t record = th_recording_record(recording, event->blocks.words[k]);
		struct th_resident_mappings_point point = {
			.record = record,
			.account = account,
			.bytes = event->blocks.words[k + 1] & TH_TOUCHED_BYTES,
		};

		if (th_id_map_find(records, record) != TH_ID_MAP_NONE)
			th_array_append(residency, points, point);
	}
}

static int
compare_points(const void *a, const void *b)
{
	const struct th_resident_mappings_point *left = a;
	const struct th_resident_mappings_point *right = b;

	if (left->record != right->record)
		return left->record < right->record ? -1 : 1;
	return (left->account > right->account) - (left->account < right->account);
}

/* A mapping that was partly unmapped has several pieces. */
static void
join_pieces(struct th_resident_mappings *residency)
{
	struct th_resident_mappings_point *points = residency->points;
	size_t kept = 0;

	for (size_t i = 0; i < residency->points_count; i++) {
		if (kept && !compare_points(&points[kept - 1], &points[i]))
			points[kept - 1].bytes += points[i].bytes;
		else
			points[kept++] = points[i];
	}
	residency->points_count = kept;
}

void
th_resident_mappings_init(struct th_resident_mappings *residency,
	const struct th_recording *recording, uint64_t to)
{
	struct th_id_map records = {0};
	struct th_id_map accounts = {0};

	*residency = (struct th_resident_mappings){0};
	find_records(recording, &records);
	find_accounts(residency, recording, to, &accounts);
	for (size_t i = 0; i < recording->touched_count; i++) {
		const struct th_decoded_touched *event = &recording->touched[i];
		uint32_t account = th_id_map_find(&accounts, event->account);

		if (account != TH_ID_MAP_NONE)
			add_event(residency, recording, event, account, &records);
	}
	if (residency->points_count)
		qsort(residency->points, residency->points_count, sizeof(*residency->points),
			compare_points);
	join_pieces(residency);
	th_id_map_deinit(&records);
	th_id_map_deinit(&accounts);
}

void
th_resident_mappings_deinit(struct th_resident_mappings *residency)
{
	free(residency->times);
	free(residency->points);
}

const struct th_resident_mappings_point *
th_resident_mappings_find(
	const struct th_resident_mappings *residency, uint32_t record, size_t *count_ret)
{
	const struct th_resident_mappings_point *points = residency->points;
	size_t first = th_bisect(residency->points_count, i, points[i].record < record);
	size_t end = first;

	while (end < residency->points_count && points[end].record == record)
		end++;
	*count_ret = end - first;
	return end > first ? &points[first] : NULL;
}
