/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trend of the RSS is its median over the last quarter of the time against that over the
 * second quarter, and over the third: growth that has ended is none. (Of the time, not of the
 * values, which are more frequent in the beginning.) If the RSS grows, the cause is the line that
 * explains most of the growth, or none; else the largest line that is a possible cause.
 */
#include "report/rss/rss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "report/profile/values.h"

/* Minimum number of points for a trend. */
#define POINTS_LEAST 6
/*
 * Least part of the growth that is later than the third quarter. Half of a steady growth is, 2/5 of
 * a logarithmic one, and a third of one that ended at the last quarter.
 */
#define LATE_PART (1.0 / 3)
/* Least part of the growth that a line must have to be its cause. */
#define CAUSE_PART 0.5
/* Smaller changes are noise: the RSS of a JVM fluctuates by this much, a small process by less. */
#define CHANGE_SHARE 0.05
#define CHANGE_BYTES (8.0 * 1024 * 1024)
#define CHANGE_SMALL_SHARE 0.2
/* A line dominates when it has this part of the RSS, and this many bytes. */
#define STANDS_OUT_SHARE 0.25
#define STANDS_OUT_BYTES (16.0 * 1024 * 1024)
#define NEAR_LIMIT 0.9

TH_COMPARE(compare, double, th_order(*left, *right))

/* Of the points in a quarter of the time, 0 to 3; 0 without any. */
static double
median(const struct th_rss *rss, unsigned quarter)
{
	double start = rss->points[0].seconds;
	double length = (rss->points[rss->judged_points - 1].seconds - start) / 4;
	double *values = th_allocate(rss->judged_points, sizeof(*values));
	size_t count = 0;
	double middle;

	for (size_t i = 0; i < rss->judged_points; i++) {
		double seconds = rss->points[i].seconds - start;

		if (seconds >= quarter * length &&
			(quarter == 3 || seconds < (quarter + 1) * length))
			values[count++] = rss->points[i].bytes;
	}
	th_sort(values, count, compare);
	middle = count ? values[count / 2] : 0;
	free(values);
	return middle;
}

static double
highest(const struct th_rss *rss)
{
	double most = 0;

	for (size_t i = 0; i < rss->judged_points; i++)
		most = fmax(most, rss->points[i].bytes);
	return most;
}

static bool
is_change(double change, double of)
{
	return change > CHANGE_SHARE * of &&
	       change > fmin(CHANGE_BYTES, CHANGE_SMALL_SHARE * of);
}

static enum th_rss_course
judge_course(const struct th_rss *rss, double *growth_ret)
{
	size_t count = rss->judged_points;

	*growth_ret = 0;
	if (count < POINTS_LEAST)
		return TH_RSS_SHORT;
	double second = median(rss, 1);
	double third = median(rss, 2);
	double last = median(rss, 3);
	double seconds = (rss->points[count - 1].seconds - rss->points[0].seconds) / 2;
	if (second <= 0 || third <= 0 || seconds <= 0)
		return TH_RSS_SHORT;
	*growth_ret = (last - second) / seconds;
	/* Freed shortly before the snapshot, as at the end of a process. */
	if (rss->now.resident < last / 2)
		return TH_RSS_FELL;
	if (is_change(last - second, last) && last - third >= LATE_PART * (last - second))
		return TH_RSS_GROWING;
	if (is_change(highest(rss) - last, highest(rss)))
		return TH_RSS_FELL;
	return TH_RSS_PLATEAU;
}

