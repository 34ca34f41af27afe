/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the lines about recording quality from the recording's header, counters, notes and
 * the damage found while reading it.  Warnings are lines about incomplete or imprecise figures.
 */
#include "report/views/health.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"

/* Share of native samples with Java frames below which the line is a warning. */
#define ENOUGH_JAVA_STACKS 0.99
/* Share of Java samples that the VM may pass over; 4 in 10,000 were measured at most. */
#define MISSED_SHARE_MAX 0.01

void
th_health_add(struct th_health *health, bool is_warning, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	struct th_health_line line = {is_warning, th_format_new_va(format, arguments)};
	va_end(arguments);
	th_array_append(health, lines, line);
}

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
	static const char *const names[] = {"rate_thinned", "java_stack_gc",
		"java_stack_in_java", "java_stack_failed", "java_stack_starting",
		"seam_guessed", "unwind_stopped", "methods_nameless", "names_full", NULL};

	return is_among(name, names);
}

/* What became of the due samples; log_format.h defines how the counters add up. */
static void
add_sum(struct th_health *health, const struct th_recording *recording)
{
	static const char *const recorded_names[] = {
		"native_samples", "java_samples", "mapped_samples", NULL};
	/* In logs of earlier versions. */
	static const char *const thinned_names[] = {"rate_thinned", "java_thinned", NULL};
	uint64_t due = th_recording_counter(recording, "samples_due");
	uint64_t recorded = 0, thinned = 0, lost = 0;

	for (size_t i = 0; i < recording->counters_count; i++) {
		const struct th_counter_info *counter = &recording->counters[i];

		if (is_among(counter->name, recorded_names))
			recorded += counter->value;
		else if (is_among(counter->name, thinned_names))
			thinned += counter->value;
		else if (is_drop_of_sample(counter->name))
			lost += counter->value;
	}
	if (!due)
		return;
	th_health_add(health, false, "%s samples were due: %s recorded%s%s, %s lost",
		th_format_count(due).text, th_format_count(recorded).text,
		thinned ? ", thinned out " : "", thinned ? th_format_count(thinned).text : "",
		th_format_count(lost).text);
	if (recording->is_complete && recorded + thinned + lost != due)
		th_health_add(health, true, "these counters do not add up");
}

static void
add_losses(struct th_health *health, const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->counters_count; i++) {
		const struct th_counter_info *counter = &recording->counters[i];

		bool is_warning = is_drop(counter->name);

		if (!counter->value || (!is_warning && !is_remark(counter->name)))
			continue;
		char *description = th_text_clean(counter->description);
		th_health_add(health, is_warning, "%s %s", th_format_count(counter->value).text,
			description);
		free(description);
	}
}

static void
add_java_stacks(struct th_health *health, const struct th_recording *recording)
{
	double below = (double)th_recording_counter(recording, "java_stack_below");
	double found = (double)th_recording_counter(recording, "java_stack_found");

	if (below > 0)
		th_health_add(health, found < ENOUGH_JAVA_STACKS * below,
			"%s of the native samples taken below Java have their Java frames",
			th_format_share(found, below).text);
}

/* Samples that the Java VM passed over; a few are expected when it resizes its buffers. */
static void
add_missed(struct th_health *health, const struct th_recording *recording)
{
	uint64_t missed = th_recording_counter(recording, "java_missed");
	uint64_t recorded = th_recording_counter(recording, "java_samples");

	if ((double)missed > MISSED_SHARE_MAX * (double)(recorded + missed))
		th_health_add(health, true,
			"the Java VM passed over %s of %s samples: Java totals are exact, "
			"shares of them approximate",
			th_format_count(missed).text, th_format_count(recorded + missed).text);
}

