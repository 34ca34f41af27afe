/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on what native code holds of the VM, from logs of ten seconds.  The ledger is on from the
 * start: for what is taken from the start on, the warm-up ends at 2 s, and quarters are of 2 s each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/leaks/leaks_fixture.h"

#define MS UINT64_C(1000000)
#define HELD 0

/* Logs */

static void
switch_ledger(struct log_builder *log, uint32_t ms, uint64_t value)
{
	log_add_fields(log, TH_EVENT_CONTROL, LOG_U64(LOG_START + ms * MS), LOG_U64(value),
		LOG_TEXT("ledger"), LOG_TEXT(""));
}

static uint64_t
take(struct log_builder *log, uint32_t ms, enum th_ledger_kind kind, double keep)
{
	return log_add_fields(log, TH_EVENT_LEDGER_TAKE, LOG_U64(LOG_START + ms * MS),
		LOG_F64(keep), LOG_U32(1), LOG_U32(STACK_WORK), LOG_U32(CLASS_NODE),
		LOG_U32(kind));
}

static void
give(struct log_builder *log, uint32_t ms, uint64_t sample, enum th_ledger_end how,
	uint64_t duration)
{
	log_add_fields(log, TH_EVENT_LEDGER_GIVE, LOG_U64(LOG_START + ms * MS), LOG_U64(sample),
		LOG_U64(duration), LOG_U32(how));
}

/* Takes every 100 ms from `from` to before `to`, given back after `life` ms. */
static void
add_takes(struct log_builder *log, enum th_ledger_kind kind, uint32_t from, uint32_t to,
	uint32_t life)
{
	for (uint32_t ms = from; ms < to; ms += 100) {
		uint64_t sample = take(log, ms, kind, 1);

		if (life && ms + life < END_MS)
			give(log, ms + life, sample, TH_LEDGER_GIVEN_BACK, 0);
	}
}

static void
begin(struct log_builder *log)
{
	leaks_begin(log);
	switch_ledger(log, 0, TH_LEDGER_SAMPLED);
}

/* The only entry of the log, which ends here. */
static void
expect(struct log_builder *log, enum th_ledger_verdict verdict, double held)
{
	struct leaks_found found;

	leaks_find(&found, log);
	const struct th_ledger *ledger = &found.leaks.ledger;
	assert_int_equal(ledger->items_count, 1);
	assert_int_equal(ledger->items[0].verdict, verdict);
	assert_true(ledger->items[0].held.estimate == held);
	assert_string_equal(
		th_frames_string(found.leaks.profile->frames, ledger->items[0].class_name),
		"java.util.HashMap$Node");
	assert_int_equal(th_leaks_of_vm(&found.leaks),
		verdict == TH_LEDGER_LEAK || verdict == TH_LEDGER_COMMIT);
	leaks_end(&found, log);
}

/* Verdicts */

static void
test_leak(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_takes(&log, TH_LEDGER_GLOBAL, 0, END_MS, HELD);
	expect(&log, TH_LEDGER_LEAK, 100);
}

/* What is given back after a second is not held for good. */
static void
test_given_back(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_takes(&log, TH_LEDGER_GLOBAL, 0, END_MS - 2000, 1000);
	expect(&log, TH_LEDGER_BALANCED, 0);
}

static void
test_cache(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_takes(&log, TH_LEDGER_GLOBAL, 0, END_MS, 1000);
	expect(&log, TH_LEDGER_CACHE, 10);
}

static void
test_never_given_back(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_takes(&log, TH_LEDGER_GLOBAL, 0, 3000, HELD);
	expect(&log, TH_LEDGER_NEVER, 30);
}

/* A leak that begins late is judged from when it begins. */
static void
test_late_leak(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_takes(&log, TH_LEDGER_GLOBAL, 7000, END_MS, HELD);
	expect(&log, TH_LEDGER_LEAK, 30);
}

/* What the program allocates while it works. */
static void
add_load(struct log_builder *log, uint32_t from, uint32_t to)
{
	leaks_add(log,
		(struct leaks_series){
			.stack = STACK_C, .from = from, .to = to, .every = 5, .life = 100});
}

