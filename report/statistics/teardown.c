/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks are tested in turn for whether the process ended with them; the earliest that it ended with
 * counts.  A collapse before that counts too: what frees everything may run before the first mark.
 */
#include "report/statistics/teardown.h"

#include "report/statistics/collapse.h"
#include "report/statistics/forced_collection.h"
#include "unify/shared/clock.h"

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

/* The first mark of a cause; NULL: none. */
static const struct th_decoded_teardown *
first_mark(const struct th_recording *recording, enum th_teardown_cause cause)
{
	for (size_t i = 0; i < recording->teardowns_count; i++) {
		if (recording->teardowns[i].cause == cause)
			return &recording->teardowns[i];
	}
	return NULL;
}

/* Whether the process goes on with its work after `time`, by the samples of a heap. */
static bool
allocates_after(const struct th_recording *recording, enum th_heap heap, uint64_t time)
{
	const struct th_samples *samples = &recording->samples[heap];
	size_t after = 0;

	for (size_t i = 0; i < samples->items_count; i++)
		after += samples->items[i].time > time;
	return after * WORKS_PART > samples->items_count;
}

static bool
works_after(const struct th_recording *recording, uint64_t time)
{
	return allocates_after(recording, TH_HEAP_NATIVE, time) ||
	       allocates_after(recording, TH_HEAP_JAVA, time);
}

/* The mark of the end of the process itself; NULL: none. */
static const struct th_decoded_teardown *
process_mark(const struct th_recording *recording)
{
	static const enum th_teardown_cause causes[] = {
		TH_TEARDOWN_EXIT, TH_TEARDOWN_QUICK_EXIT, TH_TEARDOWN_MAIN_RETURNED};
	const struct th_decoded_teardown *found = NULL;

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		const struct th_decoded_teardown *mark = first_mark(recording, causes[i]);

		/* The main thread may have called pthread_exit(). */
		if (mark && causes[i] == TH_TEARDOWN_MAIN_RETURNED &&
			works_after(recording, mark->time))
			continue;
		if (mark && (!found || mark->time < found->time))
			found = mark;
	}
	return found;
}

/* Whether the process ended, at `end`, with its VM. */
static bool
ended_with_vm(const struct th_recording *recording, uint64_t end)
{
	const struct th_decoded_teardown *death = first_mark(recording, TH_TEARDOWN_VM_DEATH);

	/* Hooks cannot be revoked: those that have not ended run until the end. */
	if (!death || end <= death->time + VM_ENDS_NS)
		return true;
	return end <= death->time + VM_ENDS_MOST_NS && !works_after(recording, death->time);
}

/* The mark of the start of the VM's end; NULL: none, or the process went on. */
static const struct th_decoded_teardown *
vm_mark(const struct th_recording *recording, uint64_t end)
{
	const struct th_decoded_teardown *mark = first_mark(recording, TH_TEARDOWN_HOOKS);
	const struct th_decoded_teardown *ends = first_mark(recording, TH_TEARDOWN_VM_ENDS);

	if (ends && (!mark || ends->time < mark->time))
		mark = ends;
	if (!mark)
		mark = first_mark(recording, TH_TEARDOWN_VM_DEATH);
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
look_for_collapse(struct th_teardown *teardown, const struct th_recording *recording,
	const struct th_lifetimes *lifetimes, const bool *is_internal)
{
	const uint64_t end = teardown->time;

	for (int heap = TH_HEAP_NATIVE; heap <= TH_HEAP_MAPPED; heap++) {
		const struct th_collapse_blocks blocks = {
			recording, lifetimes, is_internal, (enum th_heap)heap};
		struct th_collapse collapse;

		if (!th_collapse_find(&collapse, &blocks, end) ||
			collapse.time >= teardown->time)
			continue;
		teardown->time = teardown->known = collapse.time;
		teardown->is_found = teardown->is_collapse = true;
		teardown->is_collection = false;
		teardown->collapse_bytes = collapse.bytes;
		teardown->mark = NULL;
	}
}

void
th_teardown_find(struct th_teardown *ret, const struct th_recording *recording,
	const struct th_lifetimes *lifetimes, const bool *is_internal)
{
	*ret = (struct th_teardown){.time = recording->end};
	use_mark(ret, process_mark(recording));
	use_mark(ret, vm_mark(recording, ret->time));
	if (ret->is_found)
		use_mark(ret, signal_mark(recording, ret->time));
	use_collection(ret, recording);
	/* Without an end, a fall is part of the process's work. */
	if (ret->is_found || (recording->is_complete && !was_stopped(recording)))
		look_for_collapse(ret, recording, lifetimes, is_internal);
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
	case TH_TEARDOWN_QUICK_EXIT:
	case TH_TEARDOWN_EXIT:
		return "the process's exit handlers ran";
	default:
		return "main returned and exit handlers ran";
	}
}

double
th_teardown_freed_part(const struct th_recording *recording,
	const struct th_lifetimes *lifetimes, enum th_heap heap, uint64_t from, uint64_t to)
{
	const struct th_samples *samples = &recording->samples[heap];
	double live = 0;
	double freed = 0;

	for (size_t i = 0; i < samples->items_count; i++) {
		uint64_t end = lifetimes->ends[heap][i];

		if (samples->items[i].time > from || end <= from)
			continue;
		double weight = th_collapse_weight(recording, &samples->items[i]);
		live += weight;
		freed += end <= to ? weight : 0;
	}
	return live > 0 ? freed / live : 0;
}
