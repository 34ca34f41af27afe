/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on threads and class loaders, which the log counts by the stack that made them.  The
 * quarters of ten seconds are those from 2 s to 9 s, for class loaders up to the last full
 * collection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/leaks/leaks.h"
#include "tests/unit/leaks/leaks_fixture.h"

#define MS UINT64_C(1000000)
#define SLOT_MS 500
#define SLOTS 20
#define STACK_BYTES 1000

/* What one stack has made: those alive by slots of half a second, as of `ms`. */
static uint64_t
sum(const uint64_t *births)
{
	uint64_t alive = 0;

	for (uint32_t i = 0; i < SLOTS; i++)
		alive += births[i];
	return alive;
}

static void
add_tally_of(struct log_builder *log, enum th_tally_kind kind, uint32_t ms, uint32_t stack,
	uint32_t starter, const uint64_t *births, uint32_t level, uint64_t made)
{
	const uint64_t alive = sum(births);

	log_add_fields(log, TH_EVENT_TALLY, LOG_U64(LOG_START + ms * MS), LOG_U64(LOG_START),
		LOG_U64(SLOT_MS * MS), LOG_U64(made), LOG_U64(alive),
		LOG_U64(STACK_BYTES * alive), LOG_U64(alive), LOG_U32(stack),
		LOG_U32(kind == TH_TALLY_LOADERS ? CLASS_NODE : 0), LOG_U32(kind),
		LOG_U32(level), LOG_U32(starter), LOG_WORDS(births, SLOTS));
}

static void
add_tally_from(struct log_builder *log, enum th_tally_kind kind, uint32_t ms, uint32_t stack,
	uint32_t starter, const uint64_t *births, uint32_t level)
{
	add_tally_of(log, kind, ms, stack, starter, births, level, 2 * sum(births));
}

static void
add_tally(struct log_builder *log, enum th_tally_kind kind, uint32_t ms, uint32_t stack,
	const uint64_t *births, uint32_t level)
{
	add_tally_from(log, kind, ms, stack, 0, births, level);
}

/* `each` in every slot from `from` to before `to`. */
static void
spread(uint64_t *births, uint32_t from, uint32_t to, uint64_t each)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		births[i] = i >= from && i < to ? each : 0;
}

/* A log in which one stack has made things at even times, each of which stays. */
static void
add_growing(struct log_builder *log, enum th_tally_kind kind, uint32_t level)
{
	uint64_t births[SLOTS];

	leaks_begin(log);
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i, 10);
		add_tally(log, kind, i * SLOT_MS - 1, STACK_WORK, births, level);
	}
}

/* The finding of the log, which ends here; NULL: none. */
static const struct th_tallied *
find(struct leaks_found *found, struct log_builder *log)
{
	leaks_find(found, log);
	assert_true(found->leaks.tallies.items_count <= 1);
	return found->leaks.tallies.items_count ? &found->leaks.tallies.items[0] : NULL;
}

static void
expect_none(struct log_builder *log)
{
	struct leaks_found found;

	assert_null(find(&found, log));
	assert_false(found.leaks.outcome.leaks);
	leaks_end(&found, log);
}

/* 20 a second; of 200 alive, 140 were made in the seven seconds of the quarters. */
static void
threads_that_stay_are_a_leak(void **state)
{
	const struct th_tallied *tallied;
	struct leaks_found found;
	struct log_builder log;

	(void)state;
	add_growing(&log, TH_TALLY_THREADS, 0);
	tallied = find(&found, &log);
	assert_non_null(tallied);
	assert_int_equal(tallied->verdict, TH_VERDICT_LEAK);
	assert_true(tallied->alive == 200);
	assert_true(tallied->bytes == 200 * STACK_BYTES);
	assert_float_equal(th_tallied_rate(tallied), 20, 0.1);
	for (int i = 0; i < TH_TALLIED_QUARTERS; i++)
		assert_float_equal(tallied->births[i], 35, 0.2);
	assert_true(found.leaks.outcome.leaks);
	leaks_end(&found, &log);
}

/* Threads of which `each` are made in every slot from one to before another, and stay. */
static enum th_verdict
verdict_of_late(uint32_t from, uint32_t to, uint64_t each)
{
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	leaks_begin(&log);
	for (uint32_t i = from + 1; i <= SLOTS; i++) {
		spread(births, from, i < to ? i : to, each);
		add_tally_of(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_WORK, 0, births, 0,
			sum(births));
	}
	const struct th_tallied *tallied = find(&found, &log);
	enum th_verdict verdict = tallied ? tallied->verdict : TH_VERDICT_PLATEAU;
	leaks_end(&found, &log);
	return verdict;
}

