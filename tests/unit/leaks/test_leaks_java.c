/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on the Java heap, which require GCs as proof, and on owners in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/leaks/leaks_fixture.h"

/* Java verdicts */

static void
java_leak(struct log_builder *log)
{
	leaks_add(log,
		(struct leaks_series){
			.stack = STACK_JAVA, .class = CLASS_BYTES, .to = END_MS, .every = 100});
}

static void
test_java_without_collection(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	java_leak(&log);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_NO_COLLECTION);
	leaks_begin(&log);
	leaks_collect(&log, 3000, 1, YOUNG);
	java_leak(&log);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_NO_COLLECTION);
}

/*
 * A cache that evicts its old entries looks the same as long as only the young are collected.
 */
static void
test_java_with_young_collections(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	java_leak(&log);
	for (uint32_t i = 1; i < 10; i++)
		leaks_collect(&log, 1000 * i, i, YOUNG);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_UNPROVEN);
}

/* Judged up to the full GC at 9 s; growth continues until the end. */
static void
test_java_leak(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	java_leak(&log);
	for (uint32_t i = 1; i < 9; i++)
		leaks_collect(&log, 1000 * i, i, YOUNG);
	leaks_collect(&log, 9000, 9, FULL);
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_float_equal(evidence->growth.estimate, 10000, 1e-6);
	/* Born at 4.5 s: five GCs since, including the one at 9 s. */
	assert_int_equal(evidence->collections, 5);
	leaks_end(&found, &log);
}

/* An object every 20 ms that the only GC, at 9 s, finds alive, or dead. */
static void
add_judged_once(struct log_builder *log, bool (*is_alive)(uint32_t ms))
{
	for (uint32_t ms = 0; ms < 9000; ms += 20)
		leaks_add(log, (struct leaks_series){.stack = STACK_JAVA,
				       .class = CLASS_BYTES,
				       .from = ms,
				       .to = ms + 1,
				       .every = 1,
				       .life = is_alive(ms) ? 0 : 9001 - ms});
	leaks_collect(log, 9000, 1, FULL);
}

static bool
is_fourth(uint32_t ms)
{
	return ms % 80 == 0;
}

/* The others are garbage, which waits for the GC. */
static void
test_java_keeps_one_in_four(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	add_judged_once(&log, is_fourth);
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_float_equal(evidence->growth.estimate, 1000 / .08, 200);
	leaks_end(&found, &log);
}

static bool
is_in_use(uint32_t ms)
{
	return ms >= 5000;
}

static bool
is_in_long_use(uint32_t ms)
{
	return ms >= 3000;
}

static void
expect_no_leak(bool (*is_alive)(uint32_t ms))
{
	struct log_builder log;
	struct leaks_found found;

	leaks_begin(&log);
	add_judged_once(&log, is_alive);
	leaks_find(&found, &log);
	assert_int_not_equal(leaks_only_finding(&found)->evidence.verdict, TH_VERDICT_LEAK);
	leaks_end(&found, &log);
}

/* A queue: each object is in use for four seconds, or for six. */
static void
test_java_in_use_for_a_while(void **state)
{
	(void)state;
	expect_no_leak(is_in_use);
	expect_no_leak(is_in_long_use);
}

/* An early full GC is no proof for later objects. */
static void
test_java_proof_is_too_old(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	java_leak(&log);
	leaks_collect(&log, 4000, 1, FULL);
	for (uint32_t i = 5; i < 10; i++)
		leaks_collect(&log, 1000 * i, i, YOUNG);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_UNPROVEN);
}

/* More objects than the heap in use cannot be alive: 90 of 1000 bytes, 50,000 used. */
static void
test_java_more_than_in_use(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	java_leak(&log);
	leaks_collect(&log, 9000, 1, FULL);
	log_heap_use(&log, 9002, 50 * BLOCK, 1);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_UNPROVEN);
}

/*
 * A full GC at exit, from 9.8 s to 9.9 s, that finds nothing dead or, if `all`, everything: then the
 * heap in use after it is smaller than what grew.
 */
static void
expect_at_exit(
	enum th_teardown_cause cause, bool all, enum th_verdict verdict, enum th_reason reason)
{
	struct log_builder log;

