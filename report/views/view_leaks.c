/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks, as text: findings by verdict, worst first.  Each has the application line, its figures,
 * the reason for the verdict and, for a leak, the stack of the allocation.
 */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/leaks/causes.h"
#include "report/statistics/forced_collection.h"
#include "report/views/finding_parts.h"
#include "report/views/values.h"

/* Parts of a finding printed, largest first. */
#define PARTS_SHOWN 3
/* Leaks printed that have the same cause as another one. */
#define CAUSE_PARTS_SHOWN 5

/* Findings */

static void
print_figures(FILE *file, const struct th_evidence *evidence)
{
	th_print(file, "{e} ", &evidence->live_bytes);
	if (evidence->is_resident)
		th_print(file, "in memory of {b} mapped", evidence->live);
	else
		fputs("live", file);
	if (!evidence->alive)
		return;
	th_print(file, ", median age {s}", evidence->median_age);
	if (evidence->collections)
		th_print(file, ", { GC} survived", evidence->collections);
}

static void
print_owner(FILE *file, const struct th_leaks *leaks, const struct th_owner *owner)
{
	const struct th_frames *frames = leaks->profile->frames;

	if (owner->place == TH_NO_PLACE || !owner->samples)
		return;
	const struct th_leak_site *place = &leaks->places.items[owner->place];
	th_print(file, "         owner  {}, {} of {} samples collected: {}\n",
		th_frames_string(frames, place->class_name), owner->collected, owner->samples,
		owner->is_collected ? "owners collected, native memory alive"
		: !owner->collected ? "the owners are alive"
				    : "owners of live blocks may also be dead");
}

/* The next finding of the same in another heap; false: there is none. */
static bool
next_heap(const struct th_leaks *leaks, struct th_finding *finding)
{
	if (finding->next == UINT32_MAX)
		return false;
	*finding = th_leaks_next(leaks, finding->next);
	return true;
}

/* Findings in several heaps, or of several lines: the figures of the other ones. */
static void
print_others(FILE *file, const struct th_leaks *leaks, struct th_finding finding)
{
	enum th_heap first = leaks->places.items[finding.place].heap;

	while (next_heap(leaks, &finding)) {
		bool is_leak = finding.evidence.verdict == TH_VERDICT_LEAK;
		const struct th_leak_site *place = &leaks->places.items[finding.place];

		th_print(file, "         and    {}", th_heap_adjective(place->heap));
		if (place->heap == first && is_leak) {
			fputs(", ", file);
			th_view_site_title(file, leaks, place);
		}
		fputs(": ", file);
		print_figures(file, &finding.evidence);
		th_print(file, ", {}\n", is_leak ? "growing" : "unclear");
	}
}

/* "native and Java" */
static void
print_heaps(FILE *file, const struct th_leaks *leaks, struct th_finding finding)
{
	unsigned seen = 0;

	do {
		enum th_heap heap = leaks->places.items[finding.place].heap;

		if (!(seen & 1u << heap))
			th_print(file, "{}{}", seen ? " and " : "", th_heap_adjective(heap));
		seen |= 1u << heap;
	} while (next_heap(leaks, &finding));
	fputs(", ", file);
}

/* The allocating function; for Java objects the class and its line. */
static void
print_part(FILE *file, const struct th_leaks *leaks, const struct th_leak_part *part,
	double live, bool is_first)
{
	const struct th_leak_site *place = &leaks->places.items[part->place];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);

	th_print(file, "{}{f} % {}, ", is_first ? "         parts  " : "                ",
		live > 0 ? 100 * part->live / live : 0.0, th_heap_adjective(place->heap));
	if (place->heap == TH_HEAP_JAVA)
		th_view_site_title(file, leaks, place);
	else
		th_print(file, "{}",
			th_frame_of(leaks->profile->frames, path.frames[path.count - 1]));
	fputc('\n', file);
}

/* The sites of a finding of several, the largest ones. */
static void
print_parts(FILE *file, const struct th_leaks *leaks, const struct th_listed *listed)
{
	struct th_leak_part parts[PARTS_SHOWN];
	double live;
	size_t count = th_leaks_parts(leaks, listed, parts, PARTS_SHOWN, &live);

	if (count < 2 || leaks->places.items[listed->place].internal)
		return;
	for (size_t i = 0; i < count && i < PARTS_SHOWN; i++)
		print_part(file, leaks, &parts[i], live, !i);
	if (count > PARTS_SHOWN)
		th_print(file, "                and {} more\n", count - PARTS_SHOWN);
}

