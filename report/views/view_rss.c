/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rss, as text: the breakdown of resident memory at one snapshot, its largest sources, counters
 * beside it, and the snapshots over time. th_rss and th_breakdown compute all figures.
 */
#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/profile/sites.h"
#include "report/rss/buffers.h"
#include "report/rss/rss.h"
#include "report/views/tallied_parts.h"
#include "report/views/view.h"

/* Smaller lines and parts are not printed. */
#define LEAST_SHOWN (16.0 * 1024)
/* Ratio of the peak to the highest snapshot from which on it is reported as missed. */
#define PEAK_MISSED 1.05
/* A snapshot this near to the chosen time is not said to be another one, seconds. */
#define NEAR_S 0.1
/* Maximum number of snapshots listed over time. */
#define MOMENTS_SHOWN 12

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

static struct th_number
bytes(double value)
{
	return th_format_number(value, TH_UNIT_BYTES);
}

static const char *
reason_text(uint32_t reason)
{
	switch (reason) {
	case TH_BREAKDOWN_END:
		return "taken at the end";
	case TH_BREAKDOWN_TEARDOWN:
		return "taken when the Java VM began to end";
	case TH_BREAKDOWN_ASKED:
		return "on demand";
	case TH_BREAKDOWN_GROWTH:
		return "taken after growth";
	default:
		return "taken periodically";
	}
}

static void
print_fit(FILE *file, const struct th_rss *rss)
{
	struct th_rss_fit fit;

	if (!th_rss_fit(&rss->facts, &fit))
		return;
	char *text = th_rss_fit_text(&rss->facts, &fit);
	fprintf(file, "  %s\n", text);
	free(text);
}

static void
print_head(FILE *file, const struct th_rss *rss, const struct th_leaks *leaks)
{
	const struct th_decoded_account *head = rss->account.head;
	char *text = th_rss_verdict_text(&rss->verdict, &rss->facts);

	fprintf(file, "%sResident memory at %s s: %s%s%s%s, %s\n",
		th_terminal_code(file, TH_STYLE_HEADING), th_format_time(rss->seconds).text,
		bytes((double)head->resident).text, head->swapped ? " and in swap " : "",
		head->swapped ? bytes((double)head->swapped).text : "",
		th_terminal_code(file, TH_STYLE_PLAIN), reason_text(head->reason));
	fprintf(file, "  %s\n", text);
	free(text);
	print_fit(file, rss);
	if (th_profile_is_before_teardown(rss->profile) &&
		fabs(rss->seconds - th_profile_seconds(rss->profile, rss->profile->at.time)) >
			NEAR_S)
		fprintf(file, "  nearest to %s s, before %s (--at exit: the last snapshot)\n",
			th_format_time(th_profile_seconds(rss->profile, rss->profile->at.time))
				.text,
			th_teardown_reason(&rss->profile->teardown));
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
	if (rss->profile->options->at != TH_AT_PEAK || !highest ||
		highest->bytes < PEAK_MISSED * (double)rss->account.head->resident)
		return;
	fprintf(file, "  the RSS was highest at %s s, %s, when no snapshot was taken\n",
		th_format_time(highest->seconds).text, bytes(highest->bytes).text);
}

/* The table */

/* Printed after the resident bytes. */
static void
print_remark(FILE *file, const struct th_breakdown_line *line)
{
	if (line->committed > 0 && line->used <= 0)
		fprintf(file, "of %s committed, %s reserved", bytes(line->committed).text,
			bytes(line->limit).text);
	else if (line->committed > 0)
		fprintf(file, "%s used of %s committed", bytes(line->used).text,
			bytes(line->committed).text);
	else if (line->kind >= TH_BREAKDOWN_MALLOC_VM &&
		 line->kind <= TH_BREAKDOWN_MALLOC_APPLICATION)
		fprintf(file, "of %s live", bytes(line->size).text);
	else if (line->mappings)
		fprintf(file, "of %s in %s mapping%s", bytes(line->size).text,
			th_format_count(line->mappings).text, line->mappings == 1 ? "" : "s");
}

static void
print_line(FILE *file, const struct th_rss *rss, const struct th_breakdown_line *line)
{
	bool is_estimate = line->resident.high > line->resident.low;
	struct th_line remark;

	fprintf(file, "%9s  %6s  %-22s  %-*s", bytes(line->resident.estimate).text,
		th_format_share(line->resident.estimate, (double)rss->account.head->resident)
			.text,
		is_estimate ? th_estimate_interval(&line->resident, TH_UNIT_BYTES).text
			    : "exact",
		LABEL_COLUMNS, th_breakdown_label(line->kind));
	th_line_begin(&remark);
	print_remark(remark.stream, line);
	char *text = th_line_end(&remark);
	/* On a narrow terminal below the label. */
	if (th_format_columns(text) > th_terminal_room(file, LABELED_COLUMNS, 0))
		fprintf(file, "\n%*s", NARROW_PART_INDENT, "");
	fprintf(file, "%s\n", text);
	free(text);
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
	fprintf(file, "%*s  %9s  ", part_indent(file), "", bytes(value).text);
}

