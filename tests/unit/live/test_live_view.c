/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view of a growing log: updates at any time have the same result as the commands have
 * that read the whole log at once; late records and names; rates; keys.
 */
#include <fcntl.h>
#include <math.h>
#include <ncurses.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/live/live.h"
#include "report/views/view.h"
#include "tests/unit/leaks/leaks_fixture.h"
#include "tests/unit/log/log_builder.h"
#include "unify/shared/clock.h"

#define INTERVAL 65536
#define MODULE 3
#define SITES 5
#define EVENTS 3000

/* A log, how much of it is in the file, and the offsets at which it may be cut. */
struct growing {
	struct log_builder log;
	char *path;
	size_t cuts[2 * EVENTS];
	size_t cut_count;
};

static uint64_t
draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void
define(struct log_builder *log)
{
	log_init(log, INTERVAL);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES);
	log_module(log, MODULE, "/nonexistent/libwork.so");
	log_class(log, 1, "[B");
	log_method(log, 1, "Lapp/Main;", "main");
	for (uint32_t i = 1; i <= SITES; i++) {
		const uint64_t frames[] = {
			th_frame_native(MODULE, 0x10 * i), th_frame_java(1, 5)};

		log_stack(log, i, frames, 2);
	}
}

static void
cut_here(struct growing *growing)
{
	growing->cuts[growing->cut_count++] = growing->log.length;
}

/* The live blocks of the log, by heap. */
struct alive {
	struct {
		uint64_t id;
		uint64_t bytes;
	} items[TH_HEAPS][EVENTS];
	size_t count[TH_HEAPS];
};

static uint64_t
log_allocation(struct log_builder *log, enum th_heap heap, struct log_sample sample)
{
	if (heap == TH_HEAP_MAPPED)
		return log_mapped(log, sample);
	return heap == TH_HEAP_JAVA ? log_java(log, sample) : log_native(log, sample);
}

/* Frees a block; a mapping possibly only in part. */
static void
log_some_end(struct log_builder *log, uint32_t ms, enum th_heap heap, struct alive *alive,
	uint64_t *state)
{
	size_t which = draw(state) % alive->count[heap];
	uint64_t id = alive->items[heap][which].id;
	uint64_t *bytes = &alive->items[heap][which].bytes;

	if (heap == TH_HEAP_MAPPED && draw(state) % 3) {
		uint64_t part = 1 + draw(state) % *bytes;

		log_mapped_end(log, ms, id, part);
		if (*bytes -= part)
			return;
	} else if (heap == TH_HEAP_MAPPED) {
		log_mapped_end(log, ms, id, *bytes);
	} else if (heap == TH_HEAP_JAVA) {
		log_java_death(log, ms, id);
	} else {
		log_free(log, ms, id);
	}
	alive->items[heap][which] = alive->items[heap][--alive->count[heap]];
}

/* Random allocations and frees of four threads over a hundred seconds. */
static void
fill(struct growing *growing, uint64_t interval)
{
	static struct alive alive;
	struct log_builder *log = &growing->log;
	uint64_t bytes[TH_HEAPS][5] = {0};
	uint64_t state = 42;

	memset(&alive, 0, sizeof(alive));
	define(log);
	for (uint32_t i = 0; i < EVENTS; i++) {
		enum th_heap heap = (enum th_heap)(TH_HEAP_JAVA + draw(&state) % 3);
		uint32_t thread = 1 + (uint32_t)(draw(&state) % (1 + 4 * i / EVENTS));
		uint32_t ms = i * 100000 / EVENTS;
		struct log_sample sample = {
			.ms = ms,
			.size = 16 + draw(&state) % 100000,
			.interval = interval,
			.thread = thread,
			.stack = 1 + (uint32_t)(draw(&state) % SITES),
			.class = 1,
		};

		if (draw(&state) % 3 == 0 && alive.count[heap]) {
			log_some_end(log, ms, heap, &alive, &state);
		} else {
			uint32_t account = heap == TH_HEAP_MAPPED ? 0 : thread;
			size_t last = alive.count[heap]++;

			sample.thread_bytes = bytes[heap][account] += sample.size +
								      draw(&state) % INTERVAL;
			alive.items[heap][last].id = log_allocation(log, heap, sample);
			alive.items[heap][last].bytes = sample.size;
		}
		cut_here(growing);
	}
}

