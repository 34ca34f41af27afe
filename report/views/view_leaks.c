/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks, as text and as JSON: findings by verdict, worst first.  As text each has the application
 * line, its figures, the reason for the verdict and, for a leak, the stack of the allocation.
 */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/statistics/forced_collection.h"
#include "report/views/parts.h"

/* Parts of a finding printed, largest first. */
#define PARTS_SHOWN 3
/* Leaks printed that have the same cause as another one. */
#define CAUSE_PARTS_SHOWN 5
/* Parts of a finding in JSON. */
#define PARTS_MAX 10

/* Findings */

static const char *
figures_text(const struct th_evidence *evidence)
{
	return th_printed("{e} {}{}{}", &evidence->live_bytes,
		evidence->is_resident ? th_printed("in memory of {b} mapped", evidence->live)
				      : "live",
		evidence->alive ? th_printed(", median age {s}", evidence->median_age) : "",
		evidence->alive && evidence->collections
			? th_printed(", { GC} survived", evidence->collections)
			: "");
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

		bool is_named = place->heap == first && is_leak;

		th_print(file, "         and    {}{}{}: {}, {}\n",
			th_heap_adjective(place->heap), is_named ? ", " : "",
			is_named ? th_view_site_title(leaks, place) : "",
			figures_text(&finding.evidence), is_leak ? "growing" : "unclear");
	}
}

/* "native and Java" */
static const char *
heaps_text(const struct th_leaks *leaks, struct th_finding finding)
{
	const char *text = "";
	unsigned seen = 0;

	do {
		enum th_heap heap = leaks->places.items[finding.place].heap;

		if (!(seen & 1u << heap))
			text = th_printed(
				"{}{}{}", text, seen ? " and " : "", th_heap_adjective(heap));
		seen |= 1u << heap;
	} while (next_heap(leaks, &finding));
	return text;
}

/* The allocating function; for Java objects the class and its line. */
static void
print_part(FILE *file, const struct th_leaks *leaks, const struct th_leak_part *part,
	double live, bool is_first)
{
	const struct th_leak_site *place = &leaks->places.items[part->place];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);

	th_print(file, "{}{f} % {}, {}\n", is_first ? "         parts  " : "                ",
		live > 0 ? 100 * part->live / live : 0.0, th_heap_adjective(place->heap),
		place->heap == TH_HEAP_JAVA
			? th_view_site_title(leaks, place)
			: th_printed("{}", th_frame_of(leaks->profile->frames,
						   path.frames[path.count - 1])));
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
	const char *wrapper = th_owners_wrapper(leaks, finding);
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
}

/* ", on threads started at app.Pool.grow (Pool.java:31)" */
static const char *
starter_text(const struct th_leaks *leaks, uint32_t number)
{
	uint32_t line = leaks->causes[number].starter;

	return line == TH_NO_FRAME ? ""
				   : th_printed(", on threads started at {}",
					     th_frame_of(leaks->profile->frames, line));
}

/* As a regular expression that matches it alone. */
static const char *
escaped(const char *name)
{
	struct th_line line;

	th_line_begin(&line);
	for (; *name; name++)
		fprintf(line.stream, strchr(".$[](){}*+?^|\\", *name) ? "\\%c" : "%c", *name);
	return th_line_text(&line);
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
	const char *rest = th_printed("--focus {} {}",
		th_view_quoted(escaped(
			th_frames_function_name(frames, th_frames_function_at(frames, frame)))),
		th_view_quoted(leaks->profile->options->log));
	bool fits = th_format_columns(rest) <= th_terminal_room(file, sizeof(command), 0);

	th_print(file, "{}{}{}\n", command, fits ? " " : " \\\n                  ", rest);
}

/* A leak that is part of another one, in one line. */
static const char *
cause_part_text(const struct th_leaks *leaks, uint32_t number)
{
	size_t tallies = leaks->tallies.items_count;

	if (number < tallies)
		return th_tallied_headline(leaks, &leaks->tallies.items[number], ": ");
	struct th_finding finding = th_leaks_next(
		leaks, leaks->findings[number - tallies].group);
	return th_printed("{}, {}: {b} live, {b}/s", heaps_text(leaks, finding),
		th_view_finding_title(leaks, &finding), &finding.evidence.live_bytes,
		&finding.evidence.growth);
}

