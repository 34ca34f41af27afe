/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are sorted by site once; every evaluation gathers its samples from that order. Only
 * an outline of each site is kept: the evidence of a finding is gathered again on demand.
 */
#include "report/leaks/leaks_work.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "unify/shared/bisect.h"

/* Sites with a smaller fraction of a heap's live bytes and fewer samples are not listed. */
#define LEAST_PART 0.005
#define LEAST_SAMPLES 3
/* Churn is listed when it makes up this fraction of a heap's allocated bytes. */
#define LEAST_CHURN_PART 0.02
/* Sites prefetched ahead, and samples prefetched of each. */
#define EXPECTED_PLACES 4
#define EXPECTED_SAMPLES 16

/* Samples by site */

/* Gathers the samples of some sites, in the order of the log. */
static void
gather(struct th_leaks_work *work, const uint32_t *places, size_t count)
{
	const struct th_sample_order *order = &work->order;

	work->gathered_count = 0;
	for (size_t i = 0; i < count; i++) {
		for (uint32_t k = order->starts[places[i]]; k < order->starts[places[i] + 1];
			k++)
			th_array_append(work, gathered, order->samples[k]);
	}
	th_sort_numbers(work->gathered, work->gathered_count);
}

void
th_leaks_evaluate(struct th_leaks_work *work, enum th_heap heap, const uint32_t *places,
	size_t count, double chance_limit, struct th_evidence *ret)
{
	struct th_judge *judge = &work->judges[heap];

	judge->chance_limit = chance_limit;
	gather(work, places, count);
	th_evidence_init(ret, judge, work->gathered, work->gathered_count);
}

/* Paths */

struct th_path
th_leaks_path(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	const struct th_profile *profile = leaks->profile;
	struct th_subject subject = th_leak_sites_subject(place);

	return th_paths_get(profile->paths, th_filter_shape(profile->filter, &subject));
}

uint32_t
th_leaks_group(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	const struct th_profile *profile = leaks->profile;
	struct th_subject subject = th_leak_sites_subject(place);

	if (!profile->options->group_by)
		return 0;
	return th_filter_group(profile->filter, profile->options->group_by, &subject);
}

/* Sites */

static void
judges_init(const struct th_leaks_work *work, struct th_judge *judges)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		th_judge_init(&judges[heap], (enum th_heap)heap, work->leaks->profile,
			&work->leaks->horizons[heap], &work->residency);
}

static void
judges_deinit(struct th_judge *judges)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		th_judge_deinit(&judges[heap]);
}

/* Prefetches the samples of a site, which are scattered in memory. */
static void
expect_place(const struct th_leaks_work *work, uint32_t place)
{
	const struct th_profile *profile = work->leaks->profile;
	enum th_heap heap = work->leaks->places.items[place].heap;
	const struct th_sample *samples = profile->recording->samples[heap].items;
	uint32_t start = work->order.starts[place];
	uint32_t count = work->order.starts[place + 1] - start;

	for (uint32_t i = 0; i < count && i < EXPECTED_SAMPLES; i++) {
		uint32_t sample = work->order.samples[start + i];

		__builtin_prefetch(&samples[sample]);
		__builtin_prefetch(&profile->lifetimes.ends[heap][sample]);
	}
}

/* The sites that one thread evaluates. */
struct share {
	const struct th_leaks_work *work;
	struct th_judge judges[TH_HEAPS];
	uint32_t from;
	uint32_t to;
};

static void *
judge_share(void *data)
{
	struct share *share = data;
	const struct th_leaks_work *work = share->work;
	const struct th_leak_sites *places = &work->leaks->places;

	for (uint32_t i = share->from; i < share->to; i++) {
		struct th_judge *judge = &share->judges[places->items[i].heap];
		struct th_evidence evidence;

		if (i + EXPECTED_PLACES < places->items_count)
			expect_place(work, i + EXPECTED_PLACES);
		th_evidence_init(&evidence, judge, &work->order.samples[work->order.starts[i]],
			work->order.starts[i + 1] - work->order.starts[i]);
		if (places->items[i].internal)
			th_evidence_set_internal(&evidence);
		work->outlines[i] = th_evidence_outline(&evidence, judge);
	}
	return NULL;
}