static void
write_part(const struct growing *growing, size_t length)
{
	struct th_log_header *header = log_header((struct log_builder *)&growing->log);
	uint64_t tail = header->tail;
	int descriptor = open(growing->path, O_WRONLY | O_CREAT, 0600);

	assert_true(descriptor >= 0);
	header->tail = length;
	assert_int_equal(write(descriptor, growing->log.bytes, length), length);
	header->tail = tail;
	close(descriptor);
}

static void
begin_growing(struct growing *growing, uint64_t interval)
{
	growing->cut_count = 0;
	fill(growing, interval);
	growing->path = log_save_bytes("x", 1);
	log_header(&growing->log)->state = TH_LOG_RECORDING;
}

static void
end_growing(struct growing *growing)
{
	unlink(growing->path);
	free(growing->path);
	log_deinit(&growing->log);
}

/* A running process, and a clock that shows the time of the last event. */
static bool
is_alive(const struct th_log_header *header)
{
	(void)header;
	return true;
}

static uint64_t
no_clock(void)
{
	return 0;
}

static const struct th_live_world world = {is_alive, no_clock};

static void
open_live(const char *path, const struct th_live_world *around, struct th_live *live)
{
	struct th_options options;

	th_options_set_defaults(&options);
	options.log = path;
	options.program = "twinheap";
	struct th_error *error = th_live_open(path, &options, around, live);
	if (error)
		fail_msg("%s", th_error_message(error));
}

/* The document, to be freed. */
static char *
text_of(const struct th_live *live)
{
	char *text = NULL;
	size_t length;
	FILE *memory = open_memstream(&text, &length);

	for (size_t i = 0; i < live->lines_count; i++)
		fprintf(memory, "%s\n", live->lines[i]);
	assert_int_equal(fclose(memory), 0);
	return text;
}

/* The number of lines that contain a text. */
static size_t
count_lines(const struct th_live *live, const char *text)
{
	size_t count = 0;

	for (size_t i = 0; i < live->lines_count; i++)
		count += strstr(live->lines[i], text) != NULL;
	return count;
}

static void
expect_line(const struct th_live *live, const char *text)
{
	char *all = text_of(live);

	if (!count_lines(live, text))
		fail_msg("no line with '%s' in\n%s", text, all);
	free(all);
}

/* The tree as the command prints it of the log so far. */
static void
expect_as_in_commands(const char *path, struct th_live *live)
{
	struct th_recording *recording;
	struct th_options options = live->options;
	char *text = NULL;
	size_t length;

	th_live_key(live, '3');
	char *shown = text_of(live);
	assert_null(th_recording_load(path, &recording));
	options.top = 20;
	options.symbols = NULL;
	struct th_profile *profile = th_profile_create(recording, &options, NULL, NULL);
	FILE *memory = open_memstream(&text, &length);
	th_view_tree(memory, profile);
	fclose(memory);
	assert_string_equal(shown, text);
	th_profile_destroy(profile);
	th_recording_destroy(recording);
	free(shown);
	free(text);
}

static void
grow_by(size_t step, uint64_t interval)
{
	struct growing growing;
	struct th_live live;

	begin_growing(&growing, interval);
	write_part(&growing, growing.cuts[step]);
	open_live(growing.path, &world, &live);
	for (size_t i = 2 * step; i < growing.cut_count; i += step) {
		write_part(&growing, growing.cuts[i]);
		th_live_update(&live);
	}
	expect_as_in_commands(growing.path, &live);
	th_live_close(&live);
	end_growing(&growing);
}

static void
test_pieces_come_to_the_whole(void **state)
{
	(void)state;
	grow_by(7, 0);
	grow_by(500, 0);
	grow_by(50, INTERVAL);
}

/* A clock that advances by a second on each reading. */
static uint64_t clock_now;
static bool is_killed;

static uint64_t
look_at_clock(void)
{
	return clock_now += TH_NS_PER_S;
}

static bool
is_not_killed(const struct th_log_header *header)
{
	(void)header;
	return !is_killed;
}

static void
expect_state(const struct th_live *live, const char *text, bool is_expected)
{
	const char *line = th_live_state(live);

	assert_int_equal(strstr(line, text) != NULL, is_expected);
}

