/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the lines about recording quality from the recording's header, counters, notes and
 * the damage found while reading it, and from what a profile leaves out.  Warnings are lines about
 * incomplete or imprecise figures.
 */
#include "report/views/view.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/heap_names.h"
#include "report/profile/unseen.h"
#include "report/profile/values.h"

/* Share of native samples with Java frames below which the line is a warning. */
#define ENOUGH_JAVA_STACKS 0.99
/* Share of Java samples that the VM may pass over; 4 in 10,000 were measured at most. */
#define MISSED_SHARE_MAX 0.01
/* Objects named in the line about import slots. */
#define OBJECTS_NAMED 3

void
th_health_add(struct th_health *health, bool is_warning, const char *text)
{
	struct th_health_line line = {is_warning, text};

	th_array_append(health, lines, line);
}

/* The same with the fields of th_print(). */
#define add(health, is_warning, ...) th_health_add(health, is_warning, th_printed(__VA_ARGS__))

static bool
is_among(struct th_text name, const char *const *names)
{
	while (*names && !th_text_equals(name, *names))
		names++;
	return *names != NULL;
}

static bool
is_drop_of_sample(struct th_text name)
{
	static const char prefix[] = "dropped_";

	return name.length >= strlen(prefix) && !memcmp(name.bytes, prefix, strlen(prefix)) &&
	       !th_text_equals(name, "dropped_threads_full");
}

/* Counters of what a full table or log dropped: the figures lack it. */
static bool
is_drop(struct th_text name)
{
	static const char *const names[] = {"dropped_threads_full", "live_table_full",
		"live_objects_lost", "methods_full", "live_frees_lost", "locks_given_up", NULL};

	return is_drop_of_sample(name) || is_among(name, names);
}

/* Counters of what was unavailable, or omitted on purpose. */
static bool
is_remark(struct th_text name)
{
	static const char *const names[] = {"java_stack_gc", "java_stack_in_java",
		"java_stack_failed", "java_stack_starting", "unwind_stopped",
		"methods_nameless", "names_full", NULL};

	return is_among(name, names);
}

/* What became of the due samples; log_format.h defines how the counters add up. */
static void
add_sum(struct th_health *health, const struct th_recording *recording)
{
	static const char *const recorded_names[] = {
		"native_samples", "java_samples", "mapped_samples", NULL};
	uint64_t due = th_recording_counter(recording, "samples_due");
	uint64_t recorded = 0, lost = 0;

	for (size_t i = 0; i < recording->counters_count; i++) {
		const struct th_counter_info *counter = &recording->counters[i];

		if (is_among(counter->name, recorded_names))
			recorded += counter->value;
		else if (is_drop_of_sample(counter->name))
			lost += counter->value;
	}
	if (!due)
		return;
	add(health, false, "{c} samples were due: {c} recorded, {c} lost", due, recorded, lost);
	if (recording->is_complete && recorded + lost != due)
		add(health, true, "these counters do not add up");
}

static void
add_losses(struct th_health *health, const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->counters_count; i++) {
		const struct th_counter_info *counter = &recording->counters[i];
		bool is_warning = is_drop(counter->name);

		if (counter->value && (is_warning || is_remark(counter->name)))
			add(health, is_warning, "{c} {}", counter->value, counter->description);
	}
}

static void
add_java_stacks(struct th_health *health, const struct th_recording *recording)
{
	double below = (double)th_recording_counter(recording, "java_stack_below");
	double found = (double)th_recording_counter(recording, "java_stack_found");

	if (below > 0)
		add(health, found < ENOUGH_JAVA_STACKS * below,
			"{%} of the native samples taken below Java have their Java frames",
			found, below);
}

/* Samples that the Java VM passed over; a few are expected when it resizes its buffers. */
static void
add_missed(struct th_health *health, const struct th_recording *recording)
{
	uint64_t missed = th_recording_counter(recording, "java_missed");
	uint64_t recorded = th_recording_counter(recording, "java_samples");

	if ((double)missed > MISSED_SHARE_MAX * (double)(recorded + missed))
		add(health, true,
			"the Java VM passed over {c} of {c} samples: Java totals are exact, "
			"shares of them approximate",
			missed, recorded + missed);
}

