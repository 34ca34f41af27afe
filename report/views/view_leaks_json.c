/* SPDX-License-Identifier: Apache-2.0 */
/* leaks --format json.  Findings are printed one by one: all of them in memory would be too large. */
#include "report/views/view.h"

#include <stdlib.h>

#include "report/base/heap_names.h"
#include "report/views/finding_parts.h"
#include "report/views/json_parts.h"
#include "report/views/values.h"

/* Parts of a finding that are listed, largest first. */
#define PARTS_MAX 10

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
		return path.count ? th_json_list(th_frame_texts_mark(path.frames, path.count))
				  : json_array();
	return th_json_list(th_json_function(frames,
		th_frames_special_function(frames, place->internal, "", TH_KIND_GROUP), "", 0));
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
	char *why = th_evidence_explain(evidence);

	if (evidence->heap == TH_HEAP_MAPPED)
		th_json_set(json, "mapped_bytes is_resident", evidence->live,
			(bool)evidence->is_resident);
	th_json_set(json,
		"live_bytes live_objects growth_bytes_per_s survivors_per_allocation "
		"median_age_s collections_survived still_growing why",
		&evidence->live_bytes, &evidence->live_objects, &evidence->growth,
		evidence->survivors, evidence->median_age, evidence->collections,
		(bool)evidence->is_growing, why);
	free(why);
	return json;
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

/* Of memory that only collections free. */
static void
set_unclosed(json_t *json, const struct th_leaks *leaks, const struct th_finding *finding)
{
	char *wrapper = th_owners_wrapper(leaks, finding);

	th_json_set(
		json, "wrapper? collected_bytes", wrapper, finding->evidence.collected_bytes);
	if (th_owners_await_finalizer(leaks, finding->place))
		th_json_set(json, "await_finalizer", leaks->finalizers.waiting);
	free(wrapper);
}

static uint32_t
creator_of(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	return place->creator ? th_leak_sites_creator_frame(&leaks->places, place)
			      : TH_NO_FRAME;
}

/* Of what has no creator, the line that started the threads on which it is. */
static uint32_t
user_of(const struct th_leaks *leaks, const struct th_leak_site *place, uint32_t number)
{
	return place->creator ? th_leak_sites_user_frame(&leaks->places, place)
			      : th_causes_starter(leaks, number);
}

/* The remark of `leaks` about what was freed after the verdict. */
static void
set_remark(json_t *json, const struct th_leaks *leaks, const struct th_evidence *evidence)
{
	char *remark = th_released_text(leaks->profile, evidence);

	if (remark)
		th_json_set(json, "later", remark);
	free(remark);
}

static json_t *
finding_json(
	const struct th_held_samples *held, const struct th_listed *listed, bool is_for_page)
{
	const struct th_leaks *leaks = held->leaks;
	const struct th_profile *profile = leaks->profile;
	struct th_finding finding = th_leaks_measured(leaks, listed);
	const struct th_evidence *evidence = &finding.evidence;
	const struct th_leak_site *place = place_of(leaks, finding.place);
	char *advice = th_ledger_parts_advice(leaks, place);
	json_t *json = th_json("verdict heap class? thread", verdict_of(&finding),
		th_heap_word(place->heap), class_of(leaks, place),
		th_frames_function_name(profile->frames, place->thread));

	uint32_t number = th_causes_number_of(leaks, listed);
	th_json_set_part(json, leaks, number);
	th_json_set(json, "frames creator user stacks owner holders", frames_json(leaks, place),
		frame_json(creator_of(leaks, place)), frame_json(user_of(leaks, place, number)),
		finding.place_count, owner_json(leaks, &finding.owner),
		th_holder_parts_finding_json(held, listed, &finding, is_for_page));
	set_evidence(json, evidence);
	th_json_set(json, "freed_afterwards released_only_at_exit", th_released_part(evidence),
		th_released_only_at_exit(profile, evidence));
	if (is_for_page)
		set_remark(json, leaks, evidence);
	if (advice)
		th_json_set(json, "cause", advice);
	free(advice);
	if (evidence->reason == TH_REASON_UNCLOSED)
		set_unclosed(json, leaks, &finding);
	if (evidence->verdict == TH_VERDICT_LEAK) {
		th_json_set(json, "level node lines", th_leak_level_name(finding.level),
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
		path.count ? th_json_list(th_frame_texts_mark(path.frames, path.count))
			   : json_array(),
		curve);
}

static json_t *
tallied_json(
	const struct th_held_samples *held, const struct th_tallied *tallied, bool is_for_page)
{
	json_t *json = th_tallied_json(held->leaks, tallied);

	th_json_set_part(json, held->leaks, th_causes_number_of_tallied(held->leaks, tallied));
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
	struct th_frame_texts texts;

	fputs("{\"twinheap\": 1", file);
	th_json_write(
		file, ",\n \"recorded\": ", th_json_recorded(leaks->profile->recording), 0);
	th_json_write(file, ",\n \"filters\": ", th_json_filters(leaks->profile->options), 0);
	th_json_write(file, ",\n \"judged\": ", th_json_moment(leaks->profile), 0);
	th_json_write(file, ",\n ", th_json_outcome(leaks, number_of), JSON_EMBED);
	th_json_write(
		file, ",\n \"counts\": ", th_ledger_parts_counts_json(&leaks->references), 0);
	th_json_write(file,
		",\n \"ledger\": ", th_ledger_parts_json(ledger, ledger->findings_count), 0);
	fputs(",\n \"findings\": [", file);
	th_held_samples_init(&held, leaks);
	th_frame_texts_init(&texts, leaks->profile->frames);
	texts.number_of = number_of;
	texts.data = data;
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