/* A second thread, if there is a processor for it, evaluates half of the sites, by number of samples. */
static void
judge_places(struct th_leaks_work *work)
{
	uint32_t count = (uint32_t)work->leaks->places.items_count;
	const uint32_t *starts = work->order.starts;
	uint32_t middle = (uint32_t)th_bisect(count, i, starts[i] < starts[count] / 2);
	struct share shares[] = {
		{.work = work, .to = middle}, {.work = work, .from = middle, .to = count}};
	pthread_t second;

	judges_init(work, shares[0].judges);
	judges_init(work, shares[1].judges);
	bool is_shared = sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
			 !pthread_create(&second, NULL, judge_share, &shares[1]);
	judge_share(&shares[0]);
	if (is_shared)
		pthread_join(second, NULL);
	else
		judge_share(&shares[1]);
	judges_deinit(shares[0].judges);
	judges_deinit(shares[1].judges);
}

/* Findings */

/* Whether a finding is worth listing. */
static bool
is_notable(
	const struct th_leaks_work *work, enum th_heap heap, const struct th_outline *outline)
{
	const struct th_estimator *sums = work->leaks->profile->selected[heap];
	double live = th_sums_point(&sums[TH_MEASURE_LIVE].bytes);

	if (outline->verdict == TH_VERDICT_LEAK || outline->reason == TH_REASON_DROPPED)
		return true;
	if (outline->verdict == TH_VERDICT_CHURN)
		return (double)outline->allocated >=
		       LEAST_CHURN_PART * (double)sums[TH_MEASURE_ALLOC].samples;
	return outline->live_samples >= LEAST_SAMPLES ||
	       (outline->live_samples && outline->live >= LEAST_PART * live);
}

/* Result of th_groups_judge() in short; for a single site without owners it is already known. */
static struct th_outline
outline_group(struct th_leaks_work *work, const struct th_leak_group *group)
{
	uint32_t first = group->places[0];
	struct th_outline one = work->outlines[first];

	if (group->places_count > 1 || one.verdict != group->verdict ||
		th_owners_find(work, &first, 1, one.survivors).is_collected) {
		struct th_finding finding = th_groups_judge(work, group);

		one = th_evidence_outline(&finding.evidence, &work->judges[group->heap]);
	}
	return one;
}

static void
add_leak(struct th_listed *listed, const struct th_outline *outline)
{
	if (outline->verdict != TH_VERDICT_LEAK)
		return;
	listed->leaked += outline->live_low;
	listed->leaking += fmax(outline->growth, 0);
}

/*
 * Whether a leak of class loaders or of threads contains the memory of the VM at this site: the
 * metaspace and what the VM allocates for classes, or the stacks and what it allocates for threads.
 */
static bool
is_of_tallies(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	if (!place->internal || place->heap == TH_HEAP_JAVA)
		return false;
	for (size_t i = 0; i < leaks->tallies.leaks_count; i++) {
		if (th_tallied_contains(&leaks->tallies.items[i], place->internal))
			return true;
	}
	return false;
}

static void
list_group(struct th_leaks_work *work, uint32_t number)
{
	struct th_leak_group *group = &work->groups[number];
	struct th_outline outline = outline_group(work, group);
	struct th_listed listed = {
		.group = number,
		.place = th_groups_largest(work, group),
		.verdict = (enum th_verdict)outline.verdict,
		.reason = (enum th_reason)outline.reason,
		.live = outline.live_bytes,
		.growth = outline.growth,
	};

	/* A few that were allocated once: if nothing follows in the later half, it may not be a leak. */
	if (listed.reason == TH_REASON_FEW_SAMPLES && !outline.gained_late)
		listed.growth = 0;

	if (listed.verdict == TH_VERDICT_LEAK &&
		th_owners_await_finalizer(work->leaks, listed.place))
		listed.reason = TH_REASON_UNCLOSED;
	add_leak(&listed, &outline);
	for (uint32_t next = group->next;
		listed.verdict == TH_VERDICT_LEAK && next != TH_NO_GROUP;
		next = work->groups[next].next) {
		struct th_outline part = outline_group(work, &work->groups[next]);

		add_leak(&listed, &part);
	}
	if (is_notable(work, group->heap, &outline) &&
		!is_of_tallies(work->leaks, &work->leaks->places.items[listed.place])) {
		th_array_append(work->leaks, findings, listed);
		group->listed = listed.verdict;
	}
}

TH_COMPARE(compare_findings, struct th_listed,
	th_order(left->verdict, right->verdict) ?: th_order(right->live, left->live)
		?: th_order(left->place, right->place))

