/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of `leaks`: its answer, and the reason of each verdict with the numbers behind it. */
#include <math.h>

#include "report/base/heap_names.h"
#include "report/profile/values.h"
#include "report/views/view.h"

/* Freed later: less than this part is not mentioned. */
#define NOTABLE_PART 0.05
/* Recordings are recommended in durations that are longer by this factor than necessary. */
#define ROOM 1.1

/* Findings */

static double
seconds_between(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) / 1e9 : 0;
}

/* "1.2 MiB/s (1.0 .. 1.5 MiB/s)" */
static const char *
growth_text(const struct th_evidence *evidence)
{
	return th_printed("{b}/s ({i}{})", &evidence->growth, &evidence->growth,
		evidence->growth.exact ? "" : "/s");
}

/* "grew by 1.2 MiB/s (1.0 .. 1.5 MiB/s) from 2 s to 9.8 s" */
static const char *
describe_growth(const struct th_evidence *evidence, const char *verb)
{
	const struct th_observation_window *horizon = evidence->horizon;

	return th_printed("{} by {} from {t} s to {t} s", verb, growth_text(evidence),
		seconds_between(horizon->origin, horizon->warm),
		seconds_between(horizon->origin, horizon->horizon));
}

/* "3 of the 120 samples that lived longer than 1.2 s were freed" */
static const char *
describe_old(const struct th_evidence *evidence)
{
	return th_printed("{} of the {} samples that lived longer than {s} were freed",
		evidence->dead_old, evidence->dead_old + evidence->alive_old,
		(double)evidence->horizon->old / 1e9);
}

static const char *
explain_leak(const struct th_evidence *evidence)
{
	return th_printed("{} and is still growing, {f} % of its objects survive, and {}{}",
		describe_growth(evidence, "grew"), 100 * evidence->survivors,
		describe_old(evidence),
		evidence->omits_collected
			? th_printed("; not counted: {b} that the program did not close and "
				     "GCs freed",
				  evidence->collected_bytes)
			: "");
}

static const char *
explain_resident(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;
	const struct th_trend *trend = &evidence->trend;
	char probability[32];

	snprintf(probability, sizeof(probability), "%.2g", trend->probability);
	return th_printed("its resident memory grew by {b}/s from {t} s to {t} s and is still "
			  "growing, over {} snapshots (trend test: p = {}), and {} of it was "
			  "released",
		&evidence->growth, seconds_between(horizon->origin, horizon->warm),
		seconds_between(horizon->origin, horizon->horizon), trend->points, probability,
		trend->lost > 0 ? th_printed("{b}", trend->lost) : "none");
}

/* Growth as though no collection had run. */
static const char *
explain_unclosed(const struct th_evidence *evidence)
{
	return th_printed(
		"{}: of the {} samples that were freed after more than {s}, GCs freed {}, {b}",
		describe_growth(evidence, "without GCs it grows"),
		evidence->collected + evidence->closed, (double)evidence->horizon->old / 1e9,
		evidence->collected, evidence->collected_bytes);
}

/*
 * The duration at which growth at this rate is significant with a probability of 95 %: seven gains
 * without a loss are, of an expected 12.
 */
static double
enough_seconds(const struct th_evidence *evidence)
{
	double duration = seconds_between(evidence->horizon->start, evidence->horizon->end);
	double longer = evidence->born_late ? fmax(12.0 / (double)evidence->born_late, 1.2) : 4;

	if (evidence->alive_old)
		longer = fmax(longer,
			1.2 * (double)evidence->enough_old / (double)evidence->alive_old);
	return duration * longer;
}

static const char *
explain_few(const struct th_evidence *evidence)
{
	if (!evidence->allocated)
		return "all of it was allocated after the last GC that shows "
		       "which objects died";
	if (!evidence->born_late)
		return th_printed("{} {} too few for a verdict: record longer, or at a smaller "
				  "sampling interval",
			evidence->allocated,
			evidence->allocated == 1 ? "sample is" : "samples are");
	return th_printed(
		"{} old survivors were sampled in the later half, too few for significant "
		"growth: at this rate a recording of about {s} would be enough, or a smaller "
		"sampling interval",
		evidence->born_late, enough_seconds(evidence));
}

static const char *
explain_no_collection(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;

	if (horizon->horizon <= horizon->start)
		return "no GC has shown which objects died: record longer, or "
		       "request a full GC";
	return th_printed("the last GC was at {t} of {t} s, and reachability of younger "
			  "objects is unknown: record longer, or request a full GC",
		seconds_between(horizon->origin, horizon->horizon),
		seconds_between(horizon->origin, horizon->end));
}

