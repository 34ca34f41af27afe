/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory in the summary: totals, their peak, and what garbage collections show about them.
 * Java objects count as live until a collection has found them dead, so the lines about
 * collections state how much of the live bytes may be garbage.
 */
#include "report/views/live_section.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/profile/mapped_use.h"
#include "report/statistics/heap_use.h"
#include "report/views/view.h"

/* An event may be stamped slightly before or after what it describes. */
#define ABOUT_NS 1000000

/* Live totals */

static void
print_unknown(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	struct th_estimate bytes = th_profile_live(profile, heap);

	fprintf(file, "%-12s %9s  up to %s: no GC so far, reachability is unknown\n",
		th_heap_title(heap), "unknown",
		th_format_number(bytes.high, TH_UNIT_BYTES).text);
}

static void
print_total(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_estimator *sum = &profile->selected[heap][TH_MEASURE_LIVE];

	if (!th_profile_has_heap(profile, heap))
		return;
	if (th_lifetimes_is_unjudged(&profile->lifetimes, heap)) {
		print_unknown(file, profile, heap);
		return;
	}
	struct th_estimate bytes = th_profile_live(profile, heap);
	struct th_estimate objects = th_profile_objects(profile, heap, TH_MEASURE_LIVE, sum);
	th_view_total(file, heap, &bytes, &objects);
}

/* Selects samples of a heap: allocated in [from, to] and live at `moment`. */
struct selection {
	uint64_t from;
	uint64_t to;
	struct th_moment moment;
};

/* Live bytes of a heap, ignoring the view's filters. */
static struct th_estimate
live_bytes(
	const struct th_profile *profile, enum th_heap heap, const struct selection *selection)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_samples *samples = &profile->recording->samples[heap];
	struct th_calibration calibration = profile->heaps[heap];
	struct th_estimator sum = {0};
	double keep = th_lifetimes_keep(lifetimes, heap, &selection->moment);

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];

		if (sample->time >= selection->from && sample->time <= selection->to &&
			th_lifetimes_is_live(lifetimes, heap, i, &selection->moment))
			th_lifetimes_add(lifetimes, &calibration, heap, i, sample, keep, &sum);
	}
	calibration = th_lifetimes_calibration(
		lifetimes, &calibration, heap, &selection->moment, sum.samples);
	struct th_estimate live = th_calibration_bytes(&calibration, &sum);
	return heap != TH_HEAP_JAVA
		       ? live
		       : th_heap_use_clamp(
				 &live, th_heap_use_bound(profile->recording,
						&profile->heaps[heap], selection->moment.time));
}

/* Prints the peak of live bytes, unless it is the snapshot itself. */
static void
print_peak(FILE *file, const struct th_profile *profile)
{
	struct th_moment peak = th_profile_peak(profile);
	struct selection selection = {0, UINT64_MAX, peak};
	const char *before = ": ";

	if (llabs((long long)(peak.time - profile->at.time)) < ABOUT_NS)
		return;
	fprintf(file, "peak of live bytes at %s s (--at peak)",
		th_format_time(th_profile_seconds(profile, peak.time)).text);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!th_profile_has_heap(profile, (enum th_heap)heap))
			continue;
		struct th_estimate bytes = live_bytes(profile, (enum th_heap)heap, &selection);
		fprintf(file, "%s%s %s (%s)", before, th_heap_title((enum th_heap)heap),
			th_format_number(bytes.estimate, TH_UNIT_BYTES).text,
			th_estimate_interval(&bytes, TH_UNIT_BYTES).text);
		before = ", ";
	}
	fputc('\n', file);
}

static void
print_moment(FILE *file, const struct th_profile *profile)
{
	if (profile->at.time == profile->recording->end)
		fprintf(file, "%-12s %9s", "at the end", "live");
	else
		fprintf(file, "at %-9s %9s",
			th_format_time(th_profile_seconds(profile, profile->at.time)).text,
			"live");
	fprintf(file, "  %-17s %8s  %-15s %9s\n", "95 % CI", "objects", "95 % CI", "samples");
}

void
th_live_section_moment(FILE *file, const struct th_profile *profile)
{
	char *text = th_profile_moment_text(profile);

	if (th_profile_is_before_teardown(profile))
		fprintf(file, "live values are those %s (--at exit: at the end)\n", text);
	free(text);
}

void
th_live_section_totals(FILE *file, const struct th_profile *profile)
{
	print_moment(file, profile);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_total(file, profile, (enum th_heap)heap);
	th_mapped_use_print(file, profile);
	th_live_section_moment(file, profile);
	if (!th_options_filter_stacks(profile->options))
		print_peak(file, profile);
}

/* Collections */

/* The last collection that ended by the snapshot; NULL if there is none. */
static const struct th_decoded_collection *
last_collection(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_collection *last = NULL;

	for (size_t i = 0; i < recording->collections_count; i++) {
		const struct th_decoded_collection *collection = &recording->collections[i];

		if (collection->end <= profile->at.time &&
			(!last || collection->end > last->end))
			last = collection;
	}
	return last;
}

/* Start of the next collection: deaths found by a collection are recorded until then. */
static uint64_t
next_start(const struct th_recording *recording, uint64_t time)
{
	uint64_t next = recording->end;

	for (size_t i = 0; i < recording->collections_count; i++) {
		uint64_t start = recording->collections[i].start;

		if (start > time && start < next)
			next = start;
	}
	return next;
}

