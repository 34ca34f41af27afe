/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts of logs of ten seconds in which it is plain what leaks.  Unless said otherwise every
 * allocation is recorded, so the numbers are exact.
 *
 * The times that follow from ten seconds: warm-up until 2 s, old from an age of 1 s on, the
 * later half from 6 s on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/view_helper.h"

#define END_MS 10000u
#define YOUNG "G1 young collection pauses (G1 Evacuation Pause)"
#define FULL "G1 full collection pauses (System.gc())"
#define BLOCK 1000u

enum { MODULE_WORK = 1, MODULE_VM = 2 };
enum {
	METHOD_MAIN = 1,
	METHOD_WORK = 2,
	METHOD_PUT = 3,
	METHOD_LOAD = 4,
	METHOD_INIT = 5,
	METHOD_MAKE = 6
};
enum { CLASS_BYTES = 1, CLASS_PEER = 2, CLASS_NODE = 3 };
/* Stacks, leaf first. */
enum {
	STACK_WORK = 1,  /* libwork.so+0x10 < app.Work.work < app.Main.main */
	STACK_OTHER = 2, /* libwork.so+0x20 < the same */
	STACK_C = 3,     /* libwork.so+0x10 */
	STACK_VM = 4,    /* libjvm.so+0x10 < app.Work.work < app.Main.main */
	STACK_JAVA = 5,  /* app.Work.work, line 10 < app.Main.main */
	STACK_PUT = 6,   /* java.util.HashMap.put < app.Work.work, line 10 < app.Main.main */
	STACK_LINE = 7,  /* app.Work.work, line 11 < app.Main.main */
	STACK_LOAD = 8,  /* java.lang.ClassLoader.loadClass < app.Work.work < app.Main.main */
	STACK_PEER = 9,  /* libwork.so+0x10 < app.Peer.<init> < app.Work.work < app.Main.main */
	STACK_NATIVE = 10, /* libwork.so+0x10 < app.Peer.make, native < app.Work.work < ... */
};

static void
add_stacks(struct log_builder *log)
{
	const uint64_t main = th_frame_java(METHOD_MAIN, 0);
	const uint64_t work = th_frame_java(METHOD_WORK, 0);
	const uint64_t line = th_frame_java(METHOD_WORK, 5);
	const uint64_t c = th_frame_native(MODULE_WORK, 0x10);
	const uint64_t stacks[][4] = {
		[STACK_WORK] = {c, work, main},
		[STACK_OTHER] = {th_frame_native(MODULE_WORK, 0x20), work, main},
		[STACK_C] = {c},
		[STACK_VM] = {th_frame_native(MODULE_VM, 0x10), work, main},
		[STACK_JAVA] = {work, main},
		[STACK_PUT] = {th_frame_java(METHOD_PUT, 0), work, main},
		[STACK_LINE] = {line, main},
		[STACK_LOAD] = {th_frame_java(METHOD_LOAD, 0), work, main},
		[STACK_PEER] = {c, th_frame_java(METHOD_INIT, 0), work, main},
		[STACK_NATIVE] = {c, th_frame_java(METHOD_MAKE, TH_BCI_NATIVE), work, main},
	};

	for (uint32_t i = STACK_WORK; i <= STACK_NATIVE; i++) {
		uint32_t count = 0;

		while (count < 4 && stacks[i][count])
			count++;
		log_stack(log, i, stacks[i], count);
	}
}

static void
begin_sampled(struct log_builder *log, uint64_t interval)
{
	log_init(log, interval);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES);
	log_thread(log, 1, "main");
	log_module(log, MODULE_WORK, "/nonexistent/libwork.so");
	log_module(log, MODULE_VM, "/nonexistent/libjvm.so");
	log_method(log, METHOD_MAIN, "Lapp/Main;", "main");
	log_method(log, METHOD_WORK, "Lapp/Work;", "work");
	log_method(log, METHOD_PUT, "Ljava/util/HashMap;", "put");
	log_method(log, METHOD_LOAD, "Ljava/lang/ClassLoader;", "loadClass");
	log_method(log, METHOD_INIT, "Lapp/Peer;", "<init>");
	log_method(log, METHOD_MAKE, "Lapp/Peer;", "make");
	log_class(log, CLASS_BYTES, "[B");
	log_class(log, CLASS_PEER, "Lapp/Peer;");
	log_class(log, CLASS_NODE, "Ljava/util/HashMap$Node;");
	add_stacks(log);
}