/* Expensive updates are rare, and figures show their age. */
static void
test_updates_are_bounded(void **state)
{
	static const struct th_live_world slow = {is_not_killed, look_at_clock};
	struct growing growing;
	struct th_live live;

	(void)state;
	clock_now = 0;
	is_killed = false;
	begin_growing(&growing, INTERVAL);
	write_part(&growing, growing.cuts[EVENTS / 2]);
	open_live(growing.path, &slow, &live);
	uint64_t records = live.recording->records;
	/* All but the first reading of the clock is the cost of the update. */
	assert_int_equal(live.due, clock_now + 10 * (clock_now - TH_NS_PER_S));
	write_part(&growing, growing.log.length);
	clock_now = live.as_of;
	live.due = clock_now + 30 * (uint64_t)TH_NS_PER_S;
	th_live_update(&live);
	expect_state(&live, "figures", false);
	clock_now = live.as_of + 6 * (uint64_t)TH_NS_PER_S;
	th_live_update(&live);
	expect_state(&live, ", figures of the first ", true);
	assert_int_equal(live.recording->records, records);
	clock_now = live.due;
	th_live_update(&live);
	expect_state(&live, "figures", false);
	assert_true(live.recording->records > records);
	/* The end of the process triggers an update at once. */
	live.due = UINT64_MAX;
	is_killed = true;
	th_live_update(&live);
	assert_int_equal(live.state, TH_LIVE_GONE);
	assert_int_equal(live.now, live.recording->end);
	const char *end = th_live_end(&live);
	assert_non_null(strstr(end, "has ended without closing its log: killed?"));
	th_live_close(&live);
	end_growing(&growing);
}

/* Rates are those of the updates of the last minute; they are shown once there are 5 s of them. */
static void
test_rates(void **state)
{
	const uint64_t frames[] = {th_frame_native(MODULE, 0x10)};
	struct growing growing = {.cut_count = 0};
	struct th_live live;

	(void)state;
	log_init(&growing.log, 0);
	log_module(&growing.log, MODULE, "/nonexistent/libwork.so");
	log_stack(&growing.log, 1, frames, 1);
	growing.path = log_save_bytes("x", 1);
	for (uint32_t i = 0; i <= 100; i++) {
		uint64_t id = log_native(&growing.log,
			(struct log_sample){
				.ms = i * 1000, .size = 3 << 20, .thread = 1, .stack = 1});

		if (i % 3)
			log_free(&growing.log, i * 1000, id);
		write_part(&growing, growing.log.length);
		if (!i)
			open_live(growing.path, &world, &live);
		else
			th_live_update(&live);
		const char *line = th_live_rates(&live, TH_HEAP_NATIVE);
		assert_int_equal(strstr(line, "/s") != NULL, i >= 5);
	}
	assert_int_equal(live.points_count, 61);
	const char *line = th_live_rates(&live, TH_HEAP_NATIVE);
	/* 102 MiB after 100 s, 42 MiB after 40; 3 MiB are allocated per second. */
	assert_non_null(strstr(line, " 102 MiB   +1.00 MiB/s     3.00 MiB/s"));
	/* Those of another selection are not compared with them. */
	th_live_key(&live, '\t');
	assert_int_equal(live.points_count, 1);
	th_live_close(&live);
	end_growing(&growing);
}

/* The stack of a sample and the name of its method arrive later: the sample moves. */
static void
test_late_names(void **state)
{
	const uint64_t frames[] = {th_frame_java(7, 5)};
	struct growing growing = {.cut_count = 0};
	struct th_live live;

	(void)state;
	log_init(&growing.log, 0);
	log_jvm(&growing.log, 25, TH_JVM_SAMPLED_ALLOC);
	log_class(&growing.log, 1, "[B");
	log_java(&growing.log,
		(struct log_sample){.ms = 10, .size = 8, .thread = 1, .stack = 1, .class = 1});
	cut_here(&growing);
	log_stack(&growing.log, 1, frames, 1);
	cut_here(&growing);
	log_method(&growing.log, 7, "Lapp/Late;", "comer");
	growing.path = log_save_bytes("x", 1);
	write_part(&growing, growing.cuts[0]);
	open_live(growing.path, &world, &live);
	expect_line(&live, "byte[] in [lost stack]");
	write_part(&growing, growing.cuts[1]);
	th_live_update(&live);
	expect_line(&live, "byte[] in [unknown Java method]");
	write_part(&growing, growing.log.length);
	th_live_update(&live);
	expect_line(&live, "byte[] in app.Late.comer");
	th_live_close(&live);
	end_growing(&growing);
}

