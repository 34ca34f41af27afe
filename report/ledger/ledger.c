/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes are matched with their ends by record, and summed up by kind, path and class.  A sum of takes
 * is one of values 1 with inclusion probability `keep`, as other sums of samples (estimate.h).
 */
#include "report/ledger/ledger.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"
#include "report/base/sort.h"
#include "report/profile/values.h"
#include "report/statistics/load.h"

/* The warm-up is this part of the time. */
#define WARM_UP_PART 5
/* Shorter windows are not judged. */
#define LEAST_NS UINT64_C(1000000000)
/* Samples that show growth if nothing that was kept has been given back. */
#define LEAST_KEPT 4
/* Growth begins where the number left the first one for good by more than this part of it. */
#define NOTABLE_PART 0.05
/* Chance is an explanation down to this probability. */
#define UNLIKELY 0.01

struct age {
	uint64_t time; /* when it was taken; first: they are sorted by it */
	double weight;
};

/* Quarters are of the time or of the load: a program may work in bursts. */
enum clock { BY_TIME, BY_LOAD, CLOCKS };

struct quarters {
	double births[TH_LEDGER_QUARTERS]; /* held now, by when they were taken */
	uint64_t seen[TH_LEDGER_QUARTERS]; /* takes of all kinds of ends, as recorded */
	double variance;                   /* of the last one of the births */
};

/* The sums of an entry.  Its own window begins with its first take. */
struct sums {
	uint64_t first; /* ns */
	uint64_t warm;  /* ns: the end of the warm-up */
	struct th_estimator taken;
	struct th_estimator held;
	struct th_estimator gained; /* of these, taken after the warm-up */
	struct th_estimator lost;   /* held when the warm-up ended, and not now */
	struct quarters quarters[CLOCKS];
	double committed; /* of the held ones */
	double least;     /* probability of a take */
	TH_ARRAY(struct age, ages);
};

struct work {
	struct th_ledger *ledger;
	struct th_load load;
	struct th_id_map ids; /* of entries */
	TH_ARRAY(struct sums, sums);
	/* By index of the take. */
	uint64_t *ends; /* ns; UINT64_MAX = held */
	bool *committed;
	struct th_id_map records;
};

const char *const th_ledger_kind_names[] = {
	[TH_LEDGER_GLOBAL] = "global",
	[TH_LEDGER_WEAK] = "weak",
	[TH_LEDGER_ELEMENTS] = "elements",
	[TH_LEDGER_CRITICAL] = "critical",
	[TH_LEDGER_CHARS] = "chars",
	[TH_LEDGER_UTF] = "utf",
	[TH_LEDGER_STRING_CRITICAL] = "string-critical",
	[TH_LEDGER_DIRECT_BUFFER] = "direct-buffer",
	[TH_LEDGER_MONITOR] = "monitor",
	[TH_LEDGER_LOCAL] = "local",
};

bool
th_ledger_is_critical(enum th_ledger_kind kind)
{
	return kind == TH_LEDGER_CRITICAL || kind == TH_LEDGER_STRING_CRITICAL;
}

const char *
th_ledger_verdict_text(const struct th_ledger_entry *entry)
{
	static const char *const texts[] = {
		[TH_LEDGER_LEAK] = "leak",
		[TH_LEDGER_COMMIT] = "commit without release",
		[TH_LEDGER_CACHE] = "cache",
		[TH_LEDGER_NEVER] = "never given back",
		[TH_LEDGER_BALANCED] = "given back",
	};

	if (entry->verdict == TH_LEDGER_LONG)
		return th_printed("critical section of {f} ms", entry->longest * 1e3);
	return texts[entry->verdict];
}

/* Sums */

/* The number of the entry with this kind, path and class. */
static uint32_t
find_entry(struct work *work, enum th_ledger_kind kind, uint32_t stack, uint32_t class)
{
	struct th_ledger *ledger = work->ledger;
	uint32_t path = th_paths_resolve(ledger->profile->paths, stack, TH_HEAP_NATIVE);
	bool added;
	uint32_t number = th_id_map_intern(&work->ids,
		(uint64_t)kind << 60 | (uint64_t)path << 28 | (class & 0xfffffff), &added);

	if (added) {
		struct th_ledger_entry entry = {.kind = kind, .path = path};
		struct sums sums = {.least = 1};

		if (class)
			entry.class_name = th_profile_class_name(ledger->profile, class - 1);
		th_array_append(ledger, items, entry);
		th_array_append(work, sums, sums);
	}
	return number;
}

