/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view of resident memory (rss.h): the breakdown at --at, the breakdowns of other snapshots
 * over time, and what verdict.c derives the verdict from.
 */
#include "report/rss/rss.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"

static void
fill_moment(struct th_rss_moment *moment, const struct th_breakdown *account)
{
	moment->seconds = th_profile_seconds(account->profile, account->head->time);
	moment->resident = (double)account->head->resident;
	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		moment->lines[kind] = account->lines[kind].resident.estimate;
}

/* Every nth of the snapshots if there are many, and the last. */
static void
add_moments(struct th_rss *rss)
{
	const struct th_recording *recording = rss->profile->recording;
	size_t count = recording->accounts_count;
	size_t step = (count + TH_RSS_MOMENTS - 1) / TH_RSS_MOMENTS;

	for (size_t i = (count - 1) % step; i < count; i += step) {
		struct th_breakdown account;
		struct th_rss_moment moment;

		th_breakdown_init(&account, rss->profile, &recording->accounts[i]);
		fill_moment(&moment, &account);
		th_breakdown_deinit(&account);
		th_array_append(rss, moments, moment);
	}
}

static void
add_points(struct th_rss *rss)
{
	const struct th_recording *recording = rss->profile->recording;

	for (size_t i = 0; i < recording->residents_count; i++) {
		const struct th_decoded_resident *resident = &recording->residents[i];
		struct th_rss_point point = {
			.seconds = th_profile_seconds(rss->profile, resident->time),
			.bytes = (double)resident->resident,
		};

		th_array_append(rss, points, point);
	}
}

/* The snapshot nearest to the middle of the second quarter of the time before `now`. */
static void
find_before(struct th_rss *rss)
{
	double wanted = rss->now.seconds * 3 / 8;

	for (size_t i = 0; i < rss->moments_count; i++) {
		const struct th_rss_moment *moment = &rss->moments[i];

		if (moment->seconds >= rss->now.seconds ||
			(rss->before && fabs(moment->seconds - wanted) >
						fabs(rss->before->seconds - wanted)))
			break;
		rss->before = moment;
	}
}

/* Only points up to the snapshot of the view count. */
static size_t
count_points(const struct th_rss *rss)
{
	size_t count = 0;

	while (count < rss->points_count && rss->points[count].seconds <= rss->now.seconds + 1)
		count++;
	return count;
}

static void
fill_leaks(struct th_rss *rss, const struct th_leaks *leaks)
{
	rss->has_leaks = leaks;
	for (size_t i = 0; leaks && i < leaks->findings_count; i++) {
		const struct th_listed *listed = &leaks->findings[i];

		if (listed->verdict == TH_VERDICT_LEAK)
			rss->leaked[leaks->places.items[listed->place].heap] += listed->live;
	}
	for (size_t i = 0; leaks && i < leaks->tallies.leaks_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		rss->tallied[tallied->kind] += th_tallied_bytes(tallied);
		rss->tallied_growth[tallied->kind] += th_tallied_growth(tallied);
	}
}

void
th_rss_init(struct th_rss *rss, const struct th_profile *profile, const struct th_leaks *leaks)
{
	const struct th_decoded_account *head = th_profile_chosen_account(profile);

	const struct th_decoded_pool *direct = th_breakdown_pool(
		profile->recording, head->account, "direct");

	*rss = (struct th_rss){.profile = profile, .direct_count = direct ? direct->count : 0};
	th_breakdown_init(&rss->account, profile, head);
	fill_moment(&rss->now, &rss->account);
	add_points(rss);
	add_moments(rss);
	find_before(rss);
	rss->judged_points = count_points(rss);
	fill_leaks(rss, leaks);
	rss->verdict = th_rss_judge(rss);
}

void
th_rss_deinit(struct th_rss *rss)
{
	th_breakdown_deinit(&rss->account);
	free(rss->points);
	free(rss->moments);
}

/* The rows behind a line */

struct weighed {
	size_t row;
	double bytes;
};

TH_COMPARE(by_bytes, struct weighed,
	th_order(right->bytes, left->bytes) ?: th_order(left->row, right->row))

size_t
th_rss_rows(
	const struct th_rss *rss, enum th_breakdown_kind kind, size_t *rows, size_t capacity)
{
	const struct th_breakdown *account = &rss->account;
	size_t row_count = rss->profile->rows_count;
	struct weighed *found = th_allocate(row_count + 1, sizeof(*found));
	size_t count = 0;

	for (size_t i = 0; i < row_count; i++) {
		const struct th_estimator *sum = &account->row_touched[i];

		if (account->row_kinds[i] == kind && sum->samples &&
			rss->profile->rows[i].heap == TH_HEAP_NATIVE)
			found[count++] = (struct weighed){i, th_sums_point(&sum->bytes)};
	}
	th_sort(found, count, by_bytes);
	for (size_t i = 0; i < count && i < capacity; i++)
		rows[i] = found[i].row;
	free(found);
	return count;
}