/* What else has the same cause as a leak. */
static void
print_cause_parts(FILE *file, const struct th_leaks *leaks, uint32_t leader)
{
	unsigned count = 0;

	for (uint32_t i = th_causes_next(leaks, leader, leader); i != UINT32_MAX;
		i = th_causes_next(leaks, leader, i)) {
		if (count++ < CAUSE_PARTS_SHOWN)
			th_print(file, "{}{}\n",
				count == 1 ? "         with   " : "                ",
				cause_part_text(leaks, i));
	}
	if (count > CAUSE_PARTS_SHOWN)
		th_print(file, "                and {} more\n", count - CAUSE_PARTS_SHOWN);
}

static void
print_finding(FILE *file, const struct th_leaks *leaks, const struct th_held_samples *held,
	const struct th_listed *listed)
{
	struct th_finding finding = th_leaks_next(leaks, listed->group);
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[finding.place];
	enum th_verdict verdict = finding.evidence.verdict;
	uint32_t number = th_causes_number_of(leaks, listed);
	bool has_group = leaks->profile->options->group_by;
	const char *advice = th_ledger_parts_advice(leaks, place);
	const char *released = th_released_text(leaks->profile, &finding.evidence);

	th_view_verdict(file, verdict, finding.evidence.reason);
	th_print(file, "{}, {}{}{}{}", heaps_text(leaks, finding),
		has_group ? th_frames_function_name(frames, th_leaks_group(leaks, place)) : "",
		has_group ? ": " : "", th_view_finding_title(leaks, &finding),
		starter_text(leaks, number));
	if (verdict != TH_VERDICT_LEAK && finding.place_count > 1 && !place->internal)
		th_print(file, " and {} more stacks or classes", finding.place_count - 1);
	th_print(file, "\n         {}\n         why    {}\n", figures_text(&finding.evidence),
		th_evidence_explain(&finding.evidence));
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
		print_cause_parts(file, leaks, number);
		print_parts(file, leaks, listed);
		th_stack_lines_of_leak(file, leaks, place, number);
		print_next(file, leaks, place);
	}
}

static bool
is_listed(const struct th_leaks *leaks, const struct th_listed *listed)
{
	return !th_causes_is_part(leaks, th_causes_number_of(leaks, listed)) &&
	       (leaks->profile->options->lists_all || th_leaks_is_listed(leaks, listed));
}

static void
print_verdict(FILE *file, const struct th_leaks *leaks, const struct th_held_samples *held,
	enum th_verdict verdict)
{
	uint64_t top = leaks->profile->options->top;
	uint64_t count = 0;

	for (size_t i = 0; i < leaks->findings_count; i++) {
		if (leaks->findings[i].verdict != verdict ||
			!is_listed(leaks, &leaks->findings[i]) || count++ >= top)
			continue;
		fputc('\n', file);
		print_finding(file, leaks, held, &leaks->findings[i]);
	}
	if (count > top)
		th_print(file, "\nand {c} more with verdict {}\n", count - top,
			th_verdict_names[verdict]);
}

