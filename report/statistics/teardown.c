/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks are tested in turn for whether the process ended with them; the earliest that it ended with
 * counts.  A collapse before that counts too: what frees everything may run before the first mark.
 */
#include "report/statistics/teardown.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/statistics/forced_collection.h"
#include "unify/shared/clock.h"

/* Collapses */

/*
 * The collapse of a heap's live bytes right before the end of a process: a large part of what was
 * live is freed within a short time, as at no time before.  Live bytes are summed up in two
 * histograms of time: a coarse one over the recording, to compare the fall with earlier ones, and a
 * fine one over the last part, in which it is located.
 */
/*
 * Whose live bytes: those of a heap (C or mapped) that the Java VM did not allocate in threads of
 * its own.  What a collection frees of its own tables, or a compiler, is no collapse.
 */
struct blocks {
	const struct th_lifetimes *lifetimes;
	const bool *is_internal; /* by index of the thread: one of the VM */
	enum th_heap heap;
};

#define BINS 4096
/*
 * The last part: a fifth of the recording, as much as may pass without growth before a leak
 * counts as ended (docs/leaks.md), and at most ten seconds, the usual time between SIGTERM and
 * SIGKILL.
 */
#define LAST_PART 5
#define LAST_MOST_NS (10 * (uint64_t)TH_NS_PER_S)
/*
 * After the fall the process ends: within a twentieth of the time, at least 0.1 s, since short
 * programs unload their libraries, and at most two seconds.
 */
#define AFTER_PART 20
#define AFTER_LEAST_NS (TH_NS_PER_S / 10)
#define AFTER_MOST_NS (2 * (uint64_t)TH_NS_PER_S)
/* A fall of at least this part of the live bytes, or of their growth, if that is notable. */
#define FALL_PART 0.5
#define NOTABLE_GROWTH 0.1
/* Growth is counted from the end of the warm-up, as for leaks. */
#define WARM_PART 5
/* The fall has ended where this part of it is reached. */
#define REACHED_PART 0.9
/*
 * What lived shorter than this part of the time, at most two seconds, is working memory (a
 * compilation's, a collection's), whose rise and end would be a fall from a top of its own.
 */
#define WORKING_PART 20
#define WORKING_MOST_NS (2 * (uint64_t)TH_NS_PER_S)
/* Freed samples: fewer may be chance. */
#define ENOUGH_FREED 10
/*
 * What was freed has accumulated: of this many equal parts of the recording, at least so many
 * have births of freed samples.  HotSpot keeps the memory of a compilation for up to 5 s, then
 * frees it at once (arena.cpp, ChunkPoolCleaner).
 */
#define BIRTH_PARTS 20
#define ENOUGH_BIRTH_PARTS 8
/* No earlier fall within the same time is larger than this part of it. */
#define EARLIER_PART 0.5

/* Live bytes at the start of each bin and at the end. */
struct curve {
	uint64_t from;
	uint64_t to;
	double bins_per_ns;
	double live[BINS + 1];
};

static uint64_t
least_lifetime(uint64_t length)
{
	uint64_t part = length / WORKING_PART;

	return part < WORKING_MOST_NS ? part : WORKING_MOST_NS;
}

/* Index of the first boundary after `time`; the last one from the end on. */
static size_t
boundary_of(const struct curve *curve, uint64_t time)
{
	if (time < curve->from)
		return 0;
	if (time >= curve->to)
		return BINS;
	size_t bin = (size_t)((double)(time - curve->from) * curve->bins_per_ns);
	return bin < BINS ? bin + 1 : BINS;
}

static uint64_t
time_of(const struct curve *curve, size_t boundary)
{
	return curve->from + (uint64_t)((double)boundary / curve->bins_per_ns);
}

static void
add_sample(struct curve *curve, const struct th_recording *recording,
	const struct th_sample *sample, uint64_t end)
{
	if (end == TH_END_UNKNOWN || sample->time > curve->to || end < curve->from)
		return;
	double weight = th_sample_bytes(recording, sample, 1);
	curve->live[boundary_of(curve, sample->time)] += weight;
	if (end <= curve->to)
		curve->live[boundary_of(curve, end)] -= weight;
}

static const struct th_samples *
samples_of(const struct blocks *blocks)
{
	return &blocks->lifetimes->recording->samples[blocks->heap];
}

