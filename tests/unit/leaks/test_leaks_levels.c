/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaks spread over many sites: found at the lowest level that shows them, and as one finding.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/base/allocate.h"
#include "tests/unit/leaks/leaks_fixture.h"

#define SITES 30u
enum { STACK_SPREAD = 100, METHOD_LINE = 100, METHOD_OTHER = 200 };

/* libwork.so+0x1000, 0x1010 ... < app.Work.work < app.Main.main: one line of the application. */
static void
add_stacks_of_a_line(struct log_builder *log)
{
	for (uint32_t i = 0; i < SITES; i++) {
		const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x1000 + 16 * i),
			th_frame_java(METHOD_WORK, 0), th_frame_java(METHOD_MAIN, 0)};

		log_stack(log, STACK_SPREAD + i, frames, 3);
	}
}

/* libwork.so+0x10 < app.LineI.put < app.Work.work < app.Main.main: a line each. */
static void
add_stacks_of_lines(struct log_builder *log)
{
	for (uint32_t i = 0; i < SITES; i++) {
		const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x10),
			th_frame_java(METHOD_LINE + i, 0), th_frame_java(METHOD_WORK, 0),
			th_frame_java(METHOD_MAIN, 0)};
		char *class = th_format_new("Lapp/Line%u;", i);

		log_method(log, METHOD_LINE + i, class, "put");
		log_stack(log, STACK_SPREAD + i, frames, 4);
		free(class);
	}
}

/*
 * Thirty sites with a block every 3 s each, one after the other: of each two or three are old
 * survivors of the later half. Together one every 100 ms.
 */
static void
add_spread_leak(struct log_builder *log)
{
	for (uint32_t i = 0; i < SITES; i++)
		leaks_add(log, (struct leaks_series){.stack = STACK_SPREAD + i,
				       .from = 100 * i,
				       .to = END_MS,
				       .every = 100 * SITES});
}

static const struct th_finding *
leak_of(const struct leaks_found *found)
{
	assert_true(found->findings_count > 0);
	assert_int_equal(found->findings[0].evidence.verdict, TH_VERDICT_LEAK);
	for (size_t i = 1; i < found->findings_count; i++)
		assert_int_not_equal(found->findings[i].evidence.verdict, TH_VERDICT_LEAK);
	return &found->findings[0];
}

/* No stack shows it, their line does. */
static void
test_a_line_of_many_stacks(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	add_stacks_of_a_line(&log);
	add_spread_leak(&log);
	leaks_find(&found, &log);
	const struct th_finding *finding = leak_of(&found);
	assert_int_equal(found.findings_count, 1);
	assert_int_equal(finding->level, TH_LEVEL_LINE);
	assert_int_equal(finding->place_count, SITES);
	assert_true(finding->evidence.live_bytes.estimate == 100 * BLOCK);
	leaks_end(&found, &log);
}

/* No line shows it, the method that calls them does: app.Work.work, not app.Main.main. */
static void
test_a_method_above_many_lines(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	add_stacks_of_lines(&log);
	add_spread_leak(&log);
	leaks_find(&found, &log);
	const struct th_finding *finding = leak_of(&found);
	assert_int_equal(finding->level, TH_LEVEL_PATH);
	assert_int_equal(finding->lines, SITES);
	assert_string_equal(th_frames_function_name(found.shown.profile->frames,
				    found.leaks.places.ways.items[finding->key].function),
		"app.Work.work");
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text,
		"leak     native, app.Work.work (Source.java:10), in 30 lines below it\n");
	free(text);
	leaks_end(&found, &log);
}