/* What it means that a line dominates or grows; the others mean nothing. */
static const enum th_rss_cause causes[TH_BREAKDOWN_KINDS] = {
	[TH_BREAKDOWN_JAVA_HEAP] = TH_RSS_JAVA_HEAP,
	[TH_BREAKDOWN_METASPACE] = TH_RSS_METASPACE,
	[TH_BREAKDOWN_CLASS_SPACE] = TH_RSS_METASPACE,
	[TH_BREAKDOWN_VM] = TH_RSS_MAPPED,
	[TH_BREAKDOWN_STACKS] = TH_RSS_STACKS,
	[TH_BREAKDOWN_MALLOC_VM] = TH_RSS_LEAK_OF_MALLOC,
	[TH_BREAKDOWN_MALLOC_JDK] = TH_RSS_LEAK_OF_MALLOC,
	[TH_BREAKDOWN_MALLOC_DIRECT] = TH_RSS_DIRECT_BUFFERS,
	[TH_BREAKDOWN_MALLOC_APPLICATION] = TH_RSS_LEAK_OF_MALLOC,
	[TH_BREAKDOWN_MALLOC_OVERHEAD] = TH_RSS_LEAK_OF_MALLOC,
	[TH_BREAKDOWN_MALLOC_RETAINED] = TH_RSS_RETAINED,
	[TH_BREAKDOWN_MAPPED] = TH_RSS_MAPPED,
	[TH_BREAKDOWN_FILES] = TH_RSS_FILES,
	[TH_BREAKDOWN_SHARED] = TH_RSS_FILES,
	[TH_BREAKDOWN_UNEXPLAINED] = TH_RSS_MAPPED,
};

/* The lines of a cause. */
static double
sum_of(const double *lines, enum th_rss_cause cause)
{
	double sum = 0;

	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		sum += causes[kind] == cause ? lines[kind] : 0;
	return sum;
}

/* Finds the largest line, or the line that grew most; malloc's live blocks count together. */
static enum th_breakdown_kind
largest(const double *lines, double *ret)
{
	enum th_breakdown_kind found = TH_BREAKDOWN_KINDS;
	enum th_breakdown_kind owner = TH_BREAKDOWN_MALLOC_VM;

	*ret = 0;
	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++) {
		bool is_block = causes[kind] == TH_RSS_LEAK_OF_MALLOC;

		if (is_block && kind != TH_BREAKDOWN_MALLOC_OVERHEAD &&
			lines[kind] > lines[owner])
			owner = (enum th_breakdown_kind)kind;
		if (!is_block && lines[kind] > *ret) {
			*ret = lines[kind];
			found = (enum th_breakdown_kind)kind;
		}
	}
	if (sum_of(lines, TH_RSS_LEAK_OF_MALLOC) <= *ret)
		return found;
	*ret = sum_of(lines, TH_RSS_LEAK_OF_MALLOC);
	return owner;
}

/* The line that explains the growth between the two snapshots, TH_BREAKDOWN_KINDS for none. */
static enum th_breakdown_kind
find_grower(const struct th_rss *rss, struct th_rss_verdict *verdict)
{
	double differences[TH_BREAKDOWN_KINDS];
	enum th_breakdown_kind kind;

	for (int i = 0; i < TH_BREAKDOWN_KINDS; i++) {
		differences[i] = rss->now.lines[i] - rss->before->lines[i];
		verdict->grown_all += differences[i];
	}
	kind = largest(differences, &verdict->grown);
	if (kind == TH_BREAKDOWN_KINDS || verdict->grown <= CHANGE_BYTES ||
		verdict->grown < CAUSE_PART * verdict->grown_all)
		return TH_BREAKDOWN_KINDS;
	return kind;
}

/*
 * A leak of class loaders or threads that explains the growth: what it holds is spread over several
 * lines. TH_TALLY_KINDS for none.
 */
static int
find_tallied_grower(const struct th_rss *rss, const struct th_rss_verdict *verdict)
{
	for (int kind = 0; kind < TH_TALLY_KINDS; kind++) {
		if (rss->has_leaks && rss->tallied_growth[kind] > 0 &&
			rss->tallied_growth[kind] >= CAUSE_PART * verdict->growth)
			return kind;
	}
	return TH_TALLY_KINDS;
}

static enum th_rss_cause
cause_of_growth(const struct th_rss *rss, const struct th_rss_verdict *verdict)
{
	int kind = find_tallied_grower(rss, verdict);

	if (kind == TH_TALLY_LOADERS)
		return TH_RSS_LOADERS;
	if (kind == TH_TALLY_THREADS)
		return TH_RSS_THREADS;
	return verdict->grower == TH_BREAKDOWN_KINDS ? TH_RSS_NOTHING_STANDS_OUT
						     : causes[verdict->grower];
}