static void
add_jvm(struct th_health *health, const struct th_recording *recording)
{
	const struct th_decoded_jvm *jvm = &recording->jvm;

	if (!recording->has_jvm)
		return;
	if (jvm->features & TH_JVM_SHARES_APPROXIMATE)
		add(health, true,
			"the sampling bias of this Java VM cannot be corrected: "
			"Java totals are exact, shares of them approximate");
	add_missed(health, recording);
	if (!(jvm->features & TH_JVM_SAMPLED_ALLOC))
		add(health, true, "the Java heap was not sampled");
	if (!(jvm->features & TH_JVM_JAVA_FRAMES))
		add(health, true, "native stacks have no Java frames");
}

static void
add_damage(struct th_health *health, const struct th_recording *recording)
{
	const struct {
		uint64_t count;
		bool is_warning;
		const char *what;
	} lines[] = {
		{recording->torn, false, "unfinished records skipped"},
		{recording->damaged, true, "damaged regions of the log skipped"},
		{recording->undecodable, true, "malformed records skipped"},
		{recording->early, false,
			"events from before the start of the recording count as its first"},
		{recording->unknown, false,
			"records of types unknown to this version (see dump)"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (lines[i].count)
			add(health, lines[i].is_warning, "{c} {}", lines[i].count,
				lines[i].what);
}

static bool
called_exit(const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->teardowns_count; i++)
		if (recording->teardowns[i].cause == TH_TEARDOWN_IMMEDIATE_EXIT)
			return true;
	return false;
}

const char *
th_health_end(const struct th_recording *recording)
{
	uint64_t missing = th_recording_missing_bytes(recording);

	if (recording->is_complete)
		return NULL;
	if (missing)
		return th_printed(
			"the log is truncated: {c} bytes are missing at the end", missing);
	return th_printed("the log has no end: the process {}; totals are estimates",
		called_exit(recording) ? "called _exit"
				       : "is still running, was killed, or ended by a bare "
					 "system call");
}

const char *
th_health_damage(const struct th_recording *recording)
{
	uint64_t skipped = recording->damaged + recording->undecodable;

	return skipped ? th_printed("the log is damaged: {c} of its regions or records skipped",
				 skipped)
		       : NULL;
}

static void
add_ring(struct th_health *health, const struct th_recording *recording)
{
	double seconds = recording->whole_from > recording->start
				 ? (double)(recording->whole_from - recording->start) / 1e9
				 : 0;

	if (th_recording_counter(recording, "ring_thinned"))
		add(health, false,
			"the log is a ring: it has all samples since {t} s; of those that "
			"ended before, the ones it has represent {c} others",
			seconds, th_recording_counter(recording, "ring_thinned"));
}

/* The cost of recording; nothing in a log without these counters. */
static void
add_cost(struct th_health *health, const struct th_recording *recording)
{
	double busy = (double)th_recording_counter(recording, "self_capture_ns") +
		      (double)th_recording_counter(recording, "self_agent_ns");
	double memory = (double)th_recording_counter(recording, "self_memory_bytes");
	double log = (double)th_recording_log_bytes(recording);
	double process = (double)th_recording_counter(recording, "process_cpu_ns");
	double elapsed = (double)(recording->end - recording->start);

	if (busy > 0 && elapsed > 0)
		add(health, false,
			"recording took {g} s of CPU time ({%} of {}), {b} of memory and {b} "
			"of "
			"log",
			busy / 1e9, busy, process > 0 ? process : elapsed,
			process > 0 ? "the process's" : "one processor", memory, log);
}

static void
add_notes(struct th_health *health, const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->notes_count; i++)
		add(health, recording->notes[i].severity > 0, "{}", recording->notes[i].text);
}

/* What a profile leaves out */