/* Of memory that only collections free. */
static void
print_unclosed(FILE *file, const struct th_leaks *leaks, const struct th_finding *finding)
{
	char *wrapper = th_owners_wrapper(leaks, finding);
	const char *class_name = wrapper ? wrapper : "the Java object";

	th_print(
		file, "         owner  {}, unreachable: not closed by the program", class_name);
	if (th_owners_await_finalizer(leaks, finding->place))
		th_print(file,
			"; {c} wait for finalize(), whose thread is slower\n"
			"         do     close each {}\n",
			leaks->finalizers.waiting, class_name);
	else
		th_print(file,
			"\n         do     close each {}; until then a GC frees the memory: "
			"jcmd {} GC.run\n",
			class_name, th_recording_pid(leaks->profile->recording).text);
	free(wrapper);
}

/* ", on threads started at app.Pool.grow (Pool.java:31)" */
static void
print_starter(FILE *file, const struct th_leaks *leaks, uint32_t number)
{
	uint32_t line = th_causes_starter(leaks, number);

	if (line != TH_NO_FRAME)
		th_print(file, ", on threads started at {}",
			th_frame_of(leaks->profile->frames, line));
}

/* As a regular expression that matches it alone. */
static char *
escaped(const char *name)
{
	struct th_line line;

	th_line_begin(&line);
	for (; *name; name++)
		fprintf(line.stream, strchr(".$[](){}*+?^|\\", *name) ? "\\%c" : "%c", *name);
	return th_line_end(&line);
}

/*
 * The command that shows where else the line of a leak, or its allocating function, allocates; for a
 * shell, and in two lines where the terminal is narrow.
 */
static void
print_next(FILE *file, const struct th_leaks *leaks, const struct th_leak_site *place)
{
	static const char command[] = "         next   twinheap tree --value live-bytes";
	const struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);
	uint32_t frame = place->creator ? th_leak_sites_creator_frame(&leaks->places, place)
					: path.frames[path.count - 1];
	char *focus = escaped(
		th_frames_function_name(frames, th_frames_get(frames, frame)->function));
	struct th_line rest;

	th_line_begin(&rest);
	fputs("--focus ", rest.stream);
	th_view_quoted(rest.stream, focus);
	fputc(' ', rest.stream);
	th_view_quoted(rest.stream, leaks->profile->options->log);
	char *text = th_line_end(&rest);
	bool fits = th_format_columns(text) <= th_terminal_room(file, sizeof(command), 0);
	th_print(file, "{}{}{}\n", command, fits ? " " : " \\\n                  ", text);
	free(text);
	free(focus);
}

/* A leak that is part of another one, in one line. */
static void
print_cause_part(FILE *file, const struct th_leaks *leaks, uint32_t number)
{
	size_t tallies = leaks->tallies.leaks_count;

	if (number < tallies) {
		th_tallied_print_headline(file, leaks, &leaks->tallies.items[number], ": ");
		return;
	}
	struct th_finding finding = th_leaks_measured(
		leaks, &leaks->findings[number - tallies]);

	print_heaps(file, leaks, finding);
	th_view_finding_title(file, leaks, &finding);
	th_print(file, ": {b} live, {b}/s\n", &finding.evidence.live_bytes,
		&finding.evidence.growth);
}

/* What else has the same cause as a leak. */
static void
print_cause_parts(FILE *file, const struct th_leaks *leaks, uint32_t leader)
{
	unsigned count = 0;

	for (uint32_t i = th_causes_next(leaks, leader, leader); i != UINT32_MAX;
		i = th_causes_next(leaks, leader, i)) {
		if (count++ >= CAUSE_PARTS_SHOWN)
			continue;
		fputs(count == 1 ? "         with   " : "                ", file);
		print_cause_part(file, leaks, i);
	}
	if (count > CAUSE_PARTS_SHOWN)
		th_print(file, "                and {} more\n", count - CAUSE_PARTS_SHOWN);
}