/* The quarters begin with the first threads, at the middle of the seven seconds at the latest. */
static void
time_begins_with_the_first(void **state)
{
	(void)state;
	assert_int_equal(verdict_of_late(6, SLOTS, 10), TH_VERDICT_LEAK);
	assert_int_equal(verdict_of_late(9, SLOTS, 10), TH_VERDICT_LEAK);
	assert_int_equal(verdict_of_late(13, SLOTS, 20), TH_VERDICT_UNCLEAR);
	assert_int_equal(verdict_of_late(13, SLOTS, 8), TH_VERDICT_PLATEAU);
	assert_int_equal(verdict_of_late(9, 15, 20), TH_VERDICT_PLATEAU);
	assert_int_equal(verdict_of_late(14, 15, 100), TH_VERDICT_PLATEAU);
}

/* At 9.8 s the VM begins to end. */
static void
collect_at_exit(struct log_builder *log)
{
	log_add_fields(log, TH_EVENT_CONTROL, LOG_U64(LOG_START + 9900 * MS), LOG_U64(100 * MS),
		LOG_TEXT("gc at exit"), LOG_TEXT(""));
	log_add_fields(log, TH_EVENT_TEARDOWN, LOG_U64(LOG_START + 9910 * MS),
		LOG_U32(TH_TEARDOWN_VM_ENDS), LOG_TEXT(""));
}

/* At 9.8 s the VM begins to end, and the full collection at exit ends `ended` of the 190 threads. */
static void
expect_after_collection(uint64_t ended, enum th_reason reason)
{
	const struct th_tallied *tallied;
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	add_growing(&log, TH_TALLY_THREADS, 0);
	spread(births, 0, 1, 190 - ended);
	add_tally(&log, TH_TALLY_THREADS, 9880, STACK_WORK, births, 0);
	collect_at_exit(&log);
	tallied = find(&found, &log);
	assert_non_null(tallied);
	assert_int_equal(tallied->verdict, TH_VERDICT_LEAK);
	assert_int_equal(th_tallied_reason(tallied), reason);
	assert_int_equal(found.leaks.outcome.unclosed, reason == TH_REASON_UNCLOSED);
	leaks_end(&found, &log);
}

static void
threads_that_a_collection_ends_are_unclosed(void **state)
{
	(void)state;
	expect_after_collection(190, TH_REASON_UNCLOSED);
	expect_after_collection(60, TH_REASON_UNCLOSED);
	expect_after_collection(20, TH_REASON_GROWS);
	expect_after_collection(0, TH_REASON_GROWS);
}

/*
 * Ten in every slot, all of which end at 5 s, and at exit if `at_exit`; a GC ends at `gc_ms`.  Without
 * the GCs 190 would be alive.
 */
static void
expect_dropped(uint32_t gc_ms, bool at_exit, bool is_unclosed)
{
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	leaks_begin(&log);
	log_collection(&log, gc_ms, gc_ms + 1, 1, YOUNG);
	for (uint32_t i = 1; i < SLOTS; i++) {
		spread(births, i <= 10 ? 0 : 10, i, 10);
		add_tally_of(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_WORK, 0, births, 0,
			10 * i);
	}
	spread(births, 0, at_exit ? 0 : 1, 90);
	add_tally_of(&log, TH_TALLY_THREADS, 9880, STACK_WORK, 0, births, 0, 190);
	collect_at_exit(&log);
	const struct th_tallied *tallied = find(&found, &log);
	assert_int_equal(tallied != NULL, is_unclosed);
	if (tallied) {
		assert_int_equal(th_tallied_reason(tallied), TH_REASON_UNCLOSED);
		assert_float_equal(th_tallied_rate(tallied), 20, 0.5);
		assert_true(tallied->alive == 90);
	}
	leaks_end(&found, &log);
}

/* The threads of an HttpClient that is dropped, and few of which are alive after each GC. */
static void
threads_that_only_collections_end_are_unclosed(void **state)
{
	(void)state;
	expect_dropped(5000, true, true);
	expect_dropped(5000, false, false);
	/* As the HttpClient of JDK 17, which waits for three seconds. */
	expect_dropped(2000, true, true);
	expect_dropped(900, true, false);
}