static enum th_rss_cause
judge_cause(const struct th_rss *rss, struct th_rss_verdict *verdict)
{
	const struct th_decoded_cgroup *group = rss->account.group;
	double most;
	enum th_breakdown_kind kind;

	if (verdict->course == TH_RSS_GROWING) {
		if (rss->before)
			verdict->grower = find_grower(rss, verdict);
		return cause_of_growth(rss, verdict);
	}
	if (group && group->limit && (double)group->file > (double)group->current / 2 &&
		(double)group->current > NEAR_LIMIT * (double)group->limit)
		return TH_RSS_PAGE_CACHE;
	kind = largest(rss->now.lines, &most);
	if (kind == TH_BREAKDOWN_KINDS || most < STANDS_OUT_BYTES ||
		most < STANDS_OUT_SHARE * rss->now.resident)
		return TH_RSS_NOTHING_STANDS_OUT;
	return causes[kind];
}

struct th_rss_verdict
th_rss_judge(const struct th_rss *rss)
{
	struct th_rss_verdict verdict = {.grower = TH_BREAKDOWN_KINDS};
	const struct th_decoded_cgroup *group = rss->account.group;

	verdict.course = judge_course(rss, &verdict.growth);
	verdict.cause = judge_cause(rss, &verdict);
	verdict.is_near_limit = group && group->limit &&
				(double)group->current >= NEAR_LIMIT * (double)group->limit;
	return verdict;
}

const char *const th_rss_course_names[] = {
	[TH_RSS_SHORT] = "short",
	[TH_RSS_GROWING] = "growing",
	[TH_RSS_PLATEAU] = "plateau",
	[TH_RSS_FELL] = "fell",
};

const char *const th_rss_cause_names[] = {
	[TH_RSS_LEAK_OF_MALLOC] = "malloc",
	[TH_RSS_RETAINED] = "retained",
	[TH_RSS_JAVA_HEAP] = "java-heap",
	[TH_RSS_DIRECT_BUFFERS] = "direct-buffers",
	[TH_RSS_STACKS] = "thread-stacks",
	[TH_RSS_MAPPED] = "mapped",
	[TH_RSS_FILES] = "files",
	[TH_RSS_METASPACE] = "metaspace",
	[TH_RSS_LOADERS] = "class-loaders",
	[TH_RSS_THREADS] = "threads",
	[TH_RSS_PAGE_CACHE] = "page-cache",
	[TH_RSS_NOTHING_STANDS_OUT] = "none",
};

/* Text */

static const char *
course_text(const struct th_rss *rss)
{
	const struct th_rss_verdict *verdict = &rss->verdict;

	switch (verdict->course) {
	case TH_RSS_GROWING:
		if (verdict->grower == TH_BREAKDOWN_KINDS)
			return th_printed(", growing by {b}/s", verdict->growth);
		return th_printed(", growing by {b}/s; {} grew most, by {b} of {b} in {s}",
			verdict->growth, th_breakdown_kinds[verdict->grower].label,
			verdict->grown, verdict->grown_all,
			rss->now.seconds - rss->before->seconds);
	case TH_RSS_PLATEAU:
		return ", a plateau";
	case TH_RSS_FELL:
		return th_printed(", after a peak of {b} (--at peak)", highest(rss));
	default:
		return "";
	}
}

/*
 * Memory in pages without a block; a range if it depends on the position of blocks within
 * pages.
 */
static const char *
trimmed_text(const struct th_rss *rss)
{
	double trimmed = rss->account.trimmed.estimate;
	double most = rss->now.lines[TH_BREAKDOWN_MALLOC_RETAINED];

	return is_change(most - trimmed, most) ? th_printed("{b} to {b}", trimmed, most)
					       : th_printed("about {b}", trimmed);
}

/*
 * Heaps of glibc's malloc have names of this tool; those of another allocator have its name. The
 * decay of dirty pages is jemalloc's equivalent of malloc_trim().
 */
