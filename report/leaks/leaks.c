/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are sorted by site once; every evaluation gathers its samples from that order. Only
 * an outline of each site is kept: the evidence of a finding is gathered again on demand.
 */
#include "report/leaks/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/worker.h"
#include "report/profile/sample_order.h"
#include "report/statistics/sampling_changes.h"
#include "unify/shared/bisect.h"

/* Sites with a smaller fraction of a heap's live bytes and fewer samples are not listed. */
#define LEAST_PART 0.005
#define LEAST_SAMPLES 3
/* Churn is listed when it makes up this fraction of a heap's allocated bytes. */
#define LEAST_CHURN_PART 0.02
/*
 * Minimum number of sampled owners for a statement about them, and the fraction that must be
 * collected.
 */
#define ENOUGH_OWNERS 3
#define OWNERS_GONE 0.8
/*
 * Owners that may be alive although no sample is, at 95 %: the rule of three, for few samples.
 */
#define UNSEEN_OWNERS 3
/* Growth in the later half that becomes significant, in sampling intervals: see evidence.c. */
#define HIDDEN_INTERVALS 7
/* Of a class name. */
#define NOT_ASKED (UINT32_MAX - 1)
/* Sites prefetched ahead, and samples prefetched of each. */
#define EXPECTED_PLACES 4
#define EXPECTED_SAMPLES 16

/* A finding under construction: sites that are judged together. */
struct group {
	TH_ARRAY(uint32_t, places);
	enum th_heap heap;
	enum th_verdict verdict;
};

struct th_leaks_work {
	struct th_leaks *leaks;
	struct th_sample_order order; /* by site */
	struct th_outline *outlines;  /* by site */
	struct th_resident_mappings residency;
	struct th_judge judges[TH_HEAPS];
	uint32_t *class_names;      /* by function: string of a method's class, or NOT_ASKED */
	struct th_id_map group_ids; /* heap, creator or site, verdict */
	TH_ARRAY(struct group, groups);
	TH_ARRAY(uint32_t, gathered); /* samples */
};

/* Samples by site */

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

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
	qsort(work->gathered, work->gathered_count, sizeof(uint32_t), compare_numbers);
}

/* Evaluates one site. */
static void
look_at_place(const struct th_leaks_work *work, struct th_judge *judge, uint32_t place,
	struct th_evidence *ret, struct th_evidence_sums *sums_ret)
{
	uint32_t start = work->order.starts[place];

	th_evidence_init(ret, judge, &work->order.samples[start],
		work->order.starts[place + 1] - start, sums_ret);
	if (work->leaks->places.items[place].internal)
		th_evidence_set_internal(ret);
}

/* Evaluates sites of one heap together. */
static void
look_at(struct th_leaks_work *work, enum th_heap heap, const uint32_t *places, size_t count,
	struct th_evidence *ret, struct th_evidence_sums *sums_ret)
{
	struct th_judge *judge = &work->judges[heap];

	if (count == 1) {
		look_at_place(work, judge, places[0], ret, sums_ret);
		return;
	}
	gather(work, places, count);
	th_evidence_init(ret, judge, work->gathered, work->gathered_count, sums_ret);
}

/* Groups */

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

/* Key that related sites share. */
static uint64_t
relation_of(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	uint32_t relation = place->creator ? place->creator : place->way;

	if (leaks->profile->options->group_by)
		relation = th_leaks_group(leaks, place);
	return (uint64_t)place->heap << 32 | relation;
}

static struct group *
find_group(
	struct th_leaks_work *work, const struct th_leak_site *place, enum th_verdict verdict)
{
	struct group group = {.heap = place->heap, .verdict = verdict};
	bool added;
	uint32_t index = th_id_map_intern(&work->group_ids,
		(uint64_t)verdict << 40 | relation_of(work->leaks, place), &added);

	if (added)
		th_array_append(work, groups, group);
	return &work->groups[index];
}

