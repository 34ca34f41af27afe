/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakdowns of logs that are built here: sums of lines, the division by samples, and the
 * verdicts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/rss/rss.h"
#include "tests/unit/views/view_helper.h"

#define MIB (1u << 20)
#define LIBRARY 1
#define STACK 1

/* Building */

static void
begin(struct log_builder *log, uint64_t interval)
{
	const uint64_t frames[] = {th_frame_native(LIBRARY, 0x1000)};

	log_init(log, interval);
	log_thread(log, 1, "main");
	log_module(log, LIBRARY, "/opt/libapp.so");
	log_stack(log, STACK, frames, 1);
}

static void
add_row(struct log_builder *log, uint32_t account, enum th_memory_category category,
	uint64_t resident, const char *name)
{
	log_add_fields(log, TH_EVENT_ACCOUNT_ROW, LOG_U64(resident), LOG_U64(0),
		LOG_U64(2 * resident), LOG_U64(resident), LOG_U32(account), LOG_U32(category),
		LOG_U32(1), LOG_U32(0), LOG_TEXT(name));
}

static void
add_account(struct log_builder *log, uint32_t ms, uint32_t account, uint64_t resident)
{
	log_add_fields(log, TH_EVENT_ACCOUNT, LOG_U64(LOG_START + ms * UINT64_C(1000000)),
		LOG_U64(resident), LOG_U64(resident), LOG_U64(0), LOG_U64(1000000),
		LOG_U32(account), LOG_U32(TH_BREAKDOWN_ASKED), LOG_U32(TH_BREAKDOWN_HAS_PAGES),
		LOG_U32(3), LOG_U32(1));
}

static void
add_touched(struct log_builder *log, uint32_t account, uint64_t sample, uint64_t word)
{
	const uint64_t words[] = {sample, word};

	log_add_fields(log, TH_EVENT_TOUCHED, LOG_U32(account), LOG_WORDS(words, 2));
}

static uint64_t
add_block(struct log_builder *log, uint64_t size, uint64_t *bytes)
{
	*bytes += size;
	return log_native(log, (struct log_sample){.ms = 10,
				       .size = size,
				       .thread_bytes = *bytes,
				       .thread = 1,
				       .stack = STACK});
}

static double
resident(const struct th_breakdown *account, enum th_breakdown_kind kind)
{
	return account->lines[kind].resident.estimate;
}

static double
sum(const struct th_breakdown *account)
{
	double all = 0;

	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		all += resident(account, (enum th_breakdown_kind)kind);
	return all;
}

/* Breakdowns */

/* Every allocation recorded: the division is exact. */
static void
test_blocks_divide_the_heaps_of_malloc(void **state)
{
	struct log_builder log;
	struct shown shown;
	struct th_breakdown account;
	uint64_t bytes = 0;

	(void)state;
	begin(&log, 0);
	uint64_t whole = add_block(&log, MIB, &bytes);
	uint64_t part = add_block(&log, MIB, &bytes);
	uint64_t mapped = add_block(&log, 4 * MIB, &bytes);
	add_row(&log, 1, TH_MEMORY_MALLOC, 10 * MIB, "main heap");
	add_row(&log, 1, TH_MEMORY_MALLOC_MAPPED, 2 * MIB, "");
	add_row(&log, 1, TH_MEMORY_FILE, 3 * MIB, "/lib/libc.so.6");
	add_row(&log, 1, TH_MEMORY_UNKNOWN, MIB, "");
	add_touched(&log, 1, whole, MIB);
	add_touched(&log, 1, part, MIB / 4);
	add_touched(&log, 1, mapped, 2 * MIB | TH_TOUCHED_OWN_MAPPING);
	add_account(&log, 100, 1, 16 * MIB);
	show(&shown, &log, NULL);
	th_breakdown_init(&account, shown.profile, th_profile_chosen_account(shown.profile));
	assert_true(fabs(sum(&account) - 16 * MIB) < 1);
	assert_true(fabs(resident(&account, TH_BREAKDOWN_MALLOC_APPLICATION) - 3.25 * MIB) < 1);
	assert_true(fabs(resident(&account, TH_BREAKDOWN_MALLOC_RETAINED) - 8.75 * MIB) < 1);
	assert_true(fabs(resident(&account, TH_BREAKDOWN_UNEXPLAINED) - MIB) < 1);
	assert_true(fabs(account.live.estimate - 6 * MIB) < 1);
	assert_true(fabs(account.touched.estimate - 3.25 * MIB) < 1);
	th_breakdown_deinit(&account);
	show_end(&shown);
	log_deinit(&log);
}

