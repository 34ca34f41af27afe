/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of each heap are put in order by place once; whoever looks at places gathers their
 * samples from there.
 */
#include "report/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "report/allocate.h"
#include "report/changes.h"

/* What holds less than this part of a heap's live bytes, and has few samples, is not listed. */
#define LEAST_PART 0.005
#define LEAST_SAMPLES 3
/* Churn is listed when it makes up this part of what a heap allocated. */
#define LEAST_CHURN_PART 0.02
/* Owners that were sampled before anything is said of them, and how many must be gone. */
#define ENOUGH_OWNERS 3
#define OWNERS_GONE 0.8
/* Owners that may be alive although no sample is, at 95 %: the rule of three, for few samples. */
#define UNSEEN_OWNERS 3
/* Sampling intervals of growth in the later half that become significant: see evidence.c. */
#define HIDDEN_INTERVALS 7

/* The samples of one heap, by place. */
struct order {
	uint32_t *starts; /* by place, and one more for the end */
	uint32_t *samples;
};

/* A finding in the making: places that are judged together. */
struct group {
	TH_ARRAY(uint32_t, places);
	enum th_heap heap;
	enum th_verdict verdict;
};

struct work {
	struct th_leaks *leaks;
	struct order orders[TH_HEAPS];
	struct th_evidence *evidence; /* by place */
	struct th_residency residency;
	uint32_t *
		class_names; /* by function: string of a method's class plus one, 0 = not asked */
	struct th_map group_ids; /* heap, creator or place, verdict */
	TH_ARRAY(struct group, groups);
	TH_ARRAY(uint32_t, gathered); /* samples */
};

/* Samples by place */