static void
join(struct th_leaks_work *work, uint32_t number, enum th_verdict verdict)
{
	const struct th_leak_site *place = &work->leaks->places.items[number];
	struct group *group = find_group(work, place, verdict);

	th_array_append(group, places, number);
}

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
		struct th_evidence evidence;

		if (i + EXPECTED_PLACES < places->items_count)
			expect_place(work, i + EXPECTED_PLACES);
		look_at_place(work, &share->judges[places->items[i].heap], i, &evidence, NULL);
		work->outlines[i] = th_evidence_outline(&evidence);
	}
	return NULL;
}

/* A worker thread evaluates half of the sites, by number of samples. */
static void
judge_places(struct th_leaks_work *work)
{
	uint32_t count = (uint32_t)work->leaks->places.items_count;
	const uint32_t *starts = work->order.starts;
	uint32_t middle = (uint32_t)th_bisect(count, i, starts[i] < starts[count] / 2);
	struct share shares[] = {
		{.work = work, .to = middle}, {.work = work, .from = middle, .to = count}};
	struct th_worker worker;

	judges_init(work, shares[0].judges);
	judges_init(work, shares[1].judges);
	th_worker_begin(&worker, judge_share, &shares[1]);
	judge_share(&shares[0]);
	th_worker_end(&worker);
	judges_deinit(shares[0].judges);
	judges_deinit(shares[1].judges);
	for (uint32_t i = 0; i < count; i++)
		join(work, i, (enum th_verdict)work->outlines[i].verdict);
}

static void
move_places(struct th_leaks_work *work, struct group *from, enum th_verdict verdict)
{
	uint32_t *places = from->places;
	size_t count = from->places_count;

	from->places = NULL;
	from->places_count = from->places_capacity = 0;
	for (size_t i = 0; i < count; i++)
		join(work, places[i], verdict);
	free(places);
}

/*
 * Related sites that are unclear one by one may have a clear verdict together. Beside a leak of
 * the same line they are considered part of it if any of their samples is alive.
 */
static void
judge_unclear(struct th_leaks_work *work)
{
	size_t count = work->groups_count;

	for (size_t i = 0; i < count; i++) {
		struct group *group = &work->groups[i];
		struct th_evidence evidence;

		if (group->verdict != TH_VERDICT_UNCLEAR || !group->places_count)
			continue;
		const struct th_leak_site *place = &work->leaks->places.items[group->places[0]];
		struct th_outline outline = work->outlines[group->places[0]];
		/* A group of one site has already been evaluated. */
		if (group->places_count > 1) {
			look_at(work, group->heap, group->places, group->places_count,
				&evidence, NULL);
			if (place->internal)
				th_evidence_set_internal(&evidence);
			outline = th_evidence_outline(&evidence);
		}
		enum th_verdict verdict = (enum th_verdict)outline.verdict;
		if (verdict == TH_VERDICT_UNCLEAR && outline.is_alive &&
			th_id_map_find(&work->group_ids,
				(uint64_t)TH_VERDICT_LEAK << 40 |
					relation_of(work->leaks, place)) != TH_ID_MAP_NONE)
			verdict = TH_VERDICT_LEAK;
		if (verdict != TH_VERDICT_UNCLEAR)
			move_places(work, group, verdict);
	}
}

/*
 * Of the many sites of a leak some seem to have stopped by chance; they are part of the leak.
 */
static void
judge_stopped(struct th_leaks_work *work)
{
	for (size_t i = 0; i < work->groups_count; i++) {
		struct group *group = &work->groups[i];
		size_t kept = 0;

		if (group->verdict != TH_VERDICT_PLATEAU || !group->places_count)
			continue;
		uint32_t leak = th_id_map_find(&work->group_ids,
			(uint64_t)TH_VERDICT_LEAK << 40 |
				relation_of(work->leaks,
					&work->leaks->places.items[group->places[0]]));
		if (leak == TH_ID_MAP_NONE)
			continue;
		size_t related = work->groups[leak].places_count + group->places_count;
		for (size_t k = 0; k < group->places_count; k++) {
			uint32_t place = group->places[k];

			if (th_outline_may_pause(&work->outlines[place], related))
				join(work, place, TH_VERDICT_LEAK);
			else
				group->places[kept++] = place;
		}
		group->places_count = kept;
	}
}