/* What the VM allocates below the line to start them is part of the leak, and no finding. */
static void
memory_of_the_vm_belongs_to_them(void **state)
{
	const uint64_t own = 100 * BLOCK;
	const struct th_tallied *tallied;
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	(void)state;
	leaks_begin(&log);
	log_add_fields(&log, TH_EVENT_NATIVE_FRAME, LOG_U64(0x10), LOG_U32(MODULE_VM),
		LOG_U32(0), LOG_U32(0), LOG_U32(0), LOG_TEXT("JVM_StartThread"), LOG_TEXT(""));
	leaks_add_leak(&log, STACK_VM);
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_VM, births, 0);
	}
	tallied = find(&found, &log);
	assert_non_null(tallied);
	assert_true(tallied->vm.estimate == own);
	assert_true(th_tallied_bytes(tallied) == own);
	/* One memory is in one row. */
	for (size_t i = 0; i < found.leaks.findings_count; i++) {
		const struct th_listed *listed = &found.leaks.findings[i];

		assert_int_not_equal(listed->verdict, TH_VERDICT_LEAK);
		assert_null(found.leaks.places.items[listed->place].internal);
	}
	leaks_end(&found, &log);
}

/* Memory with another purpose stays a finding of its own. */
static void
purposes_of_classes_are_known(void **state)
{
	const struct th_tallied loaders = {.kind = TH_TALLY_LOADERS};
	const struct th_tallied threads = {.kind = TH_TALLY_THREADS};

	(void)state;
	assert_true(th_tallied_contains(&loaders, TH_PURPOSE_CLASSES));
	assert_true(th_tallied_contains(&loaders, "[JVM-internal] metaspace"));
	assert_true(th_tallied_contains(&loaders, "[JVM-internal] class space"));
	assert_true(th_tallied_contains(&loaders, "[JVM-internal] class archive"));
	assert_false(th_tallied_contains(&loaders, TH_PURPOSE_THREADS));
	assert_false(th_tallied_contains(&loaders, "[JVM-internal] code cache"));
	assert_false(th_tallied_contains(&threads, "[JVM-internal] metaspace"));
	assert_true(th_tallied_contains(&threads, TH_PURPOSE_THREADS));
}

/* Made in the first second, and alive ever since. */
static void
a_pool_is_none(void **state)
{
	uint64_t births[SLOTS];
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	spread(births, 0, 2, 100);
	add_tally(&log, TH_TALLY_THREADS, 1000, STACK_WORK, births, 0);
	expect_none(&log);
}

/* Twenty at a time, each for one second. */
static void
short_threads_are_none(void **state)
{
	uint64_t births[SLOTS];
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	for (uint32_t i = 2; i <= SLOTS; i++) {
		spread(births, i - 2, i, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_WORK, births, 0);
	}
	expect_none(&log);
}

/* As many end as are started, but at random: those of all times are alive, their number stays. */
static void
replaced_threads_are_none(void **state)
{
	uint64_t births[SLOTS];
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	spread(births, 0, 1, 200);
	add_tally(&log, TH_TALLY_THREADS, SLOT_MS - 1, STACK_WORK, births, 0);
	spread(births, 0, SLOTS, 10);
	add_tally(&log, TH_TALLY_THREADS, 9999, STACK_WORK, births, 0);
	expect_none(&log);
}

/* It grew until 6 s. */
static void
growth_that_ended_is_none(void **state)
{
	uint64_t births[SLOTS];
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	for (uint32_t i = 1; i <= 12; i++) {
		spread(births, 0, i, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_WORK, births, 0);
	}
	expect_none(&log);
}

/* Threads are made until `made_ms`, and blocks allocated until `busy_ms`, of which each lives for 100 ms. */
static enum th_verdict
verdict_of_load(uint32_t made_ms, uint32_t busy_ms, enum th_reason reason)
{
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	leaks_begin(&log);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_C, .to = busy_ms, .every = 20, .life = 100});
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i < made_ms / SLOT_MS ? i : made_ms / SLOT_MS, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_WORK, births, 0);
	}
	const struct th_tallied *tallied = find(&found, &log);
	enum th_verdict verdict = tallied ? tallied->verdict : TH_VERDICT_PLATEAU;
	if (tallied) {
		char *text = leaks_print(&found, th_view_leaks);

		assert_int_equal(th_tallied_reason(tallied), reason);
		assert_int_equal(
			!!strstr(text, "twinheap leaks --to"), reason == TH_REASON_IDLE);
		free(text);
	}
	leaks_end(&found, &log);
	return verdict;
}