static const char *
explain_turnover(const struct th_evidence *evidence)
{
	return th_printed(
		"grows by {}, but {}: a structure that is still being filled, or one that is "
		"emptied from time to time; a recording several times as long would show which",
		growth_text(evidence), describe_old(evidence));
}

static const char *
explain_late(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;

	return th_printed("grows by {}, but only since {t} s of {t} s: record for about {s} to "
			  "see whether it stops",
		growth_text(evidence), seconds_between(horizon->origin, evidence->first_birth),
		seconds_between(horizon->origin, horizon->end),
		2 * seconds_between(horizon->start, horizon->end));
}

static const char *
explain_steady(const struct th_evidence *evidence)
{
	if (evidence->growth.low <= 0)
		return th_printed("does not grow significantly: its old blocks change by {}",
			growth_text(evidence));
	return th_printed("{}, but not significantly in the later half of that time, and {}",
		describe_growth(evidence, "grew"), describe_old(evidence));
}

static const char *
explain_plateau(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;

	switch (evidence->reason) {
	case TH_REASON_STOPPED:
		if (!evidence->born_since)
			return th_printed(
				"no survivor was allocated after the first {t} s of {t} s",
				seconds_between(horizon->start, horizon->warm),
				seconds_between(horizon->start, horizon->end));
		return th_printed("the last survivor was allocated at {t} s of {t} s",
			seconds_between(horizon->origin, evidence->last_birth),
			seconds_between(horizon->origin, horizon->end));
	case TH_REASON_STEP:
		return th_printed("grew only from {t} s to {t} s of {t} s",
			seconds_between(horizon->origin, evidence->first_since),
			seconds_between(horizon->origin, evidence->last_birth),
			seconds_between(horizon->origin, horizon->end));
	case TH_REASON_SLOWED:
		return th_printed("growth is ending: {} of {} survivors were allocated in the "
				  "last quarter of the time",
			evidence->born_last_quarter, evidence->born_since);
	default:
		return explain_steady(evidence);
	}
}

/* Few samples can hide growth: its upper limit is printed if the estimate is positive. */
static const char *
explain_churn(const struct th_evidence *evidence)
{
	return th_printed(
		"{f} % of its objects were freed, {} of {} samples, and its old blocks do not "
		"grow{}",
		100 * (1 - evidence->survivors), evidence->dead, evidence->allocated,
		evidence->growth.estimate > 0
			? th_printed(" significantly, by at most {b}/s", evidence->growth.high)
			: "");
}

const char *
th_evidence_explain(const struct th_evidence *evidence)
{
	switch (evidence->reason) {
	case TH_REASON_GROWS:
		return explain_leak(evidence);
	case TH_REASON_RESIDENT:
		return explain_resident(evidence);
	case TH_REASON_OWNERS_GONE:
		return th_printed("the Java objects that own these blocks were collected, but "
				  "the blocks were not freed: {f} % of them survive",
			100 * evidence->survivors);
	case TH_REASON_UNCLOSED:
		return evidence->collected ? explain_unclosed(evidence)
					   : explain_leak(evidence);
	case TH_REASON_FEW_SAMPLES:
		return explain_few(evidence);
	case TH_REASON_LATE:
		return explain_late(evidence);
	case TH_REASON_ENLARGED:
		return th_printed(
			"grows by {}: {} blocks, each larger than the one before, which it "
			"replaces: a structure that is still being filled, or leaks",
			growth_text(evidence), evidence->ascending);
	case TH_REASON_TURNOVER:
		return explain_turnover(evidence);
	case TH_REASON_UNPROVEN:
		return th_printed("grows by {}, but there was no recent old-generation GC, so "
				  "its old objects may be garbage: record longer, or request "
				  "a full GC",
			growth_text(evidence));
	case TH_REASON_DROPPED:
		return th_printed("grew by {}, but at exit all of it, {b}, was garbage: a leak "
				  "that the program dropped when it ended, or garbage of the "
				  "old generation",
			growth_text(evidence), evidence->collected_bytes);
	case TH_REASON_NO_COLLECTION:
		return explain_no_collection(evidence);
	case TH_REASON_INTERNAL:
		return th_printed("grows by {}, but is allocated by the Java VM for itself and "
				  "not for the application",
			growth_text(evidence));
	case TH_REASON_IDLE:
		return th_printed(
			"grew by {} until {t} s of {t} s, after which next to nothing "
			"was allocated in this heap: it may grow again under load",
			growth_text(evidence),
			seconds_between(evidence->horizon->origin, evidence->last_birth),
			seconds_between(evidence->horizon->origin, evidence->horizon->end));
	case TH_REASON_FREED:
		return explain_churn(evidence);
	case TH_REASON_UNUSED:
		return th_printed("more is mapped all the time, but its resident memory grew "
				  "by only {b} in the later half of the time",
			fmax(evidence->trend.growth_late, 0));
	default:
		return explain_plateau(evidence);
	}
}