static const char *
retained_text(const struct th_rss *rss)
{
	const struct th_breakdown_line *line =
		&rss->account.lines[TH_BREAKDOWN_MALLOC_RETAINED];
	const char *allocator = line->parts_count ? line->parts[0].name : "main heap";
	double retained = rss->now.lines[TH_BREAKDOWN_MALLOC_RETAINED];
	double arenas = 0;

	for (size_t i = 0; i < line->parts_count; i++)
		if (!strcmp(line->parts[i].name, "arenas"))
			arenas = fmin(retained, line->parts[i].resident);
	if (strcmp(allocator, "main heap") != 0 && strcmp(allocator, "arenas") != 0)
		return th_printed("{b} are free memory that {} retains, {} of it in pages "
				  "without a block{}",
			retained, allocator, trimmed_text(rss),
			strstr(allocator, "jemalloc")
				? "; MALLOC_CONF=dirty_decay_ms:0 releases these at once"
				: "");
	return th_printed("{b} are free memory that the allocator retains; malloc_trim(0) "
			  "would release {}{}",
		retained, trimmed_text(rss),
		is_change(arenas, retained)
			? th_printed(", and MALLOC_ARENA_MAX=1 would save up to {b}, unless "
				     "threads need it at the same time",
				  arenas)
			: "");
}

static const char *
buffers_text(const struct th_rss *rss)
{
	const struct th_decoded_buffers *count = rss->account.counts[TH_BUFFERS_DIRECT];
	double all = rss->now.lines[TH_BREAKDOWN_MALLOC_DIRECT];
	double cached = rss->account.cached.estimate;

	if (cached > all / 2)
		return th_printed(
			"{b} are direct buffers, {b} of them cached by threads for I/O of "
			"channels and sockets with heap buffers; "
			"-Djdk.nio.maxCachedBufferSize limits the size of each",
			all, cached);
	if (count && count->waiting_bytes > count->reached_bytes)
		return th_printed(
			"{b} are direct buffers and Unsafe memory; most, {b} in {} buffers, is "
			"unreachable: a GC (System.gc()) frees it, and with a lower "
			"-XX:MaxDirectMemorySize the VM starts one itself",
			all, count->waiting_bytes, count->waiting);
	return th_printed("{b} are direct buffers and Unsafe memory ({} buffers); "
			  "-XX:MaxDirectMemorySize limits them",
		all, rss->direct_count);
}

/* The malloc blocks in use; whether they leak is for the findings of `leaks` to say. */
static const char *
blocks_text(const struct th_rss *rss)
{
	if (rss->has_leaks && rss->leaked[TH_HEAP_NATIVE] > 0)
		return ", with a leak: `twinheap leaks` lists its sites";
	if (rss->verdict.course != TH_RSS_GROWING)
		return "";
	return rss->has_leaks ? ", without a leak found by `twinheap leaks`"
			      : "; `twinheap leaks` judges their sites";
}

static const char *
java_heap_text(const struct th_rss *rss)
{
	const struct th_breakdown_line *heap = &rss->account.lines[TH_BREAKDOWN_JAVA_HEAP];
	double resident = rss->now.lines[TH_BREAKDOWN_JAVA_HEAP];

	if (heap->committed <= 0)
		return th_printed("{b} are the Java heap", resident);
	return th_printed("most is the Java heap: {b} of it resident, {b} in use, {b} "
			  "committed, {b} allowed (-Xmx)",
		resident, heap->used, heap->committed, heap->limit);
}

static const char *
tallied_text(const struct th_rss *rss, int kind, const char *what, const char *where)
{
	return th_printed("{} hold {b}, and {b}/s more, in {}", what, rss->tallied[kind],
		rss->tallied_growth[kind], where);
}

