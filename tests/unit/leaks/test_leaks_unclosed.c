/* SPDX-License-Identifier: Apache-2.0 */
/* Native blocks of Java objects that the program drops without closing them: only GCs free them. */
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
#define EVERY_MS 50u
#define LAST_MS 9800u /* then the VM ends */
#define BLOCKS (LAST_MS / EVERY_MS)

enum { MAIN = 1, CLEANER = 3 };

struct program {
	struct log_builder log;
	uint64_t blocks[BLOCKS];
};

/* A block in the constructor of app.Peer every 50 ms. */
static void
begin(struct program *program)
{
	leaks_begin(&program->log);
	log_thread_by(&program->log, CLEANER, TH_THREAD_JAVA_NAME, "Common-Cleaner");
	for (uint32_t i = 0; i < BLOCKS; i++)
		program->blocks[i] = log_native(
			&program->log, (struct log_sample){.ms = i * EVERY_MS,
					       .size = BLOCK,
					       .thread = MAIN,
					       .stack = STACK_PEER});
}

static void
free_blocks(struct program *program, uint32_t thread, uint32_t ms, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		log_free_by(&program->log, thread, ms, program->blocks[i]);
}

/* Blocks made between two times are freed at the second. */
static void
free_between(struct program *program, uint32_t thread, uint32_t from_ms, uint32_t to_ms)
{
	free_blocks(program, thread, to_ms, from_ms / EVERY_MS, to_ms / EVERY_MS);
}

/* The full collection at exit, from 9.8 to 9.9 s, then the end. */
static void
end(struct program *program, struct leaks_found *found)
{
	log_add_fields(&program->log, TH_EVENT_CONTROL, LOG_U64(LOG_START + 9900 * MS),
		LOG_U64(100 * MS), LOG_TEXT("gc at exit"), LOG_TEXT(""));
	log_add_fields(&program->log, TH_EVENT_TEARDOWN, LOG_U64(LOG_START + 9950 * MS),
		LOG_U32(TH_TEARDOWN_VM_DEATH), LOG_TEXT(""));
	leaks_find(found, &program->log);
}

static void
expect(struct program *program, enum th_verdict verdict, enum th_reason reason)
{
	struct leaks_found found;

	end(program, &found);
	const struct th_finding *finding = leaks_only_finding(&found);
	assert_int_equal(finding->evidence.verdict, verdict);
	assert_int_equal(finding->evidence.reason, reason);
	leaks_end(&found, &program->log);
}

/* All of it is alive before the collection at exit, whose Cleaners free it. */
static void
test_freed_by_the_collection_at_exit(void **state)
{
	struct program program;
	struct leaks_found found;

	(void)state;
	begin(&program);
	free_blocks(&program, CLEANER, 9850, 0, BLOCKS);
	end(&program, &found);
	const struct th_finding *finding = leaks_only_finding(&found);
	const struct th_evidence *evidence = &finding->evidence;
	struct th_outcome outcome = found.leaks.outcome;
	const char *headline = th_outcome_headline(&found.leaks);
	const char *wrapper = th_owners_wrapper(&found.leaks, finding);

	assert_string_equal(
		th_verdict_name_by(evidence->verdict, evidence->reason), "unclosed");
	assert_int_equal((int)evidence->live, BLOCKS * BLOCK);
	assert_string_equal(wrapper, "app.Peer");
	assert_int_equal(outcome.leaks, 1);
	assert_int_equal(outcome.unclosed, 1);
	assert_non_null(strstr(headline, ": not closed by the program, freed only by GCs"));
	leaks_end(&found, &program.log);
}

/* Nothing has freed them yet, but their owners wait for finalize(). */
static void
test_owners_wait_for_finalize(void **state)
{
	struct program program;
	struct leaks_found found;

	(void)state;
	begin(&program);
	log_add_fields(&program.log, TH_EVENT_POOL, LOG_U64(0), LOG_U64(0), LOG_U64(0),
		LOG_U64(90), LOG_U32(1), LOG_U32(TH_POOL_FINALIZERS), LOG_TEXT("Lapp/Peer;"));
	log_add_fields(&program.log, TH_EVENT_ACCOUNT, LOG_U64(LOG_START + 9000 * MS),
		LOG_U64(BLOCK), LOG_U64(BLOCK), LOG_U64(0), LOG_U64(0), LOG_U32(1),
		LOG_U32(TH_BREAKDOWN_REGULAR), LOG_U32(0), LOG_U32(0), LOG_U32(0));
	end(&program, &found);
	const struct th_finding *finding = leaks_only_finding(&found);
	char *text = leaks_print(&found, th_view_leaks);

	assert_int_equal(finding->evidence.reason, TH_REASON_UNCLOSED);
	assert_int_equal(found.leaks.outcome.unclosed, 1);
	expect_text(text,
		"owner  app.Peer, unreachable: not closed by the program; 90 wait for "
		"finalize(), whose thread is slower\n");
	free(text);
	leaks_end(&found, &program.log);
}

/* Threads of libraries' own Cleaners have any name. */
static void
test_freed_by_any_thread_during_that_collection(void **state)
{
	struct program program;

	(void)state;
	begin(&program);
	free_blocks(&program, MAIN, 9850, 0, BLOCKS);
	expect(&program, TH_VERDICT_LEAK, TH_REASON_UNCLOSED);
}