static void
print_coverage(
	FILE *file, const struct th_profile *profile, const struct th_decoded_heap_use *use)
{
	struct selection selection = {
		.to = use->time,
		.moment = th_lifetimes_moment(
			&profile->lifetimes, next_start(profile->recording, use->time)),
	};
	double used = (double)use->used;
	struct th_estimate live = live_bytes(profile, TH_HEAP_JAVA, &selection);

	/* Of what was allocated before, more cannot be alive. */
	live = th_heap_use_clamp(&live, used);
	fprintf(file,
		"  Java heap in use after it: %s of %s; live by samples then: %s (%s), %s of "
		"that\n",
		th_format_number(used, TH_UNIT_BYTES).text,
		th_format_number((double)use->committed, TH_UNIT_BYTES).text,
		th_format_number(live.estimate, TH_UNIT_BYTES).text,
		th_estimate_interval(&live, TH_UNIT_BYTES).text,
		th_format_share(live.estimate, used).text);
	if (live.high < used)
		fprintf(file,
			"  at least %s of that are older than the recording or unreclaimed "
			"garbage\n",
			th_format_number(used - live.high, TH_UNIT_BYTES).text);
}

/* Prints what counts as live only because no collection has tested its reachability. */
static void
print_unjudged(FILE *file, const struct th_profile *profile)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	uint64_t known = profile->at.known - 1;
	uint64_t judged = th_lifetimes_judged(lifetimes, known, false);
	uint64_t judged_old = th_lifetimes_judged(lifetimes, known, true);
	struct selection selection = {judged, UINT64_MAX, profile->at};
	struct th_estimate since = live_bytes(profile, TH_HEAP_JAVA, &selection);

	if (since.estimate > 0)
		fprintf(file,
			"  %s (%s) of the live bytes were allocated since the last GC "
			"and may be garbage\n",
			th_format_number(since.estimate, TH_UNIT_BYTES).text,
			th_estimate_interval(&since, TH_UNIT_BYTES).text);
	if (!judged_old)
		fputs("  no old-generation GC so far: dead old objects count as live\n", file);
	else if (judged_old < judged)
		fprintf(file,
			"  the last old-generation GC was at %s s: "
			"old objects that died since count as live\n",
			th_format_time(th_profile_seconds(profile, judged_old)).text);
}

void
th_live_section_doubts(FILE *file, const struct th_profile *profile)
{
	if (!th_profile_has_heap(profile, TH_HEAP_JAVA) || !profile->recording->has_jvm)
		return;
	if (last_collection(profile))
		print_unjudged(file, profile);
	else
		fputs("  no GC so far: all allocated objects count as live\n", file);
}

void
th_live_section_collections(FILE *file, const struct th_profile *profile)
{
	const struct th_decoded_collection *last = last_collection(profile);

	if (!th_profile_has_heap(profile, TH_HEAP_JAVA) || !profile->recording->has_jvm)
		return;
	fputs("\nGarbage collections\n", file);
	if (!last) {
		th_live_section_doubts(file, profile);
		return;
	}
	double pause = (double)last->paused / 1e9;
	double duration = th_profile_seconds(profile, profile->at.time);
	char *kind = th_text_clean(last->kind);
	const struct th_decoded_heap_use *use = th_heap_use_after(
		profile->recording, last->end);
	fprintf(file,
		"  %s, with pauses of %s s in total (%s of the time); the last at "
		"%s s: %s\n",
		th_format_count(last->number).text, th_format_time(pause).text,
		th_format_share(pause, duration).text,
		th_format_time(th_profile_seconds(profile, last->start)).text,
		kind[0] ? kind : "[unknown]");
	free(kind);
	if (use)
		print_coverage(file, profile, use);
	th_live_section_doubts(file, profile);
}

/* Recording quality */

static void
add_unknown(struct th_health *health, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;

	if (lifetimes->unknown[heap])
		th_health_add(health, true,
			"%s samples of the %s (%s of its bytes) were not tracked until freed; "
			"live figures assume that they live as long as the others",
			th_format_count(lifetimes->unknown[heap]).text, th_heap_title(heap),
			th_format_share(1 - lifetimes->known_part[heap], 1).text);
}

/* Reports how many Java objects are tracked with a collector that keeps tracked objects alive. */
static void
add_followed(struct th_health *health, const struct th_profile *profile)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	uint64_t followed = 0;

	for (size_t i = 0; i < lifetimes->followed_count; i++)
		followed += lifetimes->followed[i] > 0;
	if (lifetimes->followed)
		th_health_add(health, false,
			"%s of %s sampled Java objects were tracked: young GCs of this "
			"collector keep tracked objects alive",
			th_format_count(followed).text,
			th_format_count(lifetimes->followed_count).text);
}

void
th_live_section_health(struct th_health *health, const struct th_profile *profile)
{
	add_followed(health, profile);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		add_unknown(health, profile, (enum th_heap)heap);
	if (profile->end.level)
		th_health_add(health, false,
			"because of the number of live Java samples, at the end only one in %u "
			"was tracked",
			1u << profile->end.level);
}
