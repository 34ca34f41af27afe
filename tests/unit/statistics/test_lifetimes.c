/* SPDX-License-Identifier: Apache-2.0 */
/* Live memory over time, in logs small enough to count by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/views/view_helper.h"

#define YOUNG "G1 young collection pauses (G1 Evacuation Pause)"
#define FULL "G1 full collection pauses (System.gc())"

#define MS 1000000ull
#define AT(ms) (LOG_START + (ms)*MS)

/* A method that main calls. */
static void
add_stack(struct log_builder *log, uint32_t stack, uint32_t method)
{
	const uint64_t frames[] = {
		th_frame_java(method, TH_BCI_UNKNOWN), th_frame_java(1, TH_BCI_UNKNOWN)};

	log_stack(log, stack, frames, 2);
}

/* Interval 0: every number is exact and a sum of sizes. */
static void
begin(struct log_builder *log)
{
	log_init(log, 0);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES);
	log_thread(log, 1, "main");
	log_method(log, 1, "Lapp/Main;", "main");
	log_method(log, 2, "Lapp/Main;", "work");
	log_class(log, 1, "[B");
	add_stack(log, 1, 2);
}

static uint64_t
native(struct log_builder *log, uint32_t ms, uint64_t size)
{
	return log_native(
		log, (struct log_sample){.ms = ms, .size = size, .thread = 1, .stack = 1});
}

static uint64_t
java(struct log_builder *log, uint32_t ms, uint64_t size)
{
	return log_java(
		log, (struct log_sample){
			     .ms = ms, .size = size, .thread = 1, .stack = 1, .class = 1});
}

/* Live bytes of a heap in the JSON, with up to one option and its argument. */
static double
live(struct log_builder *log, const char *heap, const char *key, const char *option,
	const char *argument)
{
	struct shown shown;

	show(&shown, log, option, argument, NULL);
	json_t *root = show_json(&shown);
	json_t *totals = json_object_get(root, "totals");
	double value = estimate_of(json_object_get(totals, heap), key);
	json_decref(root);
	show_end(&shown);
	return value;
}

static double
native_live(struct log_builder *log, const char *at)
{
	return live(log, "native", "live_bytes", "--at", at);
}

/* 100 from 100 to 300 ms, 1000 from 200 on, 10 from 400 to 900 ms. */
static void
add_three_blocks(struct log_builder *log)
{
	uint64_t first = native(log, 100, 100);

	native(log, 200, 1000);
	log_free(log, 300, first);
	uint64_t third = native(log, 400, 10);
	log_free(log, 900, third);
	log_end(log, 1000);
}

static void
test_native_at_any_time(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_three_blocks(&log);
	assert_true(native_live(&log, "0.05") == 0);
	assert_true(native_live(&log, "0.1") == 100);
	assert_true(native_live(&log, "0.25s") == 1100);
	assert_true(native_live(&log, "0.3") == 1000);
	assert_true(native_live(&log, "0.5") == 1010);
	assert_true(native_live(&log, "end") == 1000);
	assert_true(native_live(&log, "peak") == 1100);
	assert_true(live(&log, "native", "live_objects", "--at", "0.5") == 2);
	log_deinit(&log);
}

/* The peak is that of the sum over the chosen heaps, whose own peaks are at other times. */
static void
test_peak_of_chosen_heaps(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	uint64_t object = java(&log, 50, 5000);
	uint64_t block = native(&log, 100, 2000);
	log_free(&log, 200, block);
	log_java_death(&log, 300, object);
	native(&log, 400, 3000);
	log_end(&log, 1000);
	show(&shown, &log, "--at", "peak", NULL);
	assert_int_equal(shown.profile->at.time, AT(100));
	show_end(&shown);
	show(&shown, &log, "--at", "peak", "--heaps", "native", NULL);
	assert_int_equal(shown.profile->at.time, AT(400));
	show_end(&shown);
	show(&shown, &log, "--at", "peak", "--heaps", "java", NULL);
	assert_int_equal(shown.profile->at.time, AT(50));
	show_end(&shown);
	log_deinit(&log);
}

