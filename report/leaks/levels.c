/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth spread over many sites. Each sample counts at several levels: its site, the line of the
 * application that made it, the methods of the application above that line, and its class or
 * library. leaks.c judged the sites; here the levels above follow, the lowest first. What a
 * finding explains is left out of the tests above it, whether it grows or shrinks is not:
 * leaving out sites that shrink would make noise grow.
 *
 * The error rate of all tests that a sample takes part in is TH_ERROR_RATE. Of it the site has
 * one half, the line a quarter, the class or library a sixteenth, and the methods above the line
 * three sixteenths. Half of that is for methods of the line's own library, the other half for those
 * of others: an application that uses a library is behind many methods of that. In each half the
 * d-th from the line has 1/2, 1/6, 1/12 ... 1/(d(d+1)), whose sum is at most 1.
 *
 * Above the line many structures that are each filled once, at different times, look like
 * steady growth. So sites have to recur: their survivors have to come at least ENOUGH_AGAIN
 * times to a site that had one before, and to spread over the time as those of steady leaks do.
 */
#include "report/leaks/leaks_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"
#include "report/profile/sites.h"

#define LINE_SHARE 0.25
#define PATH_SHARE 0.09375 /* twice */
#define KIND_SHARE 0.0625
/* Survivors at a site that had one before, by a twentieth of the time or more. */
#define ENOUGH_AGAIN 5
#define AGAIN_PART 0.05
/* Standard deviations by which survivors may spread less than in steady leaks. */
#define SPREAD_DEVIATIONS 2.0

/*
 * A site that counts at a node. Sorted by level, nodes nearest to the leaves first. There may be
 * millions: one for each method above the line of each site.
 */
struct entry {
	uint64_t key; /* of a path, the hash of its functions; line, class, library: number */
	uint32_t place;
	uint16_t length;   /* of the path; 0 at other levels */
	uint16_t distance; /* number among the nodes of its half, from the line, from 1 */
	uint8_t level;     /* enum th_leak_level */
	uint8_t heap;      /* enum th_heap */
};

struct entries {
	struct th_leaks_work *work;
	TH_ARRAY(struct entry, items);
	TH_ARRAY(uint32_t, places); /* of the current node */
};

/* Recurrence */

/* Times of survivors at the sites of a node, on a scale of 0 to 1 since the warm-up. */
struct recurrence {
	uint64_t again;
	double spread;   /* sum over sites: last - first */
	double expected; /* the same for uniform times */
	double variance;
};

/*
 * Adds a site with m survivors: of m uniform times the range has the mean (m-1)/(m+1) and the
 * variance 2(m-1)/((m+1)^2 (m+2)).
 */
static void
add_recurrence(struct recurrence *sum, const double *times, size_t count)
{
	double m = (double)count;

	if (count < 2)
		return;
	for (size_t i = 1; i < count; i++)
		sum->again += times[i] - times[0] >= AGAIN_PART;
	sum->spread += times[count - 1] - times[0];
	sum->expected += (m - 1) / (m + 1);
	sum->variance += 2 * (m - 1) / ((m + 1) * (m + 1) * (m + 2));
}