/* Owners */

/*
 * The string number of the class in "pkg.Class.method", the name of `function`; TH_NO_STRING if
 * no such string exists.
 */
static uint32_t
class_of_method(struct th_leaks_work *work, uint32_t function)
{
	const struct th_frames *frames = work->leaks->profile->frames;
	uint32_t *known = &work->class_names[function];

	if (*known == NOT_ASKED) {
		const char *name = th_frames_function_name(frames, function);
		const char *dot = strrchr(name, '.');
		char *class_name = th_format_new("%.*s", dot ? (int)(dot - name) : 0, name);

		*known = th_frames_find_string(frames, class_name);
		free(class_name);
	}
	return *known;
}

/* State of the Java objects of one class and path, as far as GCs determined it. */
static struct th_owner
look_at_owners(struct th_leaks_work *work, uint32_t place)
{
	const struct th_leak_site *places = work->leaks->places.items;
	struct group group = {.heap = TH_HEAP_JAVA};
	struct th_evidence evidence;

	for (uint32_t i = place; i != TH_NO_PLACE; i = places[i].next)
		th_array_append(&group, places, i);
	look_at(work, TH_HEAP_JAVA, group.places, group.places_count, &evidence, NULL);
	free(group.places);
	return (struct th_owner){
		.place = place,
		.samples = evidence.allocated,
		.collected = evidence.dead,
		.is_collected = evidence.allocated >= ENOUGH_OWNERS &&
				(double)evidence.dead >=
					OWNERS_GONE * (double)evidence.allocated,
	};
}

/*
 * Searches the path of a native site for a method whose class is that of objects that the
 * method's caller allocated: the object that requested the memory, if it was sampled.
 */
static struct th_owner
find_owner(struct th_leaks_work *work, const struct th_leak_site *place)
{
	const struct th_leak_sites *places = &work->leaks->places;
	const struct th_frames *frames = work->leaks->profile->frames;
	struct th_owner none = {.place = TH_NO_PLACE};
	struct th_path_prefix_cursor step = th_path_prefixes_last(&places->ways, place->way);
	uint32_t function;

	while (th_path_prefixes_step(&step, &function)) {
		if (th_frames_function(frames, function)->kind != TH_KIND_JAVA)
			continue;
		uint32_t class_name = class_of_method(work, function);
		uint32_t caller = class_name == TH_NO_STRING ? TH_NO_WAY
							     : th_path_prefixes_left(&step);
		if (caller == TH_NO_WAY)
			continue;
		uint32_t found = th_leak_sites_find(places, TH_HEAP_JAVA, caller, class_name);
		if (found != TH_NO_PLACE)
			return look_at_owners(work, found);
	}
	return none;
}

/* Findings */

static uint32_t
largest_place(const struct th_leaks_work *work, const struct group *group)
{
	uint32_t largest = group->places[0];

	for (size_t i = 1; i < group->places_count; i++) {
		uint32_t number = group->places[i];

		if (work->outlines[number].live > work->outlines[largest].live)
			largest = number;
	}
	return largest;
}

/* Whether a finding is worth listing. */
static bool
is_notable(
	const struct th_leaks_work *work, enum th_heap heap, const struct th_outline *outline)
{
	const struct th_estimator *sums = work->leaks->profile->selected[heap];
	double live = th_sums_point(&sums[TH_MEASURE_LIVE].bytes);

	if (outline->verdict == TH_VERDICT_LEAK)
		return true;
	if (outline->verdict == TH_VERDICT_CHURN)
		return (double)outline->allocated >=
		       LEAST_CHURN_PART * (double)sums[TH_MEASURE_ALLOC].samples;
	return outline->live_samples >= LEAST_SAMPLES ||
	       (outline->live_samples && outline->live >= LEAST_PART * live);
}