static int
name_columns(FILE *file)
{
	return th_terminal_room(
		file, part_indent(file) + PART_FIGURE_COLUMNS, LEAST_NAME_COLUMNS);
}

static void
print_parts(FILE *file, const struct th_breakdown_line *line, size_t most)
{
	size_t shown = line->parts_count < most ? line->parts_count : most;

	if (line->parts_count < 2 && !(shown && line->parts[0].name[0]))
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct th_breakdown_part *part = &line->parts[i];

		if (part->resident < LEAST_SHOWN)
			break;
		print_part_bytes(file, part->resident);
		th_format_cut(
			file, part->name[0] ? part->name : "[others]", name_columns(file));
		fputc('\n', file);
	}
}

static const char *
function_name(const struct th_rss *rss, uint32_t function)
{
	return th_frames_function_name(rss->profile->frames, function);
}

/* The allocating function and the nearest calling method. */
struct source {
	uint32_t leaf;
	uint32_t caller; /* or TH_SITE_NO_FUNCTION */
	double bytes;    /* resident */
};

struct sources {
	struct th_id_map ids; /* leaf << 32 | caller */
	TH_ARRAY(struct source, items);
};

static struct source
source_of(const struct th_rss *rss, size_t row)
{
	const struct th_profile *profile = rss->profile;
	struct th_path path = th_paths_get(profile->paths, profile->rows[row].path);
	struct th_site_place place = th_sites_place(profile->frames, &path);

	return (struct source){
		.leaf = place.function,
		.caller = place.caller,
		.bytes = th_breakdown_row_touched(&rss->account, row).estimate,
	};
}

/* Merges stacks that print alike, such as those of several threads. */
static void
add_source(struct sources *sources, struct source source)
{
	bool added;
	uint32_t number = th_id_map_intern(
		&sources->ids, (uint64_t)source.leaf << 32 | source.caller, &added);

	if (added)
		th_array_append(sources, items, source);
	else
		sources->items[number].bytes += source.bytes;
}

static int
compare_sources(const void *a, const void *b)
{
	const struct source *left = a;
	const struct source *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return (left->leaf > right->leaf) - (left->leaf < right->leaf);
}

static void
print_source(FILE *file, const struct th_rss *rss, const struct source *source)
{
	struct th_line line;

	print_part_bytes(file, source->bytes);
	th_line_begin(&line);
	fputs(function_name(rss, source->leaf), line.stream);
	if (source->caller != TH_SITE_NO_FUNCTION)
		fprintf(line.stream, ", called from %s", function_name(rss, source->caller));
	th_line_cut(&line, file, name_columns(file));
	fputc('\n', file);
}

static void
print_stacks(FILE *file, const struct th_rss *rss, enum th_breakdown_kind kind, size_t most)
{
	size_t capacity = rss->profile->rows_count;
	size_t *rows = th_allocate(capacity, sizeof(*rows));
	size_t count = th_rss_rows(rss, kind, rows, capacity);
	struct sources sources = {0};

	for (size_t i = 0; i < count; i++)
		add_source(&sources, source_of(rss, rows[i]));
	if (sources.items_count)
		qsort(sources.items, sources.items_count, sizeof(*sources.items),
			compare_sources);
	for (size_t i = 0; i < sources.items_count && i < most; i++)
		print_source(file, rss, &sources.items[i]);
	free(sources.items);
	th_id_map_deinit(&sources.ids);
	free(rows);
}

static bool
has_stacks(enum th_breakdown_kind kind)
{
	return kind >= TH_BREAKDOWN_MALLOC_VM && kind <= TH_BREAKDOWN_MALLOC_APPLICATION;
}

static void
print_cached(FILE *file, const struct th_estimate *cached)
{
	if (cached->estimate < LEAST_SHOWN)
		return;
	print_part_bytes(file, cached->estimate);
	fprintf(file, "of which cached per thread for channels and sockets (%s)\n",
		th_estimate_interval(cached, TH_UNIT_BYTES).text);
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
	fprintf(file, "of which may await their Cleaner (%s): ",
		th_estimate_interval(unjudged, TH_UNIT_BYTES).text);
	if (account->judgement)
		fprintf(file, "allocated since the last old-generation GC, at %s s\n",
			th_format_time(
				th_profile_seconds(account->profile, account->judgement->time))
				.text);
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
	fprintf(file, "used of %s committed: class space\n", bytes(line->committed).text);
}