static int
compare_numbers(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

/* The times of the old survivors of a site since the warm-up; the caller frees them. */
static double *
times_of(const struct th_leaks_work *work, uint32_t number, size_t *count_ret)
{
	const struct th_leaks *leaks = work->leaks;
	enum th_heap heap = leaks->places.items[number].heap;
	const struct th_observation_window *horizon = &leaks->horizons[heap];
	const struct th_samples *samples = &leaks->profile->recording->samples[heap];
	double length = (double)(horizon->horizon - horizon->old - horizon->warm);
	uint32_t start = work->order.starts[number];
	uint32_t end = work->order.starts[number + 1];
	double *times = th_allocate(end - start, sizeof(*times));
	size_t count = 0;

	for (uint32_t k = start; k < end; k++) {
		uint32_t index = work->order.samples[k];
		uint64_t time = samples->items[index].time;

		if (th_lifetimes_end_by(&leaks->profile->lifetimes, heap, index,
			    &leaks->profile->at) == TH_END_NEVER &&
			time >= horizon->warm && time + horizon->old <= horizon->horizon)
			times[count++] = (double)(time - horizon->warm) / length;
	}
	qsort(times, count, sizeof(*times), compare_numbers);
	*count_ret = count;
	return times;
}

static bool
recurs(const struct entries *entries)
{
	struct recurrence sum = {0};

	for (size_t i = 0; i < entries->places_count; i++) {
		size_t count;
		double *times = times_of(entries->work, entries->places[i], &count);

		add_recurrence(&sum, times, count);
		free(times);
	}
	return sum.again >= ENOUGH_AGAIN &&
	       sum.spread >= sum.expected - SPREAD_DEVIATIONS * sqrt(sum.variance);
}

/* Entries */

/*
 * Whether a site counts above its own level: not the VM's own memory, nor one without a survivor
 * since the warm-up or an old block that became old or died.
 */
static bool
counts(const struct th_leaks_work *work, uint32_t number)
{
	const struct th_outline *outline = &work->outlines[number];

	return outline->verdict != TH_VERDICT_LEAK &&
	       !work->leaks->places.items[number].internal &&
	       (outline->has_births || outline->gained_late || outline->lost_late);
}

/* Whether a frame above the line is a node: the application's, or any of a native program. */
static bool
is_node(const struct th_frames *frames, const struct th_leak_site *place, uint32_t function)
{
	return place->creator ? th_sites_is_application(frames, function)
			      : !th_frames_is_runtime(frames, function);
}

/* Whether two functions are in one library. */
static bool
is_same_library(const struct th_frames *frames, const struct th_leak_site *place, uint32_t a,
	uint32_t b)
{
	if (!place->creator)
		return !strcmp(th_frames_library(frames, a), th_frames_library(frames, b));
	return th_leak_sites_same_library(
		th_frames_function_name(frames, a), th_frames_function_name(frames, b));
}

/* Numbers the nodes of a path from the line upwards, in two halves. */
static void
number_path(struct entries *entries, const struct th_leak_site *place, size_t first,
	struct th_path path, uint32_t line)
{
	const struct th_frames *frames = entries->work->leaks->profile->frames;
	uint32_t of_line = th_frames_function_at(frames, path.frames[line - 1]);
	uint16_t own = 0;
	uint16_t others = 0;

	for (size_t i = entries->items_count; i-- > first;) {
		struct entry *entry = &entries->items[i];
		uint32_t function = th_frames_function_at(
			frames, path.frames[entry->length - 1]);

		entry->distance = is_same_library(frames, place, function, of_line) ? ++own
										    : ++others;
	}
}

/* The methods above the line, each a node. */
static void
add_path(struct entries *entries, uint32_t number)
{
	const struct th_leaks *leaks = entries->work->leaks;
	const struct th_leak_site *place = &leaks->places.items[number];
	const struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);
	uint32_t line = leaks->places.ways.items[entries->work->makers[number]].length;
	size_t first = entries->items_count;
	uint64_t hash = 0;

	for (uint32_t length = 1; length < line && length <= UINT16_MAX; length++) {
		uint32_t function = th_frames_function_at(frames, path.frames[length - 1]);
		struct entry entry = {.place = number,
			.length = (uint16_t)length,
			.level = TH_LEVEL_PATH,
			.heap = (uint8_t)place->heap};

		entry.key = hash = th_hash_next(hash, function);
		if (is_node(frames, place, function))
			th_array_append(entries, items, entry);
	}
	if (line)
		number_path(entries, place, first, path, line);
}

/* The string number of the library that allocated, the C and C++ runtime aside; 0: none. */
static uint32_t
library_of(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);

	for (uint32_t i = path.count; i-- > 0;) {
		uint32_t function = th_frames_function_at(frames, path.frames[i]);
		const char *library = th_frames_library(frames, function);

		if (th_frames_kind(frames, path.frames[i]) != TH_KIND_NATIVE)
			return 0;
		if (library[0] && !th_frames_is_runtime(frames, function))
			return th_frames_intern(frames, library);
	}
	return 0;
}

static void
add_kind(struct entries *entries, uint32_t number)
{
	const struct th_leaks *leaks = entries->work->leaks;
	const struct th_leak_site *place = &leaks->places.items[number];
	bool is_java = place->heap == TH_HEAP_JAVA;
	struct entry entry = {.key = is_java ? place->class_name : library_of(leaks, place),
		.place = number,
		.level = is_java ? TH_LEVEL_CLASS : TH_LEVEL_LIBRARY,
		.heap = (uint8_t)place->heap};

	if (entry.key)
		th_array_append(entries, items, entry);
}

static void
add_site(struct entries *entries, uint32_t number)
{
	const struct th_leaks_work *work = entries->work;
	enum th_heap heap = work->leaks->places.items[number].heap;
	struct entry line = {.key = work->makers[number],
		.place = number,
		.level = TH_LEVEL_LINE,
		.heap = (uint8_t)heap};

	th_array_append(entries, items, line);
	if (work->leaks->profile->options->group_by || heap == TH_HEAP_MAPPED)
		return;
	add_path(entries, number);
	add_kind(entries, number);
}

static int
compare_entries(const void *a, const void *b)
{
	const struct entry *left = a;
	const struct entry *right = b;

	if (left->level != right->level)
		return left->level < right->level ? -1 : 1;
	if (left->length != right->length)
		return left->length > right->length ? -1 : 1;
	if (left->heap != right->heap)
		return left->heap < right->heap ? -1 : 1;
	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return (left->place > right->place) - (left->place < right->place);
}

/* Nodes */

