/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rss, as text and as JSON: the breakdown of resident memory at one snapshot, its largest sources,
 * counters beside it, and the snapshots over time. th_rss and th_breakdown compute all figures.
 */
#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/sort.h"
#include "report/base/terminal.h"
#include "report/profile/sites.h"
#include "report/rss/rss.h"
#include "report/views/parts.h"
#include "report/views/view.h"

/* Smaller lines and parts are not printed. */
#define LEAST_SHOWN (16.0 * 1024)
/* Ratio of the peak to the highest snapshot from which on it is reported as missed. */
#define PEAK_MISSED 1.05
/* A snapshot this near to the chosen time is not said to be another one, seconds. */
#define NEAR_S 0.1
/* Maximum number of snapshots listed over time. */
#define MOMENTS_SHOWN 12
/* Maximum number of stacks listed per line of the JSON; the line's total includes the rest. */
#define STACKS_MAX 100

/* Indentation of the parts of a line; on a narrow terminal, and the width from which it is wide. */
#define PART_INDENT 43
#define NARROW_PART_INDENT 10
#define WIDE 120
/* Columns of a line with its label, and of the label. */
#define LABELED_COLUMNS 67
#define LABEL_COLUMNS 24
/* Columns of the bytes of a part, and the least ones for its name. */
#define PART_FIGURE_COLUMNS 13
#define LEAST_NAME_COLUMNS 20

static const char *
reason_text(uint32_t reason)
{
	return reason == TH_BREAKDOWN_END        ? "taken at the end"
	       : reason == TH_BREAKDOWN_TEARDOWN ? "taken when the Java VM began to end"
	       : reason == TH_BREAKDOWN_ASKED    ? "on demand"
	       : reason == TH_BREAKDOWN_GROWTH   ? "taken after growth"
						 : "taken periodically";
}

static void
print_head(FILE *file, const struct th_rss *rss, const struct th_leaks *leaks)
{
	const struct th_decoded_account *head = rss->account.head;
	double at = th_profile_seconds(rss->profile, rss->profile->at.time);
	struct th_rss_fit fit;

	th_print(file, "{#}Resident memory at {t} s: {b}{}{/}, {}\n  {}\n", TH_STYLE_HEADING,
		rss->now.seconds, head->resident,
		head->swapped ? th_printed(" and in swap {b}", head->swapped) : "",
		reason_text(head->reason), th_rss_verdict_text(rss));
	if (th_rss_fit(rss, &fit))
		th_print(file, "  {}\n", th_rss_fit_text(rss, &fit));
	if (th_profile_is_before_teardown(rss->profile) && fabs(rss->now.seconds - at) > NEAR_S)
		th_print(file, "  nearest to {t} s, before {} (--at exit: the last snapshot)\n",
			at, th_teardown_reason(&rss->profile->teardown));
	th_tallied_print_causes(file, leaks);
	if (!(head->flags & TH_BREAKDOWN_HAS_PAGES))
		fputs("  /proc/self/pagemap is not readable: malloc memory cannot be split\n",
			file);
	if (head->flags & TH_BREAKDOWN_TRUNCATED)
		fputs("  the process has more mappings than the breakdown can hold\n", file);
}

/* At the peak, if the RSS was higher while no snapshot was taken. */
static void
print_peak(FILE *file, const struct th_rss *rss)
{
	const struct th_rss_point *highest = NULL;

	for (size_t i = 0; i < rss->points_count; i++) {
		if (!highest || rss->points[i].bytes > highest->bytes)
			highest = &rss->points[i];
	}
	if (rss->profile->options->at == TH_AT_PEAK && highest &&
		highest->bytes >= PEAK_MISSED * (double)rss->account.head->resident)
		th_print(file,
			"  the RSS was highest at {t} s, {b}, when no snapshot was taken\n",
			highest->seconds, highest->bytes);
}

/* The table */

static bool
has_stacks(enum th_breakdown_kind kind)
{
	return kind >= TH_BREAKDOWN_MALLOC_VM && kind <= TH_BREAKDOWN_MALLOC_APPLICATION;
}

/* Printed after the resident bytes. */
static const char *
remark_of(const struct th_breakdown_line *line)
{
	if (line->committed > 0 && line->used <= 0)
		return th_printed(
			"of {b} committed, {b} reserved", line->committed, line->limit);
	if (line->committed > 0)
		return th_printed("{b} used of {b} committed", line->used, line->committed);
	if (has_stacks(line->kind))
		return th_printed("of {b} live", line->size);
	if (line->mappings)
		return th_printed("of {b} in {c mapping}", line->size, line->mappings);
	return "";
}

