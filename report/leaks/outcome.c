/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of `leaks` as a whole. A heap is judged if deaths are known for long enough, or if
 * hardly anything was allocated. No leak in judged heaps means none above their detection limits, unless growth that may be larger
 * is unclear for another reason than too few samples.
 */
#include "report/leaks/outcome.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/heap_names.h"

/* Recordings are recommended in durations that are longer by this factor than necessary. */
#define ROOM 1.1

const char *
th_outcome_name(enum th_outcome_verdict verdict)
{
	switch (verdict) {
	case TH_OUTCOME_FOUND:
		return "found";
	case TH_OUTCOME_NONE:
		return "none";
	default:
		return "inconclusive";
	}
}

/*
 * The heaps that the answer is about: those that were recorded and selected, and mapped memory
 * only if it is selected alone, since it is judged by few large chunks.
 */
static bool
is_asked_for(const struct th_leaks *leaks, enum th_heap heap)
{
	return th_profile_has_heap(leaks->profile, heap) &&
	       (heap != TH_HEAP_MAPPED || leaks->profile->options->heaps == 1u << heap);
}

/* Threads or class loaders that grow and were not judged; NULL: none. */
static const struct th_tallied *
find_unclear_tally(const struct th_leaks *leaks)
{
	for (size_t i = 0; i < leaks->tallies.items_count; i++)
		if (leaks->tallies.items[i].verdict == TH_VERDICT_UNCLEAR)
			return &leaks->tallies.items[i];
	return NULL;
}

static bool
is_everything_judged(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		if (is_asked_for(leaks, (enum th_heap)heap) && !outcome->is_judged[heap])
			return false;
	return true;
}

struct th_outcome
th_outcome_find(const struct th_leaks *leaks)
{
	struct th_leaks_totals totals = th_leaks_totals(leaks);
	struct th_outcome outcome = {
		.verdict = TH_OUTCOME_NONE,
		.leaks = totals.leaks,
		.unclosed = totals.unclosed,
		.of_vm = th_leaks_of_vm(leaks),
		.growth = totals.growth,
		.asked = (double)leaks->profile->options->limit,
		.is_reached = true,
	};

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		outcome.is_judged[heap] = leaks->growth_limit[heap] < HUGE_VAL;
		outcome.limits[heap] = fmax(leaks->growth_limit[heap], leaks->row_limit[heap]);
		if (outcome.asked > 0 && is_asked_for(leaks, (enum th_heap)heap) &&
			(!outcome.is_judged[heap] || outcome.limits[heap] > outcome.asked))
			outcome.is_reached = false;
	}
	if (totals.leaks || outcome.of_vm)
		outcome.verdict = TH_OUTCOME_FOUND;
	else if (!is_everything_judged(leaks, &outcome) || leaks->unsettled ||
		 find_unclear_tally(leaks))
		outcome.verdict = TH_OUTCOME_INCONCLUSIVE;
	return outcome;
}

static double
duration_of(const struct th_leaks *leaks)
{
	const struct th_observation_window *horizon = &leaks->horizons[TH_HEAP_NATIVE];

	return (double)(horizon->end - horizon->start) / 1e9;
}

static const char *
unjudged_reason(const struct th_leaks *leaks, enum th_heap heap)
{
	const struct th_observation_window *horizon = &leaks->horizons[heap];

	if (heap != TH_HEAP_JAVA)
		return "was recorded for too short a time";
	if (horizon->horizon <= horizon->start)
		return "was not judged: no GC has shown which objects died";
	return horizon->is_proven ? "was recorded for too short a time"
				  : "was not judged: no recent old-generation GC";
}

/* "app.Main.run (Main.java:7)"; the caller frees it. */
static char *
name_of_frame(const struct th_leaks *leaks, uint32_t number)
{
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_frame *frame = th_frames_get(frames, number);
	const char *name = th_frames_function_name(frames, frame->function);

	return frame->file && frame->line
		       ? th_format_new("%s (%s:%u)", name,
				 th_frames_string(frames, frame->file), frame->line)
		       : th_format_new("%s", name);
}