static void
begin(struct log_builder *log)
{
	begin_sampled(log, 0);
}

/* Allocations at one stack, one every `every` ms from `from` to before `to`. */
struct series {
	uint32_t stack;
	uint32_t class; /* 0 = native */
	uint32_t from;
	uint32_t to;
	uint32_t every;
	uint32_t life; /* ms until the end; 0 = never */
	uint64_t interval;
};

static void
add_series(struct log_builder *log, struct series series)
{
	for (uint32_t ms = series.from; ms < series.to; ms += series.every) {
		struct log_sample sample = {.ms = ms,
			.size = BLOCK,
			.interval = series.interval,
			.thread = 1,
			.stack = series.stack,
			.class = series.class};
		uint64_t id = series.class ? log_java(log, sample) : log_native(log, sample);

		if (!series.life || ms + series.life > END_MS)
			continue;
		if (series.class)
			log_java_death(log, ms + series.life, id);
		else
			log_free(log, ms + series.life, id);
	}
}

static void
leak_at(struct log_builder *log, uint32_t stack)
{
	add_series(log, (struct series){.stack = stack, .to = END_MS, .every = 100});
}

/* The findings of a log, which ends here. */
struct found {
	struct shown shown;
	struct th_leaks leaks;
};

static void
find(struct found *found, struct log_builder *log)
{
	log_end(log, END_MS);
	show(&found->shown, log, NULL);
	th_leaks_init(&found->leaks, found->shown.profile);
}

static void
found_end(struct found *found, struct log_builder *log)
{
	th_leaks_deinit(&found->leaks);
	show_end(&found->shown);
	log_deinit(log);
}

static const struct th_finding *
only_finding(const struct found *found)
{
	assert_int_equal(found->leaks.findings_count, 1);
	return &found->leaks.findings[0];
}

static void
expect(struct log_builder *log, enum th_verdict verdict, enum th_reason reason)
{
	struct found found;

	find(&found, log);
	const struct th_evidence *evidence = &only_finding(&found)->evidence;
	char *why = th_evidence_explain(evidence);
	if (evidence->verdict != verdict || evidence->reason != reason)
		fail_msg("%s, reason %d: %s", th_verdict_name(evidence->verdict),
			evidence->reason, why);
	free(why);
	found_end(&found, log);
}

/* Native verdicts */

/*
 * One block each 100 ms, for ever: 100 alive.  Old at 2 s are those born by 1 s: 11; old at 10 s
 * those born by 9 s: 91, of which 40 were born after 5 s.  80 of 1000 bytes in 8 s are 10,000
 * bytes a second.
 */
static void
test_leak(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	leak_at(&log, STACK_WORK);
	find(&found, &log);
	const struct th_evidence *evidence = &only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_true(evidence->live_bytes.exact && evidence->live_bytes.estimate == 100 * BLOCK);
	assert_true(evidence->live_objects.estimate == 100);
	assert_float_equal(evidence->growth.estimate, 10000, 1e-6);
	assert_true(evidence->survivors == 1);
	assert_float_equal(evidence->median_age, 5, 1e-9);
	assert_int_equal(evidence->alive_old, 91);
	assert_int_equal(evidence->born_late, 40);
	assert_true(evidence->is_growing);
	assert_true(th_leaks_has_leak(&found.leaks));
	assert_true(th_leaks_bytes(&found.leaks) == 100 * BLOCK);
	found_end(&found, &log);
}

