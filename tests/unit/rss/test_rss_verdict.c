/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on resident memory, from logs that are built here: two snapshots and the RSS
 * between, for each cause; at the thresholds; and with the noise of a real process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "report/rss/rss.h"
#include "tests/unit/views/view_helper.h"
#include "unify/sample/poisson.h"

#define MIB (UINT64_C(1) << 20)
#define POINTS 80
#define MS_PER_POINT 250
#define LINES 8
#define NOISES 25

enum stack { APPLICATION = 1, DIRECT = 2 };

/* A line of the snapshot at half time and at the end, MiB. */
struct line {
	enum th_memory_category category; /* 0: blocks of malloc, allocated by `stack` */
	enum stack stack;
	const char *name;
	double before;
	double now;
};

struct scene {
	enum th_rss_course course;
	enum th_rss_cause cause;
	struct line lines[LINES];
	double limit, current, cache; /* of the control group, MiB; 0: there is none */
	double peak;  /* RSS in the first quarter, MiB; 0: the sum of the lines */
	double noise; /* relative error of every figure, in either direction */
};

/* Building */

static double
shaken(double mebibytes, const struct scene *scene, struct th_random *random)
{
	return mebibytes * (1 + scene->noise * (2 * th_random_unit(random) - 1)) * (double)MIB;
}

static void
begin(struct log_builder *log)
{
	const uint64_t application[] = {th_frame_native(1, 0x1000)};
	const uint64_t direct[] = {th_frame_java(1, TH_BCI_NATIVE)};

	log_init(log, 0);
	log_thread(log, 1, "main");
	log_module(log, 1, "/opt/libapp.so");
	log_method(log, 1, "Ljdk/internal/misc/Unsafe;", "allocateMemory0");
	log_stack(log, APPLICATION, application, 1);
	log_stack(log, DIRECT, direct, 1);
}

static uint64_t
add_blocks(struct log_builder *log, uint32_t account, const struct line *line, uint64_t bytes)
{
	static uint64_t sum;
	uint64_t block = log_native(log, (struct log_sample){.ms = 1,
						 .size = bytes,
						 .thread_bytes = sum += bytes,
						 .thread = 1,
						 .stack = line->stack});
	const uint64_t words[] = {block, bytes};

	log_add_fields(log, TH_EVENT_TOUCHED, LOG_U32(account), LOG_WORDS(words, 2));
	return bytes;
}

static uint64_t
add_row(struct log_builder *log, uint32_t account, enum th_memory_category category,
	const char *name, uint64_t bytes)
{
	log_add_fields(log, TH_EVENT_ACCOUNT_ROW, LOG_U64(bytes), LOG_U64(0), LOG_U64(bytes),
		LOG_U64(bytes), LOG_U32(account), LOG_U32(category), LOG_U32(1), LOG_U32(0),
		LOG_TEXT(name));
	return bytes;
}

/* A snapshot at a time: 1 = half way, 2 = the end. Returns its resident bytes. */
static uint64_t
add_account(struct log_builder *log, uint32_t account, const struct scene *scene,
	struct th_random *random)
{
	uint64_t resident = 0;
	uint64_t heaps = 0;

	for (const struct line *line = scene->lines; line->name; line++) {
		uint64_t bytes = (uint64_t)shaken(
			account == 1 ? line->before : line->now, scene, random);

		if (!line->category)
			heaps += add_blocks(log, account, line, bytes);
		else if (line->category == TH_MEMORY_MALLOC)
			heaps += bytes;
		else
			resident += add_row(log, account, line->category, line->name, bytes);
	}
	resident += add_row(log, account, TH_MEMORY_MALLOC, "main heap", heaps);
	if (scene->limit > 0)
		log_add_fields(log, TH_EVENT_CGROUP, LOG_U64((uint64_t)(scene->limit * MIB)),
			LOG_U64((uint64_t)(scene->current * MIB)), LOG_U64(0),
			LOG_U64((uint64_t)(scene->cache * MIB)), LOG_U64(0), LOG_U32(account),
			LOG_U32(2), LOG_TEXT("/app"));
	log_add_fields(log, TH_EVENT_ACCOUNT,
		LOG_U64(LOG_START + account * POINTS / 2 * MS_PER_POINT * UINT64_C(1000000)),
		LOG_U64(resident), LOG_U64(resident), LOG_U64(0), LOG_U64(0), LOG_U32(account),
		LOG_U32(TH_BREAKDOWN_ASKED), LOG_U32(TH_BREAKDOWN_HAS_PAGES), LOG_U32(3),
		LOG_U32(40));
	return resident;
}