/* Estimates above the available memory are scaled down: the lines always add up. */
static void
test_estimates_above_what_is_there(void **state)
{
	struct log_builder log;
	struct shown shown;
	struct th_breakdown account;
	uint64_t bytes = 0;

	(void)state;
	begin(&log, 8 * MIB);
	uint64_t heap = log_native(&log, (struct log_sample){.ms = 10,
						 .size = MIB,
						 .interval = 8 * MIB,
						 .thread_bytes = bytes += 9 * MIB,
						 .thread = 1,
						 .stack = STACK});
	uint64_t own = log_native(&log, (struct log_sample){.ms = 10,
						.size = MIB,
						.interval = 8 * MIB,
						.thread_bytes = bytes += 9 * MIB,
						.thread = 1,
						.stack = STACK});
	add_row(&log, 1, TH_MEMORY_MALLOC, 2 * MIB, "main heap");
	add_row(&log, 1, TH_MEMORY_MALLOC_MAPPED, MIB, "");
	add_row(&log, 1, TH_MEMORY_UNKNOWN, 2 * MIB, "");
	add_touched(&log, 1, heap, MIB);
	add_touched(&log, 1, own, MIB | TH_TOUCHED_OWN_MAPPING);
	add_account(&log, 100, 1, 5 * MIB);
	show(&shown, &log, NULL);
	th_breakdown_init(&account, shown.profile, th_profile_chosen_account(shown.profile));
	assert_true(fabs(sum(&account) - 5 * MIB) < 1);
	assert_true(fabs(resident(&account, TH_BREAKDOWN_MALLOC_RETAINED)) < 1);
	assert_true(fabs(resident(&account, TH_BREAKDOWN_UNEXPLAINED)) < 1);
	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		assert_true(resident(&account, (enum th_breakdown_kind)kind) > -1);
	th_breakdown_deinit(&account);
	show_end(&shown);
	log_deinit(&log);
}

/* What a trim would release of a heap of 5 MiB in two ranges, with a block at 0x7f0000. */
static double
trimmed_with(uint64_t start)
{
	const uint64_t heaps[] = {start, 4 * MIB, 4 * MIB, 0x10000000, 4 * MIB, MIB};
	struct log_builder log;
	struct shown shown;
	struct th_breakdown account;
	uint64_t bytes = 0;

	begin(&log, 0);
	uint64_t block = add_block(&log, MIB / 16, &bytes);
	add_row(&log, 1, TH_MEMORY_MALLOC, 5 * MIB, "main heap");
	add_touched(&log, 1, block, MIB / 16);
	log_add_fields(&log, TH_EVENT_MALLOC_HEAPS, LOG_U32(1), LOG_WORDS(heaps, 6));
	add_account(&log, 100, 1, 5 * MIB);
	show(&shown, &log, NULL);
	th_breakdown_init(&account, shown.profile, th_profile_chosen_account(shown.profile));
	double trimmed = account.trimmed.estimate;
	assert_true(account.trimmed.low <= trimmed && trimmed <= account.trimmed.high);
	th_breakdown_deinit(&account);
	show_end(&shown);
	log_deinit(&log);
	return trimmed;
}