/*
 * The same as samples of an interval of 1000 bytes: blocks of 1000 bytes are sampled with
 * p = 1 - exp(-1) and stand for 1/p = 1.582 each, so growth is 15,820 bytes a second.
 */
static void
test_sampled_leak(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin_sampled(&log, BLOCK);
	add_series(&log,
		(struct series){
			.stack = STACK_WORK, .to = END_MS, .every = 100, .interval = BLOCK});
	find(&found, &log);
	const struct th_evidence *evidence = &only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_float_equal(evidence->growth.estimate, 15820, 1);
	assert_true(evidence->growth.low > 10000 && evidence->growth.high < 25000);
	found_end(&found, &log);
}

/*
 * Twenty samples are enough.  Of three, one is an old one of the later half: seven times the
 * length would give the seven that are significant.
 */
static void
test_few_samples(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin_sampled(&log, BLOCK);
	add_series(&log, (struct series){.stack = STACK_WORK,
				 .from = 250,
				 .to = END_MS,
				 .every = 500,
				 .interval = BLOCK});
	expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
	begin_sampled(&log, BLOCK);
	add_series(&log, (struct series){.stack = STACK_WORK,
				 .from = 2000,
				 .to = END_MS,
				 .every = 3000,
				 .interval = BLOCK});
	find(&found, &log);
	const struct th_evidence *evidence = &only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_UNCLEAR);
	assert_int_equal(evidence->reason, TH_REASON_FEW_SAMPLES);
	char *why = th_evidence_explain(evidence);
	assert_non_null(strstr(why, "a recording of about 1 min 10 s would"));
	free(why);
	found_end(&found, &log);
}

static void
test_start_up_is_plateau(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_series(&log, (struct series){.stack = STACK_WORK, .to = 1000, .every = 10});
	expect(&log, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
}

static void
test_filled_to_a_limit_is_plateau(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_series(&log, (struct series){.stack = STACK_WORK, .to = 7500, .every = 50});
	expect(&log, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
}

/* A moment of rest before the end is no end of growth. */
static void
test_short_rest_is_still_leak(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_series(&log, (struct series){.stack = STACK_WORK, .to = 8700, .every = 50});
	expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/*
 * Fifty blocks at a time, every 2.4 s: the last pause is one like those before.  When two bursts
 * are left out at the end it is not.
 */
static void
test_bursts_are_a_leak(void **state)
{
	static const struct {
		uint32_t until;
		enum th_verdict verdict;
		enum th_reason reason;
	} cases[] = {
		{8000, TH_VERDICT_LEAK, TH_REASON_GROWS},
		{5000, TH_VERDICT_PLATEAU, TH_REASON_STOPPED},
	};
	struct log_builder log;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&log);
		for (uint32_t start = 0; start < cases[i].until; start += 2400)
			add_series(&log, (struct series){.stack = STACK_WORK,
						 .from = start,
						 .to = start + 50,
						 .every = 1});
		expect(&log, cases[i].verdict, cases[i].reason);
	}
}

/* 160 blocks a second at first, then 80, 40, 20, 10 in the last two. */
static void
test_slowing_is_plateau(void **state)
{
	static const uint32_t every[] = {6, 12, 25, 50, 200};
	struct log_builder log;

	(void)state;
	begin(&log);
	for (uint32_t i = 0; i < 5; i++)
		add_series(&log, (struct series){.stack = STACK_WORK,
					 .from = 2000 * i,
					 .to = 2000 * (i + 1),
					 .every = every[i]});
	expect(&log, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
}

static void
test_late_start_is_unclear(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_series(&log,
		(struct series){.stack = STACK_WORK, .from = 7000, .to = END_MS, .every = 20});
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_LATE);
}

static void
test_short_lives_are_churn(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_series(&log,
		(struct series){.stack = STACK_WORK, .to = END_MS, .every = 10, .life = 500});
	expect(&log, TH_VERDICT_CHURN, TH_REASON_FREED);
}

/* Sessions of 3 s and a first-in-first-out cache are the same: no growth once it is full. */
static void
test_long_lives_are_churn(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_series(&log,
		(struct series){.stack = STACK_WORK, .to = END_MS, .every = 10, .life = 3000});
	expect(&log, TH_VERDICT_CHURN, TH_REASON_FREED);
}

/* Each batch is dropped whole after its 4 s; the log ends in the middle of the third. */
static void
test_saw_is_no_leak(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	for (uint32_t batch = 0; batch < 3; batch++) {
		for (uint32_t ms = 4000 * batch; ms < 4000 * (batch + 1) && ms < END_MS;
			ms += 20)
			add_series(&log, (struct series){.stack = STACK_WORK,
						 .from = ms,
						 .to = ms + 1,
						 .every = 1,
						 .life = 4000 * (batch + 1) - ms});
	}
	find(&found, &log);
	assert_false(th_leaks_has_leak(&found.leaks));
	found_end(&found, &log);
}

/* One block in ten is forgotten, the others are freed at once: the line leaks all the same. */
static void
test_rare_leak(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	add_series(&log,
		(struct series){.stack = STACK_WORK, .to = END_MS, .every = 10, .life = 5});
	leak_at(&log, STACK_WORK);
	find(&found, &log);
	const struct th_evidence *evidence = &only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_float_equal(evidence->survivors, 100.0 / 1100, 1e-9);
	found_end(&found, &log);
}

/* A leak beside a cache of the same kind of block whose old entries are freed: half of both. */
static void
test_turnover_is_unclear(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	leak_at(&log, STACK_WORK);
	add_series(&log,
		(struct series){.stack = STACK_WORK, .to = END_MS, .every = 100, .life = 2000});
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_TURNOVER);
}