static void
add_jvm(struct th_health *health, const struct th_recording *recording)
{
	const struct th_decoded_jvm *jvm = &recording->jvm;

	if (!recording->has_jvm)
		return;
	if (jvm->features & TH_JVM_SHARES_APPROXIMATE)
		th_health_add(health, true,
			"the sampling bias of this Java VM cannot be corrected: "
			"Java totals are exact, shares of them approximate");
	add_missed(health, recording);
	if (jvm->features & TH_JVM_TLAB_CURE)
		th_health_add(health, false,
			"the sampling bias of this Java VM (JDK-8356372) is corrected; "
			"what remains widens the confidence intervals of Java shares");
	if (!(jvm->features & TH_JVM_SAMPLED_ALLOC))
		th_health_add(health, true, "the Java heap was not sampled");
	if (!(jvm->features & TH_JVM_JAVA_FRAMES))
		th_health_add(health, true, "native stacks have no Java frames");
}

static void
add_damage(struct th_health *health, const struct th_recording *recording)
{
	if (recording->torn)
		th_health_add(health, false, "%s unfinished records skipped",
			th_format_count(recording->torn).text);
	if (recording->damaged)
		th_health_add(health, true, "%s damaged regions of the log skipped",
			th_format_count(recording->damaged).text);
	if (recording->undecodable)
		th_health_add(health, true, "%s malformed records skipped",
			th_format_count(recording->undecodable).text);
	if (recording->early)
		th_health_add(health, false,
			"%s events from before the start of the recording count as its first",
			th_format_count(recording->early).text);
	if (recording->unknown)
		th_health_add(health, false,
			"%s records of types unknown to this version (see dump)",
			th_format_count(recording->unknown).text);
}

char *
th_health_end(const struct th_recording *recording)
{
	uint64_t missing = th_recording_missing_bytes(recording);

	if (recording->is_complete)
		return NULL;
	if (missing)
		return th_format_new("the log is truncated: %s bytes are missing at the end",
			th_format_count(missing).text);
	return th_format_new("the log has no end: the process is still running, was killed, or "
			     "called _exit; totals are estimates");
}

char *
th_health_damage(const struct th_recording *recording)
{
	uint64_t skipped = recording->damaged + recording->undecodable;

	return skipped ? th_format_new(
				 "the log is damaged: %s of its regions or records skipped",
				 th_format_count(skipped).text)
		       : NULL;
}

static void
add_completeness(struct th_health *health, const struct th_recording *recording)
{
	char *end = th_health_end(recording);

	if (end)
		th_health_add(health, th_recording_missing_bytes(recording) > 0, "%s", end);
	free(end);
}

static void
add_ring(struct th_health *health, const struct th_recording *recording)
{
	double seconds = recording->whole_from > recording->start
				 ? (double)(recording->whole_from - recording->start) / 1e9
				 : 0;

	if (th_recording_counter(recording, "ring_thinned"))
		th_health_add(health, false,
			"the log is a ring: it has all samples since %s s; of those that ended "
			"before, the ones it has represent %s others",
			th_format_time(seconds).text,
			th_format_count(th_recording_counter(recording, "ring_thinned")).text);
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
		th_health_add(health, false,
			"recording took %s of CPU time (%s of %s), %s of memory and %s of log",
			th_format_seconds(busy / 1e9).text,
			th_format_share(busy, process > 0 ? process : elapsed).text,
			process > 0 ? "the process's" : "one processor",
			th_format_number(memory, TH_UNIT_BYTES).text,
			th_format_number(log, TH_UNIT_BYTES).text);
}

static void
add_notes(struct th_health *health, const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->notes_count; i++) {
		char *text = th_text_clean(recording->notes[i].text);

		th_health_add(health, recording->notes[i].severity > 0, "%s", text);
		free(text);
	}
}

void
th_health_init(struct th_health *health, const struct th_recording *recording)
{
	*health = (struct th_health){0};
	add_completeness(health, recording);
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
	for (size_t i = 0; i < health->lines_count; i++)
		free(health->lines[i].text);
	free(health->lines);
}
