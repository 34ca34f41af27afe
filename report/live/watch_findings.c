/* SPDX-License-Identifier: Apache-2.0 */
#include "report/live/watch_findings.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/leaks/leaks.h"
#include "report/leaks/outcome.h"
#include "unify/shared/clock.h"

#define PERIOD_NS (10 * (uint64_t)TH_NS_PER_S)
/* Sites of one leak that are marked, those with most live bytes. */
#define PARTS_MAX 64

void
th_watch_findings_deinit(struct th_watch_findings *findings)
{
	free(findings->headline);
	free(findings->is_leak);
	free(findings->row_places);
	memset(findings, 0, sizeof(*findings));
}

static void
mark_places(struct th_watch_findings *findings, const struct th_leaks *leaks)
{
	for (size_t i = 0; i < leaks->findings_count; i++) {
		const struct th_listed *listed = &leaks->findings[i];
		struct th_leak_part parts[PARTS_MAX];
		double live;

		if (listed->verdict != TH_VERDICT_LEAK)
			break; /* the worst come first */
		size_t count = th_leaks_parts(leaks, listed, parts, PARTS_MAX, &live);
		for (size_t k = 0; k < count && k < PARTS_MAX; k++)
			findings->is_leak[parts[k].place] = true;
	}
}

/* For example "1 leak, 701 KiB/s, ...: threads started at app.Pool.grow". */
static char *
headline_of(const struct th_leaks *leaks)
{
	struct th_outcome outcome = th_outcome_find(leaks);

	if (outcome.verdict != TH_OUTCOME_FOUND)
		return NULL;
	char *headline = th_outcome_headline(leaks, &outcome);
	if (!leaks->tallies.leaks_count)
		return headline;
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_tallied *worst = &leaks->tallies.items[0];
	char *text = th_format_new("%s: %s at %s", headline,
		worst->kind == TH_TALLY_THREADS ? "threads started" : "classes defined",
		th_frames_function_name(frames, th_frames_function_at(frames, worst->line)));
	free(headline);
	return text;
}

bool
th_watch_findings_update(
	struct th_watch_findings *findings, const struct th_profile *profile, uint64_t now)
{
	struct th_leaks leaks;

	if (now < findings->due)
		return false;
	th_watch_findings_deinit(findings);
	th_leaks_init(&leaks, profile);
	findings->is_leak = th_allocate(leaks.places.items_count, sizeof(bool));
	findings->rows_count = profile->rows_count;
	findings->row_places = th_allocate(profile->rows_count, sizeof(uint32_t));
	memcpy(findings->row_places, leaks.places.of_row,
		profile->rows_count * sizeof(uint32_t));
	mark_places(findings, &leaks);
	findings->headline = headline_of(&leaks);
	th_leaks_deinit(&leaks);
	findings->due = now + PERIOD_NS;
	return true;
}

bool
th_watch_findings_is_leak(const struct th_watch_findings *findings, size_t row)
{
	return row < findings->rows_count && findings->row_places[row] != TH_NO_PLACE &&
	       findings->is_leak[findings->row_places[row]];
}