/* What the VM allocates for itself may grow, and is never called a leak. */
static void
test_vm_is_never_a_leak(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	leak_at(&log, STACK_VM);
	find(&found, &log);
	const struct th_finding *finding = only_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_UNCLEAR);
	assert_int_equal(finding->evidence.reason, TH_REASON_INTERNAL);
	const char *name = found.leaks.places.items[finding->place].internal;
	assert_int_equal(strncmp(name, "[JVM-internal] ", 15), 0);
	found_end(&found, &log);
}

/* A C program has no line of Java: its function stands for itself. */
static void
test_leak_without_java(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	leak_at(&log, STACK_C);
	expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/* Places */

/* Two functions of a library, called by one line: one leak, which shows once. */
static void
test_one_line_is_one_finding(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	leak_at(&log, STACK_WORK);
	leak_at(&log, STACK_OTHER);
	find(&found, &log);
	const struct th_finding *finding = only_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_LEAK);
	assert_int_equal(finding->place_count, 2);
	assert_true(finding->evidence.live_bytes.estimate == 200 * BLOCK);
	const struct th_place *place = &found.leaks.places.items[finding->place];
	uint32_t frame = th_places_creator_frame(&found.leaks.places, place);
	const struct th_frames *frames = found.shown.profile->frames;
	assert_int_equal(th_frames_get(frames, frame)->line, 10);
	assert_string_equal(
		th_frames_string(frames, th_frames_function_of(frames, frame)->name),
		"app.Work.work");
	found_end(&found, &log);
}

/* A native method has no line that could be changed: its caller is the creator. */
static void
test_creator_is_not_native(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	leak_at(&log, STACK_NATIVE);
	find(&found, &log);
	const struct th_place *place = &found.leaks.places.items[only_finding(&found)->place];
	uint32_t frame = th_places_creator_frame(&found.leaks.places, place);
	const struct th_frames *frames = found.shown.profile->frames;
	assert_string_equal(
		th_frames_string(frames, th_frames_function_of(frames, frame)->name),
		"app.Work.work");
	found_end(&found, &log);
}

