/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trend of the RSS is its median over the last quarter of the time against that over the
 * second quarter, and over the third: growth that has ended is none. (Of the time, not of the
 * values, which are more frequent in the beginning.) If the RSS grows, the cause is the line that
 * explains most of the growth, or none; else the largest line that is a possible cause.
 */
#include "report/rss/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"

/* Minimum number of points for a trend. */
#define POINTS_LEAST 6
/*
 * Least part of the growth that is later than the third quarter. Half of a steady growth is, 2/5 of
 * a logarithmic one, and a third of one that ended at the last quarter.
 */
#define LATE_PART (1.0 / 3)
/* Least part of the growth that a line must have to be its cause. */
#define CAUSE_PART 0.5
/* Smaller changes are noise: the RSS of a JVM fluctuates by this much. */
#define CHANGE_SHARE 0.05
#define CHANGE_BYTES (8.0 * 1024 * 1024)
/* A line dominates when it has this part of the RSS, and this many bytes. */
#define STANDS_OUT_SHARE 0.25
#define STANDS_OUT_BYTES (16.0 * 1024 * 1024)
#define NEAR_LIMIT 0.9

static int
compare(const void *a, const void *b)
{
	double first = *(const double *)a;
	double second = *(const double *)b;

	return (first > second) - (first < second);
}

/* Of the points in a quarter of the time, 0 to 3; 0 without any. */
static double
median(const struct th_rss_facts *facts, unsigned quarter)
{
	double start = facts->points[0].seconds;
	double length = (facts->points[facts->point_count - 1].seconds - start) / 4;
	double *values = th_allocate(facts->point_count, sizeof(*values));
	size_t count = 0;
	double middle;

	for (size_t i = 0; i < facts->point_count; i++) {
		double seconds = facts->points[i].seconds - start;

		if (seconds >= quarter * length &&
			(quarter == 3 || seconds < (quarter + 1) * length))
			values[count++] = facts->points[i].bytes;
	}
	qsort(values, count, sizeof(*values), compare);
	middle = count ? values[count / 2] : 0;
	free(values);
	return middle;
}

static double
highest(const struct th_rss_facts *facts)
{
	double most = 0;

	for (size_t i = 0; i < facts->point_count; i++)
		most = fmax(most, facts->points[i].bytes);
	return most;
}

static bool
is_change(double change, double of)
{
	return change > CHANGE_BYTES && change > CHANGE_SHARE * of;
}

static enum th_rss_course
judge_course(const struct th_rss_facts *facts, double *growth_ret)
{
	size_t count = facts->point_count;

	*growth_ret = 0;
	if (count < POINTS_LEAST)
		return TH_RSS_SHORT;
	double second = median(facts, 1);
	double third = median(facts, 2);
	double last = median(facts, 3);
	double seconds = (facts->points[count - 1].seconds - facts->points[0].seconds) / 2;
	if (second <= 0 || third <= 0 || seconds <= 0)
		return TH_RSS_SHORT;
	*growth_ret = (last - second) / seconds;
	/* Freed shortly before the snapshot, as at the end of a process. */
	if (facts->resident < last / 2)
		return TH_RSS_FELL;
	if (is_change(last - second, last) && last - third >= LATE_PART * (last - second))
		return TH_RSS_GROWING;
	if (is_change(highest(facts) - last, highest(facts)))
		return TH_RSS_FELL;
	return TH_RSS_PLATEAU;
}

static double
blocks_of(const double *lines)
{
	return lines[TH_BREAKDOWN_MALLOC_VM] + lines[TH_BREAKDOWN_MALLOC_JDK] +
	       lines[TH_BREAKDOWN_MALLOC_APPLICATION] + lines[TH_BREAKDOWN_MALLOC_OVERHEAD];
}