static void
order_init(struct order *order, const struct th_leaks *leaks, enum th_heap heap)
{
	size_t place_count = leaks->places.items_count;
	size_t count = leaks->profile->recording->samples[heap].items_count;
	uint32_t *next;

	order->starts = th_allocate(place_count + 1, sizeof(uint32_t));
	order->samples = th_allocate(count, sizeof(uint32_t));
	for (size_t i = 0; i < count; i++) {
		uint32_t place = th_places_of(&leaks->places, heap, i);

		if (place != TH_NO_PLACE)
			order->starts[place + 1]++;
	}
	for (size_t i = 0; i < place_count; i++)
		order->starts[i + 1] += order->starts[i];
	next = th_allocate(place_count + 1, sizeof(uint32_t));
	memcpy(next, order->starts, (place_count + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < count; i++) {
		uint32_t place = th_places_of(&leaks->places, heap, i);

		if (place != TH_NO_PLACE)
			order->samples[next[place]++] = (uint32_t)i;
	}
	free(next);
}

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static void
gather(struct work *work, enum th_heap heap, const uint32_t *places, size_t count)
{
	const struct order *order = &work->orders[heap];

	work->gathered_count = 0;
	for (size_t i = 0; i < count; i++) {
		for (uint32_t k = order->starts[places[i]]; k < order->starts[places[i] + 1];
			k++)
			th_array_append(work, gathered, order->samples[k]);
	}
	if (count > 1)
		qsort(work->gathered, work->gathered_count, sizeof(uint32_t), compare_numbers);
}

static void
look_at(struct work *work, enum th_heap heap, const uint32_t *places, size_t count,
	struct th_evidence *ret, struct th_evidence_sums *sums_ret)
{
	gather(work, heap, places, count);
	th_evidence_init(ret, work->leaks->profile, &work->leaks->horizons[heap],
		&work->residency, heap, work->gathered, work->gathered_count, sums_ret);
}

/* Groups */

struct th_path
th_leaks_path(const struct th_leaks *leaks, const struct th_place *place)
{
	const struct th_profile *profile = leaks->profile;
	struct th_subject subject = th_places_subject(place);

	return th_paths_get(profile->paths, th_filter_shape(profile->filter, &subject));
}

uint32_t
th_leaks_group(const struct th_leaks *leaks, const struct th_place *place)
{
	const struct th_profile *profile = leaks->profile;
	struct th_subject subject = th_places_subject(place);

	if (!profile->options->group_by)
		return 0;
	return th_filter_group(profile->filter, profile->options->group_by, &subject);
}

/* What related places share. */
static uint64_t
relation_of(const struct th_leaks *leaks, const struct th_place *place)
{
	uint32_t relation = place->creator ? place->creator : place->way;

	if (leaks->profile->options->group_by)
		relation = th_leaks_group(leaks, place);
	return (uint64_t)place->heap << 32 | relation;
}

static struct group *
find_group(struct work *work, const struct th_place *place, enum th_verdict verdict)
{
	struct group group = {.heap = place->heap, .verdict = verdict};
	bool added;
	uint32_t index = th_map_intern(&work->group_ids,
		(uint64_t)verdict << 40 | relation_of(work->leaks, place), &added);

	if (added)
		th_array_append(work, groups, group);
	return &work->groups[index];
}

static void
join(struct work *work, uint32_t number, enum th_verdict verdict)
{
	const struct th_place *place = &work->leaks->places.items[number];
	struct group *group = find_group(work, place, verdict);

	th_array_append(group, places, number);
}

static void
judge_places(struct work *work)
{
	const struct th_places *places = &work->leaks->places;

	for (uint32_t i = 0; i < places->items_count; i++) {
		look_at(work, places->items[i].heap, &i, 1, &work->evidence[i], NULL);
		if (places->items[i].internal)
			th_evidence_set_internal(&work->evidence[i]);
		join(work, i, work->evidence[i].verdict);
	}
}

static void
move_places(struct work *work, struct group *from, enum th_verdict verdict)
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
 * Related places that are unclear one by one may be clear together.  Beside a leak of their line
 * they are taken for a part of it, if anything of them is alive.
 */
static void
judge_unclear(struct work *work)
{
	size_t count = work->groups_count;

	for (size_t i = 0; i < count; i++) {
		struct group *group = &work->groups[i];
		struct th_evidence evidence;

		if (group->verdict != TH_VERDICT_UNCLEAR || !group->places_count)
			continue;
		const struct th_place *place = &work->leaks->places.items[group->places[0]];
		uint64_t relation = relation_of(work->leaks, place);
		/* One by itself was looked at. */
		if (group->places_count == 1)
			evidence = work->evidence[group->places[0]];
		else
			look_at(work, group->heap, group->places, group->places_count,
				&evidence, NULL);
		if (place->internal)
			th_evidence_set_internal(&evidence);
		enum th_verdict verdict = evidence.verdict;
		if (verdict == TH_VERDICT_UNCLEAR && evidence.alive &&
			th_map_find(&work->group_ids,
				(uint64_t)TH_VERDICT_LEAK << 40 | relation) != TH_MAP_NONE)
			verdict = TH_VERDICT_LEAK;
		if (verdict != TH_VERDICT_UNCLEAR)
			move_places(work, group, verdict);
	}
}

/* Of the many places of a leak some seem to have stopped by chance: they are a part of it. */
static void
judge_stopped(struct work *work)
{
	for (size_t i = 0; i < work->groups_count; i++) {
		struct group *group = &work->groups[i];
		size_t kept = 0;

		if (group->verdict != TH_VERDICT_PLATEAU || !group->places_count)
			continue;
		uint32_t leak = th_map_find(&work->group_ids,
			(uint64_t)TH_VERDICT_LEAK << 40 |
				relation_of(work->leaks,
					&work->leaks->places.items[group->places[0]]));
		if (leak == TH_MAP_NONE)
			continue;
		size_t related = work->groups[leak].places_count + group->places_count;
		for (size_t k = 0; k < group->places_count; k++) {
			uint32_t place = group->places[k];

			if (th_evidence_may_pause(&work->evidence[place], related))
				join(work, place, TH_VERDICT_LEAK);
			else
				group->places[kept++] = place;
		}
		group->places_count = kept;
	}
}

/* Owners */

/* The string number of the class in "pkg.Class.method", which a function is. */
static uint32_t
class_of_method(struct work *work, uint32_t function)
{
	struct th_frames *frames = work->leaks->profile->frames;
	uint32_t *known = &work->class_names[function];

	if (!*known) {
		const char *name = th_frames_function_name(frames, function);
		const char *dot = strrchr(name, '.');
		char *class_name = th_format_new("%.*s", dot ? (int)(dot - name) : 0, name);

		*known = th_frames_intern(frames, class_name) + 1;
		free(class_name);
	}
	return *known - 1;
}

/* What became of the Java objects of a class and a way, as far as collections told. */
static struct th_owner
look_at_owners(struct work *work, uint32_t place)
{
	const struct th_place *places = work->leaks->places.items;
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
 * Looks along a native place's way for a method whose class is that of objects which the
 * method's caller made: the object that asked for the memory, if it was sampled.
 */
static struct th_owner
find_owner(struct work *work, const struct th_place *place)
{
	const struct th_places *places = &work->leaks->places;
	const struct th_frames *frames = work->leaks->profile->frames;
	struct th_owner none = {.place = TH_NO_PLACE};
	struct th_way_cursor step = th_ways_last(&places->ways, place->way);
	uint32_t function;

	while (th_ways_step(&step, &function)) {
		if (th_frames_function(frames, function)->kind != TH_KIND_JAVA)
			continue;
		uint32_t caller = th_ways_left(&step);
		if (caller == TH_NO_WAY)
			continue;
		uint32_t found = th_places_find(
			places, TH_HEAP_JAVA, caller, class_of_method(work, function));
		if (found != TH_NO_PLACE)
			return look_at_owners(work, found);
	}
	return none;
}

/* Findings */

static uint32_t
largest_place(const struct work *work, const struct group *group)
{
	uint32_t largest = group->places[0];

	for (size_t i = 1; i < group->places_count; i++) {
		uint32_t number = group->places[i];

		if (work->evidence[number].live > work->evidence[largest].live)
			largest = number;
	}
	return largest;
}

/* Whether a finding is worth a line. */
static bool
is_notable(const struct work *work, const struct th_finding *finding)
{
	const struct th_evidence *evidence = &finding->evidence;
	const struct th_profile *profile = work->leaks->profile;
	const struct th_estimator *sums = profile->selected[evidence->heap];
	double live = th_sums_point(&sums[TH_MEASURE_LIVE].bytes);

	if (evidence->verdict == TH_VERDICT_LEAK)
		return true;
	if (evidence->verdict == TH_VERDICT_CHURN)
		return (double)evidence->allocated >=
		       LEAST_CHURN_PART * (double)sums[TH_MEASURE_ALLOC].samples;
	return evidence->live_samples >= LEAST_SAMPLES ||
	       (evidence->live_samples && evidence->live >= LEAST_PART * live);
}

/* The places were judged one by one; the figures of all must not overrule that. */
static void
set_verdict(const struct work *work, const struct group *group, struct th_evidence *evidence)
{
	if (evidence->verdict == group->verdict)
		return;
	for (size_t i = 0; i < group->places_count; i++) {
		const struct th_evidence *one = &work->evidence[group->places[i]];

		if (one->verdict == group->verdict) {
			evidence->verdict = one->verdict;
			evidence->reason = one->reason;
		}
	}
}

/*
 * Whether more blocks survive than owners can.  Where most owners free their blocks and a few
 * do neither that nor die, nearly all owners are collected too.
 */
static bool
outlive_owners(const struct th_evidence *evidence, const struct th_owner *owner)
{
	double alive = (double)(owner->samples - owner->collected + UNSEEN_OWNERS) /
		       (double)(owner->samples + UNSEEN_OWNERS);

	return evidence->survivors > alive;
}

/* The verdict of a group's finding, and its owner. */
static struct th_finding
judge_group(struct work *work, const struct group *group)
{
	struct th_finding finding = {
		.place = largest_place(work, group),
		.place_count = (uint32_t)group->places_count,
		.owner = {.place = TH_NO_PLACE},
	};
	const struct th_place *place = &work->leaks->places.items[finding.place];

	look_at(work, group->heap, group->places, group->places_count, &finding.evidence,
		&finding.sums);
	set_verdict(work, group, &finding.evidence);
	if (place->internal)
		th_evidence_set_internal(&finding.evidence);
	else if (place->heap != TH_HEAP_JAVA)
		finding.owner = find_owner(work, place);
	if (!outlive_owners(&finding.evidence, &finding.owner))
		finding.owner.is_collected = false;
	if (finding.owner.place != TH_NO_PLACE && finding.owner.is_collected)
		th_evidence_set_owners_gone(&finding.evidence);
	return finding;
}

static void
add_finding(struct work *work, const struct group *group)
{
	struct th_finding finding = judge_group(work, group);

	if (is_notable(work, &finding))
		th_array_append(work->leaks, findings, finding);
}

static int
compare_findings(const void *a, const void *b)
{
	const struct th_finding *left = a;
	const struct th_finding *right = b;

	if (left->evidence.verdict != right->evidence.verdict)
		return left->evidence.verdict < right->evidence.verdict ? -1 : 1;
	double difference = right->evidence.live_bytes.estimate -
			    left->evidence.live_bytes.estimate;
	if (difference != 0)
		return difference > 0 ? 1 : -1;
	return (left->place > right->place) - (left->place < right->place);
}

/* Growth that the later half of the recording would not show, in bytes per second. */
static double
hidden_growth(const struct th_leaks *leaks, enum th_heap heap)
{
	const struct th_horizon *horizon = &leaks->horizons[heap];
	uint64_t sampled = horizon->horizon > horizon->middle
				   ? th_changes_sampled(leaks->profile->recording, heap,
					     horizon->middle, horizon->horizon)
				   : 0;
	double seconds = (double)sampled / 1e9;

	return seconds > 0 ? HIDDEN_INTERVALS * leaks->profile->heaps[heap].gap / seconds : 0;
}

static void
work_deinit(struct work *work)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		free(work->orders[heap].starts);
		free(work->orders[heap].samples);
	}
	for (size_t i = 0; i < work->groups_count; i++)
		free(work->groups[i].places);
	th_residency_deinit(&work->residency);
	th_map_deinit(&work->group_ids);
	free(work->groups);
	free(work->gathered);
	free(work->evidence);
	free(work->class_names);
}

