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

#include "report/base/allocate.h"
#include "report/base/log_text.h"
#include "report/base/sort.h"

#define LINE_SHARE 0.25
#define PATH_SHARE 0.09375 /* twice */
/* Survivors at a line that had one before, by a twentieth of the time or more. */
#define ENOUGH_AGAIN 5
#define AGAIN_PART 0.05
/* Standard deviations by which survivors may spread less than in steady leaks. */
#define SPREAD_DEVIATIONS 2.0

/* Sums over sites of samples that were gained and lost, as in their outlines. */
struct gains {
	uint32_t gained_late;
	uint32_t lost_late;
	uint32_t kept_since;
	uint32_t dead_old;
};

/* A site that counts above its line, with what is needed of it at each node of its path. */
struct site {
	/*
	 * What a node is divided by, sites are sorted by it: the maker, or below a method the next function,
	 * plus one; 0: no node of the site is there.
	 */
	uint64_t key;
	const uint32_t *frames; /* root first */
	uint32_t line;          /* number of frames down to its line */
	uint32_t place;
	uint32_t maker;
	struct gains gains;
	bool is_of_java;   /* its creator is a Java method */
	bool may_end;      /* see drops() */
	bool is_explained; /* by a finding */
};

/* A node: the sites of a heap that have a line or a method above it in common. */
struct node {
	struct site *sites;
	size_t count;
	enum th_leak_level level;
	uint32_t length;   /* of a path: number of functions down to the method */
	bool is_of_java;   /* whether sites of Java methods count at it */
	bool is_of_native; /* the others */
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
	uint32_t sites;               /* their number */
	uint32_t first;               /* of them, the others by next_of_site; TH_NO_PLACE */
	uint32_t node;                /* at which it was counted last */
	bool has_leak;                /* at one site */
};

struct levels {
	struct th_leaks_work *work;
	enum th_heap heap; /* the current one */
	TH_ARRAY(struct line, lines);
	uint32_t *line_of_site;
	uint32_t *next_of_site; /* of the same line; TH_NO_PLACE */
	uint32_t node;          /* number of the current one */
	TH_ARRAY(struct site, sites);
	TH_ARRAY(uint32_t, places); /* of the current node, not dropped */
};

/* Recurrence */

/*
 * Of a line with m survivors in a time of this length: of m uniform times the range has the mean (m-1)/(m+1) and the
 * variance 2(m-1)/((m+1)^2 (m+2)).
 */
static struct recurrence
recurrence_of(const uint64_t *times, size_t count, double length)
{
	struct recurrence line = {.is_known = true};
	double m = (double)count;

	if (count < 2)
		return line;
	for (size_t i = 1; i < count; i++)
		line.again += (double)(times[i] - times[0]) >= AGAIN_PART * length;
	line.spread = (double)(times[count - 1] - times[0]) / length;
	line.expected = (m - 1) / (m + 1);
	line.variance = 2 * (m - 1) / ((m + 1) * (m + 1) * (m + 2));
	return line;
}

/* Sites */

/*
 * Whether a site counts above its own level: not the VM's own memory, nor one without a survivor
 * since the warm-up or an old block that became old or died, nor one that a leak of the same line
 * explains (groups.c).
 */