static struct th_leaks_work *
work_create(struct th_leaks *leaks)
{
	struct th_leaks_work *work = th_allocate(1, sizeof(*work));
	const struct th_profile *profile = leaks->profile;
	size_t count = leaks->places.items_count;

	work->leaks = leaks;
	work->outlines = th_allocate(count, sizeof(*work->outlines));
	work->nodes = th_allocate(count, sizeof(*work->nodes));
	work->makers = th_allocate(count, sizeof(*work->makers));
	memset(work->nodes, 0xff, count * sizeof(*work->nodes));
	th_owners_find_constructors(work);
	th_sample_order_init(&work->order, profile, leaks->places.of_row, count);
	th_resident_mappings_init(
		&work->residency, profile->recording, leaks->horizons[TH_HEAP_MAPPED].end);
	judges_init(work, work->judges);
	return work;
}

static void
work_destroy(struct th_leaks_work *work)
{
	judges_deinit(work->judges);
	th_groups_deinit(work);
	th_sample_order_deinit(&work->order);
	th_resident_mappings_deinit(&work->residency);
	th_id_map_deinit(&work->owner_ids);
	free(work->owners);
	free(work->found);
	free(work->gathered);
	free(work->outlines);
	free(work->nodes);
	free(work->makers);
	free(work->functions);
	free(work);
}

static void
finalizers_init(struct th_finalizers *finalizers, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_account *account = th_recording_account_at(
		recording, profile->at.time);

	for (size_t i = 0; account && i < recording->pools_count; i++) {
		const struct th_decoded_pool *pool = &recording->pools[i];

		if (pool->account != account->account || pool->kind != TH_POOL_FINALIZERS ||
			finalizers->class_name)
			continue;
		finalizers->waiting = pool->count;
		finalizers->class_name = th_frames_string(
			profile->frames, th_frames_intern_class(profile->frames, pool->name));
	}
}

void
th_leaks_prepare(struct th_leaks *leaks, const struct th_profile *profile)
{
	*leaks = (struct th_leaks){.profile = profile};
	if (th_options_shape_stacks(profile->options))
		leaks->profile = leaks->whole = th_profile_create_whole(profile);
	th_leak_sites_init(&leaks->places, leaks->profile);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		th_observation_window_init(
			&leaks->horizons[heap], leaks->profile, (enum th_heap)heap);
	th_tallies_init(&leaks->tallies, &leaks->places, &leaks->horizons[TH_HEAP_NATIVE]);
	leaks->references = th_references_find(profile->recording, leaks->profile->at.time);
	th_ledger_init(&leaks->ledger, leaks->profile);
	finalizers_init(&leaks->finalizers, leaks->profile);
	leaks->work = work_create(leaks);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		leaks->growth_limit[heap] = th_detection_limit(&leaks->work->judges[heap]);
}

void
th_leaks_find(struct th_leaks *leaks)
{
	struct th_leaks_work *work = leaks->work;

	judge_places(work);
	for (uint32_t i = 0; i < leaks->places.items_count; i++)
		work->makers[i] = th_leaks_maker(leaks, &leaks->places.items[i]);
	th_levels_judge(work);
	th_groups_form(work);
	for (uint32_t i = 0; i < work->groups_count; i++) {
		work->groups[i].listed = work->groups[i].verdict;
		if (work->groups[i].places_count && work->groups[i].leader == i)
			list_group(work, i);
	}
	th_sort(leaks->findings, leaks->findings_count, compare_findings);
	th_causes_find(leaks);
	th_leaks_conclude(leaks);
}

void
th_leaks_init(struct th_leaks *leaks, const struct th_profile *profile)
{
	th_leaks_prepare(leaks, profile);
	th_leaks_find(leaks);
}

void
th_leaks_deinit(struct th_leaks *leaks)
{
	free(leaks->causes);
	work_destroy(leaks->work);
	th_ledger_deinit(&leaks->ledger);
	th_tallies_deinit(&leaks->tallies);
	th_leak_sites_deinit(&leaks->places);
	th_profile_destroy(leaks->whole);
	free(leaks->findings);
}

struct th_finding
th_leaks_next(const struct th_leaks *leaks, uint32_t next)
{
	struct th_leaks_work *work = leaks->work;
	const struct th_leak_group *group = &work->groups[next];
	struct th_finding finding = th_groups_judge(work, group);

	th_evidence_measure(&finding.evidence, &work->judges[group->heap]);
	return finding;
}