/* In bursts of half a second: the first two quarters of the time are within one pause. */
static void
test_leak_in_bursts(void **state)
{
	static const uint32_t bursts[] = {0, 6500, 8000, 9500};
	struct log_builder log;

	(void)state;
	for (int is_idle = 0; is_idle < 2; is_idle++) {
		begin(&log);
		for (size_t i = 0; i < 4; i++) {
			add_takes(&log, TH_LEDGER_GLOBAL, bursts[i], bursts[i] + 500, HELD);
			if (!is_idle)
				add_load(&log, bursts[i], bursts[i] + 500);
		}
		if (is_idle)
			add_load(&log, 0, END_MS);
		expect(&log, is_idle ? TH_LEDGER_NEVER : TH_LEDGER_LEAK, 20);
	}
}

static void
test_commit_without_release(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	for (uint32_t ms = 0; ms < END_MS; ms += 100)
		give(&log, ms, take(&log, ms, TH_LEDGER_ELEMENTS, 1), TH_LEDGER_COMMITTED, 0);
	expect(&log, TH_LEDGER_COMMIT, 100);
}

static void
test_long_section(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	give(&log, 1030, take(&log, 1000, TH_LEDGER_CRITICAL, 1), TH_LEDGER_GIVEN_BACK,
		30 * MS);
	expect(&log, TH_LEDGER_LONG, 0);
}

/* What was taken before it was off and on again is not known to be held. */
static void
test_off_and_on(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_takes(&log, TH_LEDGER_GLOBAL, 0, 5000, HELD);
	switch_ledger(&log, 5000, TH_LEDGER_OFF);
	switch_ledger(&log, 6000, TH_LEDGER_SAMPLED);
	take(&log, 7000, TH_LEDGER_GLOBAL, 1);
	expect(&log, TH_LEDGER_NEVER, 1);
}

/* The probability with which the library records the take of that number of one caller. */
static double
keep_of(uint32_t number)
{
	return number < 512     ? 1
	       : number < 4608  ? 1.0 / 8
	       : number < 37376 ? 1.0 / 64
				: 1.0 / 512;
}

/*
 * 39,000 elements in ten seconds, of which one in fifty, at random, is never given back: after the
 * warm-up nine recorded ones, of which a quarter may have none by chance, and all fewer than four once
 * in 80 logs.
 */
static void
test_few_of_many_leak(void **state)
{
	uint64_t random = 1;
	int leaks = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct log_builder log;
		struct leaks_found found;

		begin(&log);
		for (uint32_t k = 0; k < 39000; k++) {
			random = random * UINT64_C(6364136223846793005) +
				 UINT64_C(1442695040888963407);
			double keep = keep_of(k);
			bool is_leak = (random >> 40) % 50 == 0;
			if ((double)(random >> 32 & 0x1ff) >= 512 * keep)
				continue;
			uint64_t sample = take(&log, k / 4, TH_LEDGER_ELEMENTS, keep);
			if (!is_leak)
				give(&log, k / 4, sample, TH_LEDGER_GIVEN_BACK, 0);
		}
		leaks_find(&found, &log);
		leaks += found.leaks.ledger.items[0].verdict == TH_LEDGER_LEAK;
		leaks_end(&found, &log);
	}
	print_message("%d of 40 leaks\n", leaks);
	assert_true(leaks >= 38);
}

/* The same elements, of which those of the first half are held, as in a cache that is full: no leak. */
static void
test_few_of_many_stay(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	begin(&log);
	for (uint32_t k = 0; k < 39000; k++) {
		double keep = keep_of(k);
		if (k % (uint32_t)(1 / keep))
			continue;
		uint64_t sample = take(&log, k / 4, TH_LEDGER_ELEMENTS, keep);
		if (k > 19500 || k % 3)
			give(&log, k / 4, sample, TH_LEDGER_GIVEN_BACK, 0);
	}
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.ledger.items[0].verdict, TH_LEDGER_CACHE);
	leaks_end(&found, &log);
}