static void
add_one(struct th_estimator *sum, const struct th_decoded_ledger_take *take)
{
	th_estimator_add(sum, 1, 0, (double)take->keep, 1);
}

/* Of a time after the warm-up. */
static unsigned
quarter_of(const struct work *work, const struct sums *sums, uint64_t time, enum clock clock)
{
	double warm = (double)sums->warm, end = (double)work->ledger->end;
	double part = ((double)time - warm) / (end - warm);

	if (clock == BY_LOAD)
		part = th_load_bytes(&work->load, warm, (double)time) /
		       th_load_bytes(&work->load, warm, end);
	return part < 1 ? (unsigned)(part * TH_LEDGER_QUARTERS) : TH_LEDGER_QUARTERS - 1;
}

static void
add_to_quarters(struct work *work, struct sums *sums, const struct th_decoded_ledger_take *take,
	bool is_held)
{
	double weight = 1 / (double)take->keep;

	for (enum clock clock = BY_TIME; clock < CLOCKS; clock++) {
		struct quarters *quarters = &sums->quarters[clock];
		unsigned quarter = quarter_of(work, sums, take->time, clock);

		quarters->seen[quarter]++;
		if (!is_held)
			continue;
		quarters->births[quarter] += weight;
		if (quarter == TH_LEDGER_QUARTERS - 1)
			quarters->variance += weight * (weight - 1);
	}
}

static void
add_held(struct sums *sums, const struct th_decoded_ledger_take *take)
{
	const struct age age = {take->time, 1 / (double)take->keep};

	add_one(&sums->held, take);
	th_array_append(sums, ages, age);
	if (take->time >= sums->warm)
		add_one(&sums->gained, take);
}

static void
add_take(struct work *work, size_t i)
{
	const struct th_decoded_ledger_take *take =
		&work->ledger->profile->recording->ledger_takes[i];

	if (take->time > work->ledger->end || take->time < work->ledger->begin)
		return;
	uint32_t number = find_entry(
		work, (enum th_ledger_kind)take->kind, take->stack, take->type);
	struct sums *sums = &work->sums[number];
	if (!sums->taken.samples) {
		sums->first = take->time;
		sums->warm = take->time + (work->ledger->end - take->time) / WARM_UP_PART;
	}
	add_one(&sums->taken, take);
	if (take->time >= sums->warm)
		add_to_quarters(work, sums, take, work->ends[i] > work->ledger->end);
	if ((double)take->keep < sums->least)
		sums->least = (double)take->keep;
	if (take->keep < 1)
		work->ledger->is_exact = false;
	if (work->ends[i] <= work->ledger->end) {
		if (take->time < sums->warm && work->ends[i] > sums->warm)
			add_one(&sums->lost, take);
		return;
	}
	add_held(sums, take);
	if (work->committed[i])
		sums->committed += 1 / (double)take->keep;
}

static void
see_section(struct work *work, enum th_ledger_kind kind, uint32_t stack, uint32_t class,
	uint64_t duration)
{
	uint32_t number = find_entry(work, kind, stack, class);
	struct th_ledger_entry *entry = &work->ledger->items[number];

	if (duration >= TH_LEDGER_LONG_NS && (double)duration / 1e9 > entry->longest)
		entry->longest = (double)duration / 1e9;
}

static void
match_ends(struct work *work)
{
	const struct th_recording *recording = work->ledger->profile->recording;

	for (size_t i = 0; i < recording->ledger_gives_count; i++) {
		const struct th_decoded_ledger_give *give = &recording->ledger_gives[i];
		uint32_t index = th_id_map_find(&work->records, give->sample);

		if (index == TH_ID_MAP_NONE || give->time > work->ledger->end)
			continue;
		const struct th_decoded_ledger_take *take = &recording->ledger_takes[index];
		if (give->how == TH_LEDGER_COMMITTED)
			work->committed[index] = true;
		else
			work->ends[index] = give->time;
		if (give->duration && give->time >= work->ledger->begin)
			see_section(work, (enum th_ledger_kind)take->kind, take->stack,
				take->type, give->duration);
	}
}

