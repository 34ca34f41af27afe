/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holders of the objects of a finding, from logs with a walk at their end: paths, merging, sums, and
 * records that contradict each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/holders/holders.h"
#include "report/views/parts.h"
#include "tests/unit/leaks/leaks_fixture.h"

#define WALK_MS 9500
#define AT LOG_U64(LOG_START + WALK_MS * UINT64_C(1000000))
#define OBJECTS 10

static void
step(struct log_builder *log, uint32_t number, uint32_t parent, enum th_holder_kind kind,
	const char *name)
{
	log_add_fields(log, TH_EVENT_HOLDER_STEP, AT, LOG_U64(0), LOG_U32(1), LOG_U32(number),
		LOG_U32(parent), LOG_U32(kind), LOG_TEXT(name));
}

static void
objects(struct log_builder *log, uint32_t step_number, const uint64_t *samples, uint32_t count)
{
	log_add_fields(log, TH_EVENT_HOLDER_OBJECTS, AT, LOG_U32(1), LOG_U32(step_number),
		LOG_WORDS(samples, count));
}

static void
class_loaders(struct log_builder *log, uint32_t walk, uint32_t step_number, uint32_t stack,
	uint64_t count)
{
	log_add_fields(log, TH_EVENT_HOLDER_LOADERS, AT, LOG_U64(count), LOG_U32(walk),
		LOG_U32(step_number), LOG_U32(stack), LOG_U32(CLASS_NODE));
}

static void
end_walk(struct log_builder *log, uint32_t walk)
{
	log_add_fields(log, TH_EVENT_HOLDER_WALK, AT, LOG_U64(1), LOG_U64(1), LOG_U64(1),
		LOG_U64(1), LOG_U64(1), LOG_U64(1), LOG_U64(1), LOG_U32(walk), LOG_U32(1),
		LOG_U32(1));
}

/* Objects of 1,000 bytes that survive collections: one finding. */
static void
begin(struct log_builder *log, uint64_t samples[OBJECTS])
{
	leaks_begin(log);
	for (uint32_t i = 0; i < OBJECTS; i++)
		samples[i] = log_java(log, (struct log_sample){.ms = 500 * i,
						   .size = BLOCK,
						   .thread = 1,
						   .stack = STACK_JAVA,
						   .class = CLASS_BYTES});
	for (uint32_t i = 1; i < 10; i++)
		leaks_collect(log, 1000 * i, i, FULL);
}

/* Ends the log and finds the holders of its only finding. */
static void
find(struct leaks_found *found, struct log_builder *log, struct th_held_samples *held,
	struct th_holders *holders)
{
	leaks_find(found, log);
	th_held_samples_init(held, &found->leaks);
	th_holders_of_finding(held, &found->leaks.findings[0], &found->findings[0], holders);
}

static void
release(struct leaks_found *found, struct log_builder *log, struct th_held_samples *held,
	struct th_holders *holders)
{
	th_holders_deinit(holders);
	th_held_samples_deinit(held);
	leaks_end(found, log);
}

static void
assert_holder(const struct leaks_found *found, const struct th_holder *holder, const char *path,
	double count)
{
	const char *text = th_holder_parts_path(found->leaks.profile->frames, holder);

	assert_string_equal(text, path);
	assert_true(holder->objects.estimate == count);
	assert_true(holder->bytes.estimate == count * BLOCK);
}

/* The one with most bytes first; what has no path is counted apart. */
static void
test_sums(void **state)
{
	struct log_builder log;
	struct leaks_found found;
	struct th_held_samples held;
	struct th_holders holders;
	uint64_t samples[OBJECTS];

	(void)state;
	begin(&log, samples);
	step(&log, 1, 0, TH_HOLDER_STATIC, "app.Work.few");
	step(&log, 2, 0, TH_HOLDER_STATIC, "app.Work.many");
	step(&log, 3, 2, TH_HOLDER_ELEMENT, "java.lang.Object[]");
	objects(&log, 1, samples, 2);
	objects(&log, 3, samples + 2, 5);
	end_walk(&log, 1);
	find(&found, &log, &held, &holders);
	assert_int_equal(holders.items_count, 2);
	assert_holder(
		&found, &holders.items[0], "static app.Work.many -> java.lang.Object[]", 5);
	assert_holder(&found, &holders.items[1], "static app.Work.few", 2);
	assert_int_equal(holders.unknown.samples, 3);
	release(&found, &log, &held, &holders);
}