/* How many Java objects are tracked with a collector that keeps tracked objects alive. */
static void
add_followed(struct th_health *health, const struct th_lifetimes *lifetimes)
{
	size_t count = lifetimes->recording->samples[TH_HEAP_JAVA].items_count;
	uint64_t followed = 0;

	for (size_t i = 0; lifetimes->followed && i < count; i++)
		followed += lifetimes->followed[i] > 0;
	if (lifetimes->followed)
		add(health, false,
			"{c} of {c} sampled Java objects were tracked: young GCs of this "
			"collector keep tracked objects alive",
			followed, count);
}

static void
add_unknown(struct th_health *health, const struct th_lifetimes *lifetimes, enum th_heap heap)
{
	if (lifetimes->unknown[heap])
		add(health, true,
			"{c} samples of the {} ({%} of its bytes) were not tracked until "
			"freed; live figures assume that they live as long as the others",
			lifetimes->unknown[heap], th_heap_title(heap),
			1 - lifetimes->known_part[heap], 1);
}

/* "libfoo.so 2, libbar.so 1, ..." */
static const char *
names_of(const struct th_recording *recording)
{
	const char *text = "";

	for (size_t i = 0; i < recording->slot_copies_count && i < OBJECTS_NAMED; i++)
		text = th_printed("{}{}{} {c}", text, i ? ", " : "",
			th_text_base_name(th_printed("{}", recording->slot_copies[i].path)),
			recording->slot_copies[i].copies);
	return recording->slot_copies_count > OBJECTS_NAMED ? th_printed("{}, ...", text)
							    : text;
}

static const char *
copies_text(const struct th_recording *recording, const struct th_unseen *unseen)
{
	if (!unseen->searched)
		return "the data of objects was not searched for pointers";
	if (!unseen->copies)
		return th_printed(
			"no pointer to an allocation function in the data of {c} objects",
			unseen->searched);
	return th_printed(
		"calls by {c} pointers to allocation functions in the data of objects ({})",
		unseen->copies, names_of(recording));
}

static const char *
growth_text(const struct th_unseen *unseen)
{
	if (!unseen->has_growth)
		return "the growth of the C heap was not measured";
	if (unseen->grown <= 0)
		return "the C heap has not grown";
	if (unseen->grown < unseen->seen.low)
		return "the C heap grew by less than what looks alive of it: blocks from "
		       "before were freed, or blocks were freed unseen";
	if (unseen->at_least <= 0)
		return th_printed("the C heap grew by {b}, of which {e} was seen",
			unseen->grown, &unseen->seen);
	return th_printed("the C heap grew by {b}, of which {e} was seen, at least {b} was not",
		unseen->grown, &unseen->seen, unseen->at_least);
}

/* What recording by import slots does not see. */
static void
add_unseen(struct th_health *health, const struct th_profile *profile)
{
	struct th_unseen unseen;

	if (th_unseen_find(profile, &unseen))
		add(health, th_unseen_is_notable(&unseen),
			"not seen by import slots: {}; {c} of {c} sampled blocks were freed "
			"past them; {}",
			copies_text(profile->recording, &unseen), unseen.reused, unseen.blocks,
			growth_text(&unseen));
}

void
th_health_add_profile(struct th_health *health, const struct th_profile *profile)
{
	add_followed(health, &profile->lifetimes);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		add_unknown(health, &profile->lifetimes, heap);
	if (profile->end.level)
		add(health, false,
			"because of the number of live Java samples, at the end only one in {} "
			"was tracked",
			1u << profile->end.level);
	add_unseen(health, profile);
}

void
th_health_init(struct th_health *health, const struct th_recording *recording)
{
	const char *end = th_health_end(recording);

	*health = (struct th_health){0};
	if (end)
		th_health_add(health, th_recording_missing_bytes(recording) > 0, end);
	add_damage(health, recording);
	add_java_stacks(health, recording);
	add_jvm(health, recording);
	add_sum(health, recording);
	add_losses(health, recording);
	add_ring(health, recording);
	add_cost(health, recording);
	add_notes(health, recording);
}

void
th_health_deinit(struct th_health *health)
{
	free(health->lines);
}