static void
sum_up(struct work *work)
{
	const struct th_recording *recording = work->ledger->profile->recording;
	size_t count = recording->ledger_takes_count;

	work->ends = th_allocate(count + 1, sizeof(*work->ends));
	work->committed = th_allocate(count + 1, sizeof(*work->committed));
	for (size_t i = 0; i < count; i++) {
		th_id_map_intern(&work->records, recording->take_records[i], NULL);
		work->ends[i] = UINT64_MAX;
	}
	match_ends(work);
	for (size_t i = 0; i < count; i++)
		add_take(work, i);
	for (size_t i = 0; i < recording->ledger_longs_count; i++) {
		const struct th_decoded_ledger_long *section = &recording->ledger_longs[i];

		if (section->time <= work->ledger->end && section->time >= work->ledger->begin)
			see_section(work, (enum th_ledger_kind)section->kind, section->stack,
				section->type, section->duration);
	}
}

/* Verdicts */

/*
 * Whether none of a quarter is held by chance only: few of many are kept, and nothing that was kept
 * has been given back.
 */
static bool
may_be_chance(const struct sums *sums, uint64_t seen)
{
	double part = (double)sums->held.samples / (double)sums->taken.samples;

	return !sums->lost.samples && seen && pow(1 - part, (double)seen) >= UNLIKELY;
}

/* Whether some of each quarter are held, and of the last one half as many as of the others. */
static bool
are_even(const struct sums *sums, const struct quarters *quarters)
{
	double last = quarters->births[TH_LEDGER_QUARTERS - 1], before = 0;

	for (int i = 0; i < TH_LEDGER_QUARTERS; i++) {
		if (quarters->births[i] <= 0 && !may_be_chance(sums, quarters->seen[i]))
			return false;
		before += i < TH_LEDGER_QUARTERS - 1 ? quarters->births[i] : 0;
	}
	/* Two standard deviations: few may have been drawn. */
	return last <= 0 ||
	       2 * (last + 2 * sqrt(quarters->variance)) * (TH_LEDGER_QUARTERS - 1) >= before;
}

static bool
is_growing(const struct work *work, const struct sums *sums)
{
	const struct th_ledger *ledger = work->ledger;
	double load = th_load_samples(&work->load, (double)sums->warm, (double)ledger->end);

	return ledger->end - sums->first >= LEAST_NS &&
	       th_sums_point(&sums->gained.bytes) >= TH_LEDGER_LEAST &&
	       sums->gained.samples >= (sums->lost.samples ? TH_LEDGER_LEAST : LEAST_KEPT) &&
	       (are_even(sums, &sums->quarters[BY_TIME]) ||
		       (load >= TH_LOAD_ENOUGH && are_even(sums, &sums->quarters[BY_LOAD])));
}

static enum th_ledger_verdict
judge(const struct work *work, const struct th_ledger_entry *entry, const struct sums *sums)
{
	double held = th_sums_point(&sums->held.bytes);

	if (is_growing(work, sums))
		return sums->committed * 2 >= held ? TH_LEDGER_COMMIT : TH_LEDGER_LEAK;
	if (entry->longest > 0)
		return TH_LEDGER_LONG;
	if (!sums->held.samples)
		return TH_LEDGER_BALANCED;
	return sums->held.samples == sums->taken.samples ? TH_LEDGER_NEVER : TH_LEDGER_CACHE;
}

/* The time at which the median one of those held was taken. */
static uint64_t
median_time(struct sums *sums)
{
	double half = 0;
	size_t i = 0;

	th_sort_by_word(sums->ages, sums->ages_count, sizeof(*sums->ages));
	for (size_t k = 0; k < sums->ages_count; k++)
		half += sums->ages[k].weight / 2;
	while (i + 1 < sums->ages_count && (half -= sums->ages[i].weight) > 0)
		i++;
	return sums->ages[i].time;
}

