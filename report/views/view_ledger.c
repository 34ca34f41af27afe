/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What native code holds of the Java VM, by kind, call stack and class: the views of `ledger`, and
 * parts of `summary` and `leaks`.
 */
#include "report/views/parts.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/terminal.h"
#include "report/views/view.h"

/* Undetached threads that are named. */
#define THREADS_SHOWN 5

/* Counts */

static const char *
count_text(const struct th_reference_count *count)
{
	const char *text = th_reference_count_text(count);

	return count->max > count->last && count->max > count->first
		       ? th_printed("{} (max {c})", text, count->max)
		       : text;
}

void
th_ledger_parts_summary(FILE *file, const struct th_profile *profile)
{
	struct th_references found = th_references_find(profile->recording, profile->at.time);

	if (!found.is_known && !found.undetached)
		return;
	fputs("\nHeld by native code\n", file);
	if (found.is_known)
		th_print(file, "  JNI references: {} global, {} weak\n",
			count_text(&found.globals), count_text(&found.weaks));
	if (found.undetached)
		th_print(file, "  {c} threads ended while attached to the VM\n",
			found.undetached);
}

static json_t *
count_json(const struct th_references *references, const struct th_reference_count *count)
{
	if (!references->is_known)
		return NULL;
	return th_json("first last max", count->first, count->last, count->max);
}

json_t *
th_ledger_parts_counts_json(const struct th_references *references)
{
	return th_json("global_refs weak_refs dead_attached_threads",
		count_json(references, &references->globals),
		count_json(references, &references->weaks), references->undetached);
}

/* Findings */

static void
print_growth(FILE *file, const struct th_reference_count *count, const char *kind)
{
	if (!count->is_leak)
		return;
	fputc('\n', file);
	th_view_verdict(file, TH_VERDICT_LEAK, TH_REASON_GROWS);
	th_print(file,
		"JNI {} references\n         {}, +{g}/s since second {f}\n"
		"         why    the smallest number of each quarter is above that of the one "
		"before\n",
		kind, count_text(count), count->rate, count->since);
}

/* The name of a thread, and the stack that started it. */
static void
print_undetached_thread(
	FILE *file, const struct th_leaks *leaks, const struct th_decoded_undetached *event)
{
	const struct th_recording *recording = leaks->profile->recording;
	const struct th_thread_info *thread = &recording->threads[event->thread];
	struct th_text name = th_text_of("[no name]");

	if (thread->is_known && recording->thread_names[thread->name].text.length)
		name = recording->thread_names[thread->name].text;
	th_print(file, "         {} at ", name);
	fprintf(file, "%.1f s, tid %u\n", th_profile_seconds(leaks->profile, event->time),
		thread->tid);
}

static void
print_starter(FILE *file, const struct th_leaks *leaks)
{
	const struct th_recording *recording = leaks->profile->recording;
	const struct th_thread_info *thread =
		&recording->threads[recording->undetached[0].thread];

	if (!thread->starter)
		return;
	const struct th_leak_site site = {
		.heap = TH_HEAP_NATIVE,
		.path = th_paths_resolve(
			leaks->profile->paths, thread->starter - 1, TH_HEAP_NATIVE),
	};
	fputs("         the first one was started\n", file);
	th_stack_lines_print(file, leaks->profile, th_leaks_path(leaks, &site), "by");
}

static void
print_undetached(FILE *file, const struct th_leaks *leaks)
{
	uint64_t count = leaks->references.undetached;

	if (!count)
		return;
	fputc('\n', file);
	th_view_verdict(file, TH_VERDICT_LEAK, TH_REASON_GROWS);
	th_print(file,
		"{c thread} ended while attached\n         why    the VM keeps a thread that "
		"ends without DetachCurrentThread; JDK 11 waits for it at exit\n",
		count);
	for (uint64_t i = 0; i < count && i < THREADS_SHOWN; i++)
		print_undetached_thread(file, leaks, &leaks->profile->recording->undetached[i]);
	if (count > THREADS_SHOWN)
		th_print(file, "         and {c} more\n", count - THREADS_SHOWN);
	print_starter(file, leaks);
}