/* All but the block and the pages at its ends. */
static void
test_a_trim_by_the_place_of_a_block(void **state)
{
	(void)state;
	assert_true(fabs(trimmed_with(0x400000) - (5 * MIB - MIB / 16 - 4096)) < 4096);
	/* Outside the heap: the bytes that are free in any case. */
	assert_true(fabs(trimmed_with(0x800000) - (5 * MIB - MIB / 16)) < 1);
}

static void
test_the_account_of_a_moment(void **state)
{
	struct log_builder log;
	struct shown shown;
	uint64_t bytes = 0;

	(void)state;
	begin(&log, 0);
	add_block(&log, 1, &bytes);
	add_account(&log, 1000, 1, 10 * MIB);
	add_account(&log, 2000, 2, 30 * MIB);
	/* Rows without a snapshot are skipped. */
	add_row(&log, 3, TH_MEMORY_FILE, MIB, "/x");
	add_account(&log, 4000, 4, 20 * MIB);
	show(&shown, &log, NULL);
	const struct th_recording *recording = shown.recording;
	assert_int_equal(th_profile_chosen_account(shown.profile)->account, 4);
	assert_int_equal(th_recording_account_peak(recording)->account, 2);
	assert_int_equal(th_recording_account_at(recording, LOG_START)->account, 1);
	assert_int_equal(
		th_recording_account_at(recording, LOG_START + UINT64_C(3900000000))->account,
		2);
	show_end(&shown);
	log_deinit(&log);
}

/* As a value of the other views. */
static void
test_touched_bytes_beside_live_bytes(void **state)
{
	struct log_builder log;
	struct shown shown;
	uint64_t bytes = 0;

	(void)state;
	begin(&log, 0);
	uint64_t block = add_block(&log, 1000, &bytes);
	add_block(&log, 500, &bytes); /* not in the snapshot */
	add_touched(&log, 1, block, 250);
	add_account(&log, 100, 1, MIB);
	show(&shown, &log, NULL);
	json_t *json = show_json(&shown);
	json_t *row = row_with_frame(json, "libapp.so+0x1000");
	assert_non_null(row);
	assert_true(estimate_of(row, "live_bytes") == 1500);
	assert_true(estimate_of(row, "touched_bytes") == 250);
	json_decref(json);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_without_accounts_the_column_is_empty(void **state)
{
	struct log_builder log;
	struct shown shown;
	uint64_t bytes = 0;

	(void)state;
	begin(&log, 0);
	add_block(&log, 1000, &bytes);
	show(&shown, &log, NULL);
	json_t *json = show_json(&shown);
	json_t *row = row_with_frame(json, "libapp.so+0x1000");
	assert_true(json_is_null(json_object_get(row, "touched_bytes")));
	json_decref(json);
	show_end(&shown);
	log_deinit(&log);
}

/* Verdicts */

#define POINTS 40

struct story {
	struct th_rss_point points[POINTS];
	struct th_rss_moment before;
	struct th_decoded_account head;
	struct th_decoded_cgroup group;
	struct th_decoded_buffers count;
	struct th_breakdown_part heaps[2]; /* of the allocator */
	struct th_rss rss;
};

/* RSS changes linearly from one value to another, in 40 seconds; both lines as given. */
static void
tell(struct story *story, double from, double to)
{
	memset(story, 0, sizeof(*story));
	for (int i = 0; i < POINTS; i++)
		story->points[i] = (struct th_rss_point){
			i, from + (to - from) * i / (POINTS - 1)};
	story->rss.points = story->points;
	story->rss.judged_points = POINTS;
	story->rss.before = &story->before;
	story->before.seconds = POINTS / 2;
	story->rss.now.seconds = POINTS;
	story->rss.now.resident = to;
	story->rss.account.head = &story->head;
	story->rss.account.group = &story->group;
}

static void
judge(struct story *story, enum th_rss_course course, enum th_rss_cause cause,
	const char *words)
{
	struct th_rss_verdict verdict = th_rss_judge(&story->rss);

	story->rss.verdict = verdict;
	const char *text = th_rss_verdict_text(&story->rss);
	print_message("%s\n", text);
	assert_string_equal(th_rss_course_names[verdict.course], th_rss_course_names[course]);
	assert_string_equal(th_rss_cause_names[verdict.cause], th_rss_cause_names[cause]);
	assert_non_null(strstr(text, words));
}

static void
test_a_leak_of_malloc(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 100.0 * MIB, 500.0 * MIB);
	story.before.lines[TH_BREAKDOWN_JAVA_HEAP] = 80.0 * MIB;
	story.rss.now.lines[TH_BREAKDOWN_JAVA_HEAP] = 90.0 * MIB;
	story.before.lines[TH_BREAKDOWN_MALLOC_APPLICATION] = 150.0 * MIB;
	story.rss.now.lines[TH_BREAKDOWN_MALLOC_APPLICATION] = 380.0 * MIB;
	judge(&story, TH_RSS_GROWING, TH_RSS_LEAK_OF_MALLOC, "malloc: application grew most");
}