void
th_leaks_init(struct th_leaks *leaks, const struct th_profile *profile)
{
	struct work work = {.leaks = leaks};

	*leaks = (struct th_leaks){.profile = profile};
	if (th_options_shape_stacks(profile->options))
		leaks->profile = leaks->whole = th_profile_create_whole(profile);
	profile = leaks->profile;
	th_places_init(&leaks->places, profile);
	work.evidence = th_allocate(leaks->places.items_count, sizeof(*work.evidence));
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		th_horizon_init(&leaks->horizons[heap], profile, (enum th_heap)heap);
		order_init(&work.orders[heap], leaks, (enum th_heap)heap);
		leaks->growth_limit[heap] = hidden_growth(leaks, (enum th_heap)heap);
	}
	th_residency_init(
		&work.residency, profile->recording, leaks->horizons[TH_HEAP_MAPPED].end);
	work.class_names = th_allocate(
		th_frames_function_count(profile->frames), sizeof(*work.class_names));
	judge_places(&work);
	judge_unclear(&work);
	judge_stopped(&work);
	for (size_t i = 0; i < work.groups_count; i++) {
		if (work.groups[i].places_count)
			add_finding(&work, &work.groups[i]);
	}
	work_deinit(&work);
	if (leaks->findings_count)
		qsort(leaks->findings, leaks->findings_count, sizeof(struct th_finding),
			compare_findings);
}

void
th_leaks_deinit(struct th_leaks *leaks)
{
	th_places_deinit(&leaks->places);
	th_profile_destroy(leaks->whole);
	free(leaks->findings);
}

struct th_finding
th_leaks_measured(const struct th_leaks *leaks, const struct th_finding *finding)
{
	struct th_finding measured = *finding;

	th_evidence_measure(&measured.evidence, leaks->profile, &measured.sums);
	return measured;
}

static double
live_low(const struct th_leaks *leaks, const struct th_finding *finding)
{
	return th_evidence_live(&finding->evidence, leaks->profile, &finding->sums).low;
}

double
th_leaks_bytes(const struct th_leaks *leaks)
{
	double bytes = 0;

	for (size_t i = 0; i < leaks->findings_count; i++) {
		if (leaks->findings[i].evidence.verdict == TH_VERDICT_LEAK)
			bytes += live_low(leaks, &leaks->findings[i]);
	}
	return bytes;
}

bool
th_leaks_has_leak(const struct th_leaks *leaks)
{
	/* Worst first. */
	return leaks->findings_count && leaks->findings[0].evidence.verdict == TH_VERDICT_LEAK;
}
