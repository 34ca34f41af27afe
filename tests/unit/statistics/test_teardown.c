/* SPDX-License-Identifier: Apache-2.0 */
/* The last moment before a process ends, by marks and by the collapse of live memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/views/view_helper.h"

#define MS 1000000ull
#define AT(ms) (LOG_START + (ms)*MS)
#define END_MS 10000u
#define YOUNG "G1 young collection pauses (G1 Evacuation Pause)"
/* Blocks of a growing program: one every 20 ms. */
#define BLOCKS_MAX (END_MS / 20)

/* Threads, and their stacks. */
enum { MAIN = 1, COLLECTOR = 2 };

static void
begin(struct log_builder *log)
{
	const uint64_t frames[] = {th_frame_java(1, TH_BCI_UNKNOWN)};
	const uint64_t vm_frames[] = {th_frame_native(1, 0x100)};

	log_init(log, 0);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES);
	log_thread(log, MAIN, "main");
	log_thread(log, COLLECTOR, "ZDriverMajor");
	log_module(log, 1, "/nonexistent/libjvm.so");
	log_method(log, 1, "Lapp/Main;", "main");
	log_class(log, 1, "[B");
	log_stack(log, MAIN, frames, 1);
	log_stack(log, COLLECTOR, vm_frames, 1);
}

/* Each thread has a stack of the same number. */
static uint64_t
add_block_of(struct log_builder *log, uint32_t thread, uint32_t ms)
{
	return log_native(log,
		(struct log_sample){.ms = ms, .size = 1000, .thread = thread, .stack = thread});
}

static uint64_t
add_block(struct log_builder *log, uint32_t ms)
{
	return add_block_of(log, MAIN, ms);
}

/* Blocks that are kept, one every 20 ms. */
static uint32_t
add_growth_of(
	struct log_builder *log, uint32_t thread, uint32_t from, uint32_t to, uint64_t *blocks)
{
	uint32_t count = 0;

	for (uint32_t ms = from; ms < to; ms += 20)
		blocks[count++] = add_block_of(log, thread, ms);
	return count;
}

static uint32_t
add_growth(struct log_builder *log, uint32_t from, uint32_t to, uint64_t *blocks)
{
	return add_growth_of(log, MAIN, from, to, blocks);
}

static void
free_all(struct log_builder *log, uint32_t ms, const uint64_t *blocks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		log_free(log, ms, blocks[i]);
}

static void
add_mark(struct log_builder *log, uint32_t ms, enum th_teardown_cause cause)
{
	log_add_fields(
		log, TH_EVENT_TEARDOWN, LOG_U64(AT(ms)), LOG_U32(cause), LOG_TEXT("detail"));
}

/* The moment of the log is `ms`, and the text of the moment contains `reason`. */
static void
expect_moment(struct log_builder *log, uint32_t ms, const char *reason)
{
	struct shown shown;

	show(&shown, log, NULL);
	const char *text = th_profile_moment_text(shown.profile);
	if (!strstr(text, reason))
		print_error("%s\n", text);
	assert_non_null(strstr(text, reason));
	/* The grid of the collapse is 2 s / 4096. */
	assert_in_range(shown.profile->at.time, AT(ms) - MS, AT(ms));
	show_end(&shown);
	log_deinit(log);
}

/* Marks */

/* What the handlers free is live at the mark; the earlier of two marks of one end counts. */
static void
test_exit(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	uint64_t kept = add_block(&log, 100);
	add_mark(&log, 9000, TH_TEARDOWN_EXIT);
	log_free(&log, 9001, kept);
	add_mark(&log, 9500, TH_TEARDOWN_MAIN_RETURNED);
	log_end(&log, END_MS);
	show(&shown, &log, NULL);
	assert_true(th_profile_live(shown.profile, TH_HEAP_NATIVE).estimate == 1000);
	show_end(&shown);
	show(&shown, &log, "--at", "exit", NULL);
	assert_true(th_profile_live(shown.profile, TH_HEAP_NATIVE).estimate == 0);
	show_end(&shown);
	expect_moment(&log, 9000, "at 9 s, before the process's exit handlers ran");
}

/* The main thread called pthread_exit(), and others go on. */
static void
test_end_of_main_thread(void **state)
{
	struct log_builder log;
	uint64_t blocks[BLOCKS_MAX];

	(void)state;
	begin(&log);
	add_mark(&log, 50, TH_TEARDOWN_MAIN_RETURNED);
	add_growth(&log, 100, END_MS, blocks);
	log_end(&log, END_MS);
	expect_moment(&log, END_MS, "at the end");
}