/* The program's line of a finding, else its creator's, else the allocating function; the caller frees it. */
static char *
name_of(const struct th_leaks *leaks, const struct th_listed *listed)
{
	const struct th_leak_site *place = &leaks->places.items[listed->place];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);
	uint32_t line = place->creator ? th_leak_sites_user_frame(&leaks->places, place)
				       : path.frames[path.count - 1];

	if (line == TH_NO_FRAME)
		line = th_leak_sites_creator_frame(&leaks->places, place);
	return name_of_frame(leaks, line);
}

static char *
tally_reason(const struct th_leaks *leaks)
{
	const struct th_tallied *tally = find_unclear_tally(leaks);
	char *name = name_of_frame(
		leaks, tally->user == TH_NO_FRAME ? tally->line : tally->user);
	char *text = th_format_new("%s at %s grow and may be a leak or not",
		tally->kind == TH_TALLY_THREADS ? "threads started" : "classes defined", name);

	free(name);
	return text;
}

char *
th_outcome_reason(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	if (outcome->verdict != TH_OUTCOME_INCONCLUSIVE)
		return NULL;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		if (is_asked_for(leaks, (enum th_heap)heap) && !outcome->is_judged[heap])
			return th_format_new("the %s %s",
				heap == TH_HEAP_MAPPED ? "mapped memory"
						       : th_heap_title((enum th_heap)heap),
				unjudged_reason(leaks, (enum th_heap)heap));
	if (!leaks->unsettled)
		return tally_reason(leaks);
	char *name = name_of(leaks, leaks->unsettled);
	char *text = th_format_new("%s, %s, grows by about %s/s and may be a leak or not", name,
		th_heap_adjective(leaks->places.items[leaks->unsettled->place].heap),
		th_format_number(leaks->unsettled->growth, TH_UNIT_BYTES).text);

	free(name);
	return text;
}

/* For how many times as long to record; the limit is inversely proportional to the duration. */
static char *
advise_longer(double duration, double times)
{
	return th_format_new("record for %s", th_format_seconds(duration * ROOM * times).text);
}

/* What would reach the limit that was asked for. */
static char *
advise_limit(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	double worst = 0;
	double gap = 0;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!is_asked_for(leaks, (enum th_heap)heap) ||
			!(outcome->limits[heap] < HUGE_VAL) || outcome->limits[heap] <= worst)
			continue;
		worst = outcome->limits[heap];
		gap = leaks->profile->heaps[heap].gap;
	}
	if (worst <= outcome->asked)
		return NULL;
	return th_format_new("record for %s, or with -i %.0fk",
		th_format_seconds(duration_of(leaks) * ROOM * worst / outcome->asked).text,
		fmax(floor(gap / ROOM * outcome->asked / worst / 1024), 1));
}

char *
th_outcome_advice(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	const struct th_listed *suspect = leaks->unsettled;
	struct th_pid_text pid = th_recording_pid(leaks->profile->recording);
	double duration = duration_of(leaks);

	if (outcome->verdict == TH_OUTCOME_NONE && !outcome->is_reached)
		return advise_limit(leaks, outcome);
	if (outcome->verdict != TH_OUTCOME_INCONCLUSIVE)
		return NULL;
	if (is_asked_for(leaks, TH_HEAP_JAVA) && !outcome->is_judged[TH_HEAP_JAVA])
		return th_format_new("have the VM collect all of the heap near the end, "
				     "twinheap ctl %s gc, "
				     "or record with twinheap run --gc-every 30s",
			pid.text);
	if (!is_everything_judged(leaks, outcome))
		return th_format_new("record for longer");
	if (!suspect)
		return th_format_new(
			"have the VM collect all of the heap, twinheap ctl %s gc", pid.text);
	if (suspect->reason == TH_REASON_DROPPED)
		return th_format_new(
			"have the VM collect all of the heap before the program ends, "
			"twinheap ctl %s gc, or end it by SIGTERM",
			pid.text);
	return advise_longer(duration, suspect->reason == TH_REASON_LATE ? 2 : 4);
}