/* Damaged records are counted, and change nothing. */
static void
test_impossible_records(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	begin(&log);
	take(&log, 1000, TH_LEDGER_KINDS, 1);
	take(&log, 1000, TH_LEDGER_GLOBAL, 0);
	take(&log, 1000, TH_LEDGER_GLOBAL, 2);
	give(&log, 1000, 12345, TH_LEDGER_GIVEN_BACK, 0);
	give(&log, 1000, 8, TH_LEDGER_ENDS, 0);
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.ledger.items_count, 0);
	assert_int_equal(found.leaks.profile->recording->undecodable, 4);
	leaks_end(&found, &log);
}

/*
 * The intervals of sampled counts: 1,000 takes of which one in 8 is recorded, in 200 logs.  95 % of the
 * intervals cover the truth; fewer than 180 of 200 do so by chance once in 600 times, with this seed
 * never.
 */
static void
test_intervals_cover(void **state)
{
	const int logs = 200;
	uint64_t random = 1;
	int covered = 0;

	(void)state;
	for (int i = 0; i < logs; i++) {
		struct log_builder log;
		struct leaks_found found;

		begin(&log);
		for (uint32_t k = 0; k < 1000; k++) {
			random = random * UINT64_C(6364136223846793005) +
				 UINT64_C(1442695040888963407);
			if (!(random >> 61))
				take(&log, k * 10, TH_LEDGER_WEAK, 0.125);
		}
		leaks_find(&found, &log);
		const struct th_ledger_entry *entry = &found.leaks.ledger.items[0];
		assert_false(entry->held.exact);
		covered += entry->held.low <= 1000 && entry->held.high >= 1000;
		assert_int_equal(entry->verdict, TH_LEDGER_LEAK);
		leaks_end(&found, &log);
	}
	assert_in_range(covered, 180, logs);
}

static void
view_ledger(FILE *file, const struct th_leaks *leaks)
{
	th_view_ledger(file, &leaks->ledger);
}

/* Each interval stands behind its own figure. */
static void
test_text_of_intervals(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	begin(&log);
	for (uint32_t k = 0; k < 100; k++) {
		uint64_t sample = take(&log, k * 100, TH_LEDGER_WEAK, 0.125);

		if (k % 2)
			give(&log, k * 100, sample, TH_LEDGER_GIVEN_BACK, 0);
	}
	leaks_find(&found, &log);
	char *text = leaks_print(&found, view_ledger);
	print_message("%s", text);
	assert_non_null(strstr(text, "400 ("));
	assert_non_null(strstr(text, ") held of 800 ("));
	assert_non_null(strstr(text, ") taken"));
	free(text);
	leaks_end(&found, &log);
}

/* The number of references */

static void
count_references(struct log_builder *log, uint32_t ms, uint64_t globals, uint64_t weaks)
{
	log_add_fields(log, TH_EVENT_JNI_REFERENCES, LOG_U64(LOG_START + ms * MS),
		LOG_U64(globals), LOG_U64(weaks + 7), LOG_U64(7));
}

/* The findings of a log in which global references grow by 50 a second between two times. */
static void
find_growing(struct log_builder *log, uint32_t from, uint32_t to, struct leaks_found *found)
{
	uint64_t globals = 781;

	leaks_begin(log);
	for (uint32_t second = 0; second < END_MS / 1000; second++) {
		globals += second > from && second <= to ? 50 : 0;
		count_references(log, second * 1000, globals, 100 + second % 2 * 500);
	}
	leaks_find(found, log);
}

static void
test_references_grow(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	find_growing(&log, 3, 10, &found);
	const struct th_references *references = &found.leaks.references;
	assert_true(references->globals.is_leak);
	assert_int_equal(references->globals.first, 781);
	assert_int_equal(references->globals.last, 781 + 6 * 50);
	assert_true(references->globals.since == 3);
	/* 300 in seven seconds: the last is not over at the last count. */
	assert_true(references->globals.rate > 40 && references->globals.rate < 50);
	/* They come and go; the library's own do not count. */
	assert_false(references->weaks.is_leak);
	assert_int_equal(references->weaks.max, 600);
	assert_int_equal(th_leaks_of_vm(&found.leaks), 1);
	leaks_end(&found, &log);
}

