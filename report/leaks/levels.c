/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth spread over many sites. Each sample counts at several levels: its site, the line of the
 * application that made it, and the methods of the application above that line. leaks.c judged
 * the sites; here the levels above follow, the lowest first. What a finding explains is left out
 * of the tests above it, whether it grows or shrinks is not: leaving out sites that shrink would
 * make noise grow.
 *
 * The error rate of all tests that a sample takes part in is at most TH_ERROR_RATE. Of it the site
 * has one half, the line a quarter, and the methods above the line three sixteenths. Half of that
 * is for methods of the line's own library, the other half for those
 * of others: an application that uses a library is behind many methods of that. In each half the
 * d-th from the line has 1/2, 1/6, 1/12 ... 1/(d(d+1)), whose sum is at most 1.
 *
 * Above the line many structures that are each filled once, at different times, look like
 * steady growth. So lines have to recur: their survivors have to come at least ENOUGH_AGAIN
 * times to a line that had one before, and to spread over the time as those of steady leaks do.
 * A line, not a site: one that makes a whole structure has a site for each class of its parts.
 */
#include "report/leaks/leaks_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"
#include "report/base/sort.h"
#include "report/profile/sites.h"

#define LINE_SHARE 0.25
#define PATH_SHARE 0.09375 /* twice */
/* Survivors at a line that had one before, by a twentieth of the time or more. */
#define ENOUGH_AGAIN 5
#define AGAIN_PART 0.05
/* Standard deviations by which survivors may spread less than in steady leaks. */
#define SPREAD_DEVIATIONS 2.0
/* Sites whose paths are prefetched. */
#define AHEAD 8

/* A node: the sites of a heap that have a line or a method above it in common. */
struct node {
	enum th_heap heap;
	enum th_leak_level level;
	uint32_t maker;  /* of a line */
	uint32_t length; /* of a path */
};

/* Sums over sites of samples that were gained and lost, as in their outlines. */
struct gains {
	uint32_t gained_late;
	uint32_t lost_late;
	uint32_t kept_since;
	uint32_t dead_old;
};

/* A site that counts above its line, with what is needed of it at each node of its path. */
struct site {
	const uint32_t *frames; /* root first */
	uint32_t line;          /* number of frames down to its line */
	uint32_t place;
	uint32_t maker;
	struct gains gains;
	bool has_creator;
	bool may_end;      /* see drops() */
	bool is_explained; /* by a finding */
};

/* Times of survivors, on a scale of 0 to 1 since the warm-up: of a line, or sums over lines. */
struct recurrence {
	double spread;   /* last - first */
	double expected; /* the same for uniform times */
	double variance;
	uint64_t again : 63;
	uint64_t is_known : 1;
};

/* The sites of a line in a heap. */
struct line {
	struct recurrence recurrence; /* computed on demand: it counts at many nodes */
	uint32_t start;               /* in line_sites; they end where the next line's start */
	uint32_t node;                /* at which it was counted last */
};

struct levels {
	struct th_leaks_work *work;
	struct line *lines;
	uint32_t *line_of_site;
	uint32_t *line_sites;           /* by line */
	uint32_t node;                  /* number of the current one */
	struct th_id_map leaking_lines; /* heap << 32 | maker: of sites with a leak */
	/* By function, as in struct th_function and th_frames_is_runtime(). */
	bool *is_runtime;
	bool *is_application;
	uint32_t *library;
	TH_ARRAY(struct site, sites);
	TH_ARRAY(uint64_t, keyed);  /* maker << 32 | site */
	TH_ARRAY(uint32_t, places); /* of the current node */
};

/* Recurrence */

/*
 * Of a line with m survivors: of m uniform times the range has the mean (m-1)/(m+1) and the
 * variance 2(m-1)/((m+1)^2 (m+2)).
 */
static struct recurrence
recurrence_of(const double *times, size_t count)
{
	struct recurrence line = {.is_known = true};
	double m = (double)count;

	if (count < 2)
		return line;
	for (size_t i = 1; i < count; i++)
		line.again += times[i] - times[0] >= AGAIN_PART;
	line.spread = times[count - 1] - times[0];
	line.expected = (m - 1) / (m + 1);
	line.variance = 2 * (m - 1) / ((m + 1) * (m + 1) * (m + 2));
	return line;
}