/* " above 0.4 MiB/s native, 1.1 MiB/s Java"; the caller frees it. */
static char *
limits_text(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	static const enum th_heap order[] = {TH_HEAP_NATIVE, TH_HEAP_JAVA, TH_HEAP_MAPPED};
	char *text = th_format_new("%s", "");

	for (int i = 0; i < 3; i++) {
		enum th_heap heap = order[i];

		if (!is_asked_for(leaks, heap) || !outcome->is_judged[heap] ||
			outcome->limits[heap] <= 0)
			continue;
		char *longer = th_format_new("%s%s %s/s %s", text, *text ? "," : " above",
			th_format_number(outcome->limits[heap], TH_UNIT_BYTES).text,
			th_heap_adjective(heap));
		free(text);
		text = longer;
	}
	return text;
}

/* ", and 2 of what native code holds of the Java VM"; empty: none.  The caller frees it. */
static char *
of_vm_text(const struct th_outcome *outcome)
{
	return outcome->of_vm
		       ? th_format_new(", and %s of what native code holds of the Java VM",
				 th_format_count(outcome->of_vm).text)
		       : th_format_new("%s", "");
}

/* ": not closed by the program, freed only by GCs"; empty: none.  The caller frees it. */
static char *
unclosed_text(const struct th_outcome *outcome)
{
	if (!outcome->unclosed)
		return th_format_new("%s", "");
	if (outcome->unclosed == outcome->leaks)
		return th_format_new(": not closed by the program, freed only by GCs");
	return th_format_new(": %s of them not closed by the program, freed only by GCs",
		th_format_count(outcome->unclosed).text);
}

static char *
found_headline(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	if (!outcome->leaks)
		return th_format_new("%s %s of what native code holds of the Java VM, in %s",
			th_format_count(outcome->of_vm).text,
			outcome->of_vm == 1 ? "leak" : "leaks",
			th_format_seconds(duration_of(leaks)).text);
	char *more = of_vm_text(outcome);
	char *unclosed = unclosed_text(outcome);
	char *text = th_format_new("%s %s, %s%s/s, at least %s, in %s%s%s",
		th_format_count(outcome->leaks).text, outcome->leaks == 1 ? "leak" : "leaks",
		outcome->leaks == 1 ? "" : "together ",
		th_format_number(outcome->growth, TH_UNIT_BYTES).text,
		th_format_number(th_leaks_bytes(leaks), TH_UNIT_BYTES).text,
		th_format_seconds(duration_of(leaks)).text, more, unclosed);
	free(unclosed);
	free(more);
	return text;
}

char *
th_outcome_headline(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	char *detail, *text;

	switch (outcome->verdict) {
	case TH_OUTCOME_FOUND:
		return found_headline(leaks, outcome);
	case TH_OUTCOME_NONE:
		detail = limits_text(leaks, outcome);
		text = th_format_new("no leak%s%s in %s", *detail ? detail : " found",
			*detail ? "," : "", th_format_seconds(duration_of(leaks)).text);
		break;
	default:
		detail = th_outcome_reason(leaks, outcome);
		text = th_format_new("inconclusive after %s: %s",
			th_format_seconds(duration_of(leaks)).text, detail);
	}
	free(detail);
	return text;
}

int
th_outcome_status(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	const struct th_options *options = leaks->profile->options;

	if (options->fail_on == TH_FAIL_NEVER)
		return 0;
	if (outcome->verdict == TH_OUTCOME_FOUND &&
		(options->fail_on == TH_FAIL_LEAK ||
			th_leaks_bytes(leaks) >= (double)options->fail_bytes))
		return 1;
	if (outcome->verdict == TH_OUTCOME_INCONCLUSIVE)
		return TH_STATUS_INCONCLUSIVE;
	return outcome->is_reached ? 0 : TH_STATUS_LIMIT;
}
