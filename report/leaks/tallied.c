/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the makers by their line, and judges each group (tallied.h). */
#include "report/leaks/tallied.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "report/leaks/evidence_rules.h"
#include "report/statistics/load.h"
#include "unify/shared/collector_name.h"

/* Fewer survivors since the warm-up are no leak. */
#define LEAST_GROWTH 8
/* Growth must be this part of the survivors: others replaced older ones. */
#define GROWTH_PART 0.5
/* The last quarter has at least this part of the mean of the others. */
#define LAST_PART 0.5

/*
 * Unclosed: at least this part ended with the full collection at exit, whose end is awaited for two
 * seconds at most.
 */
#define UNCLOSED_PART 0.25
/*
 * GCs end a thread within this time: figures are a second old at most, and the HttpClient of JDK 17
 * looks every three seconds whether it is still referenced.
 */
#define AFTER_GC_NS 4000000000
/* At other times at most this part ended of those that would, if GCs did not matter. */
#define OTHER_TIMES_PART 0.2

/* Fewer loaders without a verdict are not listed. */
#define LEAST_UNCLEAR 64
/*
 * Part of the time after the warm-up for which class loaders must have been judged: the first
 * collection of a growing metaspace comes at 21 MB (MetaspaceSize).
 */
#define JUDGED_PART 0.25
/* If this part of the time comes after the quarters, things must have been made in it, too. */
#define AFTER_PART 0.2
/*
 * A concurrent cycle takes young objects for alive, and young collections take class loaders for
 * alive: one is judged when it is old.  Concurrent young collections have up to three pauses.
 */
#define YOUNG_PAUSES TH_COLLECTOR_YOUNG_PAUSES
#define YOUNG_PAUSES_CONCURRENT (3 * YOUNG_PAUSES)
/* Pauses of a cycle of generational Z, at most. */
#define CYCLE_PAUSES 8
/* A verdict needs this part of the time after the warm-up. */
#define BUSY_PART 0.5
/*
 * The load ended if next to all were made before, and if the heap's rate then fell to IDLE_RATE; a shorter
 * time is no end.  More than AFTER_PART of the time without load leave the verdict open.
 */
#define NEARLY_ALL 0.98
#define NOTICED_PART 0.05

/* A maker that has changed has a tally after this time. */
#define PERIOD_NS 1000000000

#define NO_GROUP UINT32_MAX

/* A maker, as of the end of the window. */
struct maker {
	const struct th_decoded_tally *last;    /* NULL: made nothing so far */
	double before;                          /* alive after the warm-up */
	double collected;                       /* ended with the full collection at exit */
	const struct th_decoded_tally *counted; /* up to which its changes are counted */
};

struct work {
	struct th_tallies *tallies;
	struct th_leak_sites *places;
	const struct th_profile *profile;
	const struct th_observation_window *window;
	uint64_t judged;                /* class loaders made before were judged */
	size_t passed;                  /* judgements before the tally that is read */
	uint64_t collected;             /* end of the last collection of these */
	TH_ARRAY(struct maker, makers); /* by number, as `groups` of the tallies */
	struct th_id_map group_ids;     /* key, class and kind */
	struct th_load load;
};

/* Class loaders made before the returned time were judged by this collection; 0 = none. */
static uint64_t
judged_by(const struct th_lifetimes *lifetimes, size_t index)
{
	const struct th_judgement *judgement = &lifetimes->judgements[index];
	size_t before = judgement->births ? YOUNG_PAUSES : YOUNG_PAUSES_CONCURRENT;

	if (!judgement->is_major || !judgement->is_collection)
		return 0;
	if (judgement->is_whole && judgement->births)
		return judgement->births;
	if (judgement->is_whole)
		before = CYCLE_PAUSES;
	return index >= before ? lifetimes->judgements[index - before].time : 0;
}

/* The same for all collections up to `end`. */
static uint64_t
last_judged(const struct th_lifetimes *lifetimes, uint64_t end)
{
	uint64_t last = 0;

	for (size_t i = 0; i < lifetimes->judgements_count; i++) {
		uint64_t judged = lifetimes->judgements[i].time <= end ? judged_by(lifetimes, i)
								       : 0;

		if (judged > last)
			last = judged;
	}
	return last;
}

static double
scale_of(const struct th_decoded_tally *tally)
{
	return tally->kind == TH_TALLY_LOADERS ? (double)((uint64_t)1 << tally->level) : 1;
}

/* Time */