/* The sites were judged separately; the figures of the group must not overrule that. */
static void
set_verdict(const struct th_leaks_work *work, const struct group *group,
	struct th_evidence *evidence)
{
	if (evidence->verdict == group->verdict)
		return;
	for (size_t i = 0; i < group->places_count; i++) {
		const struct th_outline *one = &work->outlines[group->places[i]];

		if (one->verdict == group->verdict) {
			evidence->verdict = group->verdict;
			evidence->reason = (enum th_reason)one->reason;
		}
	}
}

/*
 * Whether more blocks survive than owners can. Where most owners free their blocks and a few
 * neither free them nor die, nearly all owners are collected too.
 */
static bool
outlive_owners(double survivors, const struct th_owner *owner)
{
	double alive = (double)(owner->samples - owner->collected + UNSEEN_OWNERS) /
		       (double)(owner->samples + UNSEEN_OWNERS);

	return survivors > alive;
}

/* The owner of the allocations of a site with this fraction of survivors. */
static struct th_owner
owner_of(struct th_leaks_work *work, const struct th_leak_site *place, double survivors)
{
	struct th_owner owner = {.place = TH_NO_PLACE};

	if (!place->internal && place->heap != TH_HEAP_JAVA)
		owner = find_owner(work, place);
	if (owner.place == TH_NO_PLACE || !outlive_owners(survivors, &owner))
		owner.is_collected = false;
	return owner;
}

/* The verdict and the owner of a group's finding. */
static struct th_finding
judge_group(struct th_leaks_work *work, const struct group *group)
{
	struct th_finding finding = {
		.place = largest_place(work, group),
		.place_count = (uint32_t)group->places_count,
	};
	const struct th_leak_site *place = &work->leaks->places.items[finding.place];

	look_at(work, group->heap, group->places, group->places_count, &finding.evidence,
		&finding.sums);
	set_verdict(work, group, &finding.evidence);
	if (place->internal)
		th_evidence_set_internal(&finding.evidence);
	finding.owner = owner_of(work, place, finding.evidence.survivors);
	if (finding.owner.is_collected)
		th_evidence_set_owners_gone(&finding.evidence);
	return finding;
}

/* Result of judge_group() in short; for a single site without owners it is already known. */
static struct th_outline
outline_group(struct th_leaks_work *work, const struct group *group)
{
	uint32_t first = group->places[0];
	const struct th_outline *one = &work->outlines[first];

	if (group->places_count == 1 && one->verdict == group->verdict &&
		!owner_of(work, &work->leaks->places.items[first], one->survivors).is_collected)
		return *one;
	struct th_finding finding = judge_group(work, group);
	return th_evidence_outline(&finding.evidence);
}

static void
list_group(struct th_leaks_work *work, uint32_t number)
{
	const struct group *group = &work->groups[number];
	struct th_outline outline = outline_group(work, group);
	struct th_listed listed = {
		.group = number,
		.place = largest_place(work, group),
		.verdict = (enum th_verdict)outline.verdict,
		.live = outline.live_bytes,
	};

	if (is_notable(work, group->heap, &outline))
		th_array_append(work->leaks, findings, listed);
}

static int
compare_findings(const void *a, const void *b)
{
	const struct th_listed *left = a;
	const struct th_listed *right = b;

	if (left->verdict != right->verdict)
		return left->verdict < right->verdict ? -1 : 1;
	if (left->live != right->live)
		return left->live < right->live ? 1 : -1;
	return (left->place > right->place) - (left->place < right->place);
}

/* Growth that the later half of the recording would not show, in bytes per second. */
static double
hidden_growth(const struct th_leaks *leaks, enum th_heap heap)
{
	const struct th_observation_window *horizon = &leaks->horizons[heap];
	uint64_t sampled = horizon->horizon > horizon->middle
				   ? th_sampling_changes_sampled(leaks->profile->recording,
					     heap, horizon->middle, horizon->horizon)
				   : 0;
	double seconds = (double)sampled / 1e9;

	return seconds > 0 ? HIDDEN_INTERVALS * leaks->profile->heaps[heap].gap / seconds : 0;
}

