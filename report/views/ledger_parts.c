/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/ledger_parts.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/views/frame_texts.h"
#include "report/views/json_parts.h"
#include "report/views/view.h"

/* Frames of a stack that are printed, from the call of JNI towards the root. */
#define STEPS_SHOWN 12
/* Undetached threads that are named. */
#define THREADS_SHOWN 5
#define STACK_COLUMN 16

/* Counts */

static void
print_count(FILE *file, const struct th_reference_count *count)
{
	char *text = th_reference_count_text(count);

	fputs(text, file);
	if (count->max > count->last && count->max > count->first)
		fprintf(file, " (max %s)", th_format_count(count->max).text);
	free(text);
}

void
th_ledger_parts_summary(FILE *file, const struct th_profile *profile)
{
	struct th_references found = th_references_find(profile->recording, profile->at.time);

	if (!found.is_known && !found.undetached)
		return;
	fputs("\nHeld by native code\n", file);
	if (found.is_known) {
		fputs("  JNI references: ", file);
		print_count(file, &found.globals);
		fputs(" global, ", file);
		print_count(file, &found.weaks);
		fputs(" weak\n", file);
	}
	if (found.undetached)
		fprintf(file, "  %s threads ended while attached to the VM\n",
			th_format_count(found.undetached).text);
}

static json_t *
count_json(const struct th_reference_count *count)
{
	return json_pack("{s:I, s:I, s:I}", "first", (json_int_t)count->first, "last",
		(json_int_t)count->last, "max", (json_int_t)count->max);
}

json_t *
th_ledger_parts_counts_json(const struct th_references *references)
{
	return json_pack("{s:o, s:o, s:I}", "global_refs",
		references->is_known ? count_json(&references->globals) : json_null(),
		"weak_refs",
		references->is_known ? count_json(&references->weaks) : json_null(),
		"dead_attached_threads", (json_int_t)references->undetached);
}

/* Findings */

static void
print_growth(FILE *file, const struct th_reference_count *count, const char *kind)
{
	if (!count->is_leak)
		return;
	fputc('\n', file);
	th_view_verdict(file, TH_VERDICT_LEAK, TH_REASON_GROWS);
	fprintf(file, "JNI %s references\n         ", kind);
	print_count(file, count);
	fprintf(file, ", +%.3g/s since second %.0f\n", count->rate, count->since);
	fputs("         why    the smallest number of each quarter is above that of the one "
	      "before\n",
		file);
}

/* The name of a thread, and the stack that started it. */
static void
print_undetached_thread(
	FILE *file, const struct th_leaks *leaks, const struct th_decoded_undetached *event)
{
	const struct th_recording *recording = leaks->profile->recording;
	const struct th_thread_info *thread = &recording->threads[event->thread];
	char *name = NULL;

	if (thread->is_known)
		name = th_text_clean(recording->thread_names[thread->name].text);
	fprintf(file, "         %s at %.1f s, tid %u\n", name && *name ? name : "[no name]",
		th_profile_seconds(leaks->profile, event->time), thread->tid);
	free(name);
}

static void
print_starter(FILE *file, const struct th_leaks *leaks, th_tallied_print_stack *print_stack)
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
	print_stack(file, leaks, &site);
}

static void
print_undetached(FILE *file, const struct th_leaks *leaks, th_tallied_print_stack *print_stack)
{
	uint64_t count = leaks->references.undetached;

	if (!count)
		return;
	fputc('\n', file);
	th_view_verdict(file, TH_VERDICT_LEAK, TH_REASON_GROWS);
	fprintf(file,
		"%s %s ended while attached\n         why    the VM keeps a thread that ends "
		"without DetachCurrentThread; JDK 11 waits for it at exit\n",
		th_format_count(count).text, count == 1 ? "thread" : "threads");
	for (uint64_t i = 0; i < count && i < THREADS_SHOWN; i++)
		print_undetached_thread(file, leaks, &leaks->profile->recording->undetached[i]);
	if (count > THREADS_SHOWN)
		fprintf(file, "         and %s more\n",
			th_format_count(count - THREADS_SHOWN).text);
	print_starter(file, leaks, print_stack);
}

void
th_ledger_parts_findings(
	FILE *file, const struct th_leaks *leaks, th_tallied_print_stack *print_stack)
{
	print_growth(file, &leaks->references.globals, "global");
	print_growth(file, &leaks->references.weaks, "weak global");
	print_undetached(file, leaks, print_stack);
	for (size_t i = 0; i < leaks->ledger.findings_count; i++) {
		fputc('\n', file);
		th_ledger_parts_entry(file, &leaks->ledger, &leaks->ledger.items[i]);
	}
}

/* Entries */

static void
print_figure(FILE *file, const struct th_estimate *estimate, const char *what)
{
	fprintf(file, "%s %s", th_format_number(estimate->estimate, TH_UNIT_OBJECTS).text,
		what);
	if (!estimate->exact)
		fprintf(file, " (%s)", th_estimate_interval(estimate, TH_UNIT_OBJECTS).text);
}