/* When a block that lived for `least` nanoseconds ended; TH_END_UNKNOWN: it does not count. */
static uint64_t
end_of(const struct blocks *blocks, size_t index, uint64_t least)
{
	const struct th_sample *sample = &samples_of(blocks)->items[index];
	uint64_t end = blocks->lifetimes->ends[blocks->heap][index];

	if (end - sample->time < least ||
		blocks->is_internal[th_recording_thread(blocks->lifetimes->recording, sample)])
		return TH_END_UNKNOWN;
	return end;
}

/* Of what lived for `least` nanoseconds. */
static struct curve *
curve_create(const struct blocks *blocks, uint64_t from, uint64_t to, uint64_t least)
{
	const struct th_samples *samples = samples_of(blocks);
	struct curve *curve = th_allocate(1, sizeof(*curve));

	curve->from = from;
	curve->to = to;
	curve->bins_per_ns = BINS / (double)(to - from);
	for (size_t i = 0; i < samples->items_count; i++)
		add_sample(curve, blocks->lifetimes->recording, &samples->items[i],
			end_of(blocks, i, least));
	for (size_t i = 1; i <= BINS; i++)
		curve->live[i] += curve->live[i - 1];
	return curve;
}

/* The last boundary with the most live bytes, of those in a range. */
static size_t
find_top(const struct curve *curve, size_t first, size_t last)
{
	size_t top = first;

	for (size_t i = first; i <= last; i++) {
		if (curve->live[i] >= curve->live[top])
			top = i;
	}
	return top;
}

/* Whether the process ends soon after the fall from `top`. */
static bool
ends_soon(const struct curve *curve, size_t top, uint64_t length)
{
	uint64_t after = length / AFTER_PART;
	double fall = curve->live[top] - curve->live[BINS];
	size_t low = top;

	while (curve->live[low] > curve->live[top] - REACHED_PART * fall)
		low++;
	if (after < AFTER_LEAST_NS)
		after = AFTER_LEAST_NS;
	if (after > AFTER_MOST_NS)
		after = AFTER_MOST_NS;
	return curve->to - time_of(curve, low) <= after;
}

/* The largest fall before `time` within `span` nanoseconds, at least one bin. */
static double
largest_fall(const struct curve *curve, uint64_t time, uint64_t span)
{
	size_t last = boundary_of(curve, time);
	size_t bins = boundary_of(curve, curve->from + span) + 1;
	double largest = 0;

	for (size_t i = 0; i < last; i++) {
		for (size_t k = i + 1; k <= i + bins && k < last; k++)
			largest = fmax(largest, curve->live[i] - curve->live[k]);
	}
	return largest;
}

/* Whether a fall from `top` bytes is large beside the live bytes or their growth. */
static bool
is_large(double fall, double top, double warm)
{
	double growth = top - warm;

	return fall > 0 && (fall >= FALL_PART * top || (growth >= NOTABLE_GROWTH * top &&
							       fall >= FALL_PART * growth));
}

/* Whether what was freed between two times is more than chance, and more than one working set. */
static bool
has_accumulated(const struct blocks *blocks, uint64_t from, uint64_t to)
{
	const struct th_samples *samples = samples_of(blocks);
	uint64_t start = blocks->lifetimes->recording->start;
	uint64_t length = to - start;
	uint64_t least = least_lifetime(length);
	size_t count = 0, parts = 0;
	bool has_births[BIRTH_PARTS + 1] = {false};

	for (size_t i = 0; i < samples->items_count; i++) {
		uint64_t time = samples->items[i].time;
		uint64_t end = end_of(blocks, i, least);

		if (time > from || end <= from || end > to)
			continue;
		size_t part = (size_t)((double)(time - start) / (double)length * BIRTH_PARTS);
		parts += !has_births[part];
		has_births[part] = true;
		count++;
	}
	return count >= ENOUGH_FREED && parts >= ENOUGH_BIRTH_PARTS;
}

/* Compares the fall, found in the fine curve, with the whole recording. */
static bool
is_collapse(const struct curve *last, size_t top, const struct curve *whole)
{
	double fall = last->live[top] - last->live[BINS];
	uint64_t time = time_of(last, top);

	return is_large(fall, last->live[top], whole->live[BINS / WARM_PART]) &&
	       largest_fall(whole, time, last->to - time) <= EARLIER_PART * fall;
}

/* What lived for a short time may have been freed first: the latest elements of a list. */
static uint64_t
start_of_fall(const struct blocks *blocks, const struct curve *last, size_t top)
{
	struct curve *all = curve_create(blocks, last->from, last->to, 0);
	double least = (double)least_lifetime(last->to - blocks->lifetimes->recording->start);
	size_t bins = (size_t)(least * last->bins_per_ns);
	uint64_t time = time_of(all, find_top(all, top > bins ? top - bins : 0, top));

	free(all);
	return time;
}