static bool
is_judged(const struct work *work)
{
	const struct th_observation_window *window = work->window;

	return work->judged > window->warm &&
	       (double)(work->judged - window->warm) >=
		       JUDGED_PART * (double)(window->end - window->warm);
}

/* The end of the quarters. */
static double
last_time(const struct work *work, uint32_t kind)
{
	if (kind == TH_TALLY_LOADERS && is_judged(work))
		return (double)work->judged;
	return (double)work->window->end - (double)work->window->old;
}

static double
overlap(double from, double to, double low, double high)
{
	double both = (to < high ? to : high) - (from > low ? from : low);

	return both > 0 ? both / (to - from) : 0;
}

/* Adds a count, evenly made in the time [from, to), to equal parts of another time. */
static void
spread(double from, double to, double count, double begin, double end, int parts, double *ret)
{
	double part = (end - begin) / parts;

	for (int i = 0; i < parts; i++)
		ret[i] += count * overlap(from, to, begin + i * part, begin + (i + 1) * part);
}

/* Length of a step of `made_in_step`. */
static double
step_of(const struct work *work, const struct th_tallied *group)
{
	return (last_time(work, group->kind) - (double)work->window->warm) / TH_TALLIED_STEPS;
}

/* The start of the quarters: the end of the warm-up, or when the first was made after a quarter. */
static double
begin_of(const struct work *work, const struct th_tallied *group)
{
	double warm = (double)work->window->warm, made = 0;
	int step = 0;

	while (step < TH_TALLIED_STEPS && (made += group->made_in_step[step]) < 1)
		step++;
	return step < TH_TALLIED_STEPS / TH_TALLIED_QUARTERS || step == TH_TALLIED_STEPS
		       ? warm
		       : warm + step * step_of(work, group);
}

/* Whether the program did next to nothing from a time on. */
static bool
is_idle_since(const struct work *work, double time)
{
	double start = (double)work->window->start, end = (double)work->window->end;

	return th_load_bytes(&work->load, time, end) * (time - start) <
	       IDLE_RATE * th_load_bytes(&work->load, start, time) * (end - time);
}

/* The quarters of equal load: empty if there are too few samples, or if the load was brief. */
static void
find_quarters_of_load(const struct work *work, struct th_tallied *group)
{
	const double last = last_time(work, group->kind);

	if (group->is_brief ||
		th_load_samples(&work->load, group->begin, last) < TH_LOAD_ENOUGH)
		return;
	for (int i = 0; i < TH_TALLIED_QUARTERS; i++)
		group->load_quarters[i] = th_load_time(
			&work->load, group->begin, last, (double)i / TH_TALLIED_QUARTERS);
	group->load_quarters[TH_TALLIED_QUARTERS] = last;
}

/* The end of the quarters: earlier where the load ended, so that none that stay were made. */
static double
until_of(const struct work *work, struct th_tallied *group)
{
	double start = (double)work->window->start, end = (double)work->window->end;
	double warm = (double)work->window->warm, last = last_time(work, group->kind);
	double all = 0, made = 0;
	int parts = 0, pause = 0, longest = 0;

	for (int i = 0; i < TH_TALLIED_PARTS; i++)
		all += group->made_in[i];
	for (; parts < TH_TALLIED_PARTS && made < NEARLY_ALL * all; parts++) {
		made += group->made_in[parts];
		pause = group->made_in[parts] < 1 && made >= 1 ? pause + 1 : 0;
		longest = pause > longest ? pause : longest;
	}
	double until = start + parts * (end - start) / TH_TALLIED_PARTS;
	if (last - until <= NOTICED_PART * (last - warm) || !is_idle_since(work, until))
		return last;
	group->is_brief = until - group->begin <= LOAD_PART * (last - warm);
	if (group->is_brief)
		return last;
	group->is_idle = end - until > AFTER_PART * (end - warm) &&
			 TH_TALLIED_PARTS - parts > LONGER_PAUSE * longest;
	return until;
}

/* Makers */

/* Before the program's own shutdown hooks, which end threads, too. */
static bool
is_in_collection_at_exit(const struct th_profile *profile, uint64_t time)
{
	const struct th_teardown *teardown = &profile->teardown;

	return teardown->is_collection && profile->at.time == teardown->time &&
	       time > teardown->time && time <= teardown->known;
}