/* In small processes less is a change: the RSS of this one doubles. */
static void
test_growth_of_a_small_process(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 5.0 * MIB, 10.0 * MIB);
	judge(&story, TH_RSS_GROWING, TH_RSS_NOTHING_STANDS_OUT, "growing");
	tell(&story, 9.0 * MIB, 10.0 * MIB);
	judge(&story, TH_RSS_PLATEAU, TH_RSS_NOTHING_STANDS_OUT, "a plateau");
}

/*
 * Points are ten times as frequent in the first tenth of the time. By number the second quarter is
 * there, when the process still started; by time it has been flat since a quarter of it.
 */
static void
test_quarters_are_of_time(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 50.0 * MIB, 300.0 * MIB);
	for (int i = 0; i < POINTS; i++) {
		double seconds = i < POINTS / 2 ? i * 0.2 : 4 + (i - POINTS / 2) * 1.8;

		story.points[i].seconds = seconds;
		story.points[i].bytes = (seconds < 9 ? 50 + 28 * seconds : 300) * MIB;
	}
	judge(&story, TH_RSS_PLATEAU, TH_RSS_NOTHING_STANDS_OUT, "a plateau");
}

/* 200 MiB more than in the second quarter, but none of it in the last 30 % of the time. */
static void
test_growth_that_ended_is_a_plateau(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 100.0 * MIB, 500.0 * MIB);
	for (int i = 0; i < POINTS; i++)
		story.points[i].bytes = fmin(100 + 400.0 / 28 * i, 500) * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_NOTHING_STANDS_OUT, "a plateau");
}

/* A process that grew until it freed everything at its end. */
static void
test_what_was_freed_just_now_has_fallen(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 100.0 * MIB, 500.0 * MIB);
	story.rss.now.resident = 20.0 * MIB;
	judge(&story, TH_RSS_FELL, TH_RSS_NOTHING_STANDS_OUT, "after a peak of 500 MiB");
}

/* Two lines grew by 40 % of the growth each: neither is its cause. */
static void
test_growth_without_a_cause(void **state)
{
	static const enum th_breakdown_kind growing[] = {TH_BREAKDOWN_MALLOC_APPLICATION,
		TH_BREAKDOWN_MALLOC_APPLICATION, TH_BREAKDOWN_JAVA_HEAP, TH_BREAKDOWN_JAVA_HEAP,
		TH_BREAKDOWN_STACKS};
	struct story story;

	(void)state;
	tell(&story, 100.0 * MIB, 500.0 * MIB);
	for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++)
		story.rss.now.lines[growing[i]] += 50.0 * MIB;
	judge(&story, TH_RSS_GROWING, TH_RSS_NOTHING_STANDS_OUT,
		"no single part explains the growth");
	story.rss.now.lines[TH_BREAKDOWN_JAVA_HEAP] = 10.0 * MIB;
	judge(&story, TH_RSS_GROWING, TH_RSS_LEAK_OF_MALLOC, "100 MiB of 160 MiB");
	story.rss.before = NULL;
	judge(&story, TH_RSS_GROWING, TH_RSS_NOTHING_STANDS_OUT, "no earlier snapshot");
}