static enum th_rss_cause
cause_of_line(enum th_breakdown_kind kind)
{
	switch (kind) {
	case TH_BREAKDOWN_JAVA_HEAP:
		return TH_RSS_JAVA_HEAP;
	case TH_BREAKDOWN_STACKS:
		return TH_RSS_STACKS;
	case TH_BREAKDOWN_MALLOC_DIRECT:
		return TH_RSS_DIRECT_BUFFERS;
	case TH_BREAKDOWN_MALLOC_VM:
	case TH_BREAKDOWN_MALLOC_JDK:
	case TH_BREAKDOWN_MALLOC_APPLICATION:
	case TH_BREAKDOWN_MALLOC_OVERHEAD:
		return TH_RSS_LEAK_OF_MALLOC;
	case TH_BREAKDOWN_MALLOC_RETAINED:
		return TH_RSS_RETAINED;
	case TH_BREAKDOWN_VM:
	case TH_BREAKDOWN_MAPPED:
	case TH_BREAKDOWN_UNEXPLAINED:
		return TH_RSS_MAPPED;
	case TH_BREAKDOWN_FILES:
	case TH_BREAKDOWN_SHARED:
		return TH_RSS_FILES;
	case TH_BREAKDOWN_METASPACE:
	case TH_BREAKDOWN_CLASS_SPACE:
		return TH_RSS_METASPACE;
	default:
		return TH_RSS_NOTHING_STANDS_OUT;
	}
}

/* Finds the largest line, or the line that grew most; malloc's live blocks count together. */
static enum th_breakdown_kind
largest(const double *lines, double *ret)
{
	enum th_breakdown_kind found = TH_BREAKDOWN_KINDS;
	enum th_breakdown_kind owner = TH_BREAKDOWN_MALLOC_VM;

	*ret = 0;
	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++) {
		bool is_block = kind != TH_BREAKDOWN_MALLOC_DIRECT &&
				kind >= TH_BREAKDOWN_MALLOC_VM &&
				kind <= TH_BREAKDOWN_MALLOC_OVERHEAD;

		if (is_block && kind != TH_BREAKDOWN_MALLOC_OVERHEAD &&
			lines[kind] > lines[owner])
			owner = (enum th_breakdown_kind)kind;
		if (!is_block && lines[kind] > *ret) {
			*ret = lines[kind];
			found = (enum th_breakdown_kind)kind;
		}
	}
	if (blocks_of(lines) > *ret) {
		*ret = blocks_of(lines);
		return owner;
	}
	return found;
}