/* Places too small by themselves are judged together: 4 in the later half are not enough. */
static void
test_small_places_together(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	add_series(&log, (struct series){.stack = STACK_WORK, .to = END_MS, .every = 1000});
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	begin(&log);
	add_series(&log, (struct series){.stack = STACK_WORK, .to = END_MS, .every = 1000});
	add_series(&log, (struct series){.stack = STACK_OTHER, .to = END_MS, .every = 1000});
	find(&found, &log);
	assert_int_equal(only_finding(&found)->evidence.verdict, TH_VERDICT_LEAK);
	found_end(&found, &log);
}

/* Java verdicts */

static void
collect(struct log_builder *log, uint32_t ms, uint32_t number, const char *kind)
{
	log_collection(log, ms, ms + 1, number, kind);
}

static void
java_leak(struct log_builder *log)
{
	add_series(log,
		(struct series){
			.stack = STACK_JAVA, .class = CLASS_BYTES, .to = END_MS, .every = 100});
}

static void
test_java_without_collection(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	java_leak(&log);
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_NO_COLLECTION);
	begin(&log);
	collect(&log, 3000, 1, YOUNG);
	java_leak(&log);
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_NO_COLLECTION);
}

/* A cache that drops its old entries looks the same as long as only the young are collected. */
static void
test_java_with_young_collections(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	java_leak(&log);
	for (uint32_t i = 1; i < 10; i++)
		collect(&log, 1000 * i, i, YOUNG);
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_UNPROVEN);
}

/* Judged up to the full collection at 9 s; growth goes on until the end. */
static void
test_java_leak(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	java_leak(&log);
	for (uint32_t i = 1; i < 9; i++)
		collect(&log, 1000 * i, i, YOUNG);
	collect(&log, 9000, 9, FULL);
	find(&found, &log);
	const struct th_evidence *evidence = &only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_float_equal(evidence->growth.estimate, 10000, 1e-6);
	/* Born at 4.5 s: five collections since, that at 9 s included. */
	assert_int_equal(evidence->collections, 5);
	found_end(&found, &log);
}

/* A full collection too early proves nothing of what came after. */
static void
test_java_proof_is_too_old(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	java_leak(&log);
	collect(&log, 4000, 1, FULL);
	for (uint32_t i = 5; i < 10; i++)
		collect(&log, 1000 * i, i, YOUNG);
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_UNPROVEN);
}

/* Objects cannot be alive that are more than what is in use: 90 of 1000 bytes, 50,000 used. */
static void
test_java_more_than_in_use(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	java_leak(&log);
	collect(&log, 9000, 1, FULL);
	log_heap_use(&log, 9002, 50 * BLOCK, 1);
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_UNPROVEN);
}

/* Garbage of the same method, one line further, that the first collection finds dead. */
static void
test_garbage_on_the_next_line(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	java_leak(&log);
	for (uint32_t i = 1; i <= 9; i++) {
		collect(&log, 1000 * i, i, i == 9 ? FULL : YOUNG);
		for (uint32_t ms = 1000 * (i - 1); ms < 1000 * i; ms += 50)
			add_series(&log, (struct series){.stack = STACK_LINE,
						 .class = CLASS_BYTES,
						 .from = ms,
						 .to = ms + 1,
						 .every = 1,
						 .life = 1000 * i + 2 - ms});
	}
	find(&found, &log);
	assert_int_equal(found.leaks.findings_count, 2);
	assert_int_equal(found.leaks.findings[0].evidence.verdict, TH_VERDICT_LEAK);
	assert_true(found.leaks.findings[0].evidence.survivors == 1);
	assert_int_equal(found.leaks.findings[1].evidence.verdict, TH_VERDICT_CHURN);
	found_end(&found, &log);
}

/* A map that grows: its nodes, which java.util allocates, and its values are one finding. */
static void
test_map_is_one_finding(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	java_leak(&log);
	add_series(&log,
		(struct series){
			.stack = STACK_PUT, .class = CLASS_NODE, .to = END_MS, .every = 200});
	collect(&log, 9000, 1, FULL);
	find(&found, &log);
	const struct th_finding *finding = only_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_LEAK);
	assert_int_equal(finding->place_count, 2);
	const struct th_place *place = &found.leaks.places.items[finding->place];
	assert_string_equal(
		th_frames_string(found.shown.profile->frames, place->class_name), "byte[]");
	found_end(&found, &log);
}