/* Only what `leaks` lists is called a leak. */
static void
test_the_verdict_agrees_with_leaks(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 100.0 * MIB, 500.0 * MIB);
	story.rss.now.lines[TH_BREAKDOWN_MALLOC_APPLICATION] = 380.0 * MIB;
	judge(&story, TH_RSS_GROWING, TH_RSS_LEAK_OF_MALLOC, "`twinheap leaks` judges");
	story.rss.has_leaks = true;
	judge(&story, TH_RSS_GROWING, TH_RSS_LEAK_OF_MALLOC, "without a leak found by");
	story.rss.leaked[TH_HEAP_NATIVE] = 300.0 * MIB;
	judge(&story, TH_RSS_GROWING, TH_RSS_LEAK_OF_MALLOC, "with a leak");
	for (int i = 0; i < POINTS; i++)
		story.points[i].bytes = 500.0 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_LEAK_OF_MALLOC, "with a leak");
	story.rss.now.lines[TH_BREAKDOWN_JAVA_HEAP] = 400.0 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_JAVA_HEAP,
		"`twinheap leaks` finds 300 MiB leaked");
}

/* What class loaders hold is spread over metaspace and malloc: no line has half of the growth. */
static void
test_leaked_loaders_explain_the_growth(void **state)
{
	static const enum th_breakdown_kind growing[] = {
		TH_BREAKDOWN_METASPACE, TH_BREAKDOWN_MALLOC_VM, TH_BREAKDOWN_JAVA_HEAP};
	struct story story;

	(void)state;
	tell(&story, 100.0 * MIB, 500.0 * MIB);
	for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++)
		story.rss.now.lines[growing[i]] += 60.0 * MIB;
	judge(&story, TH_RSS_GROWING, TH_RSS_NOTHING_STANDS_OUT,
		"no single part explains the growth");
	struct th_rss_verdict verdict = th_rss_judge(&story.rss);
	story.rss.has_leaks = true;
	story.rss.tallied[TH_TALLY_LOADERS] = 120.0 * MIB;
	story.rss.tallied_growth[TH_TALLY_LOADERS] = 0.6 * verdict.growth;
	judge(&story, TH_RSS_GROWING, TH_RSS_LOADERS,
		"class loaders that are never unloaded hold 120 MiB");
	/* Too little to be the cause, but said. */
	story.rss.tallied_growth[TH_TALLY_LOADERS] = 0.4 * verdict.growth;
	judge(&story, TH_RSS_GROWING, TH_RSS_NOTHING_STANDS_OUT,
		"`twinheap leaks` finds 120 MiB leaked");
	story.rss.tallied_growth[TH_TALLY_THREADS] = 0.5 * verdict.growth;
	judge(&story, TH_RSS_GROWING, TH_RSS_THREADS,
		"threads that never end or are not joined");
}

static void
test_a_plateau_of_the_java_heap(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 600.0 * MIB, 603.0 * MIB);
	story.rss.now.lines[TH_BREAKDOWN_JAVA_HEAP] = 480.0 * MIB;
	story.rss.now.lines[TH_BREAKDOWN_FILES] = 30.0 * MIB;
	story.rss.account.lines[TH_BREAKDOWN_JAVA_HEAP].used = 100.0 * MIB;
	story.rss.account.lines[TH_BREAKDOWN_JAVA_HEAP].committed = 512.0 * MIB;
	story.rss.account.lines[TH_BREAKDOWN_JAVA_HEAP].limit = 1024.0 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_JAVA_HEAP, "512 MiB committed, 1.00 GiB allowed");
}