/* When they began to collapse right before `end`; `end`: they did not.  Takes O(samples) and 64 KiB. */
static uint64_t
find_collapse(const struct blocks *blocks, uint64_t end)
{
	uint64_t start = blocks->lifetimes->recording->start;
	uint64_t length = end > start ? end - start : 0;
	uint64_t part = length / LAST_PART < LAST_MOST_NS ? length / LAST_PART : LAST_MOST_NS;
	uint64_t found = end;

	if (part < BINS || !samples_of(blocks)->items_count)
		return end;
	uint64_t least = least_lifetime(length);
	struct curve *last = curve_create(blocks, end - part, end, least);
	struct curve *whole = curve_create(blocks, start, end, least);
	size_t top = find_top(last, 0, BINS);

	if (ends_soon(last, top, length) && is_collapse(last, top, whole) &&
		has_accumulated(blocks, time_of(last, top), end))
		found = start_of_fall(blocks, last, top);
	free(whole);
	free(last);
	return found;
}

/* Marks */

/*
 * From VMDeath to the end of a process that ends with its VM: 10 ms are usual, and the VM waits
 * up to 10 s for its compilers (VM_Exit::wait_for_threads_in_native_to_block); then the process
 * does nothing else.
 */
#define VM_ENDS_NS TH_NS_PER_S
#define VM_ENDS_MOST_NS (15 * (uint64_t)TH_NS_PER_S)
/* From a signal to the end that it causes: orchestrators wait 30 s by default, some 60 s. */
#define SIGNAL_ENDS_NS (60 * (uint64_t)TH_NS_PER_S)
/* A process that ends takes at most one in this number of its samples. */
#define WORKS_PART 10

/* The first mark of some causes, bits 1 << enum th_teardown_cause; NULL: none. */
static const struct th_decoded_teardown *
first_mark(const struct th_recording *recording, unsigned causes)
{
	const struct th_decoded_teardown *found = NULL;

	for (size_t i = 0; i < recording->teardowns_count; i++) {
		const struct th_decoded_teardown *mark = &recording->teardowns[i];

		if (mark->cause < TH_TEARDOWN_CAUSES && causes & 1u << mark->cause &&
			(!found || mark->time < found->time))
			found = mark;
	}
	return found;
}

/* Whether the process goes on with its work after `time`, by the samples of one of the heaps. */
static bool
works_after(const struct th_recording *recording, uint64_t time)
{
	bool works = false;

	for (int heap = TH_HEAP_JAVA; heap <= TH_HEAP_NATIVE; heap++) {
		const struct th_samples *samples = &recording->samples[heap];
		size_t after = 0;

		for (size_t i = 0; i < samples->items_count; i++)
			after += samples->items[i].time > time;
		works |= after * WORKS_PART > samples->items_count;
	}
	return works;
}

/* The mark of the end of the process itself; NULL: none. */
static const struct th_decoded_teardown *
process_mark(const struct th_recording *recording)
{
	unsigned causes = 1u << TH_TEARDOWN_EXIT | 1u << TH_TEARDOWN_QUICK_EXIT |
			  1u << TH_TEARDOWN_IMMEDIATE_EXIT;
	const struct th_decoded_teardown *returned = first_mark(
		recording, 1u << TH_TEARDOWN_MAIN_RETURNED);

	/* The main thread may have called pthread_exit(). */
	if (returned && !works_after(recording, returned->time))
		causes |= 1u << TH_TEARDOWN_MAIN_RETURNED;
	return first_mark(recording, causes);
}

/* Whether the process ended, at `end`, with its VM. */
static bool
ended_with_vm(const struct th_recording *recording, uint64_t end)
{
	const struct th_decoded_teardown *death = first_mark(
		recording, 1u << TH_TEARDOWN_VM_DEATH);

	/* Hooks cannot be revoked: those that have not ended run until the end. */
	if (!death || end <= death->time + VM_ENDS_NS)
		return true;
	return end <= death->time + VM_ENDS_MOST_NS && !works_after(recording, death->time);
}

/* The mark of the start of the VM's end; NULL: none, or the process went on. */
static const struct th_decoded_teardown *
vm_mark(const struct th_recording *recording, uint64_t end)
{
	const struct th_decoded_teardown *mark = first_mark(
		recording, 1u << TH_TEARDOWN_HOOKS | 1u << TH_TEARDOWN_VM_ENDS |
				   1u << TH_TEARDOWN_VM_DEATH);

	return mark && mark->time <= end && ended_with_vm(recording, end) ? mark : NULL;
}