/* Threads append their samples, and the ends of blocks, in another order than that of time. */
static void
test_peak_out_of_order(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	uint64_t late = native(&log, 400, 3000);
	uint64_t early = native(&log, 100, 2000);
	uint64_t middle = native(&log, 250, 1500);
	log_free(&log, 900, late);
	log_free(&log, 300, middle);
	log_free(&log, 200, early);
	native(&log, 150, 2500);
	log_end(&log, 1000);
	show(&shown, &log, "--at", "peak", NULL);
	/* 2000 + 2500 until 200 ms; 2500 + 1500 until 300; 2500 + 3000 from 400 on. */
	assert_int_equal(shown.profile->at.time, AT(400));
	assert_true(th_profile_live(shown.profile, TH_HEAP_NATIVE).estimate == 5500);
	show_end(&shown);
	log_deinit(&log);
}

/* Every record is found, and no other. */
static void
test_samples_by_record(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	for (uint32_t i = 0; i < 40; i++)
		native(&log, i, 8);
	log_end(&log, 1000);
	show(&shown, &log, NULL);
	const struct th_samples *samples = &shown.profile->recording->samples[TH_HEAP_NATIVE];
	assert_int_equal(samples->items_count, 40);
	for (size_t i = 0; i < 40; i++) {
		uint32_t record = samples->items[i].record;

		assert_int_equal(th_samples_find(samples, record), i);
		assert_int_equal(th_samples_find(samples, record + 1), SIZE_MAX);
	}
	assert_int_equal(th_samples_find(samples, 0), SIZE_MAX);
	assert_int_equal(th_samples_find(samples, UINT32_MAX), SIZE_MAX);
	show_end(&shown);
	log_deinit(&log);
}

static double
live_to(struct log_builder *log, const char *to, const char *at)
{
	struct shown shown;

	show(&shown, log, "--to", to, "--at", at, NULL);
	double value = th_profile_live(shown.profile, TH_HEAP_NATIVE).estimate;
	show_end(&shown);
	return value;
}

/*
 * --from and --to select by birth; --at determines which of these are alive, by default the end, or
 * --to if that is earlier.
 */
static void
test_window_is_of_births(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_three_blocks(&log);
	assert_true(live(&log, "native", "live_bytes", "--to", "0.15") == 100);
	assert_true(live_to(&log, "0.15", "end") == 0);
	assert_true(live(&log, "native", "live_bytes", "--from", "0.15") == 1000);
	log_deinit(&log);
}

static void
test_native_temporary(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	log_free(&log, 110, native(&log, 10, 7));
	log_free(&log, 201, native(&log, 100, 20));
	native(&log, 990, 300);
	log_end(&log, 1000);
	assert_true(live(&log, "native", "temp_bytes", NULL, NULL) == 7);
	log_deinit(&log);
}

/*
 * Java: dead at the first GC that could judge it, even if its death was noticed a little later;
 * not objects that survived one, were born during one, or were not judged.
 */
static void
test_java_temporary(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	uint64_t young = java(&log, 10, 1);
	uint64_t survivor = java(&log, 20, 10);
	log_collection(&log, 100, 110, 1, YOUNG);
	log_java_death(&log, 115, young);
	uint64_t during = java(&log, 105, 100);
	uint64_t late = java(&log, 150, 1000);
	log_collection(&log, 200, 210, 2, YOUNG);
	log_java_death(&log, 212, survivor);
	log_java_death(&log, 213, late);
	log_collection(&log, 300, 310, 3, YOUNG);
	log_java_death(&log, 311, during);
	java(&log, 400, 10000);
	log_end(&log, 1000);
	assert_true(live(&log, "java", "temp_bytes", NULL, NULL) == 1001);
	assert_true(live(&log, "java", "live_bytes", NULL, NULL) == 10000);
	log_deinit(&log);
}