static void
test_class_loading_is_the_vms(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_series(&log,
		(struct series){
			.stack = STACK_LOAD, .class = CLASS_NODE, .to = END_MS, .every = 100});
	collect(&log, 9000, 1, FULL);
	expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_INTERNAL);
}

/* Owners */

/* Peers made by app.Work.work, whose constructor allocates a block; then they are collected. */
static void
add_peers(struct log_builder *log, uint32_t life)
{
	add_series(log, (struct series){.stack = STACK_PEER, .to = 4000, .every = 100});
	add_series(log, (struct series){.stack = STACK_JAVA,
				.class = CLASS_PEER,
				.to = 4000,
				.every = 100,
				.life = life});
	for (uint32_t i = 1; i <= 9; i++)
		collect(log, 1000 * i, i, FULL);
}

static const struct th_finding *
native_finding(const struct found *found)
{
	for (size_t i = 0; i < found->leaks.findings_count; i++) {
		if (found->leaks.findings[i].evidence.heap == TH_HEAP_NATIVE)
			return &found->leaks.findings[i];
	}
	fail_msg("no native finding");
	return NULL;
}

/* Allocated early, never again: a plateau, were it not that nobody is left to free it. */
static void
test_owners_gone(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	add_peers(&log, 3000);
	find(&found, &log);
	const struct th_finding *finding = native_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_LEAK);
	assert_int_equal(finding->evidence.reason, TH_REASON_OWNERS_GONE);
	assert_int_equal(finding->owner.samples, 40);
	assert_int_equal(finding->owner.collected, 40);
	assert_true(finding->owner.is_collected);
	found_end(&found, &log);
}

/*
 * Nearly all owners were collected and freed their blocks; the 3 % that live on may well be
 * among those of which no sample is: nothing says that the blocks have outlived them.
 */
static void
test_most_owners_free(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	add_peers(&log, 3000);
	add_series(
		&log, (struct series){.stack = STACK_PEER, .to = 9000, .every = 7, .life = 20});
	find(&found, &log);
	const struct th_finding *finding = native_finding(&found);
	assert_int_equal(finding->owner.collected, finding->owner.samples);
	assert_false(finding->owner.is_collected);
	assert_int_not_equal(finding->evidence.reason, TH_REASON_OWNERS_GONE);
	found_end(&found, &log);
}

static void
test_owners_alive(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	add_peers(&log, 0);
	find(&found, &log);
	const struct th_finding *finding = native_finding(&found);
	assert_int_equal(finding->evidence.verdict, TH_VERDICT_PLATEAU);
	assert_int_equal(finding->owner.samples, 40);
	assert_int_equal(finding->owner.collected, 0);
	assert_false(finding->owner.is_collected);
	found_end(&found, &log);
}

/* Outputs */

static char *
print_leaks(const struct found *found, void (*view)(FILE *, const struct th_leaks *))
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	view(file, &found->leaks);
	fclose(file);
	return text;
}