static void
print_line(FILE *file, const struct th_rss *rss, const struct th_breakdown_line *line)
{
	const struct th_estimate *resident = &line->resident;
	bool is_estimate = resident->high > resident->low;
	const char *remark = remark_of(line);

	th_print(file, "{9b}  {6%}  {-22}  {*}", resident, resident,
		rss->account.head->resident,
		is_estimate ? th_estimate_interval(resident, TH_UNIT_BYTES).text : "exact",
		-LABEL_COLUMNS, th_breakdown_kinds[line->kind].label);
	/* On a narrow terminal below the label. */
	if (th_format_columns(remark) > th_terminal_room(file, LABELED_COLUMNS, 0))
		th_print(file, "\n{*}", NARROW_PART_INDENT, "");
	th_print(file, "{}\n", remark);
}

static int
part_indent(FILE *file)
{
	return th_terminal_room(file, 0, 0) >= WIDE ? PART_INDENT : NARROW_PART_INDENT;
}

/* The bytes of a part, below the text of its line. */
static void
print_part_bytes(FILE *file, double value)
{
	th_print(file, "{*}  {9b}  ", part_indent(file), "", value);
}

/* The same with a name, cut to the terminal. */
static void
print_part(FILE *file, double value, const char *name)
{
	print_part_bytes(file, value);
	th_format_cut(file, name,
		th_terminal_room(
			file, part_indent(file) + PART_FIGURE_COLUMNS, LEAST_NAME_COLUMNS));
	fputc('\n', file);
}

static void
print_parts(FILE *file, const struct th_breakdown_line *line, size_t most)
{
	size_t shown = line->parts_count < most ? line->parts_count : most;

	if (line->parts_count < 2 && !(shown && line->parts[0].name[0]))
		return;
	for (size_t i = 0; i < shown && line->parts[i].resident >= LEAST_SHOWN; i++)
		print_part(file, line->parts[i].resident,
			line->parts[i].name[0] ? line->parts[i].name : "[others]");
}

/* The allocating function and the nearest calling method. */
struct source {
	struct th_site_place place;
	double bytes; /* resident */
};

struct sources {
	struct th_id_map ids; /* function << 32 | caller */
	TH_ARRAY(struct source, items);
};

/* Merges stacks that print alike, such as those of several threads. */
static void
add_source(struct sources *sources, const struct th_rss *rss, size_t row)
{
	const struct th_profile *profile = rss->profile;
	struct th_path path = th_paths_get(profile->paths, profile->rows[row].path);
	struct source source = {th_sites_place(profile->frames, &path),
		th_breakdown_row_touched(&rss->account, row).estimate};
	bool added;
	uint32_t number = th_id_map_intern(&sources->ids,
		(uint64_t)source.place.function << 32 | source.place.caller, &added);

	if (added)
		th_array_append(sources, items, source);
	else
		sources->items[number].bytes += source.bytes;
}

TH_COMPARE(compare_sources, struct source,
	th_order(right->bytes, left->bytes)
		?: th_order(left->place.function, right->place.function))

static void
print_source(FILE *file, const struct th_frames *frames, const struct source *source)
{
	const char *function = th_frames_function_name(frames, source->place.function);
	uint32_t caller = source->place.caller;

	print_part(file, source->bytes,
		caller == TH_SITE_NO_FUNCTION
			? function
			: th_printed("{}, called from {}", function,
				  th_frames_function_name(frames, caller)));
}

static void
print_stacks(FILE *file, const struct th_rss *rss, enum th_breakdown_kind kind, size_t most)
{
	size_t capacity = rss->profile->rows_count;
	size_t *rows = th_allocate(capacity, sizeof(*rows));
	size_t count = th_rss_rows(rss, kind, rows, capacity);
	struct sources sources = {0};

	for (size_t i = 0; i < count; i++)
		add_source(&sources, rss, rows[i]);
	th_sort(sources.items, sources.items_count, compare_sources);
	for (size_t i = 0; i < sources.items_count && i < most; i++)
		print_source(file, rss->profile->frames, &sources.items[i]);
	free(sources.items);
	th_id_map_deinit(&sources.ids);
	free(rows);
}

/*
 * Buffers that became unreachable since the last old-generation GC; their Cleaners run right
 * after one.
 */
static void
print_unjudged(FILE *file, const struct th_breakdown *account)
{
	const struct th_estimate *unjudged = &account->unjudged;

	if (unjudged->estimate < LEAST_SHOWN)
		return;
	print_part_bytes(file, unjudged->estimate);
	th_print(file, "of which may await their Cleaner ({i}): ", unjudged);
	if (account->judgement)
		th_print(file, "allocated since the last old-generation GC, at {t} s\n",
			th_profile_seconds(account->profile, account->judgement->time));
	else
		fputs("no old-generation GC so far\n", file);
}