const char *
th_released_text(const struct th_profile *profile, const struct th_evidence *evidence)
{
	double part = th_released_part(evidence);

	if (part < NOTABLE_PART)
		return NULL;
	return th_printed("{}: {f} % of it was freed after {t} s",
		th_released_only_at_exit(profile, evidence) ? "released only at exit"
		: th_profile_is_before_teardown(profile)    ? "partly released at exit"
							    : "released later",
		100 * part, th_profile_seconds(profile, profile->at.time));
}

/* Threads and class loaders */

static const char *
qualifier_of(const struct th_tallied *tallied)
{
	if (th_tallied_reason(tallied) == TH_REASON_UNCLOSED)
		return th_printed("; {f} ended with the full GC at exit", tallied->collected);
	if (tallied->is_idle)
		return ", after which next to nothing was allocated: more may be made under "
		       "load";
	if (tallied->is_late)
		return ", but that is less than half of the time: record longer";
	if (tallied->kind == TH_TALLY_THREADS)
		return "";
	return th_printed("{}", tallied->verdict == TH_VERDICT_LEAK
					? " after the last old-generation GC"
					: ", but no old-generation GC has shown lately "
					  "whether they can be unloaded: a full GC does");
}

const char *
th_tallied_explain(const struct th_tallied *tallied)
{
	const double *births = tallied->births;

	return th_printed("{}in the quarters of {}, {f}, {f}, {f} and {f} {}{}",
		tallied->is_ended_by_gcs ? "" : "of those made ",
		tallied->is_by_load ? "the load" : th_printed("{s}", tallied->seconds),
		births[0], births[1], births[2], births[3],
		tallied->is_ended_by_gcs
			? th_printed("were made; of the {f} that ended, GCs ended {f}",
				  tallied->ended, tallied->ended_by_gc)
			: "are alive",
		qualifier_of(tallied));
}

/* The answer */

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

const char *
th_view_line_text(const struct th_frames *frames, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(frames, number);
	return frame->file && frame->line ? th_printed("{}", th_frame_of(frames, number))
					  : th_frames_function_name(frames, frame->function);
}

/* The program's line of a finding, else its creator's, else the allocating function. */
static const char *
name_of(const struct th_leaks *leaks, const struct th_listed *listed)
{
	const struct th_leak_site *place = &leaks->places.items[listed->place];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);
	uint32_t line = place->creator ? th_leak_sites_user_frame(&leaks->places, place)
				       : path.frames[path.count - 1];

	if (line == TH_NO_FRAME)
		line = th_leak_sites_creator_frame(&leaks->places, place);
	return th_view_line_text(leaks->profile->frames, line);
}

static const char *
growth_reason(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	const struct th_tallied *tally = outcome->unclear;
	const struct th_listed *suspect = leaks->unsettled;
	if (suspect)
		return th_printed("{}, {}, grows by about {b}/s{} and may be a leak or not",
			name_of(leaks, suspect),
			th_heap_adjective(leaks->places.items[suspect->place].heap),
			suspect->growth,
			suspect->reason == TH_REASON_IDLE ? " until the heap is idle" : "");
	return th_printed("{} at {} grow and may be a leak or not",
		tally->kind == TH_TALLY_THREADS ? "threads started" : "classes defined",
		th_view_line_text(leaks->profile->frames,
			tally->user == TH_NO_FRAME ? tally->line : tally->user));
}

const char *
th_outcome_reason(const struct th_leaks *leaks)
{
	const struct th_outcome *outcome = &leaks->outcome;

	if (outcome->verdict != TH_OUTCOME_INCONCLUSIVE)
		return NULL;
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		if (outcome->is_asked[heap] && !outcome->is_judged[heap])
			return th_printed("the {} {}",
				heap == TH_HEAP_MAPPED ? "mapped memory" : th_heap_title(heap),
				unjudged_reason(leaks, heap));
	return growth_reason(leaks, outcome);
}

/* What would reach the limit that was asked for; the limit is inversely proportional to the duration. */
static const char *
advise_limit(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	double worst = 0;
	double gap = 0;

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!outcome->is_asked[heap] || !(outcome->limits[heap] < HUGE_VAL) ||
			outcome->limits[heap] <= worst)
			continue;
		worst = outcome->limits[heap];
		gap = leaks->profile->heaps[heap].gap;
	}
	if (worst <= outcome->asked)
		return NULL;
	return th_printed("record for {s}, or with -i {f}k",
		duration_of(leaks) * ROOM * worst / outcome->asked,
		fmax(floor(gap / ROOM * outcome->asked / worst / 1024), 1));
}