static void
expect_text(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void
test_text(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	leak_at(&log, STACK_WORK);
	find(&found, &log);
	char *text = print_leaks(&found, th_view_leaks);
	expect_text(text, "1 leak, at least 97.7 KiB, in 10.0 s\n");
	expect_text(text, "leak     native, app.Work.work (Source.java:10)\n");
	expect_text(text, "97.7 KiB (exact) live, median age 5.0 s\n");
	expect_text(text, "why    grew by 9.77 KiB/s (exact) from second 2 to 10");
	expect_text(text, "by     libwork.so+0x10 (libwork.so)\n");
	expect_text(text, "< app.Main.main (Source.java:10)\n");
	free(text);
	found_end(&found, &log);
}

static void
test_text_without_leak(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin_sampled(&log, 8000);
	add_series(
		&log, (struct series){
			      .stack = STACK_WORK, .to = 1000, .every = 100, .interval = 8000});
	find(&found, &log);
	char *text = print_leaks(&found, th_view_leaks);
	expect_text(text, "no leak found in 10.0 s\n");
	/* Seven intervals in the four seconds of the later half. */
	expect_text(text, "a leak below about 13.7 KiB/s could hide");
	expect_text(text, "plateau  native, app.Work.work (Source.java:10)\n");
	free(text);
	found_end(&found, &log);
}

static void
require_keys(json_t *object, const char *const *keys)
{
	for (; *keys; keys++) {
		if (!json_object_get(object, *keys))
			fail_msg("no key %s", *keys);
	}
}

static void
test_json(void **state)
{
	static const char *const keys[] = {"verdict", "heap", "class", "thread", "frames",
		"live_bytes", "live_objects", "growth_bytes_per_s", "survivors_per_allocation",
		"median_age_s", "collections_survived", "still_growing", "owner", "why", NULL};
	static const char *const owner_keys[] = {"class", "frames", "state", NULL};
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	add_peers(&log, 3000);
	find(&found, &log);
	char *text = print_leaks(&found, th_view_leaks_json);
	json_t *root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "twinheap")), 1);
	json_t *finding = json_array_get(json_object_get(root, "findings"), 0);
	require_keys(finding, keys);
	assert_string_equal(json_string_value(json_object_get(finding, "verdict")), "leak");
	assert_true(estimate_of(finding, "live_bytes") == 40 * BLOCK);
	json_t *owner = json_object_get(finding, "owner");
	require_keys(owner, owner_keys);
	assert_string_equal(json_string_value(json_object_get(owner, "state")), "collected");
	assert_string_equal(json_string_value(json_object_get(owner, "class")), "app.Peer");
	json_decref(root);
	free(text);
	found_end(&found, &log);
}

/* Without any sample there is nothing to say, and no crash either. */
static void
test_empty_log(void **state)
{
	struct log_builder log;
	struct found found;

	(void)state;
	begin(&log);
	find(&found, &log);
	assert_int_equal(found.leaks.findings_count, 0);
	char *text = print_leaks(&found, th_view_leaks);
	expect_text(text, "no leak found");
	free(text);
	found_end(&found, &log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leak),
		cmocka_unit_test(test_sampled_leak),
		cmocka_unit_test(test_few_samples),
		cmocka_unit_test(test_start_up_is_plateau),
		cmocka_unit_test(test_filled_to_a_limit_is_plateau),
		cmocka_unit_test(test_short_rest_is_still_leak),
		cmocka_unit_test(test_bursts_are_a_leak),
		cmocka_unit_test(test_slowing_is_plateau),
		cmocka_unit_test(test_late_start_is_unclear),
		cmocka_unit_test(test_short_lives_are_churn),
		cmocka_unit_test(test_long_lives_are_churn),
		cmocka_unit_test(test_saw_is_no_leak),
		cmocka_unit_test(test_rare_leak),
		cmocka_unit_test(test_turnover_is_unclear),
		cmocka_unit_test(test_vm_is_never_a_leak),
		cmocka_unit_test(test_leak_without_java),
		cmocka_unit_test(test_one_line_is_one_finding),
		cmocka_unit_test(test_creator_is_not_native),
		cmocka_unit_test(test_small_places_together),
		cmocka_unit_test(test_java_without_collection),
		cmocka_unit_test(test_java_with_young_collections),
		cmocka_unit_test(test_java_leak),
		cmocka_unit_test(test_java_proof_is_too_old),
		cmocka_unit_test(test_java_more_than_in_use),
		cmocka_unit_test(test_garbage_on_the_next_line),
		cmocka_unit_test(test_map_is_one_finding),
		cmocka_unit_test(test_class_loading_is_the_vms),
		cmocka_unit_test(test_owners_gone),
		cmocka_unit_test(test_most_owners_free),
		cmocka_unit_test(test_owners_alive),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_without_leak),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_empty_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