static void
print_finding(FILE *file, const struct th_leaks *leaks, const struct th_held_samples *held,
	const struct th_listed *listed)
{
	struct th_finding finding = th_leaks_measured(leaks, listed);
	const struct th_leak_site *place = &leaks->places.items[finding.place];
	enum th_verdict verdict = finding.evidence.verdict;
	char *advice = th_ledger_parts_advice(leaks, place);
	char *why = th_evidence_explain(&finding.evidence);
	char *released = th_released_text(leaks->profile, &finding.evidence);

	th_view_verdict(file, verdict, finding.evidence.reason);
	print_heaps(file, leaks, finding);
	if (leaks->profile->options->group_by)
		th_print(file, "{}: ",
			th_frames_function_name(
				leaks->profile->frames, th_leaks_group(leaks, place)));
	th_view_finding_title(file, leaks, &finding);
	print_starter(file, leaks, th_causes_number_of(leaks, listed));
	if (verdict != TH_VERDICT_LEAK && finding.place_count > 1 && !place->internal)
		th_print(file, " and {} more stacks or classes", finding.place_count - 1);
	fputs("\n         ", file);
	print_figures(file, &finding.evidence);
	th_print(file, "\n         why    {}\n", why);
	print_others(file, leaks, finding);
	if (finding.evidence.reason == TH_REASON_UNCLOSED) {
		print_unclosed(file, leaks, &finding);
	} else {
		print_owner(file, leaks, &finding.owner);
		if (released)
			th_print(file, "         later  {}\n", released);
		th_holder_parts_lines(
			file, held, listed, &finding, (size_t)(listed - leaks->findings) + 1);
	}
	if (advice && verdict <= TH_VERDICT_UNCLEAR)
		th_print(file, "         cause  {}\n", advice);
	if (verdict == TH_VERDICT_LEAK) {
		print_cause_parts(file, leaks, th_causes_number_of(leaks, listed));
		print_parts(file, leaks, listed);
		th_stack_lines_of_leak(file, leaks, place, th_causes_number_of(leaks, listed));
		print_next(file, leaks, place);
	}
	free(advice);
	free(why);
	free(released);
}

static bool
is_listed(const struct th_leaks *leaks, const struct th_listed *listed)
{
	return !th_causes_is_part(leaks, th_causes_number_of(leaks, listed)) &&
	       (leaks->profile->options->lists_all || th_leaks_is_listed(leaks, listed));
}

static size_t
count_verdict(const struct th_leaks *leaks, enum th_verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < leaks->findings_count; i++)
		count += leaks->findings[i].verdict == verdict &&
			 is_listed(leaks, &leaks->findings[i]);
	return count;
}

static void
print_verdict(FILE *file, const struct th_leaks *leaks, const struct th_held_samples *held,
	enum th_verdict verdict)
{
	size_t count = count_verdict(leaks, verdict);
	uint64_t shown = 0;

	for (size_t i = 0; i < leaks->findings_count && shown < leaks->profile->options->top;
		i++) {
		if (leaks->findings[i].verdict != verdict ||
			!is_listed(leaks, &leaks->findings[i]))
			continue;
		fputc('\n', file);
		print_finding(file, leaks, held, &leaks->findings[i]);
		shown++;
	}
	if (shown < count)
		th_print(file, "\nand {c} more with verdict {}\n", count - shown,
			th_verdict_name(verdict));
}

static void
print_tally(FILE *file, const struct th_held_samples *held, const struct th_tallied *tallied)
{
	const struct th_leaks *leaks = held->leaks;
	struct th_leak_site site = th_tallied_site(leaks, tallied);
	uint32_t number = th_causes_number_of_tallied(leaks, tallied);
	char *why = th_tallied_explain(tallied);

	th_view_verdict(file, tallied->verdict, th_tallied_reason(tallied));
	th_tallied_print_headline(file, leaks, tallied, "\n         ");
	fprintf(file, "         why    %s\n", why);
	if (th_tallied_reason(tallied) == TH_REASON_UNCLOSED)
		th_print(file,
			"         do     close what this line makes; until then a GC ends the "
			"threads: jcmd {} GC.run\n",
			th_recording_pid(leaks->profile->recording).text);
	th_holder_parts_tallied_lines(file, held, tallied);
	if (tallied->verdict == TH_VERDICT_LEAK) {
		print_cause_parts(file, leaks, number);
		th_stack_lines_of_leak(file, leaks, &site, number);
	}
	free(why);
}

static void
print_tallies(FILE *file, const struct th_leaks *leaks, const struct th_held_samples *held,
	enum th_verdict verdict)
{
	for (size_t i = 0; i < leaks->tallies.items_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		if (tallied->verdict != verdict ||
			th_causes_is_part(leaks, th_causes_number_of_tallied(leaks, tallied)))
			continue;
		fputc('\n', file);
		print_tally(file, held, tallied);
	}
}

/* The head */

/* Which collection judged the Java heap last. */
static const char *
collection_text(const struct th_leaks *leaks, const struct th_observation_window *horizon)
{
	const struct th_profile *profile = leaks->profile;
	struct th_forced_collection at_exit;

	if (!horizon->is_proven)
		return ", the last GC, no recent old-generation GC";
	const struct th_judgement *last = th_lifetimes_last(
		&profile->lifetimes, profile->at.known - 1, true);
	return th_forced_collection_at_exit(profile->recording, &at_exit) &&
			       last->time >= at_exit.start
		       ? ", a full GC at exit"
		       : ", the last old-generation GC";
}