static void
test_hooks(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_block(&log, 100);
	add_mark(&log, 2000, TH_TEARDOWN_SIGNAL); /* nothing ended */
	add_mark(&log, 90000, TH_TEARDOWN_HOOKS);
	add_mark(&log, 99000, TH_TEARDOWN_VM_DEATH);
	add_mark(&log, 99010, TH_TEARDOWN_EXIT);
	log_end(&log, 99020);
	expect_moment(&log, 90000, "before the Java VM's shutdown hooks ran");
}

/* SIGKILL while hooks run: they cannot be revoked. */
static void
test_hooks_without_end(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_block(&log, 100);
	add_mark(&log, 8500, TH_TEARDOWN_SIGNAL);
	add_mark(&log, 8501, TH_TEARDOWN_HOOKS);
	add_block(&log, 60000);
	expect_moment(&log, 8500, "before the Java VM handled a signal to end");
}

/* A VM is destroyed in a process that goes on: only the end of the process counts. */
static void
test_embedded_vm(void **state)
{
	struct log_builder log;
	uint64_t blocks[BLOCKS_MAX];

	(void)state;
	begin(&log);
	add_growth(&log, 100, 4000, blocks);
	add_mark(&log, 4000, TH_TEARDOWN_HOOKS);
	add_mark(&log, 4010, TH_TEARDOWN_VM_DEATH);
	add_growth(&log, 4020, 9000, blocks);
	add_mark(&log, 9000, TH_TEARDOWN_MAIN_RETURNED);
	log_end(&log, 9001);
	expect_moment(&log, 9000, "before main returned");
}

/* Collapse */

static void
test_collapse(void **state)
{
	struct log_builder log;
	uint64_t blocks[BLOCKS_MAX];

	(void)state;
	begin(&log);
	uint32_t count = add_growth(&log, 0, 9900, blocks);
	free_all(&log, 9950, blocks, count);
	add_mark(&log, 9990, TH_TEARDOWN_MAIN_RETURNED);
	log_end(&log, END_MS);
	expect_moment(&log, 9950, "before most of what was live was freed at once");
}

/* A collection frees tables of the VM, beside some memory of the program that stays. */
static void
test_memory_of_the_collector(void **state)
{
	struct log_builder log;
	uint64_t blocks[BLOCKS_MAX], kept[BLOCKS_MAX];

	(void)state;
	begin(&log);
	add_growth(&log, 0, 2000, kept);
	uint32_t count = add_growth_of(&log, COLLECTOR, 0, 9900, blocks);
	free_all(&log, 9950, blocks, count);
	add_mark(&log, 9990, TH_TEARDOWN_HOOKS);
	log_end(&log, END_MS);
	expect_moment(&log, 9990, "before the Java VM's shutdown hooks ran");
}

/* The same fall is not at the end, the process did not end, or it was not the first such fall. */
static void
test_no_collapse(void **state)
{
	struct log_builder log;
	uint64_t blocks[BLOCKS_MAX];
	uint32_t count;

	(void)state;
	begin(&log);
	count = add_growth(&log, 0, 8500, blocks);
	free_all(&log, 8600, blocks, count);
	log_end(&log, END_MS);
	expect_moment(&log, END_MS, "at the end");

	begin(&log);
	count = add_growth(&log, 0, 9900, blocks);
	free_all(&log, 9950, blocks, count);
	add_block(&log, END_MS);
	expect_moment(&log, END_MS, "at the end");

	begin(&log);
	count = add_growth(&log, 0, 5000, blocks);
	free_all(&log, 5000, blocks, count);
	count = add_growth(&log, 5000, 9990, blocks);
	free_all(&log, 9995, blocks, count);
	log_end(&log, END_MS);
	expect_moment(&log, END_MS, "at the end");
}

/* Memory of one moment, as of a compilation, was not accumulated. */
static void
test_working_set(void **state)
{
	struct log_builder log;
	uint64_t kept[BLOCKS_MAX], burst[2][BLOCKS_MAX];
	const uint32_t begins[] = {5000, 7000};

	(void)state;
	begin(&log);
	add_growth(&log, 0, 1000, kept);
	for (size_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < 100; k++)
			burst[i][k] = add_block(&log, begins[i] + k);
	for (size_t i = 0; i < 2; i++)
		free_all(&log, 9950, burst[i], 100);
	add_mark(&log, 9990, TH_TEARDOWN_MAIN_RETURNED);
	log_end(&log, END_MS);
	expect_moment(&log, 9990, "before main returned");
}