/* The same without Java, where each line fills a container of C++: work(), not main(). */
static void
test_a_function_above_many_containers(void **state)
{
	static const char *const names[] = {
		"main", "work()", "std::__new_allocator<char>::allocate"};
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	for (uint32_t i = 0; i < 3; i++)
		log_add_fields(&log, TH_EVENT_SYMBOL, LOG_U64(0x100 * (i + 1)),
			LOG_U32(MODULE_WORK), LOG_U32(0x10), LOG_TEXT(names[i]));
	for (uint32_t i = 0; i < SITES; i++) {
		const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x304),
			th_frame_native(MODULE_WORK, 0x1004 + 16 * i),
			th_frame_native(MODULE_WORK, 0x204),
			th_frame_native(MODULE_WORK, 0x104)};
		char *name = th_format_new("put_%u()", i);

		log_add_fields(&log, TH_EVENT_SYMBOL, LOG_U64(0x1000 + 16 * i),
			LOG_U32(MODULE_WORK), LOG_U32(0x10), LOG_TEXT(name));
		log_stack(&log, STACK_SPREAD + i, frames, 4);
		free(name);
	}
	add_spread_leak(&log);
	leaks_find(&found, &log);
	const struct th_finding *finding = leak_of(&found);
	assert_int_equal(finding->level, TH_LEVEL_PATH);
	assert_int_equal(finding->lines, SITES);
	assert_string_equal(th_frames_function_name(found.shown.profile->frames,
				    found.leaks.places.ways.items[finding->key].function),
		"work()");
	leaks_end(&found, &log);
}

/*
 * Two lines with a leak each at one stack, and a few blocks of it at three others. The latter are
 * parts of the leaks of their lines, not a third one at the method that calls both.
 */
static void
test_remains_of_leaks_of_lines(void **state)
{
	enum { LINES = 2, STACKS = 4 };
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	for (uint32_t i = 0; i < LINES * STACKS; i++) {
		const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x1000 + 16 * i),
			th_frame_java(METHOD_LINE + i % LINES, 0),
			th_frame_java(METHOD_WORK, 0), th_frame_java(METHOD_MAIN, 0)};

		log_stack(&log, STACK_SPREAD + i, frames, 4);
		if (i < LINES)
			log_method(&log, METHOD_LINE + i, i ? "Lapp/Line1;" : "Lapp/Line0;",
				"put");
		leaks_add(&log, (struct leaks_series){.stack = STACK_SPREAD + i,
					.from = 250 * i,
					.to = END_MS,
					.every = i < LINES ? 100 : 2200});
	}
	leaks_find(&found, &log);
	assert_int_equal(found.findings_count, LINES);
	for (size_t i = 0; i < LINES; i++) {
		assert_int_equal(found.findings[i].evidence.verdict, TH_VERDICT_LEAK);
		assert_int_equal(found.findings[i].level, TH_LEVEL_LINE);
		assert_int_equal(found.findings[i].place_count, STACKS);
	}
	leaks_end(&found, &log);
}

/*
 * One structure of four blocks at each of thirty lines, filled within 300 ms, one after the
 * other: steady growth as a whole, but nothing comes to the same line again.
 */
static void
test_structures_filled_once_are_no_leak(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	add_stacks_of_lines(&log);
	for (uint32_t i = 0; i < SITES; i++)
		leaks_add(&log, (struct leaks_series){.stack = STACK_SPREAD + i,
					.from = 300 * i,
					.to = 300 * (i + 1),
					.every = 75});
	leaks_find(&found, &log);
	assert_false(found.leaks.outcome.leaks);
	leaks_end(&found, &log);
}

/*
 * A structure of many parts: three lines with six sites each, one block at each site in turn. No site has a
 * second survivor, each line has, and all together show it at the method that calls the lines.
 */
static void
test_a_structure_of_many_parts(void **state)
{
	enum { LINES = 3, PARTS = 18, EVERY = 440 };
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	for (uint32_t i = 0; i < PARTS; i++) {
		const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x1000 + 16 * i),
			th_frame_java(METHOD_LINE + i % LINES, 0),
			th_frame_java(METHOD_WORK, 0), th_frame_java(METHOD_MAIN, 0)};
		char *class = th_format_new("Lapp/Line%u;", i);

		log_stack(&log, STACK_SPREAD + i, frames, 4);
		if (i < LINES)
			log_method(&log, METHOD_LINE + i, class, "put");
		leaks_add(&log, (struct leaks_series){.stack = STACK_SPREAD + i,
					.from = 2000 + EVERY * i,
					.to = 2001 + EVERY * i,
					.every = EVERY});
		free(class);
	}
	leaks_find(&found, &log);
	const struct th_finding *finding = leak_of(&found);
	assert_int_equal(finding->level, TH_LEVEL_PATH);
	assert_int_equal(finding->lines, LINES);
	leaks_end(&found, &log);
}

/*
 * A leak of one line among them is found there, and does not make the method above a leak,
 * although that grows as well.
 */