static void
test_memory_that_the_allocator_keeps(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 300.0 * MIB, 300.0 * MIB);
	story.points[10].bytes = 600.0 * MIB;
	story.rss.now.lines[TH_BREAKDOWN_MALLOC_RETAINED] = 250.0 * MIB;
	story.rss.account.trimmed.estimate = 240.0 * MIB;
	judge(&story, TH_RSS_FELL, TH_RSS_RETAINED, "release about 240 MiB");
	struct th_breakdown_line *line = &story.rss.account.lines[TH_BREAKDOWN_MALLOC_RETAINED];
	line->parts = story.heaps;
	line->parts_count = 2;
	story.heaps[0].name = "main heap";
	story.heaps[1] = (struct th_breakdown_part){.name = "arenas", .resident = 200.0 * MIB};
	judge(&story, TH_RSS_FELL, TH_RSS_RETAINED,
		"MALLOC_ARENA_MAX=1 would save up to 200 MiB");
	story.heaps[0].name = "libother.so";
	judge(&story, TH_RSS_FELL, TH_RSS_RETAINED, "libother.so retains, about 240 MiB");
	story.heaps[0].name = "libjemalloc.so.2";
	judge(&story, TH_RSS_FELL, TH_RSS_RETAINED, "dirty_decay_ms:0");
}

static void
test_stacks_buffers_and_mappings(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 200.0 * MIB, 200.0 * MIB);
	story.rss.now.lines[TH_BREAKDOWN_STACKS] = 120.0 * MIB;
	story.head.threads = 300;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_STACKS, "stacks of 300 threads");
	story.rss.now.lines[TH_BREAKDOWN_STACKS] = 0;
	story.rss.now.lines[TH_BREAKDOWN_MALLOC_DIRECT] = 100.0 * MIB;
	story.rss.direct_count = 17;
	story.rss.account.cached.estimate = 40.0 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_DIRECT_BUFFERS, "17 buffers");
	story.rss.account.cached.estimate = 60.0 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_DIRECT_BUFFERS, "-Djdk.nio.maxCachedBufferSize");
	story.rss.now.lines[TH_BREAKDOWN_MALLOC_DIRECT] = 0;
	story.rss.now.lines[TH_BREAKDOWN_MAPPED] = 90.0 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_MAPPED, "without malloc");
}

/* The count has precedence over the advice on limits, but not over the cache of threads. */
static void
test_buffers_that_wait_for_their_cleaner(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 200.0 * MIB, 200.0 * MIB);
	story.rss.now.lines[TH_BREAKDOWN_MALLOC_DIRECT] = 100.0 * MIB;
	story.rss.direct_count = 17;
	story.rss.account.counts[TH_BUFFERS_DIRECT] = &story.count;
	story.count.reached_bytes = 60 * MIB;
	story.count.waiting_bytes = 40 * MIB;
	story.count.waiting = 7;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_DIRECT_BUFFERS, "17 buffers");
	story.count.reached_bytes = 40 * MIB;
	story.count.waiting_bytes = 60 * MIB;
	story.count.waiting = 9;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_DIRECT_BUFFERS,
		"60.0 MiB in 9 buffers, is unreachable");
	story.rss.account.cached.estimate = 60.0 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_DIRECT_BUFFERS, "-Djdk.nio.maxCachedBufferSize");
}

static void
add_count(struct log_builder *log, uint32_t ms, uint32_t kind, uint64_t waiting)
{
	log_add_fields(log, TH_EVENT_BUFFERS, LOG_U64(LOG_START + ms * UINT64_C(1000000)),
		LOG_U64(5000000), LOG_U64(3), LOG_U64(3000), LOG_U64(waiting),
		LOG_U64(1000 * waiting), LOG_U32(kind));
}