/* Tallies come in the order of time, but for fractions of a second. */
static bool
is_soon_after_gc(struct work *work, uint64_t time)
{
	const struct th_lifetimes *lifetimes = &work->profile->lifetimes;

	for (; work->passed < lifetimes->judgements_count &&
		lifetimes->judgements[work->passed].time <= time;
		work->passed++)
		if (lifetimes->judgements[work->passed].is_collection)
			work->collected = lifetimes->judgements[work->passed].time;
	return work->collected && time <= work->collected + AFTER_GC_NS;
}

static uint64_t
key_of_maker(uint32_t stack, uint32_t type, uint32_t kind)
{
	return ((uint64_t)stack << 32 | type) * TH_TALLY_KINDS + kind;
}

/* The number of the maker of a tally. */
static uint32_t
find_maker(struct work *work, const struct th_decoded_tally *tally)
{
	bool added;
	uint32_t number = th_id_map_intern(&work->tallies->maker_ids,
		key_of_maker(tally->stack, tally->type, tally->kind), &added);

	if (added) {
		th_array_append(work, makers, (struct maker){0});
		th_array_append(work->tallies, groups, NO_GROUP);
	}
	return number;
}

static void
read_tally(struct work *work, const struct th_decoded_tally *tally)
{
	const struct th_observation_window *window = work->window;
	uint32_t number = find_maker(work, tally); /* may move the makers */
	struct maker *maker = &work->makers[number];

	/* Figures are a second old at most: the first ones after the warm-up are used. */
	if (maker->last ? maker->last->time <= window->warm
			: tally->time <= window->warm + PERIOD_NS)
		maker->before = (double)tally->alive * scale_of(tally);
	if (tally->time <= window->end || (tally->kind == TH_TALLY_LOADERS &&
						  tally->time <= work->profile->at.collections))
		maker->last = tally;
	else if (is_in_collection_at_exit(work->profile, tally->time) && maker->last &&
		 tally->alive < maker->last->alive)
		maker->collected = (double)(maker->last->alive - tally->alive) *
				   scale_of(tally);
}

/* Groups */

/* The VM's own: its threads, and the carriers of virtual threads. */
static bool
is_of_vm(const struct work *work, struct th_path path, uint32_t creator)
{
	const struct th_frames *frames = work->profile->frames;
	bool has_java = false;
	bool has_vm = false;

	for (uint32_t i = 0; i < path.count; i++) {
		enum th_function_kind kind = th_frames_kind(frames, path.frames[i]);
		const char *name = th_frames_function_name(
			frames, th_frames_function_at(frames, path.frames[i]));

		has_java |= kind == TH_KIND_JAVA;
		has_vm |= kind == TH_KIND_VM;
		if (kind == TH_KIND_JAVA &&
			(th_text_begins(name, "java.lang.VirtualThread.") ||
				th_text_begins(name, "jdk.internal.misc.CarrierThread.")))
			return true;
	}
	return path.is_virtual || (has_vm && !has_java && !creator);
}

static bool
is_selected(const struct work *work, uint32_t path, enum th_tally_kind kind)
{
	const struct th_subject subject = {
		.heap = kind == TH_TALLY_THREADS ? TH_HEAP_NATIVE : TH_HEAP_JAVA,
		.path = path,
		.thread = th_frames_group(work->profile->frames, ""),
	};

	return th_filter_selects(work->profile->filter, &subject);
}

static uint32_t
find_group(struct work *work, const struct th_decoded_tally *tally, uint32_t path,
	struct th_tallied_line line)
{
	struct th_tallied group = {
		.kind = (enum th_tally_kind)tally->kind,
		.key = line.key,
		.path = path,
		.line = line.frame,
		.user = line.user,
		.number = (uint32_t)work->tallies->items_count,
		.class_name = tally->type
				      ? th_profile_class_name(work->profile, tally->type - 1)
				      : 0,
	};

	return th_id_map_enter(&work->group_ids,
		((uint64_t)group.key << 32 | group.class_name) * TH_TALLY_KINDS + group.kind,
		work->tallies, items, group);
}

/* The time and the number of those alive that were made in a slot of a tally. */
static double
slot_of(const struct th_decoded_tally *tally, uint32_t slot, double *from_ret, double *to_ret)
{
	*from_ret = (double)tally->origin + (double)slot * (double)tally->slot_ns;
	*to_ret = *from_ret + (double)tally->slot_ns;
	return (double)tally->births.words[slot] * scale_of(tally);
}