/* Without load none are made; whether they would be is unknown after a fifth of the time. */
static void
threads_made_under_load(void **state)
{
	(void)state;
	assert_int_equal(verdict_of_load(7000, 7000, TH_REASON_IDLE), TH_VERDICT_UNCLEAR);
	assert_int_equal(verdict_of_load(5000, 5000, TH_REASON_IDLE), TH_VERDICT_UNCLEAR);
	assert_int_equal(verdict_of_load(8500, 8500, TH_REASON_GROWS), TH_VERDICT_LEAK);
	assert_int_equal(verdict_of_load(7000, 10000, TH_REASON_GROWS), TH_VERDICT_PLATEAU);
	assert_int_equal(verdict_of_load(3500, 3500, TH_REASON_GROWS), TH_VERDICT_PLATEAU);
}

/*
 * The program works in bursts of half a second, one every `every` slots, and in the first `making` of
 * them it makes threads that stay.
 */
static enum th_verdict
verdict_of_bursts(uint32_t every, uint32_t making)
{
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS] = {0};

	leaks_begin(&log);
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (i % every == 0)
			leaks_add(&log, (struct leaks_series){.stack = STACK_C,
						.from = i * SLOT_MS,
						.to = (i + 1) * SLOT_MS,
						.every = 5,
						.life = 100});
		births[i] = i % every == 0 && i / every < making ? 50 : 0;
		add_tally(&log, TH_TALLY_THREADS, (i + 1) * SLOT_MS - 1, STACK_WORK, births, 0);
	}
	const struct th_tallied *tallied = find(&found, &log);
	enum th_verdict verdict = tallied ? tallied->verdict : TH_VERDICT_PLATEAU;
	leaks_end(&found, &log);
	return verdict;
}

/* Quarters of the time without load have none; those of the load do, unless a pool was filled. */
static void
threads_made_by_bursts_are_a_leak(void **state)
{
	(void)state;
	assert_int_equal(verdict_of_bursts(2, SLOTS), TH_VERDICT_LEAK);
	assert_int_equal(verdict_of_bursts(5, SLOTS), TH_VERDICT_LEAK);
	assert_int_equal(verdict_of_bursts(6, SLOTS), TH_VERDICT_LEAK);
	assert_int_equal(verdict_of_bursts(2, 6), TH_VERDICT_PLATEAU);
	assert_int_equal(verdict_of_bursts(5, 3), TH_VERDICT_PLATEAU);
	assert_int_equal(verdict_of_bursts(2, 1), TH_VERDICT_PLATEAU);
}

/* The VM's own threads are not the application's. */
static void
threads_of_the_vm_are_none(void **state)
{
	const uint64_t frame = th_frame_native(MODULE_VM, 0x10);
	const uint32_t stack = 100;
	uint64_t births[SLOTS];
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	log_stack(&log, stack, &frame, 1);
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, stack, births, 0);
	}
	expect_none(&log);
}

/* Judged up to 8 s; one of two was followed. */
static void
loaders_that_stay_are_a_leak(void **state)
{
	const struct th_tallied *tallied;
	struct leaks_found found;
	struct log_builder log;

	(void)state;
	add_growing(&log, TH_TALLY_LOADERS, 1);
	leaks_collect(&log, 8000, 1, FULL);
	tallied = find(&found, &log);
	assert_non_null(tallied);
	assert_int_equal(tallied->verdict, TH_VERDICT_LEAK);
	assert_true(tallied->alive == 400);
	assert_int_equal(tallied->level, 1);
	assert_float_equal(th_tallied_rate(tallied), 40, 0.2);
	assert_string_equal(th_frames_string(found.leaks.profile->frames, tallied->class_name),
		"java.util.HashMap$Node");
	leaks_end(&found, &log);
}

/* Made until 5 s, and judged then: the other half of the time has none. */
static void
loaders_that_were_made_for_a_time_are_none(void **state)
{
	struct log_builder log;
	uint64_t births[SLOTS];

	(void)state;
	leaks_begin(&log);
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i < 11 ? i : 11, 10);
		add_tally(&log, TH_TALLY_LOADERS, i * SLOT_MS - 1, STACK_WORK, births, 0);
	}
	leaks_collect(&log, 5500, 1, FULL);
	expect_none(&log);
}