/* The sum of the lines in MiB at a time, interpolated linearly. */
static double
resident_at(const struct scene *scene, int point)
{
	double part = (double)point / (POINTS / 2) - 1;
	double sum = 0;

	if (scene->peak > 0 && point < POINTS / 4)
		return scene->peak;
	for (const struct line *line = scene->lines; line->name; line++)
		sum += line->before + part * (line->now - line->before);
	return sum;
}

static struct th_rss_verdict
judge(const struct scene *scene, uint64_t seed)
{
	struct th_rss_verdict verdict;
	struct log_builder log;
	struct th_random random;
	struct shown shown;
	struct th_rss rss;

	th_random_seed(&random, seed);
	begin(&log);
	add_account(&log, 1, scene, &random);
	for (int i = 0; i <= POINTS; i++) {
		uint64_t bytes = (uint64_t)shaken(resident_at(scene, i), scene, &random);

		log_add_fields(&log, TH_EVENT_RESIDENT,
			LOG_U64(LOG_START + (uint64_t)i * MS_PER_POINT * 1000000),
			LOG_U64(bytes), LOG_U64(0), LOG_U64(0));
	}
	add_account(&log, 2, scene, &random);
	show(&shown, &log, NULL);
	th_rss_init(&rss, shown.profile, NULL);
	verdict = rss.verdict;
	const char *text = th_rss_verdict_text(&rss);
	if (seed <= 1)
		print_message("%s\n", text);
	th_rss_deinit(&rss);
	show_end(&shown);
	log_deinit(&log);
	return verdict;
}

static void
assert_verdict(const struct scene *scene, uint64_t seed)
{
	struct th_rss_verdict verdict = judge(scene, seed);

	assert_string_equal(
		th_rss_course_names[verdict.course], th_rss_course_names[scene->course]);
	assert_string_equal(
		th_rss_cause_names[verdict.cause], th_rss_cause_names[scene->cause]);
}

/* Scenes */

#define BASE                                                \
	{                                                   \
		TH_MEMORY_FILE, 0, "/lib/libc.so.6", 20, 20 \
	}