static void
add_times(
	const struct work *work, struct th_tallied *group, const struct th_decoded_tally *tally)
{
	for (uint32_t i = 0; i < tally->births.count; i++) {
		double from, to, count = slot_of(tally, i, &from, &to);

		spread(from, to, count, (double)work->window->start, (double)work->window->end,
			TH_TALLIED_PARTS, group->made_in);
	}
}

/* Adds a count, evenly made in a time, to the quarters of the time and of the load. */
static void
add_to_quarters(struct th_tallied *group, double from, double to, double count)
{
	const double *bounds = group->load_quarters;

	spread(from, to, count, group->begin, group->until, TH_TALLIED_QUARTERS, group->births);
	for (int i = 0; i < TH_TALLIED_QUARTERS; i++)
		group->births_by_load[i] += count * overlap(from, to, bounds[i], bounds[i + 1]);
}

static void
add_births(
	const struct work *work, struct th_tallied *group, const struct th_decoded_tally *tally)
{
	for (uint32_t i = 0; i < tally->births.count; i++) {
		double from, to, count = slot_of(tally, i, &from, &to);

		add_to_quarters(group, from, to, count);
		group->born_after += count *
				     overlap(from, to, group->until, (double)work->window->end);
	}
}

/* Finds the group of a maker; it has none if it is the VM's or not selected. */
static void
join_group(struct work *work, uint32_t maker)
{
	const struct th_decoded_tally *tally = work->makers[maker].last;
	enum th_tally_kind kind = tally ? (enum th_tally_kind)tally->kind : TH_TALLY_KINDS;

	if (!tally || !work->profile->recording->stacks[tally->stack].stack || !tally->slot_ns)
		return;
	uint32_t path = th_paths_resolve(work->profile->paths, tally->stack,
		kind == TH_TALLY_THREADS ? TH_HEAP_NATIVE : TH_HEAP_JAVA);
	struct th_tallied_line line = th_tallied_line(work->tallies, work->places, path);
	if (is_of_vm(work, th_paths_get(work->profile->paths, path), line.is_application) ||
		!is_selected(work, path, kind))
		return;
	uint32_t number = find_group(work, tally, path, line);
	struct th_tallied *group = &work->tallies->items[number];
	work->tallies->groups[maker] = number;
	add_times(work, group, tally);
	if ((double)tally->alive * scale_of(tally) > group->most) {
		group->most = (double)tally->alive * scale_of(tally);
		group->path = path;
		group->starter = tally->starter;
		group->line = line.frame;
		group->user = line.user;
	}
}

static void
add_maker(struct work *work, uint32_t number)
{
	const struct maker *maker = &work->makers[number];
	const struct th_decoded_tally *tally = maker->last;

	if (work->tallies->groups[number] == NO_GROUP)
		return;
	struct th_tallied *group = &work->tallies->items[work->tallies->groups[number]];
	double scale = scale_of(tally);
	group->stacks++;
	group->made += (double)tally->made * scale;
	group->alive += (double)tally->alive * scale;
	group->alive_before += maker->before;
	group->collected += maker->collected;
	group->parts += (double)tally->parts * scale;
	group->bytes += (double)tally->bytes * scale;
	if (tally->level > group->level)
		group->level = tally->level;
	add_births(work, group, tally);
}

/* Adds what was made and what ended since the last tally of a maker. */
static void
add_changes(struct work *work, const struct th_decoded_tally *tally)
{
	static const struct th_decoded_tally none = {0};
	uint32_t number = find_maker(work, tally); /* may move the makers */
	struct maker *maker = &work->makers[number];
	const struct th_decoded_tally *last = maker->counted ? maker->counted : &none;
	bool is_by_gc = is_soon_after_gc(work, tally->time);
	double made = (double)tally->made - (double)last->made;
	double ended = made + (double)last->alive - (double)tally->alive;
	double from = fmax((double)last->time, (double)tally->time - PERIOD_NS);

	if (work->tallies->groups[number] == NO_GROUP || tally->time > work->window->end)
		return;
	maker->counted = tally;
	if (tally->time <= work->window->warm)
		return;
	struct th_tallied *group = &work->tallies->items[work->tallies->groups[number]];
	if ((double)tally->time > from)
		spread(from, (double)tally->time, fmax(made, 0), (double)work->window->warm,
			last_time(work, group->kind), TH_TALLIED_STEPS, group->made_in_step);
	if (tally->kind != TH_TALLY_THREADS)
		return; /* all class loaders end by GCs */
	group->ended += ended;
	group->ended_by_gc += is_by_gc ? ended : 0;
}