/* Young collections do not unload classes. */
static void
loaders_without_a_full_collection_are_unclear(void **state)
{
	const struct th_tallied *tallied;
	struct leaks_found found;
	struct log_builder log;

	(void)state;
	add_growing(&log, TH_TALLY_LOADERS, 0);
	leaks_collect(&log, 8000, 1, YOUNG);
	tallied = find(&found, &log);
	assert_non_null(tallied);
	assert_int_equal(tallied->verdict, TH_VERDICT_UNCLEAR);
	assert_false(found.leaks.outcome.leaks);
	leaks_end(&found, &log);
}

/* A concurrent cycle judges only what is old, after fifteen young collections at most. */
static void
a_concurrent_cycle_judges_old_loaders(void **state)
{
	const char *cycle = "G1 concurrent cycle pauses (Metadata GC Threshold)";
	const struct th_tallied *tallied;
	struct leaks_found found;
	struct log_builder log;

	(void)state;
	add_growing(&log, TH_TALLY_LOADERS, 0);
	for (uint32_t i = 0; i < 14; i++)
		leaks_collect(&log, 5000 + i * 200, i + 1, YOUNG);
	leaks_collect(&log, 8000, 15, cycle);
	tallied = find(&found, &log);
	assert_non_null(tallied);
	assert_int_equal(tallied->verdict, TH_VERDICT_UNCLEAR);
	leaks_end(&found, &log);

	add_growing(&log, TH_TALLY_LOADERS, 0);
	for (uint32_t i = 0; i < 15; i++)
		leaks_collect(&log, 5000 + i * 200, i + 1, YOUNG);
	leaks_collect(&log, 8100, 16, cycle);
	tallied = find(&found, &log);
	assert_non_null(tallied);
	assert_int_equal(tallied->verdict, TH_VERDICT_LEAK);
	leaks_end(&found, &log);
}

/* A stack of the Java runtime alone. */
#define STACK_RUNTIME 20

/*
 * Threads that the application starts, threads that these start in code of the runtime alone, and Java
 * objects of the same line: one leak, led by the largest.
 */
static void
one_cause_is_one_leak(void **state)
{
	const uint64_t runtime[] = {th_frame_java(METHOD_PUT, 0)};
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	(void)state;
	leaks_begin(&log);
	log_stack(&log, STACK_RUNTIME, runtime, 1);
	leaks_add_leak(&log, STACK_WORK);
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_WORK, births, 0);
		spread(births, 0, i, 5);
		add_tally_from(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_RUNTIME,
			STACK_WORK, births, 0);
	}
	leaks_find(&found, &log);
	const struct th_leaks *leaks = &found.leaks;
	assert_int_equal(leaks->tallies.leaks_count, 2);
	assert_int_equal(leaks->findings_count, 1);
	assert_int_equal(leaks->outcome.leaks, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(leaks->causes[i].leader, leaks->causes[0].leader);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "1 leak, ");
	expect_text(text, " with   ");
	expect_text(text, "threads started at app.Work.work (Source.java:10), through "
			  "java.util.HashMap.put (Source.java:10)");
	free(text);
	leaks_end(&found, &log);
}

/*
 * Clients of a library that are not closed: threads where they are made, objects where they are used,
 * in two methods that two lines of one method call.  What this puts into a list is another leak.
 */