	leaks_begin(&log);
	for (uint32_t i = 1; i <= 9; i++)
		leaks_collect(&log, 1000 * i, i, YOUNG);
	for (uint32_t ms = 0; ms < 9800; ms += 100)
		leaks_add(&log, (struct leaks_series){.stack = STACK_JAVA,
					.class = CLASS_BYTES,
					.from = ms,
					.to = ms + 1,
					.every = 1,
					.life = all ? 9850 - ms : 0});
	leaks_collect(&log, 9810, 10, FULL);
	if (all)
		log_heap_use(&log, 9901, BLOCK, 10);
	log_add_fields(&log, TH_EVENT_CONTROL, LOG_U64(LOG_START + 9900 * UINT64_C(1000000)),
		LOG_U64(100 * UINT64_C(1000000)), LOG_TEXT("gc at exit"), LOG_TEXT(""));
	if (cause == TH_TEARDOWN_SIGNAL)
		log_add_fields(&log, TH_EVENT_TEARDOWN,
			LOG_U64(LOG_START + 9901 * UINT64_C(1000000)), LOG_U32(cause),
			LOG_TEXT("SIGTERM handler"));
	log_add_fields(&log, TH_EVENT_TEARDOWN, LOG_U64(LOG_START + 9950 * UINT64_C(1000000)),
		LOG_U32(TH_TEARDOWN_VM_DEATH), LOG_TEXT(""));
	leaks_expect(&log, verdict, reason);
}

/*
 * What survives a GC at exit is a leak.  Garbage was garbage if a signal ended the program; else
 * main may have dropped it just before.
 */
static void
test_collection_at_exit(void **state)
{
	(void)state;
	expect_at_exit(TH_TEARDOWN_SIGNAL, false, TH_VERDICT_LEAK, TH_REASON_GROWS);
	expect_at_exit(TH_TEARDOWN_VM_DEATH, false, TH_VERDICT_LEAK, TH_REASON_GROWS);
	expect_at_exit(TH_TEARDOWN_SIGNAL, true, TH_VERDICT_CHURN, TH_REASON_FREED);
	expect_at_exit(TH_TEARDOWN_VM_DEATH, true, TH_VERDICT_UNCLEAR, TH_REASON_DROPPED);
}

/* Garbage of the same method, one line below, that the first GC finds dead. */
static void
test_garbage_on_the_next_line(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	java_leak(&log);
	for (uint32_t i = 1; i <= 9; i++) {
		leaks_collect(&log, 1000 * i, i, i == 9 ? FULL : YOUNG);
		for (uint32_t ms = 1000 * (i - 1); ms < 1000 * i; ms += 50)
			leaks_add(&log, (struct leaks_series){.stack = STACK_LINE,
						.class = CLASS_BYTES,
						.from = ms,
						.to = ms + 1,
						.every = 1,
						.life = 1000 * i + 2 - ms});
	}
	leaks_find(&found, &log);
	assert_int_equal(found.findings_count, 2);
	assert_int_equal(found.findings[0].evidence.verdict, TH_VERDICT_LEAK);
	assert_true(found.findings[0].evidence.survivors == 1);
	assert_int_equal(found.findings[1].evidence.verdict, TH_VERDICT_CHURN);
	leaks_end(&found, &log);
}

/* A map that grows: its nodes, which java.util allocates, and its values are one finding. */
static void
test_map_is_one_finding(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	java_leak(&log);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_PUT, .class = CLASS_NODE, .to = END_MS, .every = 200});
	leaks_collect(&log, 9000, 1, FULL);
	leaks_find(&found, &log);
	const struct th_finding *finding = leaks_only_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_LEAK);
	assert_int_equal(finding->place_count, 2);
	const struct th_leak_site *place = &found.leaks.places.items[finding->place];
	assert_string_equal(
		th_frames_string(found.shown.profile->frames, place->class_name), "byte[]");
	leaks_end(&found, &log);
}