/* The resident part cannot be separated from the rest of metaspace; the VM counts what is used. */
static void
print_class_space(FILE *file, const struct th_breakdown *account)
{
	const struct th_breakdown_line *line = &account->lines[TH_BREAKDOWN_CLASS_SPACE];

	if (line->committed <= 0 || line->resident.estimate >= LEAST_SHOWN)
		return;
	print_part_bytes(file, line->used);
	th_print(file, "used of {b} committed: class space\n", line->committed);
}

static void
print_parts_of_buffers(FILE *file, const struct th_breakdown *account)
{
	const struct th_decoded_buffers *count = account->counts[TH_BUFFERS_DIRECT];

	if (account->cached.estimate >= LEAST_SHOWN) {
		print_part_bytes(file, account->cached.estimate);
		th_print(file, "of which cached per thread for channels and sockets ({i})\n",
			&account->cached);
	}
	if (!count) {
		print_unjudged(file, account);
		return;
	}
	print_part_bytes(file, (double)count->waiting_bytes);
	th_print(file,
		"of which await their Cleaner: {c} unreachable buffers, counted at {t} s; {c} "
		"are in use\n",
		count->waiting, th_profile_seconds(account->profile, count->time),
		count->reached);
}

static void
print_table(FILE *file, const struct th_rss *rss)
{
	size_t most = (size_t)rss->profile->options->top;

	fprintf(file, "\n%9s  %6s  %-22s  %s\n", "resident", "share", "95 % CI", "what");
	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++) {
		const struct th_breakdown_line *line = &rss->account.lines[kind];

		if (line->resident.estimate < LEAST_SHOWN && kind != TH_BREAKDOWN_UNEXPLAINED)
			continue;
		print_line(file, rss, line);
		if (kind == TH_BREAKDOWN_METASPACE)
			print_class_space(file, &rss->account);
		if (kind == TH_BREAKDOWN_MALLOC_DIRECT)
			print_parts_of_buffers(file, &rss->account);
		if (has_stacks((enum th_breakdown_kind)kind))
			print_stacks(file, rss, (enum th_breakdown_kind)kind, most);
		else
			print_parts(file, line, most);
	}
}

/* After the table */

static void
print_malloc(FILE *file, const struct th_breakdown *account)
{
	const struct th_decoded_allocator *allocator = account->allocator;

	if (account->head->flags & TH_BREAKDOWN_HAS_PAGES)
		th_print(file, "\nmalloc: {e} live, {e} of them in memory\n", &account->live,
			&account->touched);
	if (allocator)
		th_print(file,
			"  {} reports: heaps of {b} with {b} in use and {b} free, {b} {}\n",
			allocator->name, allocator->heaps, allocator->used, allocator->free,
			allocator->mapped,
			th_text_equals(allocator->name, "libc.so.6")
				? "in blocks with mappings of their own"
				: "mapped");
}

/* A pool of java.nio, with what was counted of it. */
static void
print_pool(FILE *file, const struct th_breakdown *account, const struct th_decoded_pool *pool)
{
	th_print(file, "buffers ({}): {c}, {b}", pool->name, pool->count, pool->used);
	for (int kind = 1; kind < TH_BUFFERS_KINDS; kind++) {
		const struct th_decoded_buffers *count = account->counts[kind];
		const char *name = th_breakdown_buffers_names[kind];

		if (count && th_text_equals(pool->name, name))
			th_print(file, "; {c} of them, {b}, await their Cleaner",
				count->waiting, count->waiting_bytes);
	}
	fputc('\n', file);
}

static void
print_pools(FILE *file, const struct th_rss *rss)
{
	const struct th_recording *recording = rss->profile->recording;

	for (size_t i = 0; i < recording->pools_count; i++) {
		const struct th_decoded_pool *pool = &recording->pools[i];

		if (pool->account == rss->account.head->account &&
			pool->kind == TH_POOL_BUFFERS && pool->count)
			print_pool(file, &rss->account, pool);
	}
}

/* What else the count of buffers found. */
static void
print_counts(FILE *file, const struct th_breakdown *account)
{
	const struct th_decoded_buffers *foreign = account->counts[TH_BUFFERS_FOREIGN];
	const struct th_decoded_account *last = th_breakdown_of_last_count(account->profile);

	if (foreign && foreign->reached)
		th_print(file, "buffers without a Cleaner, over foreign memory: {c}, {b}\n",
			foreign->reached, foreign->reached_bytes);
	if (foreign)
		th_print(file, "Counting the buffers paused the VM for {g} ms.\n",
			(double)foreign->stopped / 1e6);
	else if (last)
		th_print(file, "Buffers were last counted for the snapshot at {t} s (--at).\n",
			th_profile_seconds(account->profile, last->time));
}