static void
print_tally(FILE *file, const struct th_held_samples *held, const struct th_tallied *tallied)
{
	const struct th_leaks *leaks = held->leaks;
	struct th_leak_site site = th_tallied_site(leaks, tallied);
	uint32_t number = th_causes_number_of_tallied(leaks, tallied);

	th_view_verdict(file, tallied->verdict, th_tallied_reason(tallied));
	th_print(file, "{}\n         why    {}\n",
		th_tallied_headline(leaks, tallied, "\n         "),
		th_tallied_explain(tallied));
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

static void
print_outcome(FILE *file, const struct th_leaks *leaks)
{
	static const enum th_style styles[] = {
		[TH_OUTCOME_FOUND] = TH_STYLE_WARNING,
		[TH_OUTCOME_NONE] = TH_STYLE_GOOD,
		[TH_OUTCOME_INCONCLUSIVE] = TH_STYLE_DOUBT,
	};
	const struct th_profile *profile = leaks->profile;
	const struct th_outcome *outcome = &leaks->outcome;
	const char *advice = th_outcome_advice(leaks);

	th_print(file, "{#}{}{/}\n", styles[outcome->verdict], th_outcome_headline(leaks));
	if (!outcome->is_reached && outcome->verdict == TH_OUTCOME_NONE)
		th_print(file, "limit of {b}/s not reached\n", outcome->asked);
	if (advice)
		th_print(file, "to decide: {}\n", advice);
	th_view_filters(file, profile->options);
	/* The time at which all is judged. */
	if (profile->at.time != profile->recording->end)
		th_print(file, "judged {}\n", th_profile_moment_text(profile));
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_window(file, leaks, heap);
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

/* JSON: findings one by one, since all of them in memory would be too large. */

/* Marks a leak that is a part of another one: verdict "part", and its index. */
static void
set_part(json_t *json, const struct th_leaks *leaks, uint32_t number)
{
	if (th_causes_is_part(leaks, number))
		th_json_set(
			json, "verdict part_of", "part", (size_t)leaks->causes[number].leader);
}

/* The detection limits of judged heaps; null: not judged, 0: every allocation was recorded. */
static json_t *
limits_json(const struct th_outcome *outcome)
{
	return th_json_heaps(
		heap, outcome->is_judged[heap] ? json_real(outcome->limits[heap]) : NULL);
}

/* Reason and advice are null if there is nothing to say. */
static json_t *
outcome_json(const struct th_leaks *leaks, bool with_headline)
{
	const struct th_outcome *outcome = &leaks->outcome;
	json_t *json = th_json("verdict leaks growth_bytes_per_s "
			       "detection_limits_bytes_per_s reason advice",
		th_outcome_names[outcome->verdict], outcome->leaks, outcome->growth,
		limits_json(outcome), th_outcome_reason(leaks), th_outcome_advice(leaks));

	if (outcome->asked > 0)
		th_json_set(json, "limit_bytes_per_s limit_reached", outcome->asked,
			outcome->is_reached);
	if (with_headline)
		th_json_set(json, "headline", th_outcome_headline(leaks));
	return json;
}

static const struct th_leak_site *
place_of(const struct th_leaks *leaks, uint32_t place)
{
	return &leaks->places.items[place];
}

static const char *
class_of(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	return th_frames_string(leaks->profile->frames, place->class_name);
}

/* Root first; VM-internal memory is one frame. */
static json_t *
frames_json(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_leaks_path(leaks, place);

	if (!place->internal)
		return th_json_list(th_frame_texts_mark(path.frames, path.count));
	return th_json_list(
		th_json_function(frames, th_frames_group(frames, place->internal), "", 0));
}

static json_t *
owner_json(const struct th_leaks *leaks, const struct th_owner *owner)
{
	if (owner->place == TH_NO_PLACE)
		return NULL;
	const struct th_leak_site *place = place_of(leaks, owner->place);
	return th_json("class frames state samples samples_collected", class_of(leaks, place),
		frames_json(leaks, place), owner->is_collected ? "collected" : "alive",
		owner->samples, owner->collected);
}

static json_t *
set_evidence(json_t *json, const struct th_evidence *evidence)
{
	if (evidence->heap == TH_HEAP_MAPPED)
		th_json_set(json, "mapped_bytes is_resident", evidence->live,
			(bool)evidence->is_resident);
	return th_json_set(json,
		"live_bytes live_objects growth_bytes_per_s survivors_per_allocation "
		"median_age_s collections_survived still_growing why",
		&evidence->live_bytes, &evidence->live_objects, &evidence->growth,
		evidence->survivors, evidence->median_age, evidence->collections,
		(bool)evidence->is_growing, th_evidence_explain(evidence));
}

static const char *
verdict_of(const struct th_finding *finding)
{
	return th_verdict_name_by(finding->evidence.verdict, finding->evidence.reason);
}

/* Figures of each heap of a finding, the leading one first, and its largest site. */
static json_t *
heaps_json(const struct th_leaks *leaks, struct th_finding finding)
{
	json_t *list = json_array();

	for (;; finding = th_leaks_next(leaks, finding.next)) {
		const struct th_leak_site *place = place_of(leaks, finding.place);
		json_t *json = th_json("heap verdict stacks class? frames",
			th_heap_word(finding.evidence.heap), verdict_of(&finding),
			finding.place_count, class_of(leaks, place), frames_json(leaks, place));

		json_array_append_new(list, set_evidence(json, &finding.evidence));
		if (finding.next == UINT32_MAX)
			return list;
	}
}

/* The largest sites in all heaps, with their stacks. */
static json_t *
parts_json(const struct th_leaks *leaks, const struct th_listed *listed)
{
	struct th_leak_part parts[PARTS_MAX];
	double live;
	size_t count = th_leaks_parts(leaks, listed, parts, PARTS_MAX, &live);

	return th_json_map(part, parts, count < PARTS_MAX ? count : PARTS_MAX,
		th_json("heap class? share live_bytes samples frames",
			th_heap_word(place_of(leaks, part->place)->heap),
			class_of(leaks, place_of(leaks, part->place)),
			live > 0 ? part->live / live : 0.0, part->live, part->samples,
			frames_json(leaks, place_of(leaks, part->place))));
}

/* One frame; NULL: none. */
static json_t *
frame_json(uint32_t frame)
{
	return frame == TH_NO_FRAME ? NULL : th_frame_texts_mark(&frame, 1);
}

/* The method whose growth is significant; null: that of a line is. */
static json_t *
node_json(const struct th_leaks *leaks, const struct th_finding *finding)
{
	const struct th_profile *profile = leaks->profile;
	struct th_path path = th_paths_get(
		profile->paths, place_of(leaks, finding->place)->path);

	if (finding->level == TH_LEVEL_LINE)
		return NULL;
	return frame_json(path.frames[leaks->places.ways.items[finding->key].length - 1]);
}

static json_t *
finding_json(
	const struct th_held_samples *held, const struct th_listed *listed, bool is_for_page)
{
	const struct th_leaks *leaks = held->leaks;
	const struct th_profile *profile = leaks->profile;
	struct th_finding finding = th_leaks_next(leaks, listed->group);
	const struct th_evidence *evidence = &finding.evidence;
	const struct th_leak_site *place = place_of(leaks, finding.place);
	const char *advice = th_ledger_parts_advice(leaks, place);
	const char *released = th_released_text(profile, evidence);
	json_t *json = th_json("verdict heap class? thread", verdict_of(&finding),
		th_heap_word(place->heap), class_of(leaks, place),
		th_frames_function_name(profile->frames, place->thread));

	uint32_t number = th_causes_number_of(leaks, listed);
	uint32_t creator = TH_NO_FRAME;
	/* Of what has no creator, the line that started the threads on which it is. */
	uint32_t user = leaks->causes[number].starter;
	if (place->creator) {
		creator = th_leak_sites_creator_frame(&leaks->places, place);
		user = th_leak_sites_user_frame(&leaks->places, place);
	}
	set_part(json, leaks, number);
	th_json_set(json, "frames creator user stacks owner holders", frames_json(leaks, place),
		frame_json(creator), frame_json(user), finding.place_count,
		owner_json(leaks, &finding.owner),
		th_holder_parts_finding_json(held, listed, &finding, is_for_page));
	set_evidence(json, evidence);
	th_json_set(json, "freed_afterwards released_only_at_exit", th_released_part(evidence),
		th_released_only_at_exit(profile, evidence));
	if (is_for_page && released)
		th_json_set(json, "later", released);
	if (advice)
		th_json_set(json, "cause", advice);
	if (evidence->omits_collected)
		th_json_set(json, "collected_bytes", evidence->collected_bytes);
	if (evidence->reason == TH_REASON_UNCLOSED) {
		th_json_set(json, "wrapper? collected_bytes",
			th_owners_wrapper(leaks, &finding), evidence->collected_bytes);
		if (th_owners_await_finalizer(leaks, finding.place))
			th_json_set(json, "await_finalizer", leaks->finalizers.waiting);
	}
	if (evidence->verdict == TH_VERDICT_LEAK) {
		th_json_set(json, "level node lines",
			finding.level == TH_LEVEL_PATH ? "path" : "line",
			node_json(leaks, &finding), finding.lines);
		if (!is_for_page || finding.next != UINT32_MAX)
			th_json_set(json, "heaps", heaps_json(leaks, finding));
		if (!is_for_page)
			th_json_set(json, "parts", parts_json(leaks, listed));
	}
	if (profile->options->group_by)
		th_json_set(json, "group",
			th_frames_function_name(profile->frames, th_leaks_group(leaks, place)));
	return json;
}

/* For a page: also the number alive at the end that was made by the end of each part of the time. */
static void
set_curve(json_t *json, const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	struct th_path path = th_tallied_path(leaks, tallied);
	json_t *curve = th_json_list(0.0);
	double sum = 0;

	for (int i = 0; i < TH_TALLIED_PARTS; i++)
		th_json_append(curve, sum += tallied->made_in[i]);
	th_json_set(json, "frames curve",
		th_json_list(th_frame_texts_mark(path.frames, path.count)), curve);
}

static json_t *
tallied_json(
	const struct th_held_samples *held, const struct th_tallied *tallied, bool is_for_page)
{
	json_t *json = th_tallied_json(held->leaks, tallied);

	set_part(json, held->leaks, th_causes_number_of_tallied(held->leaks, tallied));
	if (is_for_page)
		set_curve(json, held->leaks, tallied);
	return th_json_set(
		json, "holders", th_holder_parts_tallied_json(held, tallied, is_for_page));
}

void
th_view_leaks_json_page(FILE *file, const struct th_leaks *leaks, size_t most,
	uint32_t (*number_of)(void *data, uint32_t frame), void *data)
{
	const struct th_ledger *ledger = &leaks->ledger;
	const char *before = "\n  ";
	struct th_held_samples held;
	struct th_frame_texts texts = {
		.frames = leaks->profile->frames, .number_of = number_of, .data = data};

	fputs("{\"twinheap\": 1", file);
	th_json_write(
		file, ",\n \"recorded\": ", th_json_recorded(leaks->profile->recording), 0);
	th_json_write(file, ",\n \"filters\": ", th_json_filters(leaks->profile->options), 0);
	th_json_write(file, ",\n \"judged\": ", th_json_moment(leaks->profile), 0);
	th_json_write(file, ",\n ", outcome_json(leaks, number_of), JSON_EMBED);
	th_json_write(
		file, ",\n \"counts\": ", th_ledger_parts_counts_json(&leaks->references), 0);
	th_json_write(file,
		",\n \"ledger\": ", th_ledger_parts_json(ledger, ledger->findings_count), 0);
	fputs(",\n \"findings\": [", file);
	th_held_samples_init(&held, leaks);
	for (size_t i = 0; i < leaks->tallies.items_count; i++, before = ",\n  ")
		th_frame_texts_write(&texts, file, before,
			tallied_json(&held, &leaks->tallies.items[i], number_of));
	for (size_t i = 0; i < leaks->findings_count && i < most; i++, before = ",\n  ")
		th_frame_texts_write(&texts, file, before,
			finding_json(&held, &leaks->findings[i], number_of));
	th_frame_texts_deinit(&texts);
	th_held_samples_deinit(&held);
	fputs("]}\n", file);
}

void
th_view_leaks_json(FILE *file, const struct th_leaks *leaks)
{
	th_view_leaks_json_page(file, leaks, SIZE_MAX, NULL, NULL);
}