static const struct scene scenes[] = {
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_LEAK_OF_MALLOC,
		.lines = {BASE, {0, APPLICATION, "blocks", 100, 200},
			{TH_MEMORY_JAVA_HEAP, 0, "", 120, 130}}},
	{.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_LEAK_OF_MALLOC,
		.lines = {BASE, {0, APPLICATION, "blocks", 200, 200}}},
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_RETAINED,
		.lines = {BASE, {0, APPLICATION, "blocks", 50, 50},
			{TH_MEMORY_MALLOC, 0, "main heap", 50, 180}}},
	{.course = TH_RSS_FELL,
		.cause = TH_RSS_RETAINED,
		.lines = {BASE, {TH_MEMORY_MALLOC, 0, "main heap", 150, 150}},
		.peak = 400},
	{.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_JAVA_HEAP,
		.lines = {BASE, {TH_MEMORY_JAVA_HEAP, 0, "", 300, 300},
			{0, APPLICATION, "blocks", 40, 40}}},
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_JAVA_HEAP,
		.lines = {BASE, {TH_MEMORY_JAVA_HEAP, 0, "", 200, 300},
			{0, APPLICATION, "blocks", 400, 410}}},
	{.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_DIRECT_BUFFERS,
		.lines = {BASE, {0, DIRECT, "buffers", 150, 150},
			{0, APPLICATION, "blocks", 60, 60}}},
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_DIRECT_BUFFERS,
		.lines = {BASE, {0, DIRECT, "buffers", 60, 110}}},
	{.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_STACKS,
		.lines = {BASE, {TH_MEMORY_STACK, 0, "worker-#", 80, 80},
			{0, APPLICATION, "blocks", 60, 60}}},
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_STACKS,
		.lines = {BASE, {TH_MEMORY_STACK, 0, "worker-#", 60, 110}}},
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_MAPPED,
		.lines = {BASE, {TH_MEMORY_MAPPED, 0, "/opt/libdb.so", 60, 110}}},
	{.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_MAPPED,
		.lines = {BASE, {TH_MEMORY_MAPPED, 0, "/opt/libdb.so", 99, 99}}},
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_METASPACE,
		.lines = {BASE, {TH_MEMORY_METASPACE, 0, "", 60, 110}}},
	{.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_FILES,
		.lines = {{TH_MEMORY_FILE, 0, "/data/index", 200, 200},
			{0, APPLICATION, "blocks", 60, 60}}},
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_FILES,
		.lines = {BASE, {TH_MEMORY_FILE, 0, "/data/index", 60, 110},
			{0, APPLICATION, "blocks", 60, 60}}},
	{.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_PAGE_CACHE,
		.lines = {BASE, {0, APPLICATION, "blocks", 60, 60}},
		.limit = 1000,
		.current = 990,
		.cache = 800},
	/* The growing line is the cause, however full the group is. */
	{.course = TH_RSS_GROWING,
		.cause = TH_RSS_LEAK_OF_MALLOC,
		.lines = {BASE, {0, APPLICATION, "blocks", 100, 200}},
		.limit = 1000,
		.current = 990,
		.cache = 700},
	{.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_NOTHING_STANDS_OUT,
		.lines = {{TH_MEMORY_FILE, 0, "/lib/libc.so.6", 9, 9},
			{TH_MEMORY_JAVA_HEAP, 0, "", 10, 10},
			{0, APPLICATION, "blocks", 12, 12},
			{TH_MEMORY_STACK, 0, "main", 9, 9}}},
};
#define SCENES (sizeof(scenes) / sizeof(scenes[0]))

/* Tests */

static void
test_each_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < SCENES; i++)
		assert_verdict(&scenes[i], 1);
}

/* Every figure 2 % off, in either direction: the RSS of a JVM fluctuates by that much. */
static void
test_noise_changes_no_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < SCENES; i++) {
		struct scene scene = scenes[i];

		scene.noise = 0.02;
		for (uint64_t seed = 2; seed < 2 + NOISES; seed++)
			assert_verdict(&scene, seed);
	}
}

/*
 * RSS grows if its median over the last quarter is 5 % and 8 MiB above that over the second.
 * These are half of the time apart: for a straight line the difference is the growth in the
 * second half.
 */
static void
test_border_of_growth(void **state)
{
	static const struct {
		double before, now;
		enum th_rss_course course;
	} cases[] = {{1000, 1045, TH_RSS_PLATEAU}, {1000, 1060, TH_RSS_GROWING},
		/* 5 % of a small RSS are not significant. */
		{60, 67, TH_RSS_PLATEAU}, {60, 70, TH_RSS_GROWING},
		/* Shrinking is not growth. */
		{200, 100, TH_RSS_FELL}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct scene scene = {.course = cases[i].course,
			.cause = TH_RSS_JAVA_HEAP,
			.lines = {{TH_MEMORY_JAVA_HEAP, 0, "", cases[i].before, cases[i].now}}};

		assert_verdict(&scene, 0);
	}
}