static void
test_class_loading_is_the_vms(void **state)
{
	struct log_builder log;

	(void)state;
	leaks_begin(&log);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_LOAD, .class = CLASS_NODE, .to = END_MS, .every = 100});
	leaks_collect(&log, 9000, 1, FULL);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_INTERNAL);
}

/* Owners */

static const struct th_finding *
native_finding(const struct leaks_found *found)
{
	for (size_t i = 0; i < found->findings_count; i++) {
		if (found->findings[i].evidence.heap == TH_HEAP_NATIVE)
			return &found->findings[i];
	}
	fail_msg("no native finding");
	return NULL;
}

/* Allocated early, never again: a plateau, except that no owner is left to free it. */
static void
test_owners_gone(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_peers(&log, 3000);
	leaks_find(&found, &log);
	const struct th_finding *finding = native_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_LEAK);
	assert_int_equal(finding->evidence.reason, TH_REASON_OWNERS_GONE);
	assert_int_equal(finding->owner.samples, 40);
	assert_int_equal(finding->owner.collected, 40);
	assert_true(finding->owner.is_collected);
	leaks_end(&found, &log);
}

/*
 * Nearly all owners were collected and freed their blocks; the 3 % that survive may be owned by
 * unsampled objects: there is no evidence that the blocks have outlived their owners.
 */
static void
test_most_owners_free(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_peers(&log, 3000);
	leaks_add(&log,
		(struct leaks_series){.stack = STACK_PEER, .to = 9000, .every = 7, .life = 20});
	leaks_find(&found, &log);
	const struct th_finding *finding = native_finding(&found);
	assert_int_equal(finding->owner.collected, finding->owner.samples);
	assert_false(finding->owner.is_collected);
	assert_int_not_equal(finding->evidence.reason, TH_REASON_OWNERS_GONE);
	leaks_end(&found, &log);
}

static void
test_owners_alive(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_peers(&log, 0);
	leaks_find(&found, &log);
	const struct th_finding *finding = native_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_PLATEAU);
	assert_int_equal(finding->owner.samples, 40);
	assert_int_equal(finding->owner.collected, 0);
	assert_false(finding->owner.is_collected);
	leaks_end(&found, &log);
}

/* Java objects every 500 ms that stay, all of them followed and judged up to 9 s. */
static void
followed_leak(struct log_builder *log, uint32_t from)
{
	leaks_begin_sampled(log, BLOCK);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_FOLLOWS_FEW);
	for (uint32_t ms = from; ms < END_MS; ms += 500) {
		uint64_t sample = log_java(log, (struct log_sample){.ms = ms,
							.size = BLOCK,
							.interval = BLOCK,
							.thread = 1,
							.stack = STACK_JAVA,
							.class = CLASS_BYTES});

		log_add_fields(log, TH_EVENT_JAVA_FOLLOWED,
			LOG_U64(LOG_START + UINT64_C(9500000000)), LOG_U64(sample), LOG_F64(1),
			LOG_U32(1));
	}
	log_add_fields(log, TH_EVENT_JAVA_JUDGED, LOG_U64(LOG_START + UINT64_C(9500000000)),
		LOG_U64(LOG_START + UINT64_C(9000000000)));
}

/* Generational Z: so few may be of one age, and not yet due for eviction. */
static void
test_java_few_followed(void **state)
{
	struct log_builder log;

	(void)state;
	followed_leak(&log, 0);
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
	followed_leak(&log, 3000);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_java_without_collection),
		cmocka_unit_test(test_java_with_young_collections),
		cmocka_unit_test(test_java_leak),
		cmocka_unit_test(test_java_keeps_one_in_four),
		cmocka_unit_test(test_java_in_use_for_a_while),
		cmocka_unit_test(test_java_few_followed),
		cmocka_unit_test(test_java_proof_is_too_old),
		cmocka_unit_test(test_java_more_than_in_use),
		cmocka_unit_test(test_collection_at_exit),
		cmocka_unit_test(test_garbage_on_the_next_line),
		cmocka_unit_test(test_map_is_one_finding),
		cmocka_unit_test(test_class_loading_is_the_vms),
		cmocka_unit_test(test_owners_gone),
		cmocka_unit_test(test_most_owners_free),
		cmocka_unit_test(test_owners_alive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