/* Entries */

static const char *
interval_text(const struct th_estimate *estimate)
{
	return estimate->exact ? "" : th_printed(" ({I})", estimate);
}

static void
print_figures(FILE *file, const struct th_ledger_entry *entry)
{
	th_print(file, "{n}{} held of {n}{} taken", &entry->held, interval_text(&entry->held),
		&entry->taken, interval_text(&entry->taken));
	if (entry->held_per_second.estimate > 0)
		th_print(file, ", +{g}/s", &entry->held_per_second);
	if (entry->held.samples)
		th_print(file, ", median age {s}, { GC} survived", entry->median_age,
			entry->collections);
	if (entry->longest > 0)
		th_print(file, ", the longest critical section took {f} ms",
			entry->longest * 1e3);
	fputc('\n', file);
}

/* An empty line and one entry: figures, verdict, call stack. */
static void
print_entry(FILE *file, const struct th_ledger *ledger, const struct th_ledger_entry *entry)
{
	static const enum th_style styles[] = {
		[TH_LEDGER_LEAK] = TH_STYLE_WARNING,
		[TH_LEDGER_COMMIT] = TH_STYLE_WARNING,
		[TH_LEDGER_LONG] = TH_STYLE_DOUBT,
		[TH_LEDGER_CACHE] = TH_STYLE_GOOD,
		[TH_LEDGER_NEVER] = TH_STYLE_GOOD,
		[TH_LEDGER_BALANCED] = TH_STYLE_VM,
	};
	const struct th_frames *frames = ledger->profile->frames;
	struct th_path path = th_paths_get(ledger->profile->paths, entry->path);

	th_print(file, "\n{#}{-7}{/}  {}{}{}\n         ", styles[entry->verdict],
		th_ledger_verdict_text(entry), th_ledger_kind_names[entry->kind],
		entry->class_name ? ", " : "", th_frames_string(frames, entry->class_name));
	print_figures(file, entry);
	th_stack_lines_print(file, ledger->profile, path, "by");
}

void
th_ledger_parts_findings(FILE *file, const struct th_leaks *leaks)
{
	print_growth(file, &leaks->references.globals, "global");
	print_growth(file, &leaks->references.weaks, "weak global");
	print_undetached(file, leaks);
	for (size_t i = 0; i < leaks->ledger.findings_count; i++)
		print_entry(file, &leaks->ledger, &leaks->ledger.items[i]);
}

static json_t *
entry_json(const struct th_ledger *ledger, const struct th_ledger_entry *entry)
{
	bool is_held = entry->held.samples;

	return th_json("kind verdict held taken held_per_second class? longest_ms "
		       "median_age_s collections_survived frames",
		th_ledger_kind_names[entry->kind], th_ledger_verdict_text(entry), &entry->held,
		&entry->taken, &entry->held_per_second,
		th_frames_string(ledger->profile->frames, entry->class_name),
		entry->longest > 0 ? json_real(entry->longest * 1e3) : NULL,
		is_held ? json_real(entry->median_age) : NULL,
		is_held ? json_integer(entry->collections) : NULL,
		th_json_path(ledger->profile, entry->path));
}

json_t *
th_ledger_parts_json(const struct th_ledger *ledger, size_t count)
{
	return th_json_map(entry, ledger->items, count, entry_json(ledger, entry));
}

/* Advice */

static bool
contains(const char *text, const char *begin, const char *end)
{
	const char *found = strstr(text, begin);

	return found && strstr(found + strlen(begin), end);
}

static const char *
advise_reference(const struct th_recording *recording, const char *kind)
{
	if (recording->is_complete)
		return th_printed(
			"New{}Ref without Delete{}Ref; twinheap run --ledger shows which", kind,
			kind);
	return th_printed("New{}Ref without Delete{}Ref; twinheap ctl {} ledger on shows which",
		kind, kind, th_recording_pid(recording).text);
}