static void
test_a_line_explains_its_method(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	add_stacks_of_lines(&log);
	leaks_add_leak(&log, STACK_SPREAD);
	for (uint32_t i = 1; i < 3; i++)
		leaks_add(&log, (struct leaks_series){.stack = STACK_SPREAD + i,
					.from = 100 * i,
					.to = END_MS,
					.every = 100 * SITES});
	leaks_find(&found, &log);
	const struct th_finding *finding = leak_of(&found);
	assert_int_equal(finding->level, TH_LEVEL_LINE);
	assert_int_equal(finding->place_count, 1);
	leaks_end(&found, &log);
}

/*
 * A driver in a library leaks at one line that is significant and at thirty that are not, below
 * one method of the application: one finding of that method.
 */
static void
test_a_library_used_by_a_method(void **state)
{
	enum { METHOD_BIG = 300, STACK_BIG = 300 };
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	log_method(&log, METHOD_BIG, "Lorg/driver/Query;", "big");
	for (uint32_t i = 0; i <= SITES; i++) {
		const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x10),
			th_frame_java(i < SITES ? METHOD_LINE + i : METHOD_BIG, 0),
			th_frame_java(METHOD_WORK, 0), th_frame_java(METHOD_MAIN, 0)};
		char *class = th_format_new("Lorg/driver/Line%u;", i);

		if (i < SITES)
			log_method(&log, METHOD_LINE + i, class, "put");
		log_stack(&log, i < SITES ? STACK_SPREAD + i : STACK_BIG, frames, 4);
		free(class);
	}
	add_spread_leak(&log);
	leaks_add_leak(&log, STACK_BIG);
	leaks_find(&found, &log);
	const struct th_finding *finding = leak_of(&found);
	assert_int_equal(finding->level, TH_LEVEL_PATH);
	assert_int_equal(finding->lines, SITES + 1);
	assert_true(finding->evidence.live_bytes.estimate == 200 * BLOCK);
	leaks_end(&found, &log);
}

/*
 * The same below each of several methods, and the significant line also below a method without the
 * others: each method has its own lines, by its path, and the last line remains one of its own.
 */
static void
test_a_library_used_by_several_methods(void **state)
{
	enum { USERS = 7, METHOD_BIG = 300, METHOD_USER = 400, STACK_USER = 1000 };
	struct log_builder log;
	struct leaks_found found;
	unsigned seen = 0;

	(void)state;
	leaks_begin(&log);
	log_method(&log, METHOD_BIG, "Lorg/driver/Query;", "big");
	for (uint32_t i = 0; i < SITES; i++) {
		char *class = th_format_new("Lorg/driver/Line%u;", i);

		log_method(&log, METHOD_LINE + i, class, "put");
		free(class);
	}
	for (uint32_t user = 0; user <= USERS; user++) {
		char *class = th_format_new("Lapp/User%u;", user);

		log_method(&log, METHOD_USER + user, class, "run");
		free(class);
		for (uint32_t i = user < USERS ? 0 : SITES; i <= SITES; i++) {
			uint32_t stack = STACK_USER + 100 * user + i;
			const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x10),
				th_frame_java(i < SITES ? METHOD_LINE + i : METHOD_BIG, 0),
				th_frame_java(METHOD_USER + user, 0),
				th_frame_java(METHOD_MAIN, 0)};

			log_stack(&log, stack, frames, 4);
			leaks_add(&log, (struct leaks_series){.stack = stack,
						.from = i < SITES ? 100 * i : 0,
						.to = END_MS,
						.every = i < SITES ? 100 * SITES : 100});
		}
	}
	leaks_find(&found, &log);
	assert_int_equal(found.findings_count, USERS + 1);
	for (size_t i = 0; i < found.findings_count; i++) {
		const struct th_finding *finding = &found.findings[i];
		const struct th_path_prefixes *ways = &found.leaks.places.ways;
		struct th_path_prefix_cursor cursor = th_path_prefixes_last(
			ways, found.leaks.places.items[finding->place].way);
		const char *user = "";
		uint32_t function;

		assert_int_equal(finding->evidence.verdict, TH_VERDICT_LEAK);
		while (th_path_prefixes_step(&cursor, &function)) {
			const char *name = th_frames_function_name(
				found.shown.profile->frames, function);

			user = !strncmp(name, "app.User", 8) ? name : user;
		}
		seen |= 1u << (user[8] - '0');
		if (user[8] == '0' + USERS) {
			assert_int_equal(finding->level, TH_LEVEL_LINE);
			assert_int_equal(finding->place_count, 1);
			continue;
		}
		assert_int_equal(finding->level, TH_LEVEL_PATH);
		assert_int_equal(finding->lines, SITES + 1);
		assert_string_equal(th_frames_function_name(found.shown.profile->frames,
					    ways->items[finding->key].function),
			user);
	}
	assert_int_equal(seen, (1u << (USERS + 1)) - 1);
	leaks_end(&found, &log);
}