/* The process has GCs of its own, each of which frees what three seconds have left. */
static void
test_freed_by_natural_collections(void **state)
{
	struct program program;

	(void)state;
	begin(&program);
	for (uint32_t ms = 3000; ms <= 9000; ms += 3000)
		free_between(&program, CLEANER, ms - 3000, ms);
	expect(&program, TH_VERDICT_LEAK, TH_REASON_UNCLOSED);
}

/* Their owners were sampled as well, and the collections found them dead. */
static void
test_owners_are_sampled(void **state)
{
	struct program program;
	struct leaks_found found;

	(void)state;
	begin(&program);
	leaks_add(&program.log, (struct leaks_series){.stack = STACK_JAVA,
					.class = CLASS_PEER,
					.to = 9000,
					.every = 100,
					.life = 500});
	for (uint32_t i = 1; i <= 3; i++) {
		leaks_collect(&program.log, 3000 * i, i, FULL);
		free_between(&program, CLEANER, 3000 * (i - 1), 3000 * i);
	}
	end(&program, &found);
	const struct th_finding *finding = &found.findings[0];
	assert_int_equal(finding->evidence.heap, TH_HEAP_NATIVE);
	assert_true(finding->owner.is_collected);
	assert_int_equal(finding->evidence.reason, TH_REASON_UNCLOSED);
	leaks_end(&found, &program.log);
}

/* The same by the program: a structure that it empties. */
static void
test_freed_by_the_program(void **state)
{
	struct program program;
	struct leaks_found found;

	(void)state;
	begin(&program);
	for (uint32_t ms = 3000; ms <= 9000; ms += 3000)
		free_between(&program, MAIN, ms - 3000, ms);
	end(&program, &found);
	assert_int_not_equal(leaks_only_finding(&found)->evidence.verdict, TH_VERDICT_LEAK);
	leaks_end(&found, &program.log);
}

/* One owner in five is closed: the program knows how, and closes late. */
static void
test_many_are_closed(void **state)
{
	struct program program;
	struct leaks_found found;

	(void)state;
	begin(&program);
	for (uint32_t i = 0; i + 40 < BLOCKS; i += 5)
		free_blocks(&program, MAIN, (i + 40) * EVERY_MS, i, i + 1);
	free_blocks(&program, CLEANER, 9850, 0, BLOCKS);
	end(&program, &found);
	assert_int_not_equal(leaks_only_finding(&found)->evidence.reason, TH_REASON_UNCLOSED);
	leaks_end(&found, &program.log);
}

/* A leak: of the owners only one in five is unreachable. */
static void
test_most_owners_are_reachable(void **state)
{
	struct program program;

	(void)state;
	begin(&program);
	for (uint32_t i = 0; i < BLOCKS; i += 5)
		free_blocks(&program, CLEANER, 9850, i, i + 1);
	expect(&program, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/* The program keeps one owner of `of` and drops the others: a leak of those that it keeps. */
static void
check_some_are_kept(uint32_t of)
{
	struct program program;
	struct leaks_found found;

	begin(&program);
	for (uint32_t i = 0; i < BLOCKS; i++)
		if (i % of)
			free_blocks(&program, CLEANER, 9850, i, i + 1);
	end(&program, &found);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	char *text = leaks_print(&found, th_view_leaks);

	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_int_equal(evidence->reason, TH_REASON_GROWS);
	assert_int_equal((int)evidence->live, (BLOCKS + of - 1) / of * BLOCK);
	expect_text(text, "that the program did not close and GCs freed\n");
	assert_null(strstr(text, "not closed by the program"));
	free(text);
	leaks_end(&found, &program.log);
}

static void
test_some_owners_are_kept(void **state)
{
	(void)state;
	check_some_are_kept(2);
	check_some_are_kept(4);
}

/* Without a full collection at exit, what others have left may be garbage of the old generation. */
static void
test_rest_is_not_proven(void **state)
{
	struct program program;
	struct leaks_found found;

	(void)state;
	begin(&program);
	for (uint32_t i = 0; i < BLOCKS; i++)
		if (i % 2)
			free_blocks(&program, CLEANER, LAST_MS, i, i + 1);
	leaks_find(&found, &program.log);
	assert_int_not_equal(leaks_only_finding(&found)->evidence.reason, TH_REASON_GROWS);
	leaks_end(&found, &program.log);
}

/* Young GCs free wrappers within half a second: they never become much. */
static void
test_short_waits(void **state)
{
	struct program program;

	(void)state;
	begin(&program);
	for (uint32_t ms = 500; ms <= LAST_MS; ms += 500)
		free_between(&program, CLEANER, ms - 500, ms);
	expect(&program, TH_VERDICT_CHURN, TH_REASON_FREED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_freed_by_the_collection_at_exit),
		cmocka_unit_test(test_owners_wait_for_finalize),
		cmocka_unit_test(test_freed_by_any_thread_during_that_collection),
		cmocka_unit_test(test_freed_by_natural_collections),
		cmocka_unit_test(test_owners_are_sampled),
		cmocka_unit_test(test_freed_by_the_program),
		cmocka_unit_test(test_many_are_closed),
		cmocka_unit_test(test_most_owners_are_reachable),
		cmocka_unit_test(test_some_owners_are_kept),
		cmocka_unit_test(test_rest_is_not_proven),
		cmocka_unit_test(test_short_waits),
	};

	return cmocka_run_group_tests_name("leaks_unclosed", tests, NULL, NULL);
}