static void
a_client_is_one_leak(void **state)
{
	enum { CLIENT = 100, SESSION, CONNECT, SEND, ADD, REMEMBER };
	const uint64_t client = th_frame_java(CLIENT, 0);
	const uint64_t lines[] = {(uint64_t)0 << 32 | 10, (uint64_t)5 << 32 | 11};
	const uint64_t first = th_frame_java(SESSION, 0), session = th_frame_java(SESSION, 5);
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	(void)state;
	leaks_begin(&log);
	log_method(&log, CLIENT, "Ljdk/internal/net/http/Client;", "go");
	log_method(&log, ADD, "Ljava/util/ArrayList;", "add");
	log_add_fields(&log, TH_EVENT_METHOD, LOG_U32(SESSION), LOG_TEXT("Lapp/Main;"),
		LOG_TEXT("session"), LOG_TEXT("()V"), LOG_TEXT("Source.java"),
		LOG_WORDS(lines, 2));
	log_method(&log, CONNECT, "Lapp/Main;", "connect");
	log_method(&log, SEND, "Lapp/Main;", "send");
	log_method(&log, REMEMBER, "Lapp/Main;", "remember");
	log_stack(&log, CONNECT, (uint64_t[]){client, th_frame_java(CONNECT, 0), first}, 3);
	log_stack(&log, SEND, (uint64_t[]){client, th_frame_java(SEND, 0), session}, 3);
	log_stack(&log, REMEMBER,
		(uint64_t[]){th_frame_java(ADD, 0), th_frame_java(REMEMBER, 0), session}, 3);
	leaks_add_leak(&log, SEND);
	leaks_add_leak(&log, REMEMBER);
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, CONNECT, births, 0);
	}
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.tallies.leaks_count + found.leaks.findings_count, 3);
	assert_int_equal(found.leaks.outcome.leaks, 2);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "\nleak     native, app.Main.send (Source.java:10)\n");
	expect_text(text, " with   threads started at app.Main.connect (Source.java:10)");
	expect_text(text, "\nleak     native, app.Main.remember (Source.java:10)\n");
	free(text);
	leaks_end(&found, &log);
}

/*
 * Two lines of one method make clients of one library: two leaks.  Objects of one of them belong to it,
 * and those that both may use to neither.
 */
static void
two_clients_are_two_leaks(void **state)
{
	enum { CLIENT = 100, SESSION, CONNECT, OPEN, SEND, OTHER };
	const uint64_t client = th_frame_java(CLIENT, 0);
	const uint64_t lines[] = {
		(uint64_t)0 << 32 | 10, (uint64_t)5 << 32 | 11, (uint64_t)9 << 32 | 12};
	const uint64_t first = th_frame_java(SESSION, 0), second = th_frame_java(SESSION, 5);
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	(void)state;
	leaks_begin(&log);
	log_method(&log, CLIENT, "Ljdk/internal/net/http/Client;", "go");
	log_add_fields(&log, TH_EVENT_METHOD, LOG_U32(SESSION), LOG_TEXT("Lapp/Main;"),
		LOG_TEXT("session"), LOG_TEXT("()V"), LOG_TEXT("Source.java"),
		LOG_WORDS(lines, 3));
	log_method(&log, CONNECT, "Lapp/Main;", "connect");
	log_method(&log, OPEN, "Lapp/Main;", "open");
	log_method(&log, OTHER, "Lapp/Main;", "other");
	log_stack(&log, CONNECT, (uint64_t[]){client, th_frame_java(CONNECT, 0), first}, 3);
	log_stack(&log, OPEN, (uint64_t[]){client, th_frame_java(OPEN, 0), second}, 3);
	log_stack(&log, SEND, (uint64_t[]){client, th_frame_java(CONNECT, 5), first}, 3);
	log_stack(&log, OTHER,
		(uint64_t[]){client, th_frame_java(OTHER, 0), th_frame_java(SESSION, 9)}, 3);
	leaks_add_leak(&log, SEND);
	leaks_add_leak(&log, OTHER);
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, CONNECT, births, 0);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, OPEN, births, 0);
	}
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.tallies.leaks_count + found.leaks.findings_count, 4);
	assert_int_equal(found.leaks.outcome.leaks, 3);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "\nleak     native, app.Main.connect (Source.java:11)\n");
	expect_text(text, " with   threads started at app.Main.connect (Source.java:10)");
	expect_text(text, "\nleak     threads started at app.Main.open (Source.java:10)\n");
	expect_text(text, "\nleak     native, app.Main.other (Source.java:10)\n");
	free(text);
	leaks_end(&found, &log);
}

/* Without threads or classes of a client, objects of two methods are two leaks. */
static void
objects_of_a_library_are_separate(void **state)
{
	enum { CLIENT = 100, SESSION, SEND, OTHER };
	const uint64_t client = th_frame_java(CLIENT, 0);
	struct leaks_found found;
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	log_method(&log, CLIENT, "Ljdk/internal/net/http/Client;", "go");
	log_method(&log, SESSION, "Lapp/Main;", "session");
	log_method(&log, SEND, "Lapp/Main;", "send");
	log_method(&log, OTHER, "Lapp/Main;", "other");
	log_stack(&log, SEND,
		(uint64_t[]){client, th_frame_java(SEND, 0), th_frame_java(SESSION, 0)}, 3);
	log_stack(&log, OTHER,
		(uint64_t[]){client, th_frame_java(OTHER, 0), th_frame_java(SESSION, 5)}, 3);
	leaks_add_leak(&log, SEND);
	leaks_add_leak(&log, OTHER);
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.outcome.leaks, 2);
	leaks_end(&found, &log);
}