/* The VM's own hooks run before its death, and release things or make some. */
static void
test_vm_begins_to_end(void **state)
{
	struct log_builder log;
	uint64_t blocks[BLOCKS_MAX];

	(void)state;
	begin(&log);
	add_growth(&log, 0, 9900, blocks);
	add_mark(&log, 9920, TH_TEARDOWN_VM_ENDS);
	add_mark(&log, 9990, TH_TEARDOWN_VM_DEATH);
	log_end(&log, END_MS);
	expect_moment(&log, 9920, "before the Java VM began to end");
}

/* What a collection at exit gives back was not freed by the program. */
static void
test_collection_at_exit(void **state)
{
	struct log_builder log;
	uint64_t blocks[BLOCKS_MAX];

	(void)state;
	begin(&log);
	uint32_t count = add_growth(&log, 0, 9900, blocks);
	free_all(&log, 9950, blocks, count);
	log_add_fields(&log, TH_EVENT_CONTROL, LOG_U64(AT(9960)), LOG_U64(20 * MS),
		LOG_TEXT("gc at exit"), LOG_TEXT(""));
	add_mark(&log, 9990, TH_TEARDOWN_VM_DEATH);
	log_end(&log, END_MS);
	expect_moment(&log, 9940, "before the full GC at exit, which the recording requested");
}

/* The recording was ended by request, and the process went on. */
static void
test_stop(void **state)
{
	struct log_builder log;
	uint64_t blocks[BLOCKS_MAX];

	(void)state;
	begin(&log);
	uint32_t count = add_growth(&log, 0, 9900, blocks);
	free_all(&log, 9950, blocks, count);
	log_add_fields(&log, TH_EVENT_CONTROL, LOG_U64(AT(END_MS)), LOG_U64(0),
		LOG_TEXT("stop"), LOG_TEXT(""));
	log_end(&log, END_MS);
	expect_moment(&log, END_MS, "at the end");
}

/* --at and --to */

static void
test_options(void **state)
{
	static const struct {
		const char *options[4];
		uint32_t ms;
	} cases[] = {
		{{NULL}, 9000},
		{{"--at", "end"}, 9000},
		{{"--at", "exit"}, END_MS},
		{{"--at", "3.5"}, 3500},
		{{"--to", "4"}, 4000},
		{{"--to", "4", "--at", "end"}, 9000},
		{{"--to", "9.5"}, 9000},
	};
	struct log_builder log;

	(void)state;
	begin(&log);
	add_block(&log, 100);
	add_mark(&log, 9000, TH_TEARDOWN_EXIT);
	log_end(&log, END_MS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const *options = cases[i].options;
		struct shown shown;

		show(&shown, &log, options[0], options[1], options[2], options[3], NULL);
		assert_int_equal(shown.profile->at.time, AT(cases[i].ms));
		show_end(&shown);
	}
	log_deinit(&log);
}

/* Java: a death logged after the moment, but found by a collection before it. */
static void
test_late_deaths(void **state)
{
	struct log_builder log;
	struct shown shown;
	uint64_t objects[3];

	(void)state;
	begin(&log);
	for (int i = 0; i < 3; i++)
		objects[i] = log_java(&log,
			(struct log_sample){
				.ms = 100, .size = 1000, .thread = 1, .stack = 1, .class = 1});
	log_collection(&log, 8990, 8995, 1, YOUNG);
	add_mark(&log, 9000, TH_TEARDOWN_EXIT);
	log_java_death(&log, 9005, objects[0]);
	log_collection(&log, 9010, 9015, 2, YOUNG);
	log_java_death(&log, 9020, objects[1]);
	log_end(&log, END_MS);
	show(&shown, &log, NULL);
	assert_true(th_profile_live(shown.profile, TH_HEAP_JAVA).estimate == 2000);
	show_end(&shown);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_end_of_main_thread),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_hooks_without_end),
		cmocka_unit_test(test_embedded_vm),
		cmocka_unit_test(test_collapse),
		cmocka_unit_test(test_memory_of_the_collector),
		cmocka_unit_test(test_no_collapse),
		cmocka_unit_test(test_working_set),
		cmocka_unit_test(test_collection_at_exit),
		cmocka_unit_test(test_vm_begins_to_end),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_late_deaths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