/* One of three equal blocks is not followed: the two others represent one and a half each. */
static void
test_unknown_ends(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	native(&log, 10, 100);
	log_free(&log, 30, native(&log, 20, 100));
	log_native_untracked(
		&log, (struct log_sample){.ms = 40, .size = 100, .thread = 1, .stack = 1});
	log_end(&log, 1000);
	assert_float_equal(live(&log, "native", "live_bytes", NULL, NULL), 150, 0.01);
	assert_true(live(&log, "native", "alloc_bytes", NULL, NULL) == 300);
	show(&shown, &log, NULL);
	th_health_add_profile(&shown.health, shown.profile);
	char *text = show_summary(&shown, false);
	assert_non_null(
		strstr(text, "1 samples of the native heap (33.3 % of its bytes) were not "
			     "tracked until freed"));
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_lost_objects(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	java(&log, 10, 100);
	log_java_lost(&log, 20, java(&log, 20, 300));
	log_end(&log, 1000);
	assert_float_equal(live(&log, "java", "live_bytes", NULL, NULL), 400, 0.01);
	log_deinit(&log);
}

/* Before the table was thinned all are counted, afterwards the remaining ones, twice. */
static void
test_thinned_table(void **state)
{
	struct log_builder log;
	uint64_t samples[40];
	double kept = 0;

	(void)state;
	begin(&log);
	/* Dead soon: leaves room below the counted total for an estimate above the truth. */
	log_java_death(&log, 20, java(&log, 10, 8000));
	for (uint32_t i = 0; i < 40; i++) {
		samples[i] = java(&log, 10, 100);
		kept += th_live_keeps(samples[i], 1);
	}
	assert_true(kept > 5 && kept < 35);
	log_java_level(&log, 500, 1);
	log_end(&log, 1000);
	assert_true(live(&log, "java", "live_bytes", "--at", "0.4") == 4000);
	assert_float_equal(live(&log, "java", "live_bytes", "--at", "end"), 200 * kept, 1e-6);
	log_deinit(&log);
}

/* Thinning changes the weights, so the peak is searched on both sides of it. */
static void
test_peak_beside_thinning(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	java(&log, 10, 100);
	log_java_level(&log, 500, 1);
	/* The remaining ones count at most twice: 200. */
	uint64_t block = native(&log, 300, 1000);
	log_free(&log, 400, block);
	log_end(&log, 1000);
	show(&shown, &log, "--at", "peak", NULL);
	assert_int_equal(shown.profile->at.time, AT(300));
	show_end(&shown);
	log_deinit(&log);
}

static void
test_judgements(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	log_collection(&log, 100, 110, 1, YOUNG);
	log_collection(&log, 200, 220, 2, FULL);
	log_collection(&log, 300, 310, 3, "Copy + MSC (Allocation Failure)");
	log_collection(&log, 400, 410, 4, "PSScavenge (Allocation Failure)");
	log_collection(&log, 500, 510, 5, "");
	log_end(&log, 1000);
	show(&shown, &log, NULL);
	const struct th_lifetimes *lifetimes = &shown.profile->lifetimes;
	assert_int_equal(th_lifetimes_judged(lifetimes, AT(105), false), 0);
	assert_int_equal(th_lifetimes_judged(lifetimes, AT(110), false), AT(100));
	assert_int_equal(th_lifetimes_judged(lifetimes, AT(110), true), 0);
	assert_int_equal(th_lifetimes_judged(lifetimes, AT(250), true), AT(200));
	assert_int_equal(th_lifetimes_judged(lifetimes, AT(1000), true), AT(300));
	assert_int_equal(th_lifetimes_judged(lifetimes, AT(1000), false), AT(500));
	/* Born at 105, while the first ran: it did not survive that one. */
	assert_int_equal(th_lifetimes_collections(lifetimes, AT(105), AT(1000)), 4);
	assert_int_equal(th_lifetimes_collections(lifetimes, AT(50), AT(215)), 1);
	assert_int_equal(th_lifetimes_collections(lifetimes, AT(600), AT(1000)), 0);
	show_end(&shown);
	log_deinit(&log);
}

/*
 * A concurrent cycle has three pauses: the last one judges objects that existed at the first.
 */
static void
test_concurrent_judgement(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	for (uint32_t i = 0; i < 3; i++)
		log_collection(&log, 100 + 10 * i, 101 + 10 * i, 1 + i,
			"Z concurrent cycle pauses (Proactive)");
	log_end(&log, 1000);
	show(&shown, &log, NULL);
	assert_int_equal(
		th_lifetimes_judged(&shown.profile->lifetimes, AT(1000), true), AT(100));
	show_end(&shown);
	log_deinit(&log);
}

/* Only the library knows which objects GCs of generational Z judge. */
static void
test_blind_collections(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	for (uint32_t i = 0; i < 8; i++)
		log_collection(&log, 100 + 10 * i, 101 + 10 * i, 1 + i,
			"ZGC major collection pauses (System.gc())");
	log_add_fields(&log, TH_EVENT_JAVA_JUDGED, LOG_U64(AT(190)), LOG_U64(AT(100)));
	log_collection(&log, 400, 410, 9, "ZGC minor collection pauses (Allocation Rate)");
	log_collection(&log, 500, 510, 10, "ZGC major collection pauses (Proactive)");
	log_end(&log, 1000);
	show(&shown, &log, NULL);
	const struct th_lifetimes *lifetimes = &shown.profile->lifetimes;
	assert_int_equal(th_lifetimes_judged(lifetimes, AT(1000), true), AT(100));
	assert_int_equal(th_lifetimes_judged(lifetimes, AT(1000), false), AT(100));
	show_end(&shown);
	log_deinit(&log);
}

static void
expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

/*
 * 4096 bytes are in use after the GC; 1024 of the samples survived it and 512 died, which the
 * agent noticed only after the heap was measured.
 */
static void
test_summary_of_collections(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	java(&log, 10, 1024);
	uint64_t dead = java(&log, 20, 512);
	log_collection(&log, 100, 120, 1, YOUNG);
	log_heap_use(&log, 121, 4096, 1);
	log_java_death(&log, 122, dead);
	java(&log, 300, 256);
	log_end(&log, 1000);
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, false);
	expect(text, "at the end        live ");
	expect(text, "Java heap     1.25 KiB  exact ");
	expect(text, "1, with pauses of 0.02 s in total (2.00 % of the time)");
	expect(text, "in use after it: 4.00 KiB of 8.00 KiB; live by samples then: 1.00 KiB "
		     "(exact), 25.0 % of that");
	expect(text, "at least 3.00 KiB of that are older than the recording");
	expect(text, "256 B (exact) of the live bytes were allocated since the last GC");
	expect(text, "no old-generation GC so far");
	expect(text, "peak of live bytes at 0.02 s (--at peak): Java heap 1.50 KiB");
	free(text);
	/* The lines that `run` prints have the same qualifications. */
	text = show_summary(&shown, true);
	expect(text, "1.25 KiB live at the end (exact)\n"
		     "  256 B (exact) of the live bytes were allocated since the last GC and "
		     "may be garbage\n"
		     "  no old-generation GC so far: dead old objects count as live\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

/*
 * 16 KiB were allocated before a GC that left 4 KiB in use, and nobody found any of it dead: at most
 * 4 KiB of it are alive, and 1 KiB allocated since.  That holds for the total and for its only site.
 */
static void
test_live_bytes_fit_into_the_heap_in_use(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	for (uint32_t i = 0; i < 4; i++)
		java(&log, 10 + i, 4096);
	log_collection(&log, 100, 120, 1, YOUNG);
	log_heap_use(&log, 121, 4096, 1);
	java(&log, 300, 1024);
	log_end(&log, 1000);
	assert_true(live(&log, "java", "live_bytes", "--at", "0.2") == 4096);
	assert_true(live(&log, "java", "live_bytes", "--at", "end") == 5120);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	json_t *stack = json_array_get(json_object_get(root, "stacks"), 0);
	assert_true(estimate_of(stack, "live_bytes") == 5120);
	json_decref(root);
	for (int brief = 0; brief < 2; brief++) {
		char *text = show_summary(&shown, brief);

		expect(text,
			brief ? "5.00 KiB live at the end (0.00 .. 5.00 KiB)\n"
			      : "live by samples then: 4.00 KiB (0.00 .. 4.00 KiB), 100.0 % ");
		free(text);
	}
	show_end(&shown);
	log_deinit(&log);
}

/* Without a GC live memory is unknown, in the long text and in the brief one. */
static void
test_summary_without_collections(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	log_jvm(&log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES);
	java(&log, 10, 1024);
	log_end(&log, 1000);
	show(&shown, &log, NULL);
	for (int brief = 0; brief < 2; brief++) {
		char *text = show_summary(&shown, brief);

		expect(text, "\n  no GC so far: all allocated objects count as live\n");
		free(text);
	}
	show_end(&shown);
	log_deinit(&log);
}

/* An end of a sample that is missing, for example after a hole, is ignored. */
static void
test_stray_ends(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	uint64_t block = native(&log, 10, 100);
	log_free(&log, 20, block + 8);
	log_free(&log, 20, 1u << 30);
	log_java_death(&log, 30, block);
	log_end(&log, 1000);
	assert_true(native_live(&log, "end") == 100);
	/* A free with an earlier time than its allocation gets the time of the allocation. */
	log_free(&log, 5, block);
	assert_true(native_live(&log, "end") == 0);
	assert_true(native_live(&log, "0.01") == 0);
	assert_true(live(&log, "native", "temp_bytes", NULL, NULL) == 100);
	log_deinit(&log);
}

/* The tree shows only stacks with live memory. */
static void
test_tree_of_live_bytes(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	log_method(&log, 3, "Lapp/Main;", "gone");
	add_stack(&log, 2, 3);
	native(&log, 10, 2048);
	uint64_t block = log_native(
		&log, (struct log_sample){.ms = 10, .size = 4096, .thread = 1, .stack = 2});
	log_free(&log, 20, block);
	log_end(&log, 1000);
	show(&shown, &log, "--value", "live-bytes", NULL);
	char *text = show_text(&shown, th_view_tree);
	expect(text, " live  95 % CI");
	expect(text, " 2.00 KiB  exact ");
	expect(text, "app.Main.work");
	assert_null(strstr(text, "app.Main.gone"));
	free(text);
	text = show_text(&shown, th_view_collapsed);
	assert_string_equal(text, "main;app.Main.main;app.Main.work 2048\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native_at_any_time),
		cmocka_unit_test(test_peak_of_chosen_heaps),
		cmocka_unit_test(test_peak_out_of_order),
		cmocka_unit_test(test_samples_by_record),
		cmocka_unit_test(test_window_is_of_births),
		cmocka_unit_test(test_native_temporary),
		cmocka_unit_test(test_java_temporary),
		cmocka_unit_test(test_unknown_ends),
		cmocka_unit_test(test_lost_objects),
		cmocka_unit_test(test_thinned_table),
		cmocka_unit_test(test_peak_beside_thinning),
		cmocka_unit_test(test_judgements),
		cmocka_unit_test(test_concurrent_judgement),
		cmocka_unit_test(test_blind_collections),
		cmocka_unit_test(test_summary_of_collections),
		cmocka_unit_test(test_live_bytes_fit_into_the_heap_in_use),
		cmocka_unit_test(test_summary_without_collections),
		cmocka_unit_test(test_stray_ends),
		cmocka_unit_test(test_tree_of_live_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