static int
compare_numbers(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Sites */

static uint64_t
line_of(const struct th_leaks_work *work, uint32_t number)
{
	return (uint64_t)work->leaks->places.items[number].heap << 32 | work->makers[number];
}

static void
find_leaking_lines(struct levels *levels)
{
	const struct th_leaks_work *work = levels->work;
	bool added;

	for (uint32_t i = 0; i < work->leaks->places.items_count; i++)
		if (work->outlines[i].verdict == TH_VERDICT_LEAK)
			th_id_map_intern(&levels->leaking_lines, line_of(work, i), &added);
}

/* Whether a leak of the same line explains the site (groups.c). */
static bool
is_beside_leak(const struct levels *levels, uint32_t number)
{
	return th_outline_may_belong(&levels->work->outlines[number]) &&
	       th_id_map_find(&levels->leaking_lines, line_of(levels->work, number)) !=
		       TH_ID_MAP_NONE;
}

/*
 * Whether a site counts above its own level: not the VM's own memory, nor one without a survivor
 * since the warm-up or an old block that became old or died, nor one that a leak explains.
 */
static bool
counts(const struct levels *levels, uint32_t number)
{
	const struct th_outline *outline = &levels->work->outlines[number];

	return outline->verdict != TH_VERDICT_LEAK &&
	       !levels->work->leaks->places.items[number].internal &&
	       (outline->has_births || outline->gained_late || outline->lost_late) &&
	       !is_beside_leak(levels, number);
}

/* Whether the time of a heap is enough for a verdict of leak. */
static bool
may_leak(const struct th_leaks_work *work, enum th_heap heap)
{
	const struct th_observation_window *horizon = &work->leaks->horizons[heap];

	return th_observation_window_is_far(horizon) && horizon->is_proven;
}

/*
 * Whether a site may have to be left out because it has evidently stopped growing: its many
 * early survivors would look like the end of all growth.
 */
static bool
may_end(const struct th_outline *outline)
{
	return outline->verdict == TH_VERDICT_PLATEAU && outline->reason != TH_REASON_STEADY;
}

/* Of many sites some seem to have stopped by chance. */
static bool
drops(const struct th_leaks_work *work, uint32_t place, size_t count)
{
	const struct th_outline *outline = &work->outlines[place];

	return may_end(outline) && !th_outline_may_pause(outline, count);
}

/* Recurrence of lines */

/* Appends the times of the old survivors of a site since the warm-up. */
static void
add_times(const struct th_leaks_work *work, uint32_t number, double *times, size_t *count)
{
	const struct th_leaks *leaks = work->leaks;
	enum th_heap heap = leaks->places.items[number].heap;
	const struct th_observation_window *horizon = &leaks->horizons[heap];
	const struct th_samples *samples = &leaks->profile->recording->samples[heap];
	double length = (double)(horizon->horizon - horizon->old - horizon->warm);

	for (uint32_t k = work->order.starts[number]; k < work->order.starts[number + 1]; k++) {
		uint32_t index = work->order.samples[k];
		uint64_t time = samples->items[index].time;

		if (th_lifetimes_end_by(&leaks->profile->lifetimes, heap, index,
			    &leaks->profile->at) == TH_END_NEVER &&
			time >= horizon->warm && time + horizon->old <= horizon->horizon)
			times[(*count)++] = (double)(time - horizon->warm) / length;
	}
}

/* Of its sites that no leak explains and that have not evidently stopped growing. */
static struct recurrence
recurrence_of_line(const struct levels *levels, const struct line *line)
{
	const uint32_t *starts = levels->work->order.starts;
	uint32_t sites = line[1].start - line->start;
	size_t most = 0;
	size_t count = 0;

	for (uint32_t i = line->start; i < line[1].start; i++)
		most += starts[levels->line_sites[i] + 1] - starts[levels->line_sites[i]];
	double *times = th_allocate(most, sizeof(*times));
	for (uint32_t i = line->start; i < line[1].start; i++) {
		uint32_t number = levels->line_sites[i];

		if (counts(levels, number) && !drops(levels->work, number, sites))
			add_times(levels->work, number, times, &count);
	}
	qsort(times, count, sizeof(*times), compare_numbers);
	struct recurrence recurrence = recurrence_of(times, count);
	free(times);
	return recurrence;
}

static bool
recurs(struct levels *levels)
{
	struct recurrence sum = {0};

	levels->node++;
	for (size_t i = 0; i < levels->places_count; i++) {
		struct line *line = &levels->lines[levels->line_of_site[levels->places[i]]];

		if (line->node == levels->node)
			continue;
		line->node = levels->node;
		if (!line->recurrence.is_known)
			line->recurrence = recurrence_of_line(levels, line);
		sum.again += line->recurrence.again;
		sum.spread += line->recurrence.spread;
		sum.expected += line->recurrence.expected;
		sum.variance += line->recurrence.variance;
	}
	return sum.again >= ENOUGH_AGAIN &&
	       sum.spread >= sum.expected - SPREAD_DEVIATIONS * sqrt(sum.variance);
}

/* Numbers the lines, and sorts the sites by them. */
static void
find_lines(struct levels *levels)
{
	const struct th_leaks_work *work = levels->work;
	uint32_t count = (uint32_t)work->leaks->places.items_count;
	struct th_id_map lines = {0};
	bool added;

	levels->line_of_site = th_allocate(count, sizeof(uint32_t));
	levels->line_sites = th_allocate(count, sizeof(uint32_t));
	for (uint32_t i = 0; i < count; i++)
		levels->line_of_site[i] = th_id_map_intern(&lines, line_of(work, i), &added);
	levels->lines = th_allocate(lines.count + 1, sizeof(struct line));
	for (uint32_t i = 0; i < count; i++)
		levels->lines[levels->line_of_site[i]].start++;
	for (uint32_t i = 0, end = 0; i <= lines.count; i++)
		levels->lines[i].start = end += levels->lines[i].start;
	for (uint32_t i = count; i-- > 0;)
		levels->line_sites[--levels->lines[levels->line_of_site[i]].start] = i;
	th_id_map_deinit(&lines);
}

/* Whether more than one line is below the node: otherwise it was tested as that line. */
static bool
has_lines(const struct levels *levels)
{
	const uint32_t *makers = levels->work->makers;

	for (size_t i = 1; i < levels->places_count; i++)
		if (makers[levels->places[i]] != makers[levels->places[0]])
			return true;
	return false;
}

/* Nodes */

static double
share_of(enum th_leak_level level, uint32_t distance)
{
	return level == TH_LEVEL_LINE
		       ? LINE_SHARE
		       : PATH_SHARE / ((double)distance * ((double)distance + 1));
}

static struct gains
gains_of(const struct th_outline *outline)
{
	return (struct gains){outline->gained_late, outline->lost_late, outline->kept_since,
		outline->dead_old};
}

static void
add_gains(struct gains *sum, struct gains one)
{
	sum->gained_late += one.gained_late;
	sum->lost_late += one.lost_late;
	sum->kept_since += one.kept_since;
	sum->dead_old += one.dead_old;
}

/* The sign tests alone: cheap, and necessary for significance. */
static bool
may_grow(const struct gains *gains, double chance_limit)
{
	return (gains->gained_late > gains->lost_late &&
		       th_chance_of_more(gains->gained_late, gains->lost_late) <=
			       chance_limit) ||
	       (!gains->dead_old && th_chance_of_more(gains->kept_since, 0) <= chance_limit);
}

static bool
places_may_grow(const struct levels *levels, double chance_limit)
{
	struct gains gains = {0};

	for (size_t i = 0; i < levels->places_count; i++)
		add_gains(&gains, gains_of(&levels->work->outlines[levels->places[i]]));
	return may_grow(&gains, chance_limit);
}

static bool
grows(struct levels *levels, const struct node *node, double chance_limit)
{
	struct th_evidence evidence;

	/* The resident memory of mappings may grow without new ones. */
	if (node->heap != TH_HEAP_MAPPED && !places_may_grow(levels, chance_limit))
		return false;
	/* First what does not read all of the samples. */
	if (node->level != TH_LEVEL_LINE && !recurs(levels))
		return false;
	th_leaks_evaluate(levels->work, node->heap, levels->places, levels->places_count,
		chance_limit, &evidence, NULL);
	return evidence.verdict == TH_VERDICT_LEAK;
}

/* The number by which a finding refers to its node; `place`: one of its sites. */
static uint32_t
number_of(struct th_leaks_work *work, const struct node *node, uint32_t place)
{
	uint32_t number = node->maker;

	if (node->level == TH_LEVEL_PATH)
		th_path_prefixes_add(&work->leaks->places.ways,
			work->leaks->places.items[place].path, node->length, &number);
	return number;
}

/* The sites of the node that grew, or may grow, become parts of its finding. */
static void
explain(struct levels *levels, const struct node *node, double chance_limit)
{
	struct th_leaks_work *work = levels->work;
	struct th_leak_node found = {
		node->level, number_of(work, node, levels->places[0]), chance_limit};
	uint32_t number = (uint32_t)work->found_count;

	th_array_append(work, found, found);
	for (size_t i = 0; i < levels->places_count; i++) {
		const struct th_outline *one = &work->outlines[levels->places[i]];

		if (one->gained_late || th_outline_may_belong(one))
			work->nodes[levels->places[i]] = number;
	}
}

/* Judges the sites of a node, `places`, that no finding explains yet. */
static void
judge_node(struct levels *levels, const struct node *node, uint32_t distance)
{
	double limit = share_of(node->level, distance) * TH_ERROR_RATE;
	size_t count = levels->places_count;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!drops(levels->work, levels->places[i], count))
			levels->places[kept++] = levels->places[i];
	levels->places_count = kept;
	if (kept < 2 || (node->level != TH_LEVEL_LINE && !has_lines(levels)))
		return;
	if (grows(levels, node, limit))
		explain(levels, node, limit);
}