/* The first signal handled within SIGNAL_ENDS_NS before `end`; NULL: none. */
static const struct th_decoded_teardown *
signal_mark(const struct th_recording *recording, uint64_t end)
{
	for (size_t i = 0; i < recording->teardowns_count; i++) {
		const struct th_decoded_teardown *mark = &recording->teardowns[i];

		if (mark->cause == TH_TEARDOWN_SIGNAL && mark->time <= end &&
			end - mark->time <= SIGNAL_ENDS_NS)
			return mark;
	}
	return NULL;
}

static bool
was_stopped(const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->changes_count; i++) {
		if (th_text_equals(recording->changes[i].name, "stop"))
			return true;
	}
	return false;
}

static void
use_mark(struct th_teardown *teardown, const struct th_decoded_teardown *mark)
{
	if (!mark)
		return;
	teardown->mark = mark;
	teardown->time = mark->time;
	teardown->is_found = true;
}

/* What the collection at exit frees was not freed by the program. */
static void
use_collection(struct th_teardown *teardown, const struct th_recording *recording)
{
	struct th_forced_collection collection;

	teardown->known = teardown->time;
	if (!th_forced_collection_at_exit(recording, &collection) ||
		collection.start >= teardown->time)
		return;
	teardown->time = collection.start;
	teardown->is_found = teardown->is_collection = true;
}

static void
look_for_collapse(struct th_teardown *teardown, const struct th_lifetimes *lifetimes,
	const bool *is_internal)
{
	const uint64_t end = teardown->time;

	for (int heap = TH_HEAP_NATIVE; heap <= TH_HEAP_MAPPED; heap++) {
		const struct blocks blocks = {lifetimes, is_internal, (enum th_heap)heap};
		uint64_t time = find_collapse(&blocks, end);

		if (time >= teardown->time)
			continue;
		teardown->time = teardown->known = time;
		teardown->is_found = true;
		teardown->is_collection = false;
		teardown->mark = NULL;
	}
}

void
th_teardown_find(
	struct th_teardown *ret, const struct th_lifetimes *lifetimes, const bool *is_internal)
{
	const struct th_recording *recording = lifetimes->recording;

	*ret = (struct th_teardown){.time = recording->end};
	use_mark(ret, process_mark(recording));
	use_mark(ret, vm_mark(recording, ret->time));
	if (ret->is_found)
		use_mark(ret, signal_mark(recording, ret->time));
	use_collection(ret, recording);
	/* Without an end, a fall is part of the process's work. */
	if (ret->is_found || (recording->is_complete && !was_stopped(recording)))
		look_for_collapse(ret, lifetimes, is_internal);
}

const char *
th_teardown_reason(const struct th_teardown *teardown)
{
	if (teardown->is_collection)
		return "the full GC at exit, which the recording requested";
	if (!teardown->mark)
		return "most of what was live was freed at once";
	switch ((enum th_teardown_cause)teardown->mark->cause) {
	case TH_TEARDOWN_SIGNAL:
		return "the Java VM handled a signal to end";
	case TH_TEARDOWN_HOOKS:
		return "the Java VM's shutdown hooks ran";
	case TH_TEARDOWN_VM_ENDS:
		return "the Java VM began to end";
	case TH_TEARDOWN_VM_DEATH:
		return "the Java VM ended";
	case TH_TEARDOWN_IMMEDIATE_EXIT:
		return "the process called _exit";
	case TH_TEARDOWN_QUICK_EXIT:
	case TH_TEARDOWN_EXIT:
		return "the process's exit handlers ran";
	default:
		return "main returned and exit handlers ran";
	}
}

double
th_teardown_freed_part(
	const struct th_lifetimes *lifetimes, enum th_heap heap, uint64_t from, uint64_t to)
{
	const struct th_samples *samples = &lifetimes->recording->samples[heap];
	double live = 0;
	double freed = 0;

	for (size_t i = 0; i < samples->items_count; i++) {
		uint64_t end = lifetimes->ends[heap][i];

		if (samples->items[i].time > from || end <= from)
			continue;
		double weight = th_sample_bytes(lifetimes->recording, &samples->items[i], 1);
		live += weight;
		freed += end <= to ? weight : 0;
	}
	return live > 0 ? freed / live : 0;
}