/* The line that explains the growth between the two snapshots, TH_BREAKDOWN_KINDS for none. */
static enum th_breakdown_kind
find_grower(const struct th_rss_facts *facts, struct th_rss_verdict *verdict)
{
	double differences[TH_BREAKDOWN_KINDS];
	enum th_breakdown_kind kind;

	for (int i = 0; i < TH_BREAKDOWN_KINDS; i++) {
		differences[i] = facts->now[i] - facts->before[i];
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
find_tallied_grower(const struct th_rss_facts *facts, const struct th_rss_verdict *verdict)
{
	for (int kind = 0; kind < TH_TALLY_KINDS; kind++) {
		if (facts->has_leaks && facts->tallied_growth[kind] > 0 &&
			facts->tallied_growth[kind] >= CAUSE_PART * verdict->growth)
			return kind;
	}
	return TH_TALLY_KINDS;
}

static enum th_rss_cause
cause_of_growth(const struct th_rss_facts *facts, const struct th_rss_verdict *verdict)
{
	int kind = find_tallied_grower(facts, verdict);

	if (kind == TH_TALLY_LOADERS)
		return TH_RSS_LOADERS;
	if (kind == TH_TALLY_THREADS)
		return TH_RSS_THREADS;
	return verdict->grower == TH_BREAKDOWN_KINDS ? TH_RSS_NOTHING_STANDS_OUT
						     : cause_of_line(verdict->grower);
}

static enum th_rss_cause
judge_cause(const struct th_rss_facts *facts, struct th_rss_verdict *verdict)
{
	double most;
	enum th_breakdown_kind kind;

	if (verdict->course == TH_RSS_GROWING) {
		if (facts->has_before)
			verdict->grower = find_grower(facts, verdict);
		return cause_of_growth(facts, verdict);
	}
	if (facts->group_limit > 0 && facts->group_file > facts->group_current / 2 &&
		facts->group_current > NEAR_LIMIT * facts->group_limit)
		return TH_RSS_PAGE_CACHE;
	kind = largest(facts->now, &most);
	if (kind == TH_BREAKDOWN_KINDS || most < STANDS_OUT_BYTES ||
		most < STANDS_OUT_SHARE * facts->resident)
		return TH_RSS_NOTHING_STANDS_OUT;
	return cause_of_line(kind);
}

struct th_rss_verdict
th_rss_judge(const struct th_rss_facts *facts)
{
	struct th_rss_verdict verdict = {.grower = TH_BREAKDOWN_KINDS};

	verdict.course = judge_course(facts, &verdict.growth);
	verdict.cause = judge_cause(facts, &verdict);
	verdict.is_near_limit = facts->group_limit > 0 &&
				facts->group_current >= NEAR_LIMIT * facts->group_limit;
	return verdict;
}

const char *
th_rss_course_name(enum th_rss_course course)
{
	static const char *const names[] = {
		[TH_RSS_SHORT] = "short",
		[TH_RSS_GROWING] = "growing",
		[TH_RSS_PLATEAU] = "plateau",
		[TH_RSS_FELL] = "fell",
	};

	return names[course];
}

const char *
th_rss_cause_name(enum th_rss_cause cause)
{
	static const char *const names[] = {
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

	return names[cause];
}

/* Text */

static struct th_number
bytes(double value)
{
	return th_format_number(value, TH_UNIT_BYTES);
}

static char *
course_text(const struct th_rss_verdict *verdict, const struct th_rss_facts *facts)
{
	struct th_number size = bytes(facts->resident);

	switch (verdict->course) {
	case TH_RSS_GROWING:
		if (verdict->grower == TH_BREAKDOWN_KINDS)
			return th_format_new("%s resident, growing by %s/s", size.text,
				bytes(verdict->growth).text);
		return th_format_new("%s resident, growing by %s/s; %s grew most, by %s of %s "
				     "in %s",
			size.text, bytes(verdict->growth).text,
			th_breakdown_label(verdict->grower), bytes(verdict->grown).text,
			bytes(verdict->grown_all).text,
			th_format_seconds(facts->now_seconds - facts->before_seconds).text);
	case TH_RSS_PLATEAU:
		return th_format_new("%s resident, a plateau", size.text);
	case TH_RSS_FELL:
		return th_format_new("%s resident, after a peak of %s (--at peak)", size.text,
			bytes(highest(facts)).text);
	default:
		return th_format_new("%s resident", size.text);
	}
}

/*
 * Memory in pages without a block; a range if it depends on the position of blocks within
 * pages.
 */
static char *
trimmed_text(const struct th_rss_facts *facts)
{
	if (is_change(facts->trimmed_most - facts->trimmed, facts->trimmed_most))
		return th_format_new("%s to %s", bytes(facts->trimmed).text,
			bytes(facts->trimmed_most).text);
	return th_format_new("about %s", bytes(facts->trimmed).text);
}

static char *
retained_text(const struct th_rss_facts *facts)
{
	double retained = facts->now[TH_BREAKDOWN_MALLOC_RETAINED];
	double split = fmin(retained, facts->arenas);
	char *arenas = is_change(split, retained)
			       ? th_format_new(", and MALLOC_ARENA_MAX=1 would save up to %s, "
					       "unless threads need it at the same time",
					 bytes(split).text)
			       : th_format_new("%s", "");
	char *trimmed = trimmed_text(facts);
	char *text = th_format_new("%s are free memory that the allocator retains; "
				   "malloc_trim(0) would release %s%s",
		bytes(retained).text, trimmed, arenas);

	free(arenas);
	free(trimmed);
	return text;
}

/* The decay of dirty pages is jemalloc's equivalent of malloc_trim(). */
static char *
retained_by_other_text(const struct th_rss_facts *facts)
{
	bool decays = strstr(facts->allocator, "jemalloc");
	char *trimmed = trimmed_text(facts);
	char *text = th_format_new("%s are free memory that %s retains, %s of it in pages "
				   "without a block%s",
		bytes(facts->now[TH_BREAKDOWN_MALLOC_RETAINED]).text, facts->allocator, trimmed,
		decays ? "; MALLOC_CONF=dirty_decay_ms:0 releases these at once" : "");

	free(trimmed);
	return text;
}

static char *
buffers_text(const struct th_rss_facts *facts)
{
	double all = facts->now[TH_BREAKDOWN_MALLOC_DIRECT];

	if (facts->direct_cached > all / 2)
		return th_format_new("%s are direct buffers, %s of them cached by threads for "
				     "I/O of channels and sockets with heap buffers; "
				     "-Djdk.nio.maxCachedBufferSize limits the size of each",
			bytes(all).text, bytes(facts->direct_cached).text);
	if (facts->direct_waiting > facts->direct_all / 2)
		return th_format_new("%s are direct buffers and Unsafe memory; most, %s in "
				     "%.0f buffers, is unreachable: a GC (System.gc()) frees "
				     "it, and with a lower -XX:MaxDirectMemorySize the VM "
				     "starts one itself",
			bytes(all).text, bytes(facts->direct_waiting).text,
			facts->direct_waiting_count);
	return th_format_new("%s are direct buffers and Unsafe memory (%.0f buffers); "
			     "-XX:MaxDirectMemorySize limits them",
		bytes(all).text, facts->direct_count);
}

/* The malloc blocks in use; whether they leak is for the findings of `leaks` to say. */
static char *
blocks_text(const struct th_rss_verdict *verdict, const struct th_rss_facts *facts)
{
	char *text = th_format_new(
		"%s are malloc blocks in use", bytes(blocks_of(facts->now)).text);
	const char *more = "";

	if (facts->has_leaks && facts->leaks[TH_HEAP_NATIVE] > 0)
		more = ", with a leak: `twinheap leaks` lists its sites";
	else if (verdict->course == TH_RSS_GROWING && facts->has_leaks)
		more = ", without a leak found by `twinheap leaks`";
	else if (verdict->course == TH_RSS_GROWING)
		more = "; `twinheap leaks` judges their sites";
	char *whole = th_format_new("%s%s", text, more);
	free(text);
	return whole;
}

static char *
cause_text(const struct th_rss_verdict *verdict, const struct th_rss_facts *facts)
{
	switch (verdict->cause) {
	case TH_RSS_LEAK_OF_MALLOC:
		return blocks_text(verdict, facts);
	case TH_RSS_RETAINED:
		return facts->allocator ? retained_by_other_text(facts) : retained_text(facts);
	case TH_RSS_JAVA_HEAP:
		if (facts->java_committed <= 0)
			return th_format_new("%s are the Java heap",
				bytes(facts->now[TH_BREAKDOWN_JAVA_HEAP]).text);
		return th_format_new("most is the Java heap: %s of it resident, %s in use, "
				     "%s committed, %s allowed (-Xmx)",
			bytes(facts->now[TH_BREAKDOWN_JAVA_HEAP]).text,
			bytes(facts->java_used).text, bytes(facts->java_committed).text,
			bytes(facts->java_limit).text);
	case TH_RSS_DIRECT_BUFFERS:
		return buffers_text(facts);
	case TH_RSS_STACKS:
		return th_format_new("%s are stacks of %.0f threads",
			bytes(facts->now[TH_BREAKDOWN_STACKS]).text, facts->threads);
	case TH_RSS_MAPPED:
		return th_format_new("%s are mappings made without malloc",
			bytes(facts->now[TH_BREAKDOWN_VM] + facts->now[TH_BREAKDOWN_MAPPED] +
				facts->now[TH_BREAKDOWN_UNEXPLAINED])
				.text);
	case TH_RSS_FILES:
		return th_format_new("%s are mapped files and shared memory, whose clean pages "
				     "the kernel can reclaim",
			bytes(facts->now[TH_BREAKDOWN_FILES] + facts->now[TH_BREAKDOWN_SHARED])
				.text);
	case TH_RSS_METASPACE:
		return th_format_new("%s are metaspace, which is freed when class loaders are "
				     "unloaded; -XX:MaxMetaspaceSize limits it",
			bytes(facts->now[TH_BREAKDOWN_METASPACE] +
				facts->now[TH_BREAKDOWN_CLASS_SPACE])
				.text);
	case TH_RSS_LOADERS:
		return th_format_new("class loaders that are never unloaded hold %s, and %s/s "
				     "more, in metaspace and memory of the VM",
			bytes(facts->tallied[TH_TALLY_LOADERS]).text,
			bytes(facts->tallied_growth[TH_TALLY_LOADERS]).text);
	case TH_RSS_THREADS:
		return th_format_new("threads that never end hold %s, and %s/s more, in stacks "
				     "and memory of the VM",
			bytes(facts->tallied[TH_TALLY_THREADS]).text,
			bytes(facts->tallied_growth[TH_TALLY_THREADS]).text);
	case TH_RSS_PAGE_CACHE:
		return th_format_new("%s of the %s in the control group are page cache, which "
				     "the kernel reclaims when it needs memory",
			bytes(facts->group_file).text, bytes(facts->group_current).text);
	default:
		return th_format_new(verdict->course != TH_RSS_GROWING ? "no part dominates"
				     : facts->has_before
					     ? "no single part explains the growth"
					     : "no earlier snapshot shows which part grew");
	}
}

/* What `leaks` found elsewhere than in the cause, and that the sentence would else contradict. */
static char *
leaks_text(const struct th_rss_verdict *verdict, const struct th_rss_facts *facts)
{
	double all = 0;

	for (int heap = TH_HEAP_JAVA; facts->has_leaks && heap < TH_HEAPS; heap++) {
		if (heap != TH_HEAP_NATIVE || verdict->cause != TH_RSS_LEAK_OF_MALLOC)
			all += facts->leaks[heap];
	}
	if (facts->has_leaks && verdict->cause != TH_RSS_LOADERS)
		all += facts->tallied[TH_TALLY_LOADERS];
	if (facts->has_leaks && verdict->cause != TH_RSS_THREADS)
		all += facts->tallied[TH_TALLY_THREADS];
	if (all <= 0)
		return th_format_new("%s", "");
	return th_format_new("; `twinheap leaks` finds %s leaked", bytes(all).text);
}

char *
th_rss_verdict_text(const struct th_rss_verdict *verdict, const struct th_rss_facts *facts)
{
	char *course = course_text(verdict, facts);
	char *cause = cause_text(verdict, facts);
	char *limit = verdict->is_near_limit
			      ? th_format_new("; the control group uses %s of its limit of %s",
					bytes(facts->group_current).text,
					bytes(facts->group_limit).text)
			      : th_format_new("%s", "");
	char *leaks = leaks_text(verdict, facts);
	char *text = th_format_new("%s; %s%s%s", course, cause, leaks, limit);

	free(course);
	free(cause);
	free(leaks);
	free(limit);
	return text;
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
th_rss_fit(const struct th_rss_facts *facts, struct th_rss_fit *ret)
{
	double seconds = facts->now_seconds - facts->before_seconds;

	if (facts->group_limit <= 0 || facts->java_limit <= 0)
		return false;
	*ret = (struct th_rss_fit){
		.heap = facts->java_limit, .outside = outside_heap(facts->now)};
	double grown = facts->has_before ? ret->outside - outside_heap(facts->before) : 0;
	if (grown > CHANGE_BYTES && seconds > 0)
		ret->growth = grown / seconds;
	ret->left = facts->group_limit - ret->heap - ret->outside;
	return true;
}

char *
th_rss_fit_text(const struct th_rss_facts *facts, const struct th_rss_fit *fit)
{
	bool grows = fit->growth > 0;
	char *end = fit->left < 0 ? th_format_new("does not fit, by %s", bytes(-fit->left).text)
		    : !grows      ? th_format_new("fits, %s left", bytes(fit->left).text)
			     : th_format_new("fits, %s left, full in %s", bytes(fit->left).text,
				       th_format_seconds(fit->left / fit->growth).text);
	char *growth = grows ? th_format_new(" and grow by %s/s", bytes(fit->growth).text)
			     : th_format_new("%s", "");
	char *text = th_format_new("memory limit %s: the Java heap may take %s (-Xmx), %s are "
				   "outside of it%s: %s",
		bytes(facts->group_limit).text, bytes(fit->heap).text, bytes(fit->outside).text,
		growth, end);

	free(growth);
	free(end);
	return text;
}
