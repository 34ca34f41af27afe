/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rss --format json: the breakdown of resident memory with all its lines, their parts and
 * stacks, counters, and the snapshots over time.  Keys are stable; figures come from th_rss and
 * th_breakdown.
 */
#include <stdlib.h>

#include "report/rss/buffers.h"
#include "report/rss/rss.h"
#include "report/views/json_parts.h"
#include "report/views/view.h"

/* Maximum number of stacks listed per line; the line's total includes the rest. */
#define STACKS_MAX 100

static json_t *
parts(const struct th_breakdown_line *line)
{
	json_t *list = json_array();

	for (size_t i = 0; i < line->parts_count; i++) {
		const struct th_breakdown_part *part = &line->parts[i];

		json_array_append_new(
			list, json_pack("{s:s, s:f, s:f, s:I}", "name", part->name, "resident",
				      part->resident, "size", part->size, "mappings",
				      (json_int_t)part->mappings));
	}
	return list;
}

static json_t *
stack(const struct th_rss *rss, size_t row)
{
	const struct th_profile *profile = rss->profile;
	struct th_estimate touched = th_breakdown_row_touched(&rss->account, row);
	struct th_path path = th_paths_get(profile->paths, profile->rows[row].path);
	json_t *frames = json_array();

	for (uint32_t i = 0; i < path.count; i++)
		json_array_append_new(frames, th_json_frame(profile->frames, path.frames[i]));
	return json_pack("{s:s, s:o, s:o}", "thread",
		th_frames_function_name(profile->frames, profile->rows[row].thread), "frames",
		frames, "resident", th_json_estimate(&touched));
}

static json_t *
stacks(const struct th_rss *rss, enum th_breakdown_kind kind)
{
	size_t rows[STACKS_MAX];
	size_t count = th_rss_rows(rss, kind, rows, STACKS_MAX);
	json_t *list = json_array();

	for (size_t i = 0; i < count && i < STACKS_MAX; i++)
		json_array_append_new(list, stack(rss, rows[i]));
	return list;
}

static json_t *
line_json(const struct th_rss *rss, const struct th_breakdown_line *line)
{
	json_t *json = json_pack("{s:s, s:s, s:o, s:f, s:f, s:f, s:I}", "name",
		th_breakdown_name(line->kind), "label", th_breakdown_label(line->kind),
		"resident", th_json_estimate(&line->resident), "swapped", line->swapped, "size",
		line->size, "accessible", line->accessible, "mappings",
		(json_int_t)line->mappings);

	if (line->committed > 0) {
		json_object_set_new(
			json, "used", line->used > 0 ? json_real(line->used) : json_null());
		json_object_set_new(json, "committed", json_real(line->committed));
		json_object_set_new(json, "limit", json_real(line->limit));
	}
	if (line->kind == TH_BREAKDOWN_MALLOC_DIRECT) {
		json_object_set_new(json, "cached", th_json_estimate(&rss->account.cached));
		json_object_set_new(json, "unjudged", th_json_estimate(&rss->account.unjudged));
	}
	json_object_set_new(json, "parts", parts(line));
	json_object_set_new(json, "stacks", stacks(rss, line->kind));
	return json;
}

static json_t *
lines_json(const struct th_rss *rss)
{
	json_t *list = json_array();

	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		json_array_append_new(list, line_json(rss, &rss->account.lines[kind]));
	return list;
}

static json_t *
malloc_json(const struct th_breakdown *account)
{
	const struct th_decoded_allocator *allocator = account->allocator;
	bool has_pages = account->head->flags & TH_BREAKDOWN_HAS_PAGES;
	json_t *json = json_pack("{s:o, s:o, s:f, s:[f, f]}", "live",
		has_pages ? th_json_estimate(&account->live) : json_null(), "touched",
		has_pages ? th_json_estimate(&account->touched) : json_null(), "trimmable",
		account->trimmed.estimate, "trimmable_range", account->trimmed.low,
		account->trimmed.high);

	if (allocator)
		json_object_set_new(json, "allocator",
			json_pack("{s:o, s:I, s:I, s:I, s:I, s:I}", "name",
				th_json_log_text(allocator->name), "heaps",
				(json_int_t)allocator->heaps, "used",
				(json_int_t)allocator->used, "free",
				(json_int_t)allocator->free, "mapped",
				(json_int_t)allocator->mapped, "top",
				(json_int_t)allocator->top));
	return json;
}

static json_t *
pools_json(const struct th_rss *rss)
{
	const struct th_recording *recording = rss->profile->recording;
	json_t *list = json_array();

	for (size_t i = 0; i < recording->pools_count; i++) {
		const struct th_decoded_pool *pool = &recording->pools[i];

		if (pool->account != rss->account.head->account ||
			pool->kind == TH_POOL_FINALIZERS)
			continue;
		json_array_append_new(list,
			json_pack("{s:o, s:s, s:I, s:I, s:I, s:I}", "name",
				th_json_log_text(pool->name), "kind",
				pool->kind == TH_POOL_BUFFERS ? "buffers" : "memory", "used",
				(json_int_t)pool->used, "committed",
				(json_int_t)pool->committed, "limit", (json_int_t)pool->limit,
				"count", (json_int_t)pool->count));
	}
	return list;
}