static const char *
advise_load(const struct th_leaks *leaks, double until)
{
	return th_printed("judge the time before, twinheap leaks --to {t}, or record while "
			  "the load lasts",
		(until - (double)leaks->horizons[TH_HEAP_NATIVE].origin) / 1e9);
}

const char *
th_outcome_advice(const struct th_leaks *leaks)
{
	const struct th_outcome *outcome = &leaks->outcome;
	const struct th_listed *suspect = leaks->unsettled;
	struct th_pid_text pid = th_recording_pid(leaks->profile->recording);

	if (outcome->verdict == TH_OUTCOME_NONE && !outcome->is_reached)
		return advise_limit(leaks, outcome);
	if (outcome->verdict != TH_OUTCOME_INCONCLUSIVE)
		return NULL;
	if (outcome->is_asked[TH_HEAP_JAVA] && !outcome->is_judged[TH_HEAP_JAVA])
		return th_printed("have the VM collect all of the heap near the end, twinheap "
				  "ctl {} gc, or record with --gc-every 30s",
			pid.text);
	if (!outcome->is_complete)
		return "record for longer";
	if (!suspect && outcome->unclear->is_idle)
		return advise_load(leaks, outcome->unclear->until);
	if (!suspect && outcome->unclear->is_late)
		return th_printed("record for {s}", duration_of(leaks) * ROOM * 2);
	if (!suspect)
		return th_printed(
			"have the VM collect all of the heap, twinheap ctl {} gc", pid.text);
	if (suspect->reason == TH_REASON_DROPPED)
		return th_printed(
			"have the VM collect all of the heap before the program ends, "
			"twinheap ctl {} gc, or end it by SIGTERM",
			pid.text);
	if (suspect->reason == TH_REASON_IDLE)
		return advise_load(leaks,
			(double)th_leaks_next(leaks, suspect->group).evidence.last_birth);
	if (suspect->reason == TH_REASON_FEW_SAMPLES) {
		struct th_finding finding = th_leaks_next(leaks, suspect->group);

		return th_printed("record for {s}", enough_seconds(&finding.evidence));
	}
	return th_printed("record for {s}",
		duration_of(leaks) * ROOM * (suspect->reason == TH_REASON_LATE ? 2 : 4));
}

/* " above 0.4 MiB/s native, 1.1 MiB/s Java". */
static const char *
limits_text(const struct th_outcome *outcome)
{
	static const enum th_heap order[] = {TH_HEAP_NATIVE, TH_HEAP_JAVA, TH_HEAP_MAPPED};
	const char *text = "";

	for (int i = 0; i < 3; i++) {
		enum th_heap heap = order[i];

		if (outcome->is_asked[heap] && outcome->is_judged[heap] &&
			outcome->limits[heap] > 0)
			text = th_printed("{}{} {b}/s {}", text, *text ? "," : " above",
				outcome->limits[heap], th_heap_adjective(heap));
	}
	return text;
}

/* ": not closed by the program, freed only by GCs"; empty: none. */
static const char *
unclosed_text(const struct th_outcome *outcome)
{
	if (!outcome->unclosed)
		return "";
	if (outcome->unclosed == outcome->leaks)
		return ": not closed by the program, freed only by GCs";
	return th_printed(": {c} of them not closed by the program, freed only by GCs",
		outcome->unclosed);
}

static const char *
found_headline(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	if (!outcome->leaks)
		return th_printed("{c leak} of what native code holds of the Java VM, in {s}",
			outcome->of_vm, duration_of(leaks));
	return th_printed("{c leak}, {}{b}/s, at least {b}, in {s}{}{}", outcome->leaks,
		outcome->leaks == 1 ? "" : "together ", outcome->growth, outcome->bytes,
		duration_of(leaks),
		outcome->of_vm
			? th_printed(", and {c} of what native code holds of the Java VM",
				  outcome->of_vm)
			: "",
		unclosed_text(outcome));
}

const char *
th_outcome_headline(const struct th_leaks *leaks)
{
	const struct th_outcome *outcome = &leaks->outcome;
	const char *limits = limits_text(outcome);

	switch (outcome->verdict) {
	case TH_OUTCOME_FOUND:
		return found_headline(leaks, outcome);
	case TH_OUTCOME_NONE:
		return th_printed("no leak{}{} in {s}", *limits ? limits : " found",
			*limits ? "," : "", duration_of(leaks));
	default:
		return th_printed("inconclusive after {s}: {}", duration_of(leaks),
			th_outcome_reason(leaks));
	}
}