/* One from ten seconds before, with no GC since, and the last of them. */
static void
test_counts_of_buffers_and_their_accounts(void **state)
{
	static const struct {
		uint32_t ms;
		uint64_t waiting; /* 0: no count is valid */
	} expected[] = {{500, 0}, {1500, 12}, {2500, 13}, {3500, 0}, {4600, 14}, {20000, 0}};
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log, 0);
	add_count(&log, 1000, TH_BUFFERS_DIRECT, 12);
	add_count(&log, 1000, TH_BUFFERS_MAPPED, 1);
	add_count(&log, 2000, TH_BUFFERS_DIRECT, 13);
	log_collection(&log, 3000, 3001, 1, "Copy");
	add_count(&log, 4500, TH_BUFFERS_DIRECT, 14);
	add_count(&log, 4500, TH_BUFFERS_KINDS, 99);
	for (uint32_t i = 0; i < 6; i++)
		add_account(&log, expected[i].ms, i + 1, 100 * MIB);
	show(&shown, &log, NULL);
	for (uint32_t i = 0; i < 6; i++) {
		const struct th_decoded_buffers *count = th_breakdown_buffers(
			shown.profile, &shown.recording->accounts[i], TH_BUFFERS_DIRECT);

		assert_int_equal(count ? count->waiting : 0, expected[i].waiting);
	}
	assert_ptr_equal(
		th_breakdown_of_last_count(shown.profile), &shown.recording->accounts[4]);
	assert_int_equal(shown.recording->undecodable, 1);
	show_end(&shown);
	log_deinit(&log);
}

/* The group is full of page cache: not a leak. */
static void
test_page_cache_in_the_control_group(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 50.0 * MIB, 50.0 * MIB);
	story.group.limit = 1000 * MIB;
	story.group.current = 980 * MIB;
	story.group.file = 900 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_PAGE_CACHE, "page cache");
	story.group.file = 100 * MIB;
	judge(&story, TH_RSS_PLATEAU, TH_RSS_NOTHING_STANDS_OUT, "of its limit of 0.98 GiB");
}

static void
test_too_short_to_tell(void **state)
{
	struct story story;

	(void)state;
	tell(&story, 10.0 * MIB, 500.0 * MIB);
	story.rss.judged_points = 3;
	judge(&story, TH_RSS_SHORT, TH_RSS_NOTHING_STANDS_OUT, "500 MiB resident");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_divide_the_heaps_of_malloc),
		cmocka_unit_test(test_estimates_above_what_is_there),
		cmocka_unit_test(test_a_trim_by_the_place_of_a_block),
		cmocka_unit_test(test_the_account_of_a_moment),
		cmocka_unit_test(test_touched_bytes_beside_live_bytes),
		cmocka_unit_test(test_without_accounts_the_column_is_empty),
		cmocka_unit_test(test_a_leak_of_malloc),
		cmocka_unit_test(test_quarters_are_of_time),
		cmocka_unit_test(test_growth_of_a_small_process),
		cmocka_unit_test(test_growth_that_ended_is_a_plateau),
		cmocka_unit_test(test_what_was_freed_just_now_has_fallen),
		cmocka_unit_test(test_growth_without_a_cause),
		cmocka_unit_test(test_the_verdict_agrees_with_leaks),
		cmocka_unit_test(test_leaked_loaders_explain_the_growth),
		cmocka_unit_test(test_a_plateau_of_the_java_heap),
		cmocka_unit_test(test_memory_that_the_allocator_keeps),
		cmocka_unit_test(test_stacks_buffers_and_mappings),
		cmocka_unit_test(test_buffers_that_wait_for_their_cleaner),
		cmocka_unit_test(test_counts_of_buffers_and_their_accounts),
		cmocka_unit_test(test_page_cache_in_the_control_group),
		cmocka_unit_test(test_too_short_to_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