/*
 * One line of a library leaks on two ways from one line of the application and on one from another:
 * a finding for each line of the application.
 */
static void
test_ways_through_a_library(void **state)
{
	enum { METHOD_OPEN = 300, METHOD_WAY = 310, METHOD_USER = 320, WAYS = 3 };
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	log_method(&log, METHOD_OPEN, "Lorg/driver/File;", "open");
	log_method(&log, METHOD_USER, "Lapp/User;", "run");
	for (uint32_t i = 0; i < WAYS; i++) {
		const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x10),
			th_frame_java(METHOD_OPEN, 0), th_frame_java(METHOD_WAY + i, 0),
			th_frame_java(i < 2 ? METHOD_WORK : METHOD_USER, 0),
			th_frame_java(METHOD_MAIN, 0)};
		char *class = th_format_new("Lorg/driver/Way%u;", i);

		log_method(&log, METHOD_WAY + i, class, "go");
		free(class);
		log_stack(&log, STACK_SPREAD + i, frames, 5);
		leaks_add_leak(&log, STACK_SPREAD + i);
	}
	leaks_find(&found, &log);
	assert_int_equal(found.findings_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct th_finding *finding = &found.findings[i];

		assert_int_equal(finding->evidence.verdict, TH_VERDICT_LEAK);
		assert_int_equal(finding->level, TH_LEVEL_LINE);
		assert_int_equal(finding->place_count, 2 - i);
		assert_true(
			finding->evidence.live_bytes.estimate == (2 - (double)i) * 100 * BLOCK);
	}
	leaks_end(&found, &log);
}

/* One finding in two heaps */

/* A line that leaks Java objects and native blocks. */
static void
test_a_line_leaks_in_both_heaps(void **state)
{
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_WORK);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_JAVA, .class = CLASS_PEER, .to = END_MS, .every = 200});
	leaks_collect(&log, 9900, 1, FULL);
	leaks_find(&found, &log);
	const struct th_finding *finding = leaks_only_finding(&found);
	assert_int_equal(finding->evidence.heap, TH_HEAP_NATIVE);
	assert_true(finding->evidence.live_bytes.estimate == 100 * BLOCK);
	struct th_finding java = th_leaks_next(&found.leaks, finding->next);
	assert_int_equal(java.evidence.heap, TH_HEAP_JAVA);
	assert_int_equal(java.evidence.verdict, TH_VERDICT_LEAK);
	assert_true(java.evidence.live_bytes.estimate == 50 * BLOCK);
	assert_int_equal(java.next, UINT32_MAX);
	assert_true(found.leaks.outcome.bytes == 150 * BLOCK);
	leaks_end(&found, &log);
}

/*
 * A peer, the block that its constructor allocates and an array that the constructor makes: one
 * finding, of the object.
 */
static void
test_an_object_and_its_memory(void **state)
{
	enum { STACK_BUFFER = 300 };
	struct log_builder log;
	struct leaks_found found;
	const uint64_t buffer[] = {th_frame_java(METHOD_INIT, 0), th_frame_java(METHOD_WORK, 0),
		th_frame_java(METHOD_MAIN, 0)};

	(void)state;
	leaks_begin(&log);
	log_stack(&log, STACK_BUFFER, buffer, 3);
	leaks_add_leak(&log, STACK_PEER);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_JAVA, .class = CLASS_PEER, .to = END_MS, .every = 200});
	leaks_add(&log, (struct leaks_series){.stack = STACK_BUFFER,
				.class = CLASS_BYTES,
				.to = END_MS,
				.every = 400});
	leaks_collect(&log, 9900, 1, FULL);
	leaks_find(&found, &log);
	const struct th_finding *finding = leaks_only_finding(&found);
	struct th_leak_part parts[2];
	double live;
	assert_int_equal(
		th_leaks_parts(&found.leaks, &found.leaks.findings[0], parts, 2, &live), 3);
	assert_true(live == 175 * BLOCK);
	assert_int_equal(parts[0].place, finding->place);
	char *text = leaks_print(&found, th_view_leaks);
	expect_text(text, "leak     native and Java, app.Peer.<init> (Source.java:10)");
	expect_text(text, "57 % native, libwork.so+0x10\n");
	expect_text(text, "29 % Java, app.Peer in app.Work.work (Source.java:10)\n");
	expect_text(text, "14 % Java, byte[] in app.Peer.<init> (Source.java:10)\n");
	free(text);
	leaks_end(&found, &log);
}