/* A line dominates with a quarter of the RSS and 16 MiB. */
static void
test_border_of_standing_out(void **state)
{
	struct scene scene = {.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_STACKS,
		.lines = {{TH_MEMORY_STACK, 0, "worker-#", 102, 102},
			{TH_MEMORY_FILE, 0, "/a", 99, 99}, {TH_MEMORY_JAVA_HEAP, 0, "", 99, 99},
			{TH_MEMORY_OWN, 0, "tables", 98, 98}}};

	(void)state;
	assert_verdict(&scene, 0);
	scene.lines[3].now = scene.lines[3].before = 101;
	scene.lines[0].now = scene.lines[0].before = 100;
	scene.lines[1].now = scene.lines[1].before = 101;
	scene.lines[2].now = scene.lines[2].before = 101;
	scene.lines[4] = (struct line){TH_MEMORY_KERNEL, 0, "[vdso]", 10, 10};
	scene.cause = TH_RSS_NOTHING_STANDS_OUT;
	assert_verdict(&scene, 0);
	const struct scene small = {.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_NOTHING_STANDS_OUT,
		.lines = {{TH_MEMORY_STACK, 0, "worker-#", 15, 15}}};
	const struct scene enough = {.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_STACKS,
		.lines = {{TH_MEMORY_STACK, 0, "worker-#", 17, 17}}};
	assert_verdict(&small, 0);
	assert_verdict(&enough, 0);
}

/* The group is full at nine tenths; page cache is the cause if it is more than half of that. */
static void
test_border_of_page_cache(void **state)
{
	struct scene scene = {.course = TH_RSS_PLATEAU,
		.cause = TH_RSS_PAGE_CACHE,
		.lines = {{0, APPLICATION, "blocks", 100, 100}},
		.limit = 1000,
		.current = 901,
		.cache = 460};

	(void)state;
	assert_verdict(&scene, 0);
	scene.cause = TH_RSS_LEAK_OF_MALLOC;
	scene.cache = 440;
	assert_verdict(&scene, 0);
	scene.cache = 800;
	scene.current = 899;
	assert_verdict(&scene, 0);
}

static void
expect_fit(double limit, double heap, double growth, const char *text)
{
	const struct th_decoded_cgroup group = {.limit = (uint64_t)(limit * (double)MIB)};
	struct th_rss_moment before = {.seconds = 10};
	struct th_rss rss = {
		.now = {.seconds = 110}, .before = &before, .account = {.group = &group}};
	struct th_rss_fit fit;

	/* Mapped files can be reclaimed, and the heap counts as its limit. */
	rss.account.lines[TH_BREAKDOWN_JAVA_HEAP].limit = heap * (double)MIB;
	rss.now.lines[TH_BREAKDOWN_JAVA_HEAP] = 900 * (double)MIB;
	rss.now.lines[TH_BREAKDOWN_FILES] = 500 * (double)MIB;
	rss.now.lines[TH_BREAKDOWN_METASPACE] = 300 * (double)MIB;
	rss.now.lines[TH_BREAKDOWN_STACKS] = 400 * (double)MIB;
	before.lines[TH_BREAKDOWN_STACKS] = (700 - 100 * growth) * (double)MIB;
	bool has_limit = th_rss_fit(&rss, &fit);
	assert_int_equal(has_limit, text != NULL);
	if (!text)
		return;
	const char *found = th_rss_fit_text(&rss, &fit);
	assert_string_equal(found, text);
}

/* What the heap may still take, and what is outside of it, against the limit of the group. */
static void
test_fit(void **state)
{
	(void)state;
	expect_fit(0, 1600, 0, NULL);
	expect_fit(2000, 0, 0, NULL);
	expect_fit(2000, 1600, 0,
		"memory limit 1.95 GiB: the Java heap may take 1.56 GiB (-Xmx), 700 MiB are "
		"outside of it: does not fit, by 300 MiB");
	expect_fit(2400, 1600, 0,
		"memory limit 2.34 GiB: the Java heap may take 1.56 GiB (-Xmx), 700 MiB are "
		"outside of it: fits, 100 MiB left");
	expect_fit(2400, 1600, 1,
		"memory limit 2.34 GiB: the Java heap may take 1.56 GiB (-Xmx), 700 MiB are "
		"outside of it and grow by 1.00 MiB/s: fits, 100 MiB left, full in 1 min 40 s");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_verdict),
		cmocka_unit_test(test_noise_changes_no_verdict),
		cmocka_unit_test(test_border_of_growth),
		cmocka_unit_test(test_border_of_standing_out),
		cmocka_unit_test(test_border_of_page_cache),
		cmocka_unit_test(test_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