/* Verdicts */

static double
born(const struct th_tallied *group)
{
	double births = 0;

	for (int i = 0; i < TH_TALLIED_QUARTERS; i++)
		births += group->births[i];
	return births;
}

/* Whether members of all quarters are alive, and of the last ones about as many. */
static bool
is_even(const double *births)
{
	double last = births[TH_TALLIED_QUARTERS - 1], others = 0;

	for (int i = 0; i < TH_TALLIED_QUARTERS; i++) {
		if (births[i] < 1)
			return false;
		others += i < TH_TALLIED_QUARTERS - 1 ? births[i] : 0;
	}
	return last >= LAST_PART * others / (TH_TALLIED_QUARTERS - 1);
}

/* Whether as many are made after the quarters, by their rate or by the load. */
static bool
goes_on(const struct work *work, const struct th_tallied *group)
{
	double end = (double)work->window->end;
	double after = (end - group->until) / (group->until - group->begin);

	if (th_load_samples(&work->load, group->begin, group->until) >= TH_LOAD_ENOUGH)
		after = fmin(
			after, th_load_bytes(&work->load, group->until, end) /
				       th_load_bytes(&work->load, group->begin, group->until));
	double expected = LAST_PART * after * born(group);
	return group->is_idle || expected < 1 || group->born_after >= expected ||
	       end - group->until < AFTER_PART * (end - (double)work->window->warm);
}

/* Part of the time after the warm-up that comes soon after GCs. */
static double
part_after_gcs(const struct work *work)
{
	const struct th_lifetimes *lifetimes = &work->profile->lifetimes;
	double from = (double)work->window->warm, end = (double)work->window->end, sum = 0;

	for (size_t i = 0; i < lifetimes->judgements_count; i++) {
		double time = (double)lifetimes->judgements[i].time;

		if (!lifetimes->judgements[i].is_collection || time > end)
			continue;
		sum += fmax(0, fmin(time + AFTER_GC_NS, end) - fmax(time, from));
		from = fmax(from, time + AFTER_GC_NS);
	}
	return sum / (end - (double)work->window->warm);
}

/* Whether only GCs end them: those that ended would be alive without. */
static bool
is_ended_by_gcs(const struct work *work, const struct th_tallied *group)
{
	double expected = group->ended * (1 - part_after_gcs(work));

	return group->collected >= fmax(LEAST_GROWTH, UNCLOSED_PART * group->alive) &&
	       expected >= LEAST_GROWTH &&
	       group->ended - group->ended_by_gc <= OTHER_TIMES_PART * expected;
}

/* TH_VERDICT_PLATEAU stands for all that is not listed. */
static enum th_verdict
verdict_of(const struct work *work, const struct th_tallied *group)
{
	double births = born(group);

	if (births < LEAST_GROWTH || !is_even(group->births) || !goes_on(work, group) ||
		(!group->is_ended_by_gcs &&
			group->alive - group->alive_before < GROWTH_PART * births))
		return TH_VERDICT_PLATEAU;
	if (group->is_idle)
		return TH_VERDICT_UNCLEAR;
	if ((group->kind == TH_TALLY_THREADS || is_judged(work)) && !group->is_late)
		return TH_VERDICT_LEAK;
	return births >= LEAST_UNCLEAR ? TH_VERDICT_UNCLEAR : TH_VERDICT_PLATEAU;
}

/* What was made counts, whether it is alive or not. */
static void
take_made(const struct work *work, struct th_tallied *group)
{
	double step = step_of(work, group);

	memset(group->births, 0, sizeof(group->births));
	memset(group->births_by_load, 0, sizeof(group->births_by_load));
	for (int i = 0; i < TH_TALLIED_STEPS; i++) {
		double from = (double)work->window->warm + i * step;

		add_to_quarters(group, from, from + step, group->made_in_step[i]);
	}
}

static void
judge(struct work *work)
{
	struct th_tallies *tallies = work->tallies;
	size_t kept = 0;

	for (size_t i = 0; i < tallies->items_count; i++) {
		struct th_tallied *group = &tallies->items[i];

		double last = last_time(work, group->kind);

		group->seconds = (group->until - group->begin) / 1e9;
		group->is_late = last - group->begin <
				 BUSY_PART * (last - (double)work->window->warm);
		group->is_ended_by_gcs = is_ended_by_gcs(work, group);
		if (group->is_ended_by_gcs)
			take_made(work, group);
		group->is_by_load = !is_even(group->births) && is_even(group->births_by_load);
		if (group->is_by_load)
			memcpy(group->births, group->births_by_load, sizeof(group->births));
		group->verdict = verdict_of(work, group);
		tallies->leaks_count += group->verdict == TH_VERDICT_LEAK;
		if (group->verdict != TH_VERDICT_PLATEAU)
			tallies->items[kept++] = *group;
	}
	tallies->items_count = kept;
}