static bool
counts(const struct levels *levels, uint32_t number)
{
	const struct th_outline *outline = &levels->work->outlines[number];

	return outline->verdict != TH_VERDICT_LEAK &&
	       !levels->work->leaks->places.items[number].internal &&
	       (outline->has_births || outline->gained_late || outline->lost_late) &&
	       !(th_outline_may_belong(outline) &&
		       levels->lines[levels->line_of_site[number]].has_leak);
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

struct times {
	TH_ARRAY(uint64_t, items);
};

/* Appends the times of the old survivors of a site since the warm-up. */
static void
add_times(const struct th_leaks_work *work, uint32_t number, struct times *times)
{
	const struct th_leaks *leaks = work->leaks;
	enum th_heap heap = leaks->places.items[number].heap;
	const struct th_observation_window *horizon = &leaks->horizons[heap];
	const struct th_samples *samples = &leaks->profile->recording->samples[heap];

	for (uint32_t k = work->order.starts[number]; k < work->order.starts[number + 1]; k++) {
		uint32_t index = work->order.samples[k];
		uint64_t time = samples->items[index].time;

		if (th_lifetimes_end_by(&leaks->profile->lifetimes, heap, index,
			    &leaks->profile->at) == TH_END_NEVER &&
			time >= horizon->warm && time + horizon->old <= horizon->horizon)
			th_array_append(times, items, time);
	}
}

/* Of its sites that no leak explains and that have not evidently stopped growing. */
static struct recurrence
recurrence_of_line(const struct levels *levels, const struct line *line)
{
	const struct th_observation_window *horizon =
		&levels->work->leaks->horizons[levels->heap];
	struct times times = {0};

	for (uint32_t i = line->first; i != TH_NO_PLACE; i = levels->next_of_site[i])
		if (counts(levels, i) && !drops(levels->work, i, line->sites))
			add_times(levels->work, i, &times);
	th_sort_by_word(times.items, times.items_count, sizeof(*times.items));
	struct recurrence recurrence = recurrence_of(times.items, times.items_count,
		(double)(horizon->horizon - horizon->old - horizon->warm));
	free(times.items);
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

/* Numbers the lines, and lists the sites of each. */
static void
find_lines(struct levels *levels)
{
	const struct th_leaks_work *work = levels->work;
	uint32_t count = (uint32_t)work->leaks->places.items_count;
	struct th_id_map lines = {0};

	levels->line_of_site = th_allocate(count, sizeof(uint32_t));
	levels->next_of_site = th_allocate(count, sizeof(uint32_t));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = th_id_map_enter(&lines, th_leaks_relation(work, i), levels,
			lines, ((struct line){.first = TH_NO_PLACE}));
		struct line *line = &levels->lines[number];
		levels->line_of_site[i] = number;
		levels->next_of_site[i] = line->first;
		line->first = i;
		line->sites++;
		line->has_leak |= work->outlines[i].verdict == TH_VERDICT_LEAK;
	}
	th_id_map_deinit(&lines);
}

/* Nodes */

static uint32_t
function_at(const struct levels *levels, const struct site *site, uint32_t index)
{
	return th_frames_function_at(levels->work->leaks->profile->frames, site->frames[index]);
}

/* Whether a frame above the line is a node: the application's, or any of a native program. */
static bool
is_node(const struct levels *levels, const struct site *site, uint32_t function)
{
	const struct th_function *item = th_frames_function(
		levels->work->leaks->profile->frames, function);

	return site->is_of_java ? item->is_application : !item->is_runtime;
}

/* Whether two functions are in one library. */
static bool
is_same_library(const struct levels *levels, uint32_t a, uint32_t b)
{
	const struct th_frames *frames = levels->work->leaks->profile->frames;

	return th_frames_function(frames, a)->library == th_frames_function(frames, b)->library;
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

/* Whether a site counts at the node. */
static bool
counts_at(const struct node *node, const struct site *site)
{
	return !site->is_explained &&
	       (site->is_of_java ? node->is_of_java : node->is_of_native);
}

/* The part of the error rate that a node at this distance from a line has. */
static double
limit_at(enum th_leak_level level, double distance)
{
	return TH_ERROR_RATE *
	       (level == TH_LEVEL_LINE ? LINE_SHARE : PATH_SHARE / (distance * (distance + 1)));
}

/* The same at the largest distance of the node from the line of a site. */
static double
limit_of(const struct levels *levels, const struct node *node)
{
	uint32_t most = 1;

	for (size_t i = 0; i < node->count && node->level == TH_LEVEL_PATH; i++) {
		const struct site *site = &node->sites[i];
		uint32_t distance = counts_at(node, site)
					    ? distance_of(levels, site, node->length)
					    : 0;

		most = distance > most ? distance : most;
	}
	return limit_at(node->level, most);
}

/* The sign tests alone: cheap, and necessary for significance. */
static bool
may_grow(const struct levels *levels, const struct gains *gains, double chance_limit)
{
	/* The resident memory of mappings may grow without new ones. */
	if (levels->heap == TH_HEAP_MAPPED)
		return true;
	return (gains->gained_late > gains->lost_late &&
		       th_chance_of_more(gains->gained_late, gains->lost_late) <=
			       chance_limit) ||
	       (!gains->dead_old && th_chance_of_more(gains->kept_since, 0) <= chance_limit);
}

/*
 * Sets the sites that are judged at the node, and sums up their gains. False: they are less than two,
 * or of a single line, as which they were tested.
 */
static bool
choose(struct levels *levels, const struct node *node, struct gains *gains)
{
	const struct site *first = NULL;
	size_t count = 0;
	bool has_lines = node->level == TH_LEVEL_LINE;

	levels->places_count = 0;
	for (size_t i = 0; i < node->count; i++)
		count += counts_at(node, &node->sites[i]);
	for (size_t i = 0; i < node->count && count > 1; i++) {
		const struct site *site = &node->sites[i];

		if (!counts_at(node, site) ||
			(site->may_end && drops(levels->work, site->place, count)))
			continue;
		first = first ? first : site;
		has_lines |= site->maker != first->maker;
		th_array_append(levels, places, site->place);
		gains->gained_late += site->gains.gained_late;
		gains->lost_late += site->gains.lost_late;
		gains->kept_since += site->gains.kept_since;
		gains->dead_old += site->gains.dead_old;
	}
	return levels->places_count > 1 && has_lines;
}

/* Whether the node shows growth, and at which error rate: the tests that read most come last. */
static bool
grows(struct levels *levels, const struct node *node, double *limit_ret)
{
	struct gains gains = {0};
	struct th_evidence evidence;

	if (!choose(levels, node, &gains) ||
		!may_grow(levels, &gains, limit_at(node->level, 1)))
		return false;
	th_sort_numbers(levels->places, levels->places_count);
	if (node->level == TH_LEVEL_PATH && !recurs(levels))
		return false;
	*limit_ret = limit_of(levels, node);
	if (!may_grow(levels, &gains, *limit_ret))
		return false;
	th_leaks_evaluate(levels->work, levels->heap, levels->places, levels->places_count,
		*limit_ret, &evidence);
	return evidence.verdict == TH_VERDICT_LEAK;
}

/* Judges a node; the sites of it that grew, or may grow, become parts of its finding. */
static void
judge_node(struct levels *levels, const struct node *node)
{
	struct th_leaks_work *work = levels->work;
	struct th_leak_node found = {.level = node->level, .key = node->sites->maker};
	uint32_t number = (uint32_t)work->found_count;

	if (!grows(levels, node, &found.chance_limit))
		return;
	if (node->level == TH_LEVEL_PATH)
		th_path_prefixes_add(&work->leaks->places.ways,
			work->leaks->places.items[levels->places[0]].path, node->length,
			&found.key);
	th_array_append(work, found, found);
	for (size_t i = 0; i < levels->places_count; i++) {
		const struct th_outline *one = &work->outlines[levels->places[i]];

		if (one->gained_late || th_outline_may_belong(one))
			work->nodes[levels->places[i]] = number;
	}
	for (size_t i = 0; i < node->count; i++)
		node->sites[i].is_explained = work->nodes[node->sites[i].place] != TH_NO_NODE;
}

/* Sites in order */

/* Sorts sites by their keys at a node, in which most of them agree. */
static void
sort_sites(const struct levels *levels, const struct node *node)
{
	for (size_t i = 0; i < node->count; i++) {
		struct site *site = &node->sites[i];

		if (node->level == TH_LEVEL_LINE)
			site->key = site->maker;
		else if (node->length + 1 < site->line)
			site->key = (uint64_t)function_at(levels, site, node->length) + 1;
		else
			site->key = 0;
	}
	th_sort_by_word(node->sites, node->count, sizeof(*node->sites));
}

/* Takes the sites at the beginning of a sorted node that agree in their key, as one of the same level. */
static struct node
take_run(struct node *node)
{
	struct node run = *node;

	run.count = 1;
	while (run.count < node->count && node->sites[run.count].key == node->sites->key)
		run.count++;
	node->sites += run.count;
	node->count -= run.count;
	return run;
}

static void
judge_lines(struct levels *levels)
{
	struct node left = {.sites = levels->sites,
		.count = levels->sites_count,
		.level = TH_LEVEL_LINE,
		.is_of_java = true,
		.is_of_native = true};

	sort_sites(levels, &left);
	while (left.count) {
		struct node line = take_run(&left);

		judge_node(levels, &line);
	}
}

static bool
is_one_line(const struct node *node)
{
	for (size_t i = 1; i < node->count; i++)
		if (node->sites[i].maker != node->sites[0].maker)
			return false;
	return true;
}

/*
 * Judges the methods on the paths of sites that have the first `length` functions in common, the
 * lowest first. There may be millions of paths; a method above a single line is not a node.
 */
static void
judge_paths(struct levels *levels, struct node node)
{
	const struct th_frames *frames = levels->work->leaks->profile->frames;
	struct node left = node;

	if (is_one_line(&node))
		return;
	sort_sites(levels, &node);
	while (left.count) {
		struct node below = take_run(&left);

		below.length++;
		if (below.sites->key)
			judge_paths(levels, below);
	}
	if (!node.length)
		return;
	const struct th_function *function = th_frames_function(
		frames, function_at(levels, node.sites, node.length - 1));
	node.is_of_java = function->is_application;
	node.is_of_native = !function->is_runtime;
	judge_node(levels, &node);
}

static void
add_site(struct levels *levels, uint32_t number)
{
	const struct th_leaks_work *work = levels->work;
	const struct th_leak_sites *places = &work->leaks->places;
	const struct th_leak_site *place = &places->items[number];
	uint32_t creator = places->ways.items[place->creator].function;
	const struct th_outline *outline = &work->outlines[number];
	struct th_path path = th_paths_get(work->leaks->profile->paths, place->path);
	struct site site = {.frames = path.frames,
		.gains = {outline->gained_late, outline->lost_late, outline->kept_since,
			outline->dead_old},
		.place = number,
		.maker = work->makers[number],
		.is_of_java =
			place->creator &&
			th_frames_function(places->profile->frames, creator)->is_application,
		.may_end = may_end(outline)};

	if (!work->leaks->profile->options->group_by)
		site.line = work->leaks->places.ways.items[site.maker].length;
	th_array_append(levels, sites, site);
}

static void
judge_heap(struct levels *levels)
{
	const struct th_leaks *leaks = levels->work->leaks;

	levels->sites_count = 0;
	for (uint32_t i = 0; i < leaks->places.items_count; i++)
		if (leaks->places.items[i].heap == levels->heap && counts(levels, i))
			add_site(levels, i);
	judge_lines(levels);
	if (levels->sites_count && !leaks->profile->options->group_by &&
		levels->heap != TH_HEAP_MAPPED)
		judge_paths(levels, (struct node){.sites = levels->sites,
					    .count = levels->sites_count,
					    .level = TH_LEVEL_PATH});
}

void
th_levels_judge(struct th_leaks_work *work)
{
	struct levels levels = {.work = work};

	find_lines(&levels);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		levels.heap = heap;
		if (th_observation_window_may_leak(&work->leaks->horizons[heap]))
			judge_heap(&levels);
	}
	free(levels.lines);
	free(levels.line_of_site);
	free(levels.next_of_site);
	free(levels.sites);
	free(levels.places);
}