/* The same for a native function, in a module without a file. */
static void
test_late_native_names(void **state)
{
	const uint64_t frames[] = {th_frame_native(1, 0x10)};
	struct growing growing = {.cut_count = 0};
	struct th_live live;

	(void)state;
	log_init(&growing.log, 0);
	log_module(&growing.log, 1, "/nonexistent/libwork.so");
	log_stack(&growing.log, 1, frames, 1);
	log_native(&growing.log,
		(struct log_sample){.ms = 10, .size = 8, .thread = 1, .stack = 1});
	cut_here(&growing);
	log_add_fields(&growing.log, TH_EVENT_SYMBOL, LOG_U64(0x80), LOG_U32(1), LOG_U32(8),
		LOG_TEXT("other"));
	cut_here(&growing);
	log_add_fields(&growing.log, TH_EVENT_SYMBOL, LOG_U64(8), LOG_U32(1), LOG_U32(32),
		LOG_TEXT("work"));
	growing.path = log_save_bytes("x", 1);
	write_part(&growing, growing.cuts[0]);
	open_live(growing.path, &world, &live);
	expect_line(&live, "libwork.so+0x10");
	write_part(&growing, growing.cuts[1]);
	th_live_update(&live);
	expect_line(&live, "libwork.so+0x10");
	write_part(&growing, growing.log.length);
	th_live_update(&live);
	expect_line(&live, "work (libwork.so)");
	th_live_close(&live);
	end_growing(&growing);
}

/* A leak is shown as soon as it is significant, whatever the view. */
static void
test_findings(void **state)
{
	struct log_builder log;
	struct th_live live;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_WORK);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_OTHER, .to = END_MS, .every = 100, .life = 50});
	log_end(&log, END_MS);
	char *path = log_save(&log);
	open_live(path, &world, &live);
	assert_int_equal(live.state, TH_LIVE_ENDED);
	assert_non_null(live.headline);
	assert_memory_equal(live.headline, "1 leak, ", 8);
	th_live_key(&live, '2');
	expect_line(&live, "leak     native, ");
	th_live_close(&live);
	unlink(path);
	free(path);
	log_deinit(&log);
}

static void
press(struct th_live *live, const char *keys)
{
	while (*keys)
		th_live_key(live, *keys++);
}

static void
test_heaps(void **state)
{
	struct growing growing;
	struct th_live live;

	(void)state;
	begin_growing(&growing, 0);
	write_part(&growing, growing.log.length);
	open_live(growing.path, &world, &live);
	expect_line(&live, "native heap: allocating");
	press(&live, "\t");
	assert_int_equal(count_lines(&live, "native heap: allocating"), 0);
	expect_line(&live, "Java heap: allocating");
	press(&live, "\t\t\t");
	expect_line(&live, "Java heap: allocating");
	expect_line(&live, "mapped: allocating");
	th_live_close(&live);
	end_growing(&growing);
}

static void
test_keys(void **state)
{
	struct growing growing;
	struct th_live live;

	(void)state;
	begin_growing(&growing, 0);
	write_part(&growing, growing.cuts[EVENTS / 2]);
	open_live(growing.path, &world, &live);
	press(&live, "><<");
	assert_int_equal(live.options.value, TH_VALUE_TEMPORARY_BYTES);
	press(&live, "s");
	th_live_key(&live, KEY_RIGHT);
	assert_int_equal(live.view, TH_LIVE_LEAKS);
	th_live_key(&live, KEY_LEFT);
	th_live_key(&live, KEY_LEFT);
	assert_int_equal(live.view, TH_LIVE_TREE);
	th_live_key(&live, KEY_END);
	assert_int_equal(live.first, live.lines_count - 1);
	th_live_key(&live, KEY_UP);
	assert_int_equal(live.first, live.lines_count - 2);
	th_live_key(&live, KEY_HOME);
	assert_int_equal(live.first, 0);
	press(&live, "h");
	expect_line(&live, "this help");
	press(&live, "x");
	assert_int_equal(live.view, TH_LIVE_TREE);
	assert_int_equal(count_lines(&live, "this help"), 0);
	/* Paused, nothing is read. */
	uint64_t records = live.recording->records;
	press(&live, "z");
	write_part(&growing, growing.log.length);
	th_live_update(&live);
	assert_int_equal(live.recording->records, records);
	press(&live, "p");
	th_live_update(&live);
	assert_true(live.recording->records > records);
	press(&live, "q");
	assert_true(live.is_done);
	th_live_close(&live);
	end_growing(&growing);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_come_to_the_whole),
		cmocka_unit_test(test_updates_are_bounded),
		cmocka_unit_test(test_late_names),
		cmocka_unit_test(test_late_native_names),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_heaps),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