/* In one line a long path is shortened; nine elements are not long.  The program's classes stay. */
static void
test_long_paths(void **state)
{
	struct log_builder log;
	struct leaks_found found;
	struct th_held_samples held;
	struct th_holders holders;
	uint64_t samples[OBJECTS];
	char name[] = "java.util.A.a";

	(void)state;
	begin(&log, samples);
	step(&log, 1, 0, TH_HOLDER_STATIC, name);
	for (uint32_t i = 2; i <= 12; i++) {
		name[12]++;
		step(&log, i, i - 1, TH_HOLDER_FIELD, i == 7 ? "a.A.g" : name);
	}
	objects(&log, 12, samples, 3);
	objects(&log, 9, samples + 3, 2);
	end_walk(&log, 1);
	find(&found, &log, &held, &holders);
	assert_int_equal(holders.items_count, 2);
	assert_holder(&found, &holders.items[0],
		"static java.util.A.a -> java.util.A.b -> java.util.A.c -> java.util.A.d -> "
		"(2 more) -> a.A.g -> java.util.A.h -> "
		"java.util.A.i -> java.util.A.j -> java.util.A.k -> java.util.A.l",
		3);
	assert_holder(&found, &holders.items[1],
		"static java.util.A.a -> java.util.A.b -> java.util.A.c -> java.util.A.d -> "
		"java.util.A.e -> java.util.A.f -> a.A.g -> java.util.A.h -> java.util.A.i",
		2);
	/* All elements, but those of the path above once. */
	char *text;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	th_holder_parts_print(file, &held, &holders, 10);
	fclose(file);
	assert_non_null(
		strstr(text, "      static java.util.A.a\n           -> java.util.A.b\n"));
	assert_non_null(
		strstr(text, "           -> java.util.A.k\n           -> java.util.A.l\n"));
	assert_non_null(
		strstr(text, "      static java.util.A.a\n           -> (7 more, as above)\n"
			     "           -> java.util.A.i\n"));
	free(text);
	release(&found, &log, &held, &holders);
}

static uint32_t thread_local(struct log_builder *log, uint32_t first, const char *thread)
{
	step(log, first, 0, TH_HOLDER_THREAD, thread);
	step(log, first + 1, first, TH_HOLDER_FIELD, "java.lang.Thread.threadLocals");
	step(log, first + 2, first + 1, TH_HOLDER_FIELD,
		"java.lang.ThreadLocal$ThreadLocalMap.table");
	step(log, first + 3, first + 2, TH_HOLDER_ELEMENT,
		"java.lang.ThreadLocal$ThreadLocalMap$Entry[]");
	step(log, first + 4, first + 3, TH_HOLDER_FIELD,
		"java.lang.ThreadLocal$ThreadLocalMap$Entry.value");
	return first + 4;
}

/* Threads of one pool are one holder; another thread is another one. */
static void
test_thread_locals(void **state)
{
	struct log_builder log;
	struct leaks_found found;
	struct th_held_samples held;
	struct th_holders holders;
	uint64_t samples[OBJECTS];

	(void)state;
	begin(&log, samples);
	objects(&log, thread_local(&log, 1, "pool-3-thread-9"), samples, 3);
	objects(&log, thread_local(&log, 6, "pool-3-thread-10"), samples + 3, 3);
	objects(&log, thread_local(&log, 11, "timer"), samples + 6, 1);
	step(&log, 16, 0, TH_HOLDER_STACK, "main\tapp.Main.main");
	objects(&log, 16, samples + 7, 2);
	step(&log, 17, 0, TH_HOLDER_THREAD, "owner");
	step(&log, 18, 17, TH_HOLDER_FIELD, "app.Owner.bytes");
	objects(&log, 18, samples + 9, 1);
	end_walk(&log, 1);
	find(&found, &log, &held, &holders);
	assert_int_equal(holders.items_count, 4);
	assert_holder(&found, &holders.items[0], "thread local of pool-3-thread-*", 6);
	assert_holder(&found, &holders.items[1], "local variable of main: app.Main.main", 2);
	/* The order of equal ones is not defined. */
	assert_int_equal(holders.items[2].sum.samples + holders.items[3].sum.samples, 2);
	release(&found, &log, &held, &holders);
}

/* A walk whose end was not written does not count, and the last one replaces earlier ones. */
static void
test_walks(void **state)
{
	struct log_builder log;
	struct leaks_found found;
	struct th_held_samples held;
	struct th_holders holders;
	uint64_t samples[OBJECTS];

	(void)state;
	begin(&log, samples);
	step(&log, 1, 0, TH_HOLDER_STATIC, "app.Work.all");
	objects(&log, 1, samples, OBJECTS);
	find(&found, &log, &held, &holders);
	assert_null(held.walk);
	assert_int_equal(holders.items_count, 0);
	release(&found, &log, &held, &holders);

	begin(&log, samples);
	step(&log, 1, 0, TH_HOLDER_STATIC, "app.Work.all");
	objects(&log, 1, samples, OBJECTS);
	end_walk(&log, 1);
	end_walk(&log, 2);
	find(&found, &log, &held, &holders);
	assert_int_equal(held.walk->walk, 2);
	assert_int_equal(holders.items_count, 0);
	assert_int_equal(holders.unknown.samples, OBJECTS);
	release(&found, &log, &held, &holders);
}