static struct th_leaks_work *
work_create(struct th_leaks *leaks)
{
	struct th_leaks_work *work = th_allocate(1, sizeof(*work));
	const struct th_profile *profile = leaks->profile;
	size_t count = leaks->places.items_count;
	size_t functions = th_frames_function_count(profile->frames);

	work->leaks = leaks;
	work->outlines = th_allocate(count, sizeof(*work->outlines));
	work->class_names = th_allocate(functions, sizeof(*work->class_names));
	for (size_t i = 0; i < functions; i++)
		work->class_names[i] = NOT_ASKED;
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
	for (size_t i = 0; i < work->groups_count; i++)
		free(work->groups[i].places);
	th_sample_order_deinit(&work->order);
	th_resident_mappings_deinit(&work->residency);
	th_id_map_deinit(&work->group_ids);
	free(work->groups);
	free(work->gathered);
	free(work->outlines);
	free(work->class_names);
	free(work);
}

void
th_leaks_prepare(struct th_leaks *leaks, const struct th_profile *profile)
{
	*leaks = (struct th_leaks){.profile = profile};
	if (th_options_shape_stacks(profile->options))
		leaks->profile = leaks->whole = th_profile_create_whole(profile);
	th_leak_sites_init(&leaks->places, leaks->profile);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		th_observation_window_init(
			&leaks->horizons[heap], leaks->profile, (enum th_heap)heap);
		leaks->growth_limit[heap] = hidden_growth(leaks, (enum th_heap)heap);
	}
	th_tallies_init(&leaks->tallies, &leaks->places, &leaks->horizons[TH_HEAP_NATIVE]);
	leaks->work = work_create(leaks);
}

void
th_leaks_find(struct th_leaks *leaks)
{
	struct th_leaks_work *work = leaks->work;

	judge_places(work);
	judge_unclear(work);
	judge_stopped(work);
	for (uint32_t i = 0; i < work->groups_count; i++) {
		if (work->groups[i].places_count)
			list_group(work, i);
	}
	if (leaks->findings_count)
		qsort(leaks->findings, leaks->findings_count, sizeof(struct th_listed),
			compare_findings);
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
	work_destroy(leaks->work);
	th_tallies_deinit(&leaks->tallies);
	th_leak_sites_deinit(&leaks->places);
	th_profile_destroy(leaks->whole);
	free(leaks->findings);
}

struct th_finding
th_leaks_measured(const struct th_leaks *leaks, const struct th_listed *listed)
{
	struct th_leaks_work *work = leaks->work;
	const struct group *group = &work->groups[listed->group];
	struct th_finding finding = judge_group(work, group);

	th_evidence_measure(&finding.evidence, &work->judges[group->heap], &finding.sums);
	return finding;
}

static double
live_low(const struct th_leaks *leaks, const struct th_listed *listed)
{
	struct th_leaks_work *work = leaks->work;
	const struct group *group = &work->groups[listed->group];
	struct th_finding finding = judge_group(work, group);

	return th_evidence_live(&finding.evidence, &work->judges[group->heap], &finding.sums)
		.low;
}

double
th_leaks_bytes(const struct th_leaks *leaks)
{
	double bytes = 0;

	for (size_t i = 0; i < leaks->findings_count; i++) {
		if (leaks->findings[i].verdict == TH_VERDICT_LEAK)
			bytes += live_low(leaks, &leaks->findings[i]);
	}
	for (size_t i = 0; i < leaks->tallies.leaks_count; i++)
		bytes += th_tallied_bytes(&leaks->tallies.items[i]);
	return bytes;
}

bool
th_leaks_has_leak(const struct th_leaks *leaks)
{
	/* Worst first. */
	return leaks->tallies.leaks_count ||
	       (leaks->findings_count && leaks->findings[0].verdict == TH_VERDICT_LEAK);
}