static void
print_group(FILE *file, const struct th_decoded_cgroup *group)
{
	if (!group)
		return;
	th_print(file, "control group (v{}): {b} in use, {b} of it page cache; {}\n",
		group->version, group->current, group->file,
		group->limit ? th_printed("limit {b}", group->limit) : "no limit");
}

static void
print_moment(FILE *file, const struct th_rss_moment *moment)
{
	const double *lines = moment->lines;
	double live = 0;

	for (int kind = TH_BREAKDOWN_MALLOC_VM; kind <= TH_BREAKDOWN_MALLOC_OVERHEAD; kind++)
		live += lines[kind];
	th_print(file, "{8t}  {9b}  {9b}  {9b}  {9b}  {9b}  {9b}\n", moment->seconds,
		moment->resident, lines[TH_BREAKDOWN_JAVA_HEAP], live,
		lines[TH_BREAKDOWN_MALLOC_RETAINED],
		lines[TH_BREAKDOWN_VM] + lines[TH_BREAKDOWN_MAPPED] +
			lines[TH_BREAKDOWN_UNEXPLAINED],
		lines[TH_BREAKDOWN_FILES] + lines[TH_BREAKDOWN_SHARED]);
}

static void
print_moments(FILE *file, const struct th_rss *rss)
{
	size_t count = rss->moments_count;
	size_t step = (count + MOMENTS_SHOWN - 1) / MOMENTS_SHOWN;

	if (count < 2)
		return;
	fprintf(file, "\n%8s  %9s  %9s  %9s  %9s  %9s  %9s\n", "time (s)", "RSS", "Java heap",
		"malloc", "retained", "mapped", "files");
	for (size_t i = (count - 1) % step; i < count; i += step)
		print_moment(file, &rss->moments[i]);
}

void
th_view_rss(FILE *file, const struct th_profile *profile, const struct th_leaks *leaks)
{
	struct th_rss rss;

	th_rss_init(&rss, profile, leaks);
	print_head(file, &rss, leaks);
	print_peak(file, &rss);
	print_table(file, &rss);
	print_malloc(file, &rss.account);
	print_pools(file, &rss);
	print_counts(file, &rss.account);
	print_group(file, rss.account.group);
	print_moments(file, &rss);
	th_print(file, "\nThis snapshot took {g} ms of CPU time.\n",
		(double)rss.account.head->cost / 1e6);
	th_rss_deinit(&rss);
}

/* JSON */

static json_t *
stack_json(const struct th_rss *rss, size_t number)
{
	const struct th_profile *profile = rss->profile;
	const struct th_row *row = &profile->rows[number];
	struct th_estimate touched = th_breakdown_row_touched(&rss->account, number);

	return th_json("thread frames resident",
		th_frames_function_name(profile->frames, row->thread),
		th_json_path(profile, row->path), &touched);
}

static json_t *
line_json(const struct th_rss *rss, const struct th_breakdown_line *line, bool has_parts)
{
	size_t rows[STACKS_MAX];
	json_t *json = th_json("name label resident swapped size accessible mappings",
		th_breakdown_kinds[line->kind].name, th_breakdown_kinds[line->kind].label,
		&line->resident, line->swapped, line->size, line->accessible, line->mappings);

	if (line->committed > 0)
		th_json_set(json, "used committed limit",
			line->used > 0 ? json_real(line->used) : NULL, line->committed,
			line->limit);
	if (line->kind == TH_BREAKDOWN_MALLOC_DIRECT)
		th_json_set(
			json, "cached unjudged", &rss->account.cached, &rss->account.unjudged);
	if (!has_parts)
		return json;
	size_t count = th_rss_rows(rss, line->kind, rows, STACKS_MAX);
	return th_json_set(json, "parts stacks",
		th_json_map(part, line->parts, line->parts_count,
			th_json("name resident size mappings", part->name, part->resident,
				part->size, part->mappings)),
		th_json_map(row, rows, count < STACKS_MAX ? count : STACKS_MAX,
			stack_json(rss, *row)));
}