/* Counts of buffers taken for this breakdown; empty if none were requested. */
static json_t *
buffers_json(const struct th_breakdown *account)
{
	json_t *list = json_array();

	for (int kind = 1; kind < TH_BUFFERS_KINDS; kind++) {
		const struct th_decoded_buffers *count = account->counts[kind];

		if (!count)
			continue;
		json_array_append_new(list,
			json_pack("{s:s, s:f, s:I, s:I, s:I, s:I, s:I}", "kind",
				th_breakdown_buffers_name((enum th_buffers_kind)kind),
				"seconds", th_profile_seconds(account->profile, count->time),
				"stopped_ns", (json_int_t)count->stopped, "reached",
				(json_int_t)count->reached, "reached_bytes",
				(json_int_t)count->reached_bytes, "waiting",
				(json_int_t)count->waiting, "waiting_bytes",
				(json_int_t)count->waiting_bytes));
	}
	return list;
}

static json_t *
group_json(const struct th_decoded_cgroup *group)
{
	if (!group)
		return json_null();
	return json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:o}", "version",
		(json_int_t)group->version, "path", th_json_log_text(group->path), "current",
		(json_int_t)group->current, "anonymous", (json_int_t)group->anonymous, "file",
		(json_int_t)group->file, "kernel", (json_int_t)group->kernel, "limit",
		group->limit ? json_integer((json_int_t)group->limit) : json_null());
}

static json_t *
points_json(const struct th_rss *rss)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rss->points_count; i++)
		json_array_append_new(list,
			json_pack("[f, f]", rss->points[i].seconds, rss->points[i].bytes));
	return list;
}

static json_t *
moments_json(const struct th_rss *rss)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rss->moments_count; i++) {
		const struct th_rss_moment *moment = &rss->moments[i];
		json_t *lines = json_object();

		for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
			json_object_set_new(lines,
				th_breakdown_name((enum th_breakdown_kind)kind),
				json_real(moment->lines[kind]));
		json_array_append_new(
			list, json_pack("{s:f, s:f, s:o}", "seconds", moment->seconds,
				      "resident", moment->resident, "lines", lines));
	}
	return list;
}

/* Into the memory limit; null without one. */
static json_t *
fit_json(const struct th_rss_facts *facts)
{
	struct th_rss_fit fit;

	if (!th_rss_fit(facts, &fit))
		return json_null();
	char *text = th_rss_fit_text(facts, &fit);
	json_t *json = json_pack("{s:f, s:f, s:f, s:f, s:f, s:b, s:s}", "limit_bytes",
		facts->group_limit, "heap_limit_bytes", fit.heap, "outside_bytes", fit.outside,
		"outside_growth_bytes_per_s", fit.growth, "left_bytes", fit.left, "fits",
		fit.left >= 0, "text", text);

	free(text);
	return json;
}

static json_t *
verdict_json(const struct th_rss *rss)
{
	const struct th_rss_verdict *verdict = &rss->verdict;
	char *text = th_rss_verdict_text(verdict, &rss->facts);
	json_t *json = json_pack("{s:s, s:s, s:f, s:o, s:b, s:s}", "course",
		th_rss_course_name(verdict->course), "cause", th_rss_cause_name(verdict->cause),
		"growth_bytes_per_s", verdict->growth, "grower",
		verdict->grower == TH_BREAKDOWN_KINDS
			? json_null()
			: json_string(th_breakdown_name(verdict->grower)),
		"near_limit", (int)verdict->is_near_limit, "text", text);

	free(text);
	return json;
}

void
th_view_rss_json(FILE *file, const struct th_profile *profile, const struct th_leaks *leaks)
{
	struct th_rss rss;

	th_rss_init(&rss, profile, leaks);
	const struct th_decoded_account *head = rss.account.head;
	json_t *root = json_pack("{s:i, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:f}",
		"twinheap", 1, "at", rss.seconds, "resident", (json_int_t)head->resident,
		"counted", (json_int_t)head->counted, "swapped", (json_int_t)head->swapped,
		"mappings", (json_int_t)head->mappings, "threads", (json_int_t)head->threads,
		"cost_ns", (json_int_t)head->cost, "has_pages",
		!!(head->flags & TH_BREAKDOWN_HAS_PAGES), "has_owners",
		!!(head->flags & TH_BREAKDOWN_HAS_OWNERS), "unexplained",
		th_breakdown_unexplained(&rss.account));

	json_object_set_new(root, "judged", th_json_moment(profile));
	json_object_set_new(root, "lines", lines_json(&rss));
	json_object_set_new(root, "malloc", malloc_json(&rss.account));
	json_object_set_new(root, "pools", pools_json(&rss));
	json_object_set_new(root, "buffers", buffers_json(&rss.account));
	json_object_set_new(root, "group", group_json(rss.account.group));
	json_object_set_new(root, "points", points_json(&rss));
	json_object_set_new(root, "accounts", moments_json(&rss));
	json_object_set_new(root, "verdict", verdict_json(&rss));
	json_object_set_new(root, "fit", fit_json(&rss.facts));
	char *text = th_json_dump(root, JSON_INDENT(1));
	fputs(text, file);
	fputc('\n', file);
	free(text);
	th_rss_deinit(&rss);
}