static const char *
cause_text(const struct th_rss *rss)
{
	enum th_rss_cause cause = rss->verdict.cause;
	double sum = sum_of(rss->now.lines, cause);

	switch (cause) {
	case TH_RSS_LEAK_OF_MALLOC:
		return th_printed("{b} are malloc blocks in use{}", sum, blocks_text(rss));
	case TH_RSS_RETAINED:
		return retained_text(rss);
	case TH_RSS_JAVA_HEAP:
		return java_heap_text(rss);
	case TH_RSS_DIRECT_BUFFERS:
		return buffers_text(rss);
	case TH_RSS_STACKS:
		return th_printed(
			"{b} are stacks of {} threads", sum, rss->account.head->threads);
	case TH_RSS_MAPPED:
		return th_printed("{b} are mappings made without malloc", sum);
	case TH_RSS_FILES:
		return th_printed("{b} are mapped files and shared memory, whose clean pages "
				  "the kernel can reclaim",
			sum);
	case TH_RSS_METASPACE:
		return th_printed("{b} are metaspace, which is freed when class loaders are "
				  "unloaded; -XX:MaxMetaspaceSize limits it",
			sum);
	case TH_RSS_LOADERS:
		return tallied_text(rss, TH_TALLY_LOADERS,
			"class loaders that are never unloaded",
			"metaspace and memory of the VM");
	case TH_RSS_THREADS:
		return tallied_text(rss, TH_TALLY_THREADS,
			"threads that never end or are not joined",
			"stacks and memory of the VM");
	case TH_RSS_PAGE_CACHE:
		return th_printed("{b} of the {b} in the control group are page cache, which "
				  "the kernel reclaims when it needs memory",
			rss->account.group->file, rss->account.group->current);
	default:
		return rss->verdict.course != TH_RSS_GROWING ? "no part dominates"
		       : rss->before ? "no single part explains the growth"
				     : "no earlier snapshot shows which part grew";
	}
}

/* What `leaks` found elsewhere than in the cause, and that the sentence would else contradict. */
static const char *
leaks_text(const struct th_rss *rss)
{
	double all = 0;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (heap != TH_HEAP_NATIVE || rss->verdict.cause != TH_RSS_LEAK_OF_MALLOC)
			all += rss->leaked[heap];
	}
	if (rss->verdict.cause != TH_RSS_LOADERS)
		all += rss->tallied[TH_TALLY_LOADERS];
	if (rss->verdict.cause != TH_RSS_THREADS)
		all += rss->tallied[TH_TALLY_THREADS];
	return rss->has_leaks && all > 0
		       ? th_printed("; `twinheap leaks` finds {b} leaked", all)
		       : "";
}

const char *
th_rss_verdict_text(const struct th_rss *rss)
{
	const struct th_decoded_cgroup *group = rss->account.group;

	return th_printed("{b} resident{}; {}{}{}", rss->now.resident, course_text(rss),
		cause_text(rss), leaks_text(rss),
		rss->verdict.is_near_limit
			? th_printed("; the control group uses {b} of its limit of {b}",
				  group->current, group->limit)
			: "");
}

static double
outside_heap(const double *lines)
{
	double sum = 0;

	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		sum += kind == TH_BREAKDOWN_JAVA_HEAP || kind == TH_BREAKDOWN_FILES
			       ? 0
			       : lines[kind];
	return sum;
}

/* Clean pages of mapped files can be reclaimed, so they are no part of it. */
bool
th_rss_fit(const struct th_rss *rss, struct th_rss_fit *ret)
{
	const struct th_decoded_cgroup *group = rss->account.group;
	double heap = rss->account.lines[TH_BREAKDOWN_JAVA_HEAP].limit;

	if (!group || !group->limit || heap <= 0)
		return false;
	*ret = (struct th_rss_fit){.heap = heap, .outside = outside_heap(rss->now.lines)};
	double seconds = rss->before ? rss->now.seconds - rss->before->seconds : 0;
	double grown = rss->before ? ret->outside - outside_heap(rss->before->lines) : 0;
	if (grown > CHANGE_BYTES && seconds > 0)
		ret->growth = grown / seconds;
	ret->left = (double)group->limit - ret->heap - ret->outside;
	return true;
}

const char *
th_rss_fit_text(const struct th_rss *rss, const struct th_rss_fit *fit)
{
	const char *growth = fit->growth > 0 ? th_printed(" and grow by {b}/s", fit->growth)
					     : "";
	const char *fits = fit->left < 0     ? th_printed("does not fit, by {b}", -fit->left)
			   : fit->growth > 0 ? th_printed("fits, {b} left, full in {s}",
						       fit->left, fit->left / fit->growth)
					     : th_printed("fits, {b} left", fit->left);

	return th_printed(
		"memory limit {b}: the Java heap may take {b} (-Xmx), {b} are outside "
		"of it{}: {}",
		rss->account.group->limit, fit->heap, fit->outside, growth, fits);
}