static const char *
advice_of(const struct th_recording *recording, const char *function)
{
	if (contains(function, "jni_Get", "ArrayElements"))
		return "Get...ArrayElements without Release...ArrayElements, or "
		       "released with JNI_COMMIT only";
	if (strstr(function, "jni_GetStringUTFChars"))
		return "GetStringUTFChars without ReleaseStringUTFChars";
	if (strstr(function, "jni_GetStringChars"))
		return "GetStringChars without ReleaseStringChars";
	if (strstr(function, "jni_NewGlobalRef"))
		return advise_reference(recording, "Global");
	if (strstr(function, "jni_NewWeakGlobalRef"))
		return advise_reference(recording, "WeakGlobal");
	return NULL;
}

const char *
th_ledger_parts_advice(const struct th_leaks *leaks, const struct th_leak_site *site)
{
	const struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_paths_get(leaks->profile->paths, site->path);
	const char *advice = NULL;

	if (site->heap != TH_HEAP_NATIVE || site->internal)
		return NULL;
	for (uint32_t i = path.count; i-- > 0 && !advice;) {
		const struct th_frame *frame = th_frames_get(frames, path.frames[i]);

		/* Only the innermost frames: the VM's, or those without a Java frame above. */
		if (frame->kind == TH_KIND_JAVA)
			return NULL;
		advice = advice_of(leaks->profile->recording,
			th_frames_function_name(frames, frame->function));
	}
	return advice;
}

/* The views */

/* The exact counts of a kind, which contain what was taken in earlier times of following. */
static void
print_kind(FILE *file, const struct th_decoded_ledger_count *count)
{
	/* Most local references end with their frame, and all kinds can be given back by hand. */
	bool is_local = count->kind == TH_LEDGER_LOCAL;

	th_print(file, "{-16} {14c} {14}", th_ledger_kind_names[count->kind], count->taken,
		is_local ? "-" : th_format_count(count->given).text);
	if (th_ledger_is_critical((enum th_ledger_kind)count->kind))
		th_print(file, "  {s} in critical sections, the longest {f} ms",
			(double)count->duration / 1e9, (double)count->longest / 1e6);
	fputc('\n', file);
}

void
th_view_ledger(FILE *file, const struct th_ledger *ledger)
{
	const struct th_profile *profile = ledger->profile;
	const struct th_recording *recording = profile->recording;
	uint64_t full = th_recording_counter(recording, "ledger_full");
	uint64_t lost = th_recording_counter(recording, "ledger_lost");
	uint64_t top = profile->options->top;

	th_print(file, "followed from {t} s to {t} s, {}\n",
		th_profile_seconds(profile, ledger->begin),
		th_profile_seconds(profile, ledger->end),
		ledger->is_exact ? "every call was recorded"
				 : "the first calls of each caller and a part of the others");
	if (full)
		th_print(file,
			"warning: the end of {c} samples is not known, the table was full\n",
			full);
	if (lost)
		th_print(file, "warning: {c} samples were lost\n", lost);
	th_print(file, "\n{#}{-16} {14} {14}{/}\n", TH_STYLE_HEADING, "exact counts", "taken",
		"given back");
	for (int kind = 1; kind < TH_LEDGER_KINDS; kind++)
		if (recording->ledger_counts[kind].kind)
			print_kind(file, &recording->ledger_counts[kind]);
	for (size_t i = 0; i < ledger->items_count && i < top; i++)
		print_entry(file, ledger, &ledger->items[i]);
	if (ledger->items_count > top)
		th_print(file, "\nand {c} more\n", ledger->items_count - top);
}

void
th_view_ledger_json(FILE *file, const struct th_ledger *ledger)
{
	struct th_references references = th_references_find(
		ledger->profile->recording, ledger->profile->at.time);

	th_json_print(file,
		th_json("twinheap counts entries", 1, th_ledger_parts_counts_json(&references),
			th_ledger_parts_json(ledger, ledger->items_count)));
}