static void
print_waiting(
	FILE *file, const struct th_breakdown *account, const struct th_decoded_buffers *count)
{
	print_part_bytes(file, (double)count->waiting_bytes);
	fprintf(file,
		"of which await their Cleaner: %s unreachable buffers, counted at %s s; %s are "
		"in use\n",
		th_format_count(count->waiting).text,
		th_format_time(th_profile_seconds(account->profile, count->time)).text,
		th_format_count(count->reached).text);
}

static void
print_parts_of_buffers(FILE *file, const struct th_breakdown *account)
{
	const struct th_decoded_buffers *count = account->counts[TH_BUFFERS_DIRECT];

	print_cached(file, &account->cached);
	if (count)
		print_waiting(file, account, count);
	else
		print_unjudged(file, account);
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
		fprintf(file, "\nmalloc: %s (%s) live, %s (%s) of them in memory\n",
			bytes(account->live.estimate).text,
			th_estimate_interval(&account->live, TH_UNIT_BYTES).text,
			bytes(account->touched.estimate).text,
			th_estimate_interval(&account->touched, TH_UNIT_BYTES).text);
	if (!allocator)
		return;
	bool is_libc = th_text_equals(allocator->name, "libc.so.6");
	char *name = th_text_clean(allocator->name);
	fprintf(file, "  %s reports: heaps of %s with %s in use and %s free, %s %s\n", name,
		bytes((double)allocator->heaps).text, bytes((double)allocator->used).text,
		bytes((double)allocator->free).text, bytes((double)allocator->mapped).text,
		is_libc ? "in blocks with mappings of their own" : "mapped");
	free(name);
}

/* The count for this pool of java.nio; NULL if buffers were not counted. */
static const struct th_decoded_buffers *
count_of_pool(const struct th_breakdown *account, struct th_text name)
{
	for (int kind = 1; kind < TH_BUFFERS_KINDS; kind++)
		if (th_text_equals(name, th_breakdown_buffers_name((enum th_buffers_kind)kind)))
			return account->counts[kind];
	return NULL;
}

static void
print_pool(FILE *file, const struct th_breakdown *account, const struct th_decoded_pool *pool)
{
	const struct th_decoded_buffers *count = count_of_pool(account, pool->name);
	char *name = th_text_clean(pool->name);

	fprintf(file, "buffers (%s): %s, %s", name, th_format_count(pool->count).text,
		bytes((double)pool->used).text);
	if (count)
		fprintf(file, "; %s of them, %s, await their Cleaner",
			th_format_count(count->waiting).text,
			bytes((double)count->waiting_bytes).text);
	fputc('\n', file);
	free(name);
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
		fprintf(file, "buffers without a Cleaner, over foreign memory: %s, %s\n",
			th_format_count(foreign->reached).text,
			bytes((double)foreign->reached_bytes).text);
	if (foreign)
		fprintf(file, "Counting the buffers paused the VM for %.3g ms.\n",
			(double)foreign->stopped / 1e6);
	else if (last)
		fprintf(file, "Buffers were last counted for the snapshot at %s s (--at).\n",
			th_format_time(th_profile_seconds(account->profile, last->time)).text);
}

static void
print_group(FILE *file, const struct th_decoded_cgroup *group)
{
	if (!group)
		return;
	fprintf(file, "control group (v%u): %s in use, %s of it page cache; %s%s\n",
		group->version, bytes((double)group->current).text,
		bytes((double)group->file).text, group->limit ? "limit " : "no limit",
		group->limit ? bytes((double)group->limit).text : "");
}

static double
malloc_live(const struct th_rss_moment *moment)
{
	double sum = 0;

	for (int kind = TH_BREAKDOWN_MALLOC_VM; kind <= TH_BREAKDOWN_MALLOC_OVERHEAD; kind++)
		sum += moment->lines[kind];
	return sum;
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
	for (size_t i = (count - 1) % step; i < count; i += step) {
		const struct th_rss_moment *moment = &rss->moments[i];
		const double *lines = moment->lines;

		fprintf(file, "%8s  %9s  %9s  %9s  %9s  %9s  %9s\n",
			th_format_time(moment->seconds).text, bytes(moment->resident).text,
			bytes(lines[TH_BREAKDOWN_JAVA_HEAP]).text,
			bytes(malloc_live(moment)).text,
			bytes(lines[TH_BREAKDOWN_MALLOC_RETAINED]).text,
			bytes(lines[TH_BREAKDOWN_VM] + lines[TH_BREAKDOWN_MAPPED] +
				lines[TH_BREAKDOWN_UNEXPLAINED])
				.text,
			bytes(lines[TH_BREAKDOWN_FILES] + lines[TH_BREAKDOWN_SHARED]).text);
	}
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
	fprintf(file, "\nThis snapshot took %.3g ms of CPU time.\n",
		(double)rss.account.head->cost / 1e6);
	th_rss_deinit(&rss);
}