static void
print_window(FILE *file, const struct th_leaks *leaks, enum th_heap heap)
{
	const struct th_observation_window *horizon = &leaks->horizons[heap];

	if (!th_profile_has_heap(leaks->profile, heap))
		return;
	if (heap == TH_HEAP_JAVA && horizon->horizon <= horizon->start) {
		fputs("Java heap: no GC so far, reachability is unknown\n", file);
		return;
	}
	th_print(file, "{}: analyzed through {t} s{}; ", th_heap_title(heap),
		th_profile_seconds(leaks->profile, horizon->horizon),
		heap == TH_HEAP_JAVA ? collection_text(leaks, horizon) : "");
	if (heap == TH_HEAP_JAVA && leaks->profile->lifetimes.followed)
		fputs("few objects are tracked with this collector; ", file);
	if (horizon->horizon <= horizon->middle)
		fputs("too short to detect leaks\n", file);
	else if (isinf(leaks->growth_limit[heap]))
		fputs("no verdict on leaks\n", file);
	else if (leaks->growth_limit[heap] > 0)
		th_print(file, "detection limit: {b}/s\n", leaks->growth_limit[heap]);
	else
		fputs("every allocation was recorded\n", file);
}

/* The time at which all is judged, unless it is the end of the recording. */
static void
print_moment(FILE *file, const struct th_leaks *leaks)
{
	const struct th_profile *profile = leaks->profile;
	char *text = th_profile_moment_text(profile);

	if (profile->at.time != profile->recording->end)
		fprintf(file, "judged %s\n", text);
	free(text);
}

static void
print_outcome(FILE *file, const struct th_leaks *leaks)
{
	static const enum th_style styles[] = {
		[TH_OUTCOME_FOUND] = TH_STYLE_WARNING,
		[TH_OUTCOME_NONE] = TH_STYLE_GOOD,
		[TH_OUTCOME_INCONCLUSIVE] = TH_STYLE_DOUBT,
	};
	struct th_outcome outcome = th_outcome_find(leaks);
	char *headline = th_outcome_headline(leaks, &outcome);
	char *advice = th_outcome_advice(leaks, &outcome);

	th_print(file, "{#}{}{/}\n", styles[outcome.verdict], headline);
	if (!outcome.is_reached && outcome.verdict == TH_OUTCOME_NONE)
		th_print(file, "limit of {b}/s not reached\n", outcome.asked);
	if (advice)
		th_print(file, "to decide: {}\n", advice);
	th_view_filters(file, leaks->profile->options);
	print_moment(file, leaks);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_window(file, leaks, heap);
	free(advice);
	free(headline);
}

/* "23 plateaus, 41 churn and 9 unclear below the limit: --all"; not without any. */
static void
print_rest(FILE *file, const struct th_leaks *leaks)
{
	static const char *const names[] = {
		[TH_VERDICT_UNCLEAR] = "unclear below the detection limit",
		[TH_VERDICT_PLATEAU] = "stopped growing",
		[TH_VERDICT_CHURN] = "free what they allocate",
	};
	size_t counts[TH_VERDICT_CHURN + 1] = {0};
	bool is_first = true;

	for (size_t i = 0; i < leaks->findings_count; i++)
		counts[leaks->findings[i].verdict] += !th_causes_is_part(leaks,
							      th_causes_number_of(leaks,
								      &leaks->findings[i])) &&
						      !is_listed(leaks, &leaks->findings[i]);
	for (int verdict = TH_VERDICT_CHURN; verdict > TH_VERDICT_LEAK; verdict--) {
		if (!counts[verdict])
			continue;
		th_print(file, "{}{c} {}", is_first ? "\nother sites: " : ", ", counts[verdict],
			names[verdict]);
		is_first = false;
	}
	if (!is_first)
		fputs(" (--all)\n", file);
}

void
th_view_leaks(FILE *file, const struct th_leaks *leaks)
{
	struct th_held_samples held;

	print_outcome(file, leaks);
	th_held_samples_init(&held, leaks);
	th_ledger_parts_findings(file, leaks);
	for (int verdict = TH_VERDICT_LEAK; verdict <= TH_VERDICT_CHURN; verdict++) {
		print_tallies(file, leaks, &held, (enum th_verdict)verdict);
		print_verdict(file, leaks, &held, (enum th_verdict)verdict);
	}
	print_rest(file, leaks);
	th_held_samples_deinit(&held);
}

int
th_view_leaks_status(const struct th_leaks *leaks)
{
	struct th_outcome outcome = th_outcome_find(leaks);

	return th_outcome_status(leaks, &outcome);
}