static double
share_of(const struct entry *entry, uint32_t distance)
{
	switch (entry->level) {
	case TH_LEVEL_LINE:
		return LINE_SHARE;
	case TH_LEVEL_PATH:
		return PATH_SHARE / ((double)distance * ((double)distance + 1));
	default:
		return KIND_SHARE;
	}
}

/* Whether more than one line is below the node: otherwise it was tested as that line. */
static bool
has_lines(const struct entries *entries)
{
	const uint32_t *makers = entries->work->makers;

	for (size_t i = 1; i < entries->places_count; i++)
		if (makers[entries->places[i]] != makers[entries->places[0]])
			return true;
	return false;
}

/* The sign test alone: cheap, and necessary for significance. */
static bool
may_grow(const struct entries *entries, double chance_limit)
{
	uint64_t gained = 0;
	uint64_t lost = 0;

	for (size_t i = 0; i < entries->places_count; i++) {
		gained += entries->work->outlines[entries->places[i]].gained_late;
		lost += entries->work->outlines[entries->places[i]].lost_late;
	}
	return th_chance_of_more(gained, lost) <= chance_limit;
}

static bool
grows(struct entries *entries, const struct entry *entry, double chance_limit)
{
	struct th_evidence evidence;

	/* The resident memory of mappings may grow without new ones. */
	if (entry->heap != TH_HEAP_MAPPED && !may_grow(entries, chance_limit))
		return false;
	th_leaks_evaluate(entries->work, (enum th_heap)entry->heap, entries->places,
		entries->places_count, chance_limit, &evidence, NULL);
	if (evidence.verdict != TH_VERDICT_LEAK)
		return false;
	return entry->level == TH_LEVEL_LINE || recurs(entries);
}

/* The number by which a finding refers to its node. */
static uint32_t
number_of(struct th_leaks_work *work, const struct entry *entry)
{
	uint32_t number = (uint32_t)entry->key;

	if (entry->level == TH_LEVEL_PATH)
		th_path_prefixes_add(&work->leaks->places.ways,
			work->leaks->places.items[entry->place].path, entry->length, &number);
	return number;
}

/* The sites of the node that grew, or may grow, become parts of its finding. */
static void
explain(struct entries *entries, const struct entry *entry, double chance_limit)
{
	struct th_leaks_work *work = entries->work;
	struct th_leak_node node = {
		(enum th_leak_level)entry->level, number_of(work, entry), chance_limit};
	uint32_t number = (uint32_t)work->found_count;

	th_array_append(work, found, node);
	for (size_t i = 0; i < entries->places_count; i++) {
		const struct th_outline *one = &work->outlines[entries->places[i]];

		if (one->gained_late || th_outline_may_belong(one))
			work->nodes[entries->places[i]] = number;
	}
}

/*
 * Leaves out sites that have evidently stopped growing, whose many early survivors would look
 * like the end of all growth. Of many sites some seem to have stopped by chance.
 */
static void
drop_ended(struct entries *entries)
{
	size_t count = entries->places_count;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct th_outline *outline = &entries->work->outlines[entries->places[i]];

		if (outline->verdict != TH_VERDICT_PLATEAU ||
			outline->reason == TH_REASON_STEADY ||
			th_outline_may_pause(outline, count))
			entries->places[kept++] = entries->places[i];
	}
	entries->places_count = kept;
}

/* A run of entries of one node: its sites that no finding explains yet. */
static void
judge_node(struct entries *entries, size_t first, size_t end)
{
	const struct entry *entry = &entries->items[first];
	uint32_t distance = 1;

	entries->places_count = 0;
	for (size_t i = first; i < end; i++) {
		uint32_t place = entries->items[i].place;

		if (entries->work->nodes[place] != TH_NO_NODE)
			continue;
		th_array_append(entries, places, place);
		if (entries->items[i].distance > distance)
			distance = entries->items[i].distance;
	}
	drop_ended(entries);
	double limit = share_of(entry, distance) * TH_ERROR_RATE;
	if (entries->places_count < 2 || (entry->level != TH_LEVEL_LINE && !has_lines(entries)))
		return;
	if (grows(entries, entry, limit))
		explain(entries, entry, limit);
}

static bool
is_same_node(const struct entry *a, const struct entry *b)
{
	return a->level == b->level && a->key == b->key && a->heap == b->heap;
}

void
th_levels_judge(struct th_leaks_work *work)
{
	struct entries entries = {.work = work};
	size_t end;

	for (uint32_t i = 0; i < work->leaks->places.items_count; i++)
		if (counts(work, i))
			add_site(&entries, i);
	if (entries.items_count)
		qsort(entries.items, entries.items_count, sizeof(struct entry),
			compare_entries);
	for (size_t i = 0; i < entries.items_count; i = end) {
		for (end = i + 1; end < entries.items_count; end++)
			if (!is_same_node(&entries.items[i], &entries.items[end]))
				break;
		judge_node(&entries, i, end);
	}
	free(entries.items);
	free(entries.places);
}