/*
 * Each class allocates one object as it runs, by a line of its own; from 64 classes on by the same line,
 * which leaks, and is part of the leak of the classes.
 */
static void
expect_generated(uint32_t classes, bool is_leak)
{
	enum { SCRIPT = 100 };
	struct leaks_found found;
	struct log_builder log;
	char name[32];

	add_growing(&log, TH_TALLY_LOADERS, 0);
	for (uint32_t i = 0; i < classes; i++) {
		const uint64_t frames[] = {
			th_frame_java(SCRIPT + i, 0), th_frame_java(METHOD_MAIN, 0)};

		snprintf(name, sizeof(name), "LScript%u;", i);
		log_method(&log, SCRIPT + i, name, "run");
		log_stack(&log, SCRIPT + i, frames, 2);
		log_java(&log, (struct log_sample){.ms = 1500 + 8000 / classes * i,
				       .size = 100 * BLOCK,
				       .thread = 1,
				       .stack = SCRIPT + i,
				       .class = CLASS_BYTES});
	}
	leaks_collect(&log, 9600, 1, FULL);
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.outcome.leaks, 1);
	assert_int_equal(found.leaks.findings[0].verdict == TH_VERDICT_LEAK, is_leak);
	assert_false(th_causes_is_part(&found.leaks, 0));
	leaks_end(&found, &log);
}

static void
objects_of_generated_classes_belong_to_them(void **state)
{
	(void)state;
	expect_generated(80, true);
	expect_generated(64, true);
	expect_generated(63, false);
}

/* Without the stack that started them they are leaks of their own. */
static void
unknown_starters_join_nothing(void **state)
{
	const uint64_t runtime[] = {th_frame_java(METHOD_PUT, 0)};
	struct leaks_found found;
	struct log_builder log;
	uint64_t births[SLOTS];

	(void)state;
	leaks_begin(&log);
	log_stack(&log, STACK_RUNTIME, runtime, 1);
	for (uint32_t i = 1; i <= SLOTS; i++) {
		spread(births, 0, i, 10);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_WORK, births, 0);
		add_tally(&log, TH_TALLY_THREADS, i * SLOT_MS - 1, STACK_RUNTIME, births, 0);
	}
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.outcome.leaks, 2);
	leaks_end(&found, &log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_stay_are_a_leak),
		cmocka_unit_test(time_begins_with_the_first),
		cmocka_unit_test(threads_that_a_collection_ends_are_unclosed),
		cmocka_unit_test(threads_that_only_collections_end_are_unclosed),
		cmocka_unit_test(memory_of_the_vm_belongs_to_them),
		cmocka_unit_test(purposes_of_classes_are_known),
		cmocka_unit_test(a_pool_is_none),
		cmocka_unit_test(short_threads_are_none),
		cmocka_unit_test(replaced_threads_are_none),
		cmocka_unit_test(growth_that_ended_is_none),
		cmocka_unit_test(threads_made_under_load),
		cmocka_unit_test(threads_made_by_bursts_are_a_leak),
		cmocka_unit_test(threads_of_the_vm_are_none),
		cmocka_unit_test(loaders_that_stay_are_a_leak),
		cmocka_unit_test(loaders_that_were_made_for_a_time_are_none),
		cmocka_unit_test(loaders_without_a_full_collection_are_unclear),
		cmocka_unit_test(a_concurrent_cycle_judges_old_loaders),
		cmocka_unit_test(one_cause_is_one_leak),
		cmocka_unit_test(a_client_is_one_leak),
		cmocka_unit_test(two_clients_are_two_leaks),
		cmocka_unit_test(objects_of_a_library_are_separate),
		cmocka_unit_test(objects_of_generated_classes_belong_to_them),
		cmocka_unit_test(unknown_starters_join_nothing),
	};

	return cmocka_run_group_tests_name("leaks, tallied", tests, NULL, NULL);
}