/* Lines */

static int
compare_words(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The sites of a heap by line. */
static void
sort_by_line(struct levels *levels, enum th_heap heap)
{
	const struct th_leaks_work *work = levels->work;

	levels->keyed_count = 0;
	for (uint32_t i = 0; i < work->leaks->places.items_count; i++)
		if (work->leaks->places.items[i].heap == heap && counts(levels, i))
			th_array_append(levels, keyed, (uint64_t)work->makers[i] << 32 | i);
	if (levels->keyed_count)
		qsort(levels->keyed, levels->keyed_count, sizeof(uint64_t), compare_words);
}

static void
judge_lines(struct levels *levels, enum th_heap heap)
{
	size_t end;

	sort_by_line(levels, heap);
	for (size_t i = 0; i < levels->keyed_count; i = end) {
		struct node node = {.heap = heap,
			.level = TH_LEVEL_LINE,
			.maker = (uint32_t)(levels->keyed[i] >> 32)};

		levels->places_count = 0;
		for (end = i; end < levels->keyed_count; end++) {
			if (levels->keyed[end] >> 32 != node.maker)
				break;
			th_array_append(levels, places, (uint32_t)levels->keyed[end]);
		}
		judge_node(levels, &node, 1);
	}
}

/* Paths */

static uint32_t
function_at(const struct levels *levels, const struct site *site, uint32_t index)
{
	return th_frames_function_at(levels->work->leaks->profile->frames, site->frames[index]);
}

/* Whether a frame above the line is a node: the application's, or any of a native program. */
static bool
is_node(const struct levels *levels, const struct site *site, uint32_t function)
{
	return site->has_creator ? levels->is_application[function]
				 : !levels->is_runtime[function];
}

/* Whether two functions are in one library. */
static bool
is_same_library(const struct levels *levels, uint32_t a, uint32_t b)
{
	return levels->library[a] == levels->library[b];
}

/* The number of the method at `length` among the nodes of its half, from the line, from 1. */
static uint32_t
distance_of(const struct levels *levels, const struct site *site, uint32_t length)
{
	uint32_t of_line = function_at(levels, site, site->line - 1);
	bool is_own = is_same_library(levels, function_at(levels, site, length - 1), of_line);
	uint32_t distance = 1;

	for (uint32_t i = length; i + 1 < site->line; i++) {
		uint32_t function = function_at(levels, site, i);

		distance += is_node(levels, site, function) &&
			    is_same_library(levels, function, of_line) == is_own;
	}
	return distance;
}

/* Sites at the method at `length` of their paths, and what it takes to judge it. */
struct method {
	const struct site *sites;
	size_t count;
	uint32_t length;
	bool is_of_java;    /* whether it is a node of sites with a creator */
	bool is_of_native;  /* of those without */
	size_t below;       /* sites that count at it */
	struct gains gains; /* of those that are not dropped */
};

/* Whether a site counts at the method. */
static bool
is_below(const struct method *method, const struct site *site)
{
	return !site->is_explained &&
	       (site->has_creator ? method->is_of_java : method->is_of_native);
}

/* As in judge_node(). */
static bool
is_judged(const struct levels *levels, const struct method *method, const struct site *site)
{
	return is_below(method, site) &&
	       !(site->may_end && drops(levels->work, site->place, method->below));
}

static struct method
method_of(const struct levels *levels, const struct site *sites, size_t count, uint32_t length)
{
	uint32_t function = function_at(levels, sites, length - 1);
	struct method method = {.sites = sites,
		.count = count,
		.length = length,
		.is_of_java = levels->is_application[function],
		.is_of_native = !levels->is_runtime[function]};

	for (size_t i = 0; i < count; i++)
		method.below += is_below(&method, &sites[i]);
	for (size_t i = 0; i < count && method.below; i++) {
		if (!is_judged(levels, &method, &sites[i]))
			continue;
		add_gains(&method.gains, sites[i].gains);
	}
	return method;
}

/* Whether the sites may show growth at this distance from their line. */
static bool
is_significant(const struct method *method, uint32_t distance)
{
	return may_grow(&method->gains, share_of(TH_LEVEL_PATH, distance) * TH_ERROR_RATE);
}

/* The largest distance of the method from the line of a site. */
static uint32_t
distance_of_method(const struct levels *levels, const struct method *method)
{
	uint32_t most = 1;

	for (size_t i = 0; i < method->count; i++) {
		const struct site *site = &method->sites[i];
		uint32_t distance = is_below(method, site)
					    ? distance_of(levels, site, method->length)
					    : 0;

		most = distance > most ? distance : most;
	}
	return most;
}

/*
 * The cheap tests of judge_node(): of the sign at any distance, of recurrence, and of the sign
 * again.
 */
static bool
is_worth_judging(struct levels *levels, const struct method *method, uint32_t *distance_ret)
{
	if (!is_significant(method, 1))
		return false;
	levels->places_count = 0;
	for (size_t i = 0; i < method->count; i++)
		if (is_judged(levels, method, &method->sites[i]))
			th_array_append(levels, places, method->sites[i].place);
	th_sort_numbers(levels->places, levels->places_count);
	if (!recurs(levels))
		return false;
	*distance_ret = distance_of_method(levels, method);
	return is_significant(method, *distance_ret);
}

/* Judges the method that the first `length` functions of some sites lead to. */
static void
judge_method(struct levels *levels, struct site *sites, size_t count, const struct node *node)
{
	struct method method = method_of(levels, sites, count, node->length);
	size_t found = levels->work->found_count;
	uint32_t distance;

	if (!is_worth_judging(levels, &method, &distance))
		return;
	levels->places_count = 0;
	for (size_t i = 0; i < count; i++)
		if (is_below(&method, &sites[i]))
			th_array_append(levels, places, sites[i].place);
	th_sort_numbers(levels->places, levels->places_count);
	judge_node(levels, node, distance);
	for (size_t i = 0; i < count && levels->work->found_count > found; i++)
		sites[i].is_explained = levels->work->nodes[sites[i].place] != TH_NO_NODE;
}

/* The function below the first `length` ones, plus one; 0: no node of the site is there. */
static uint32_t
next_function(const struct levels *levels, const struct site *site, uint32_t length)
{
	return length + 1 < site->line ? function_at(levels, site, length) + 1 : 0;
}

/* Sorts sites by their next function, in which most of them agree. */
static void
sort_by_next(const struct levels *levels, struct site *sites, size_t count, uint32_t length)
{
	uint32_t first = next_function(levels, sites, length);
	size_t same = 1;

	for (; same < count; same++) {
		if (same + AHEAD < count)
			__builtin_prefetch(&sites[same + AHEAD].frames[length]);
		if (next_function(levels, &sites[same], length) != first)
			break;
	}
	if (same == count)
		return;
	uint64_t *order = th_allocate(count, sizeof(*order)); /* function << 32 | site */
	struct site *sorted = th_allocate(count, sizeof(*sorted));
	for (size_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(&sites[i + AHEAD].frames[length]);
		order[i] = (uint64_t)next_function(levels, &sites[i], length) << 32 | i;
	}
	qsort(order, count, sizeof(*order), compare_words);
	for (size_t i = 0; i < count; i++)
		sorted[i] = sites[(uint32_t)order[i]];
	memcpy(sites, sorted, count * sizeof(*sites));
	free(sorted);
	free(order);
}

static bool
is_one_line(const struct site *sites, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (sites[i].maker != sites[0].maker)
			return false;
	return true;
}

/*
 * Judges the methods on the paths of sites that have the first `length` functions in common, the
 * lowest first. There may be millions of paths; a method above a single line is not a node.
 */
static void
judge_paths(struct levels *levels, struct site *sites, size_t count, struct node node)
{
	struct node below = node;
	size_t end;

	if (is_one_line(sites, count))
		return;
	sort_by_next(levels, sites, count, node.length);
	below.length++;
	for (size_t i = 0; i < count; i = end) {
		uint32_t next = next_function(levels, &sites[i], node.length);

		for (end = i + 1; end < count; end++)
			if (next_function(levels, &sites[end], node.length) != next)
				break;
		if (next)
			judge_paths(levels, &sites[i], end - i, below);
	}
	if (node.length)
		judge_method(levels, sites, count, &node);
}

static void
add_site(struct levels *levels, uint32_t number)
{
	const struct th_leaks_work *work = levels->work;
	const struct th_leak_site *place = &work->leaks->places.items[number];
	const struct th_outline *outline = &work->outlines[number];
	struct th_path path = th_paths_get(work->leaks->profile->paths, place->path);
	struct site site = {.frames = path.frames,
		.gains = gains_of(outline),
		.line = work->leaks->places.ways.items[work->makers[number]].length,
		.place = number,
		.maker = work->makers[number],
		.has_creator = place->creator,
		.may_end = may_end(outline),
		.is_explained = work->nodes[number] != TH_NO_NODE};

	th_array_append(levels, sites, site);
}

static void
judge_methods(struct levels *levels, enum th_heap heap)
{
	const struct th_leaks_work *work = levels->work;
	struct node root = {.heap = heap, .level = TH_LEVEL_PATH};

	levels->sites_count = 0;
	for (uint32_t i = 0; i < work->leaks->places.items_count; i++)
		if (work->leaks->places.items[i].heap == heap && counts(levels, i))
			add_site(levels, i);
	if (levels->sites_count)
		judge_paths(levels, levels->sites, levels->sites_count, root);
}

static void
judge_heap(struct levels *levels, enum th_heap heap)
{
	judge_lines(levels, heap);
	if (levels->work->leaks->profile->options->group_by || heap == TH_HEAP_MAPPED)
		return;
	judge_methods(levels, heap);
}

/* In arrays, since they are used for every frame of every site. */
static void
find_libraries(struct levels *levels)
{
	const struct th_frames *frames = levels->work->leaks->profile->frames;
	uint32_t functions = th_frames_function_count(frames);

	levels->is_runtime = th_allocate(functions, sizeof(bool));
	levels->is_application = th_allocate(functions, sizeof(bool));
	levels->library = th_allocate(functions, sizeof(uint32_t));
	for (uint32_t i = 0; i < functions; i++) {
		levels->is_runtime[i] = th_frames_is_runtime(frames, i);
		levels->is_application[i] = th_sites_is_application(frames, i);
		levels->library[i] = th_frames_function(frames, i)->library;
	}
}

void
th_levels_judge(struct th_leaks_work *work)
{
	struct levels levels = {.work = work};

	find_libraries(&levels);
	find_lines(&levels);
	find_leaking_lines(&levels);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		if (may_leak(work, (enum th_heap)heap))
			judge_heap(&levels, (enum th_heap)heap);
	th_id_map_deinit(&levels.leaking_lines);
	free(levels.lines);
	free(levels.line_of_site);
	free(levels.line_sites);
	free(levels.is_runtime);
	free(levels.is_application);
	free(levels.library);
	free(levels.sites);
	free(levels.keyed);
	free(levels.places);
}