static void
set_ages(const struct th_ledger *ledger, struct th_ledger_entry *entry, struct sums *sums)
{
	const struct th_recording *recording = ledger->profile->recording;

	if (!sums->ages_count)
		return;
	uint64_t median = median_time(sums);
	entry->median_age = (double)(ledger->end - median) / 1e9;
	for (size_t i = 0; i < recording->collections_count; i++)
		if (recording->collections[i].start > median &&
			recording->collections[i].start <= ledger->end)
			entry->collections++;
}

static struct th_estimate
estimate(const struct th_ledger *ledger, const struct sums *sums,
	const struct th_estimator *estimator)
{
	struct th_estimate estimate = th_estimate_bytes(
		estimator, NULL, sums->least < 1 ? 1 / sums->least : 0);

	if (ledger->is_exact)
		return th_estimate_exact(estimate.estimate, estimate.samples);
	return estimate;
}

static void
measure(const struct work *work, struct th_ledger_entry *entry, struct sums *sums)
{
	const struct th_ledger *ledger = work->ledger;
	double seconds = (double)(ledger->end - sums->warm) / 1e9;
	struct th_estimate gained = estimate(ledger, sums, &sums->gained);
	struct th_estimate lost = estimate(ledger, sums, &sums->lost);

	entry->taken = estimate(ledger, sums, &sums->taken);
	entry->held = estimate(ledger, sums, &sums->held);
	entry->held_per_second = th_estimate_scale(
		th_estimate_difference(&gained, &lost), seconds > 0 ? 1 / seconds : 1);
	entry->held_per_second.exact = ledger->is_exact;
	set_ages(ledger, entry, sums);
	entry->verdict = judge(work, entry, sums);
}

/* By verdict, then by what makes it bad. */
TH_COMPARE(compare_entries, struct th_ledger_entry,
	th_order(left->verdict, right->verdict)
		?: (left->verdict == TH_LEDGER_LONG ? th_order(right->longest, left->longest)
						    : 0)
		?: th_order(right->held.estimate, left->held.estimate)
		?: th_order(right->taken.estimate, left->taken.estimate)
		?: th_order(left->path, right->path)
		?: th_order(left->kind, right->kind))

/*
 * From when it was switched on last up to when it was switched off, or to when all is judged; false:
 * it was not on.
 */
static bool
find_window(struct th_ledger *ledger)
{
	const struct th_recording *recording = ledger->profile->recording;
	uint64_t last = ledger->profile->at.time;
	bool is_on = false, was_on = false;

	ledger->end = last;
	for (size_t i = 0; i < recording->changes_count; i++) {
		const struct th_decoded_control *change = &recording->changes[i];

		if (!th_text_equals(change->name, "ledger") || change->time > last)
			continue;
		if (change->value && !is_on)
			ledger->begin = change->time;
		ledger->end = change->value ? last : change->time;
		is_on = change->value;
		was_on |= is_on;
	}
	if (ledger->end < ledger->begin)
		ledger->end = ledger->begin;
	return was_on;
}

/* Public functions */

void
th_ledger_init(struct th_ledger *ledger, const struct th_profile *profile)
{
	struct work work = {.ledger = ledger};

	*ledger = (struct th_ledger){
		.profile = profile,
		.is_exact = !th_recording_counter(profile->recording, "ledger_full") &&
			    !th_recording_counter(profile->recording, "ledger_lost"),
	};
	if (!find_window(ledger))
		return;
	th_load_init_program(&work.load, profile->recording, ledger->begin, ledger->end);
	sum_up(&work);
	for (size_t i = 0; i < ledger->items_count; i++) {
		measure(&work, &ledger->items[i], &work.sums[i]);
		free(work.sums[i].ages);
		ledger->findings_count += ledger->items[i].verdict <= TH_LEDGER_LONG;
	}
	th_sort(ledger->items, ledger->items_count, compare_entries);
	free(work.sums);
	free(work.ends);
	free(work.committed);
	th_id_map_deinit(&work.ids);
	th_id_map_deinit(&work.records);
}

void
th_ledger_deinit(struct th_ledger *ledger)
{
	free(ledger->items);
}

/* References */

/* A number that changes at certain times. */
struct steps {
	const struct th_recording *recording;
	size_t count; /* those up to the end */
	bool is_weak;
};

static uint64_t
value_at(const struct steps *steps, size_t i)
{
	const struct th_decoded_jni_references *at = &steps->recording->references[i];

	return steps->is_weak ? at->weaks : at->globals;
}