/*
 * The same for a peer that the runtime makes, as reflection does: the lines differ, but the
 * constructor shows who owns the block.
 */
static void
test_an_object_made_by_the_runtime(void **state)
{
	enum { STACK_MADE = 300 };
	struct log_builder log;
	struct leaks_found found;
	const uint64_t made[] = {th_frame_native(MODULE_WORK, 0x10),
		th_frame_java(METHOD_INIT, 0), th_frame_java(METHOD_PUT, 0),
		th_frame_java(METHOD_WORK, 0), th_frame_java(METHOD_MAIN, 0)};

	(void)state;
	leaks_begin(&log);
	log_stack(&log, STACK_MADE, made, 5);
	leaks_add_leak(&log, STACK_MADE);
	leaks_add(&log,
		(struct leaks_series){
			.stack = STACK_PUT, .class = CLASS_PEER, .to = END_MS, .every = 200});
	leaks_collect(&log, 9900, 1, FULL);
	leaks_find(&found, &log);
	const struct th_finding *finding = leaks_only_finding(&found);
	assert_int_equal(finding->evidence.heap, TH_HEAP_NATIVE);
	assert_int_not_equal(finding->next, UINT32_MAX);
	assert_int_equal(finding->owner.samples, 50);
	assert_int_equal(finding->owner.collected, 0);
	leaks_end(&found, &log);
}

/* Owners */

/*
 * A reader whose read() allocates a block that stays; its caller made the reader, and all
 * readers were collected. That is coincidence: blocks of a method do not belong to the object.
 */
static void
test_an_owner_needs_a_constructor(void **state)
{
	enum { METHOD_READ = 300, CLASS_READER = 300, STACK_READ = 300 };
	const uint64_t read[] = {th_frame_native(MODULE_WORK, 0x10),
		th_frame_java(METHOD_READ, 0), th_frame_java(METHOD_WORK, 0),
		th_frame_java(METHOD_MAIN, 0)};
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	leaks_begin(&log);
	log_method(&log, METHOD_READ, "Lapp/Reader;", "read");
	log_class(&log, CLASS_READER, "Lapp/Reader;");
	log_stack(&log, STACK_READ, read, 4);
	leaks_add(&log, (struct leaks_series){.stack = STACK_READ, .to = 4000, .every = 100});
	leaks_add(&log, (struct leaks_series){.stack = STACK_JAVA,
				.class = CLASS_READER,
				.to = 4000,
				.every = 200,
				.life = 1000});
	for (uint32_t i = 1; i <= 9; i++)
		leaks_collect(&log, 1000 * i, i, FULL);
	leaks_find(&found, &log);
	assert_int_equal(found.leaks.outcome.leaks, 0);
	for (size_t i = 0; i < found.findings_count; i++)
		assert_int_equal(found.findings[i].owner.place, TH_NO_PLACE);
	leaks_end(&found, &log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_of_many_stacks),
		cmocka_unit_test(test_a_method_above_many_lines),
		cmocka_unit_test(test_a_function_above_many_containers),
		cmocka_unit_test(test_remains_of_leaks_of_lines),
		cmocka_unit_test(test_structures_filled_once_are_no_leak),
		cmocka_unit_test(test_a_structure_of_many_parts),
		cmocka_unit_test(test_a_line_explains_its_method),
		cmocka_unit_test(test_a_library_used_by_a_method),
		cmocka_unit_test(test_a_library_used_by_several_methods),
		cmocka_unit_test(test_ways_through_a_library),
		cmocka_unit_test(test_a_line_leaks_in_both_heaps),
		cmocka_unit_test(test_an_object_and_its_memory),
		cmocka_unit_test(test_an_object_made_by_the_runtime),
		cmocka_unit_test(test_an_owner_needs_a_constructor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