/* Steps that are their own parents, that do not exist, samples that do not exist. */
static void
test_damage(void **state)
{
	struct log_builder log;
	struct leaks_found found;
	struct th_held_samples held;
	struct th_holders holders;
	uint64_t samples[OBJECTS];
	const uint64_t strange[] = {0, 7, 8, UINT64_MAX, UINT64_MAX & ~UINT64_C(7)};

	(void)state;
	begin(&log, samples);
	step(&log, 1, 2, TH_HOLDER_FIELD, "app.Work.first");
	step(&log, 2, 2, TH_HOLDER_FIELD, "app.Work.second");
	step(&log, 3, 4000000000, TH_HOLDER_FIELD, "app.Work.third");
	step(&log, 4000000000, 3, TH_HOLDER_FIELD, "app.Work.fourth");
	step(&log, 4, 0, TH_HOLDER_KINDS, "app.Work.fifth");
	objects(&log, 1, samples, 1);
	objects(&log, 2, samples + 1, 1);
	objects(&log, 3, samples + 2, 1);
	objects(&log, 4000000000, samples + 3, 1);
	objects(&log, 5, samples + 4, 1);
	objects(&log, 1, strange, sizeof(strange) / sizeof(strange[0]));
	end_walk(&log, 1);
	find(&found, &log, &held, &holders);
	for (size_t i = 0; i < holders.items_count; i++)
		assert_int_equal(holders.items[i].path_count, 0);
	char *text = leaks_print(&found, th_view_holders);
	free(text);
	release(&found, &log, &held, &holders);
}

/* Of one maker, in ten seconds 100 that stay; one of two was counted. */
static void
add_growing_loaders(struct log_builder *log)
{
	uint64_t births[10] = {0};

	for (uint32_t i = 0; i < 10; i++) {
		births[i] = 10;
		log_add_fields(log, TH_EVENT_TALLY,
			LOG_U64(LOG_START + (1000 * i + 999) * UINT64_C(1000000)),
			LOG_U64(LOG_START), LOG_U64(1000 * UINT64_C(1000000)),
			LOG_U64(10 * (i + 1)), LOG_U64(10 * (i + 1)), LOG_U64(100000),
			LOG_U64(100), LOG_U32(STACK_WORK), LOG_U32(CLASS_NODE),
			LOG_U32(TH_TALLY_LOADERS), LOG_U32(1), LOG_U32(0),
			LOG_WORDS(births, 10));
	}
}

/* Class loaders: those of other makers, of an earlier walk and without a step do not count. */
static void
test_class_loaders(void **state)
{
	struct log_builder log;
	struct leaks_found found;
	struct th_held_samples held;
	struct th_holders holders;

	(void)state;
	leaks_begin(&log);
	add_growing_loaders(&log);
	leaks_collect(&log, 9400, 1, FULL);
	step(&log, 1, 0, TH_HOLDER_STATIC, "app.Work.few");
	step(&log, 2, 0, TH_HOLDER_STATIC, "app.Work.many");
	class_loaders(&log, 1, 1, STACK_WORK, 30);
	class_loaders(&log, 1, 2, STACK_WORK, 70);
	class_loaders(&log, 1, 2, STACK_JAVA, 500);
	class_loaders(&log, 1, 9, STACK_WORK, 500);
	class_loaders(&log, 2, 1, STACK_WORK, 500);
	end_walk(&log, 1);
	leaks_find(&found, &log);
	th_held_samples_init(&held, &found.leaks);
	assert_int_equal(found.leaks.tallies.items_count, 1);
	th_holders_of_tallied(&held, &found.leaks.tallies.items[0], &holders);
	assert_int_equal(holders.items_count, 2);
	assert_true(holders.items[0].objects.estimate == 140);
	assert_true(holders.items[1].objects.estimate == 60);
	char *text = leaks_print(&found, th_view_leaks);
	assert_non_null(strstr(text, "held   70 % by static app.Work.many"));
	free(text);
	text = leaks_print(&found, th_view_holders);
	assert_non_null(strstr(text, "70.0 %  about 140 class loaders"));
	free(text);
	release(&found, &log, &held, &holders);
}

static void
test_advice(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_JAVA, .class = CLASS_BYTES, .to = END_MS, .every = 100});
	leaks_collect(&log, 9000, 1, FULL);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	assert_non_null(strstr(text, "held   not known: twinheap ctl PID holders"));
	free(text);
	leaks_end(&found, &log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_thread_locals),
		cmocka_unit_test(test_walks),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_class_loaders),
		cmocka_unit_test(test_advice),
	};

	return cmocka_run_group_tests_name("holders_report", tests, NULL, NULL);
}