/* The program works at the beginning and from 6 s on, and takes references only then. */
static void
test_references_grow_with_the_load(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	for (int works = 0; works < 2; works++) {
		uint64_t globals = 781;

		leaks_begin(&log);
		for (uint32_t ms = 0; ms < END_MS; ms += 200) {
			globals += ms < 2000 || ms > 6000 ? 10 : 0;
			count_references(&log, ms, globals, 100);
		}
		add_load(&log, 0, works ? END_MS : 2000);
		add_load(&log, 6000, works ? 6000 : END_MS);
		leaks_find(&found, &log);
		assert_int_equal(found.leaks.references.globals.is_leak, !works);
		leaks_end(&found, &log);
	}
}

/* The hint of a leak below NewGlobalRef: its command is for the process, if that runs. */
static void
test_hint(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	log_add_fields(&log, TH_EVENT_SYMBOL, LOG_U64(0), LOG_U32(MODULE_VM), LOG_U32(0x40),
		LOG_TEXT("jni_NewGlobalRef"));
	leaks_add_leak(&log, STACK_VM);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	assert_non_null(strstr(text, "DeleteGlobalRef; twinheap run --ledger shows which\n"));
	free(text);
	found.shown.recording->is_complete = false;
	text = leaks_print(&found, th_view_leaks);
	assert_non_null(
		strstr(text, "DeleteGlobalRef; twinheap ctl 4711 ledger on shows which\n"));
	free(text);
	leaks_end(&found, &log);
}

/* A program that has taken all that it needs. */
static void
test_references_stay(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	find_growing(&log, 0, 5, &found);
	assert_false(found.leaks.references.globals.is_leak);
	assert_int_equal(th_leaks_of_vm(&found.leaks), 0);
	leaks_end(&found, &log);
}

static void
test_undetached_threads(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	log_add_fields(&log, TH_EVENT_UNDETACHED, LOG_U64(LOG_START + 1000 * MS), LOG_U32(1));
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.references.undetached, 1);
	assert_int_equal(th_leaks_of_vm(&found.leaks), 1);
	leaks_end(&found, &log);
}

/* Memory of a JNI function: what is missing is named. */
static void
test_cause(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	log_add_fields(&log, TH_EVENT_NATIVE_FRAME, LOG_U64(0x10), LOG_U32(MODULE_VM),
		LOG_U32(0), LOG_U32(0), LOG_U32(0), LOG_TEXT("jni_GetByteArrayElements"),
		LOG_TEXT(""));
	leaks_add_leak(&log, STACK_VM);
	leaks_find(&found, &log);
	char *text = leaks_print(&found, th_view_leaks);
	assert_non_null(strstr(text, "cause  Get...ArrayElements without Release"));
	free(text);
	leaks_end(&found, &log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leak),
		cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_never_given_back),
		cmocka_unit_test(test_late_leak),
		cmocka_unit_test(test_leak_in_bursts),
		cmocka_unit_test(test_commit_without_release),
		cmocka_unit_test(test_long_section),
		cmocka_unit_test(test_off_and_on),
		cmocka_unit_test(test_few_of_many_leak),
		cmocka_unit_test(test_few_of_many_stay),
		cmocka_unit_test(test_impossible_records),
		cmocka_unit_test(test_intervals_cover),
		cmocka_unit_test(test_text_of_intervals),
		cmocka_unit_test(test_hint),
		cmocka_unit_test(test_references_grow),
		cmocka_unit_test(test_references_grow_with_the_load),
		cmocka_unit_test(test_references_stay),
		cmocka_unit_test(test_undetached_threads),
		cmocka_unit_test(test_cause),
	};

	return cmocka_run_group_tests_name("ledger_report", tests, NULL, NULL);
}