/* The smallest value in [from, to). */
static uint64_t
minimum(const struct steps *steps, double from, double to)
{
	const struct th_decoded_jni_references *items = steps->recording->references;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < steps->count && (double)items[i].time < to; i++) {
		double until = i + 1 < steps->count ? (double)items[i + 1].time : HUGE_VAL;

		if (until > from && value_at(steps, i) < least)
			least = value_at(steps, i);
	}
	return least;
}

/* Whether the smallest value of each quarter is above that of the one before, and growth goes on. */
static bool
rises(const struct steps *steps, const double *bounds)
{
	uint64_t floors[TH_LEDGER_QUARTERS];

	for (unsigned i = 0; i < TH_LEDGER_QUARTERS; i++) {
		floors[i] = minimum(steps, bounds[i], bounds[i + 1]);
		if (i && floors[i] <= floors[i - 1])
			return false;
	}
	uint64_t whole = floors[TH_LEDGER_QUARTERS - 1] - floors[0];
	uint64_t last = floors[TH_LEDGER_QUARTERS - 1] - floors[TH_LEDGER_QUARTERS - 2];
	return whole >= TH_REFERENCES_LEAST && last * 2 * (TH_LEDGER_QUARTERS - 1) >= whole;
}

/* By quarters of the time or of the load. */
static bool
grows(const struct steps *steps, uint64_t start, uint64_t end)
{
	double warm = (double)start + (double)(end - start) / WARM_UP_PART, to = (double)end;
	double by_time[TH_LEDGER_QUARTERS + 1], by_load[TH_LEDGER_QUARTERS + 1];
	struct th_load load;

	th_load_init_program(&load, steps->recording, start, end);
	for (int i = 0; i <= TH_LEDGER_QUARTERS; i++) {
		double part = (double)i / TH_LEDGER_QUARTERS;

		by_time[i] = warm + part * (to - warm);
		by_load[i] = i ? th_load_time(&load, warm, to, part) : warm;
	}
	return end - start >= TH_REFERENCES_LEAST_NS &&
	       (rises(steps, by_time) || (th_load_samples(&load, warm, to) >= TH_LOAD_ENOUGH &&
						 rises(steps, by_load)));
}

/* The last time at which the number was still about the first one. */
static uint64_t
beginning(const struct steps *steps, uint64_t start)
{
	uint64_t first = value_at(steps, 0);
	double near = (double)first +
		      NOTABLE_PART * (double)(value_at(steps, steps->count - 1) - first);

	for (size_t i = steps->count; i-- > 0;)
		if ((double)value_at(steps, i) <= near)
			return steps->recording->references[i].time;
	return start;
}

static struct th_reference_count
count_steps(const struct steps *steps, uint64_t end)
{
	uint64_t start = steps->recording->start;
	struct th_reference_count found = {
		.first = value_at(steps, 0), .last = value_at(steps, steps->count - 1)};

	for (size_t i = 0; i < steps->count; i++)
		if (value_at(steps, i) > found.max)
			found.max = value_at(steps, i);
	found.is_leak = found.last > found.first && grows(steps, start, end);
	if (!found.is_leak)
		return found;
	uint64_t since = beginning(steps, start);
	found.since = (double)(since - start) / 1e9;
	if (end > since)
		found.rate = (double)(found.last - found.first) / ((double)(end - since) / 1e9);
	return found;
}

struct th_references
th_references_find(const struct th_recording *recording, uint64_t end)
{
	struct steps steps = {.recording = recording};
	struct th_references found = {.is_known = false};

	while (found.undetached < recording->undetached_count &&
		recording->undetached[found.undetached].time <= end)
		found.undetached++;
	while (steps.count < recording->references_count &&
		recording->references[steps.count].time <= end)
		steps.count++;
	if (!steps.count)
		return found;
	found.is_known = true;
	found.globals = count_steps(&steps, end);
	steps.is_weak = true;
	found.weaks = count_steps(&steps, end);
	return found;
}

const char *
th_reference_count_text(const struct th_reference_count *count)
{
	if (count->first == count->last)
		return th_printed("{c}", count->last);
	return th_printed("{c} -> {c}", count->first, count->last);
}