static void
print_figures(FILE *file, const struct th_ledger_entry *entry)
{
	print_figure(file, &entry->held, "held");
	fputs(" of ", file);
	print_figure(file, &entry->taken, "taken");
	if (entry->held_per_second.estimate > 0)
		fprintf(file, ", %+.3g/s", entry->held_per_second.estimate);
	if (entry->held.samples)
		fprintf(file, ", median age %s, %u GC%s survived",
			th_format_seconds(entry->median_age).text, entry->collections,
			entry->collections == 1 ? "" : "s");
	if (entry->longest > 0)
		fprintf(file, ", the longest critical section took %.0f ms",
			entry->longest * 1e3);
	fputc('\n', file);
}

static void
print_path(FILE *file, const struct th_profile *profile, uint32_t number)
{
	struct th_path path = th_paths_get(profile->paths, number);

	for (uint32_t i = 0; i < path.count && i < STEPS_SHOWN; i++) {
		struct th_line line;

		fputs(i ? "              < " : "         by     ", file);
		th_line_begin(&line);
		th_frame_texts_line(
			line.stream, profile->frames, path.frames[path.count - 1 - i]);
		th_line_cut(&line, file, th_terminal_room(file, STACK_COLUMN, STACK_COLUMN));
		fputc('\n', file);
	}
	if (path.count > STEPS_SHOWN)
		fprintf(file, "              < %u more\n", path.count - STEPS_SHOWN);
}

void
th_ledger_parts_entry(
	FILE *file, const struct th_ledger *ledger, const struct th_ledger_entry *entry)
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
	char *verdict = th_ledger_verdict_text(entry);

	fprintf(file, "%s%-7s%s  %s", th_terminal_code(file, styles[entry->verdict]), verdict,
		th_terminal_code(file, TH_STYLE_PLAIN), th_ledger_kind_name(entry->kind));
	if (entry->class_name)
		fprintf(file, ", %s", th_frames_string(frames, entry->class_name));
	fputs("\n         ", file);
	print_figures(file, entry);
	print_path(file, ledger->profile, entry->path);
	free(verdict);
}

static json_t *
entry_json(const struct th_ledger *ledger, const struct th_ledger_entry *entry)
{
	const struct th_frames *frames = ledger->profile->frames;
	struct th_path path = th_paths_get(ledger->profile->paths, entry->path);
	char *verdict = th_ledger_verdict_text(entry);
	json_t *list = json_array();

	for (uint32_t i = 0; i < path.count; i++)
		json_array_append_new(list, th_json_frame(frames, path.frames[i]));
	json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kind",
		th_ledger_kind_name(entry->kind), "verdict", verdict, "held",
		th_json_estimate(&entry->held), "taken", th_json_estimate(&entry->taken),
		"held_per_second", th_json_estimate(&entry->held_per_second), "class",
		th_json_text_or_null(th_frames_string(frames, entry->class_name)), "longest_ms",
		entry->longest > 0 ? json_real(entry->longest * 1e3) : json_null(),
		"median_age_s",
		entry->held.samples ? json_real(entry->median_age) : json_null(),
		"collections_survived",
		entry->held.samples ? json_integer(entry->collections) : json_null(), "frames",
		list);

	free(verdict);
	return json;
}

json_t *
th_ledger_parts_json(const struct th_ledger *ledger, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, entry_json(ledger, &ledger->items[i]));
	return list;
}

/* Advice */

static bool
contains(const char *text, const char *begin, const char *end)
{
	const char *found = strstr(text, begin);

	return found && strstr(found + strlen(begin), end);
}

static const char *
advice_of(const char *function)
{
	if (contains(function, "jni_Get", "ArrayElements"))
		return "Get...ArrayElements without Release...ArrayElements, or released with "
		       "JNI_COMMIT only";
	if (strstr(function, "jni_GetStringUTFChars"))
		return "GetStringUTFChars without ReleaseStringUTFChars";
	if (strstr(function, "jni_GetStringChars"))
		return "GetStringChars without ReleaseStringChars";
	if (strstr(function, "jni_NewGlobalRef"))
		return "NewGlobalRef without DeleteGlobalRef; twinheap ctl PID ledger on shows "
		       "which";
	if (strstr(function, "jni_NewWeakGlobalRef"))
		return "NewWeakGlobalRef without DeleteWeakGlobalRef; twinheap ctl PID ledger "
		       "on shows which";
	return NULL;
}

const char *
th_ledger_parts_advice(const struct th_frames *frames, struct th_path path)
{
	const char *advice = NULL;

	for (uint32_t i = path.count; i-- > 0 && !advice;) {
		const struct th_frame *frame = th_frames_get(frames, path.frames[i]);

		/* Only the innermost frames: the VM's, or those without a Java frame above. */
		if (frame->kind == TH_KIND_JAVA)
			return NULL;
		advice = advice_of(th_frames_function_name(frames, frame->function));
	}
	return advice;
}