TH_COMPARE(compare, struct th_tallied,
	th_order(left->verdict, right->verdict)
		?: th_order(th_tallied_bytes(right), th_tallied_bytes(left)))

void
th_tallies_init(struct th_tallies *tallies, struct th_leak_sites *places,
	const struct th_observation_window *window)
{
	const struct th_recording *recording = places->profile->recording;
	struct work work = {
		.tallies = tallies,
		.places = places,
		.profile = places->profile,
		.window = window,
		.judged = last_judged(
			&places->profile->lifetimes, places->profile->at.collections),
	};

	*tallies = (struct th_tallies){.items = NULL};
	for (size_t i = 0; i < recording->tallies_count; i++)
		read_tally(&work, &recording->tallies[i]);
	for (uint32_t i = 0; i < work.makers_count; i++)
		join_group(&work, i);
	for (size_t i = 0; i < recording->tallies_count; i++)
		add_changes(&work, &recording->tallies[i]);
	th_load_init_program(&work.load, recording, window->start, window->end);
	for (size_t i = 0; i < tallies->items_count; i++) {
		struct th_tallied *group = &tallies->items[i];

		group->begin = begin_of(&work, group);
		group->until = until_of(&work, group);
		find_quarters_of_load(&work, group);
	}
	for (uint32_t i = 0; i < work.makers_count; i++)
		add_maker(&work, i);
	judge(&work);
	if (tallies->items_count) {
		th_tallied_measure(tallies, places, window->end);
		th_sort(tallies->items, tallies->items_count, compare);
	}
	th_id_map_deinit(&work.group_ids);
	free(work.makers);
}

void
th_tallies_deinit(struct th_tallies *tallies)
{
	th_id_map_deinit(&tallies->line_ids);
	th_id_map_deinit(&tallies->maker_ids);
	free(tallies->items);
	free(tallies->groups);
}

/* Figures */

bool
th_tallied_contains(const struct th_tallied *tallied, const char *purpose)
{
	/*
	 * JDK 17 reserves the metaspace of classes together with the mapping of the class archive,
	 * which itself does not grow.
	 */
	static const char *const of_classes[] = {TH_PURPOSE_CLASSES, "[JVM-internal] metaspace",
		"[JVM-internal] class space", "[JVM-internal] class archive", NULL};
	static const char *const of_threads[] = {
		TH_PURPOSE_THREADS, "[JVM-internal] stack", NULL};

	return th_text_begins_any(
		purpose, tallied->kind == TH_TALLY_THREADS ? of_threads : of_classes);
}

bool
th_tallied_has_loaders(const struct th_tallies *tallies, const struct th_tallied *tallied,
	uint32_t stack, uint32_t type)
{
	uint32_t maker = th_id_map_find(
		&tallies->maker_ids, key_of_maker(stack, type, TH_TALLY_LOADERS));

	return maker != TH_ID_MAP_NONE && tallies->groups[maker] == tallied->number;
}

double
th_tallied_bytes(const struct th_tallied *tallied)
{
	return tallied->resident + tallied->vm.low;
}

enum th_reason
th_tallied_reason(const struct th_tallied *tallied)
{
	if (tallied->verdict == TH_VERDICT_UNCLEAR && tallied->is_idle)
		return TH_REASON_IDLE;
	return tallied->kind == TH_TALLY_THREADS &&
			       tallied->collected >= UNCLOSED_PART * tallied->alive
		       ? TH_REASON_UNCLOSED
		       : TH_REASON_GROWS;
}

double
th_tallied_rate(const struct th_tallied *tallied)
{
	return born(tallied) / tallied->seconds;
}

double
th_tallied_growth(const struct th_tallied *tallied)
{
	return tallied->alive > 0
		       ? th_tallied_rate(tallied) * th_tallied_bytes(tallied) / tallied->alive
		       : 0;
}

const char *
th_tallied_heap(const struct th_tallied *tallied)
{
	return tallied->kind == TH_TALLY_THREADS ? "threads" : "classes";
}