static json_t *
malloc_json(const struct th_breakdown *account)
{
	const struct th_decoded_allocator *allocator = account->allocator;
	bool has_pages = account->head->flags & TH_BREAKDOWN_HAS_PAGES;
	json_t *json = th_json("live touched trimmable trimmable_range",
		has_pages ? &account->live : NULL, has_pages ? &account->touched : NULL,
		account->trimmed.estimate,
		th_json_list(account->trimmed.low, account->trimmed.high));

	if (allocator)
		th_json_set(json, "allocator",
			th_json("name heaps used free mapped top", allocator->name,
				allocator->heaps, allocator->used, allocator->free,
				allocator->mapped, allocator->top));
	return json;
}

static json_t *
pool_json(const struct th_rss *rss, const struct th_decoded_pool *pool)
{
	if (pool->account != rss->account.head->account || pool->kind == TH_POOL_FINALIZERS)
		return NULL;
	return th_json("name kind used committed limit count", pool->name,
		pool->kind == TH_POOL_BUFFERS ? "buffers" : "memory", pool->used,
		pool->committed, pool->limit, pool->count);
}

/* NULL if these buffers were not counted for this breakdown. */
static json_t *
buffers_json(const struct th_breakdown *account, const struct th_decoded_buffers *count)
{
	if (!count)
		return NULL;
	return th_json("kind seconds stopped_ns reached reached_bytes waiting waiting_bytes",
		th_breakdown_buffers_names[count->kind],
		th_profile_seconds(account->profile, count->time), count->stopped,
		count->reached, count->reached_bytes, count->waiting, count->waiting_bytes);
}

static json_t *
group_json(const struct th_decoded_cgroup *group)
{
	if (!group)
		return NULL;
	return th_json("version path current anonymous file kernel limit?", group->version,
		group->path, group->current, group->anonymous, group->file, group->kernel,
		group->limit);
}

static json_t *
moment_json(const struct th_rss_moment *moment)
{
	json_t *lines = json_object();

	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		th_json_put(lines, th_breakdown_kinds[kind].name, moment->lines[kind]);
	return th_json("seconds resident lines", moment->seconds, moment->resident, lines);
}

static json_t *
fit_json(const struct th_rss *rss)
{
	struct th_rss_fit fit;

	if (!th_rss_fit(rss, &fit))
		return NULL;
	return th_json("limit_bytes heap_limit_bytes outside_bytes outside_growth_bytes_per_s "
		       "left_bytes fits text",
		rss->account.group->limit, fit.heap, fit.outside, fit.growth, fit.left,
		(bool)(fit.left >= 0), th_rss_fit_text(rss, &fit));
}

static json_t *
verdict_json(const struct th_rss *rss)
{
	const struct th_rss_verdict *verdict = &rss->verdict;

	return th_json("course cause growth_bytes_per_s grower near_limit text",
		th_rss_course_names[verdict->course], th_rss_cause_names[verdict->cause],
		verdict->growth,
		verdict->grower == TH_BREAKDOWN_KINDS
			? NULL
			: th_breakdown_kinds[verdict->grower].name,
		(bool)verdict->is_near_limit, th_rss_verdict_text(rss));
}

json_t *
th_view_rss_document(
	const struct th_profile *profile, const struct th_leaks *leaks, bool has_parts)
{
	const struct th_recording *recording = profile->recording;
	struct th_rss rss;

	th_rss_init(&rss, profile, leaks);
	const struct th_decoded_account *head = rss.account.head;
	const struct th_breakdown *account = &rss.account;
	json_t *root = th_json("twinheap at resident counted swapped mappings threads cost_ns "
			       "has_pages has_owners unexplained judged",
		1, rss.now.seconds, head->resident, head->counted, head->swapped,
		head->mappings, head->threads, head->cost,
		(bool)(head->flags & TH_BREAKDOWN_HAS_PAGES),
		(bool)(head->flags & TH_BREAKDOWN_HAS_OWNERS),
		th_breakdown_unexplained(account), th_json_moment(profile));

	th_json_set(root, "lines malloc pools buffers group points accounts verdict fit",
		th_json_map(line, account->lines, TH_BREAKDOWN_KINDS,
			line_json(&rss, line, has_parts)),
		malloc_json(account),
		th_json_map(
			pool, recording->pools, recording->pools_count, pool_json(&rss, pool)),
		th_json_map(count, account->counts, TH_BUFFERS_KINDS,
			buffers_json(account, *count)),
		group_json(account->group),
		th_json_map(point, rss.points, rss.points_count,
			th_json_list(point->seconds, point->bytes)),
		th_json_map(moment, rss.moments, rss.moments_count, moment_json(moment)),
		verdict_json(&rss), fit_json(&rss));
	th_rss_deinit(&rss);
	return root;
}

void
th_view_rss_json(FILE *file, const struct th_profile *profile, const struct th_leaks *leaks)
{
	th_json_print(file, th_view_rss_document(profile, leaks, true));
}
