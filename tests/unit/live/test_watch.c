/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching a growing log: updates at any time have the same result as reading the whole log at
 * once; late records and names; the table of sites.
 */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/live/watch.h"
#include "report/live/watch_lines.h"
#include "report/live/watch_table.h"
#include "report/live/watch_view.h"
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

static const struct th_watch_world world = {is_alive, no_clock};

static void
open_watch(const char *path, struct th_watch *watch)
{
	struct th_error *error = th_watch_open(path, &world, watch);

	if (error)
		fail_msg("%s", th_error_message(error));
	assert_int_equal(watch->state, TH_WATCH_RUNNING);
}

static void
assert_close(double a, double b)
{
	assert_true(fabs(a - b) <= 1e-4 * fmax(fabs(a), fabs(b)) + 1);
}

static double
allocated_of(const struct th_watch_site *site)
{
	return th_sums_point(&site->allocated.bytes);
}

static double
live_of(const struct th_watch_site *site)
{
	return th_sums_point(&site->live.bytes);
}

static void
expect_same_site(const struct th_watch *a, const struct th_watch_site *left,
	const struct th_watch *b, const struct th_watch_site *right)
{
	double curves[2][TH_WATCH_SECONDS];

	assert_int_equal(left->allocated.samples, right->allocated.samples);
	assert_int_equal(left->live.samples, right->live.samples);
	assert_close(allocated_of(left), allocated_of(right));
	assert_close(live_of(left), live_of(right));
	th_watch_live_curve(a, left, curves[0]);
	th_watch_live_curve(b, right, curves[1]);
	for (int i = 0; i < TH_WATCH_SECONDS; i++)
		assert_close(curves[0][i], curves[1][i]);
	th_watch_allocated_curve(a, left, curves[0]);
	th_watch_allocated_curve(b, right, curves[1]);
	for (int i = 0; i < TH_WATCH_SECONDS; i++)
		assert_close(curves[0][i], curves[1][i]);
}

/* Site numbers depend on the order of arrival, so sites are found by name. */
static const struct th_watch_site *
find_site(const struct th_watch *watch, struct th_watch_table *table, enum th_heap heap,
	const char *name)
{
	for (uint32_t i = 0; i < watch->sites_count; i++) {
		if (watch->sites[i].heap == heap &&
			!strcmp(th_watch_table_name(table, watch, i), name))
			return &watch->sites[i];
	}
	fail_msg("no site %s", name);
	return NULL;
}

static void
expect_same(const struct th_watch *a, const struct th_watch *b)
{
	struct th_watch_table left;
	struct th_watch_table right;

	assert_int_equal(a->sites_count, 3 * SITES);
	assert_int_equal(b->sites_count, a->sites_count);
	th_watch_table_init(&left);
	th_watch_table_init(&right);
	for (uint32_t i = 0; i < a->sites_count; i++)
		expect_same_site(a, &a->sites[i], b,
			find_site(
				b, &right, a->sites[i].heap, th_watch_table_name(&left, a, i)));
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		expect_same_site(a, &a->heaps[heap], b, &b->heaps[heap]);
	th_watch_table_deinit(&left);
	th_watch_table_deinit(&right);
}

static void
grow_by(size_t step, uint64_t interval)
{
	struct growing growing;
	struct th_watch pieces;
	struct th_watch whole;

	begin_growing(&growing, interval);
	write_part(&growing, growing.cuts[0]);
	open_watch(growing.path, &pieces);
	for (size_t i = 1; i < growing.cut_count; i += step) {
		write_part(&growing, growing.cuts[i]);
		th_watch_update(&pieces);
	}
	write_part(&growing, growing.log.length);
	th_watch_update(&pieces);
	th_watch_update(&pieces);
	open_watch(growing.path, &whole);
	expect_same(&pieces, &whole);
	th_watch_close(&pieces);
	th_watch_close(&whole);
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

static void
expect_figure(const struct th_profile *profile, enum th_heap heap, enum th_measure measure,
	const struct th_estimator *sum, const struct th_watch *watch,
	const struct th_estimator *watched)
{
	struct th_estimate expected = th_profile_bytes(profile, heap, measure, sum);
	struct th_estimate actual = th_profile_bytes(watch->profile, heap, measure, watched);

	assert_float_equal(actual.estimate, expected.estimate, 1e-9 * expected.estimate);
	assert_float_equal(actual.low, expected.low, 1e-9 * expected.high);
	assert_float_equal(actual.high, expected.high, 1e-9 * expected.high);
	assert_int_equal(actual.samples, expected.samples);
	assert_int_equal(actual.exact, expected.exact);
}

static char *
name_of(const struct th_profile *profile, const struct th_site *site)
{
	char *text = NULL;
	size_t length;
	FILE *memory = open_memstream(&text, &length);

	th_sites_print(memory, profile->frames, site->class_name,
		(struct th_site_place){site->function, site->caller});
	assert_int_equal(fclose(memory), 0);
	return text;
}

/* Compares every site that summary lists, by the value in its options. */
static void
expect_sites(const struct th_profile *profile, struct th_watch *watch)
{
	bool is_live = profile->options->value == TH_VALUE_LIVE_BYTES;
	enum th_measure measure = is_live ? TH_MEASURE_LIVE : TH_MEASURE_ALLOC;
	struct th_watch_table table;

	th_watch_table_init(&table);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		struct th_sites sites;

		th_sites_init(&sites, profile, (enum th_heap)heap);
		assert_int_equal(sites.items_count, SITES);
		for (size_t i = 0; i < sites.items_count; i++) {
			char *name = name_of(profile, &sites.items[i]);
			const struct th_watch_site *site = find_site(
				watch, &table, (enum th_heap)heap, name);

			expect_figure(profile, (enum th_heap)heap, measure, &sites.items[i].sum,
				watch, is_live ? &site->live : &site->allocated);
			free(name);
		}
		th_sites_deinit(&sites);
	}
	th_watch_table_deinit(&table);
}

/* Compares with the profile that summary computes of the log so far. */
static void
expect_as_in_summary(const struct growing *growing, struct th_watch *watch)
{
	struct th_options options;
	struct th_recording *recording;

	assert_null(th_recording_load(growing->path, &recording));
	th_options_set_defaults(&options);
	struct th_profile *profile = th_profile_create(recording, &options, NULL, NULL);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_estimator *sums = profile->selected[heap];

		expect_figure(profile, (enum th_heap)heap, TH_MEASURE_ALLOC,
			&sums[TH_MEASURE_ALLOC], watch, &watch->heaps[heap].allocated);
		expect_figure(profile, (enum th_heap)heap, TH_MEASURE_LIVE,
			&sums[TH_MEASURE_LIVE], watch, &watch->heaps[heap].live);
	}
	options.value = TH_VALUE_ALLOC_BYTES;
	expect_sites(profile, watch);
	options.value = TH_VALUE_LIVE_BYTES;
	expect_sites(profile, watch);
	th_profile_destroy(profile);
	th_recording_destroy(recording);
}

static void
grow_beside_summary(uint64_t interval)
{
	struct growing growing;
	struct th_watch watch;

	begin_growing(&growing, interval);
	write_part(&growing, growing.cuts[EVENTS / 10]);
	open_watch(growing.path, &watch);
	for (size_t i = EVENTS / 10; i < growing.cut_count; i += EVENTS / 10) {
		write_part(&growing, growing.cuts[i]);
		th_watch_update(&watch);
		expect_as_in_summary(&growing, &watch);
	}
	th_watch_close(&watch);
	end_growing(&growing);
}

static void
test_figures_are_those_of_summary(void **state)
{
	(void)state;
	grow_beside_summary(0);
	grow_beside_summary(INTERVAL);
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
expect_age(const struct th_watch_view *view, const char *text)
{
	char *line = th_watch_line_state(view);

	if (text)
		assert_non_null(strstr(line, text));
	else
		assert_null(strstr(line, "figures"));
	free(line);
}

/* Expensive updates are rare, and figures show their age. */
static void
test_rate_is_bounded(void **state)
{
	static const struct th_watch_world slow = {is_not_killed, look_at_clock};
	struct growing growing;
	struct th_watch watch;
	uint64_t records;

	(void)state;
	clock_now = 0;
	is_killed = false;
	begin_growing(&growing, INTERVAL);
	write_part(&growing, growing.cuts[EVENTS / 2]);
	assert_null(th_watch_open(growing.path, &slow, &watch));
	struct th_watch_view view;
	th_watch_view_init(&view, &watch);
	records = watch.recording->records;
	/* All but the first reading of the clock is the cost of the update. */
	assert_int_equal(watch.due, clock_now + 10 * (clock_now - TH_NS_PER_S));
	write_part(&growing, growing.log.length);
	clock_now = watch.as_of;
	watch.due = clock_now + 30 * (uint64_t)TH_NS_PER_S;
	th_watch_update(&watch);
	expect_age(&view, NULL);
	clock_now = watch.as_of + 6 * (uint64_t)TH_NS_PER_S;
	th_watch_update(&watch);
	expect_age(&view, ", figures 8 s old");
	assert_int_equal(watch.recording->records, records);
	clock_now = watch.due;
	th_watch_update(&watch);
	expect_age(&view, NULL);
	assert_true(watch.recording->records > records);
	/* The end of the process triggers an update at once. */
	watch.due = UINT64_MAX;
	is_killed = true;
	th_watch_update(&watch);
	assert_int_equal(watch.state, TH_WATCH_GONE);
	assert_int_equal(watch.as_of, watch.recording->end);
	th_watch_view_deinit(&view);
	th_watch_close(&watch);
	end_growing(&growing);
}

/* Curves advance with time even without new events. */
static void
test_curves_move_on(void **state)
{
	struct growing growing;
	struct th_watch watch;
	double before[TH_WATCH_SECONDS], after[TH_WATCH_SECONDS];

	(void)state;
	begin_growing(&growing, 0);
	write_part(&growing, growing.log.length);
	open_watch(growing.path, &watch);
	const struct th_watch_site *all = &watch.heaps[TH_HEAP_NATIVE];
	th_watch_live_curve(&watch, all, before);
	watch.second += 10;
	th_watch_live_curve(&watch, all, after);
	for (int i = 0; i < TH_WATCH_SECONDS; i++)
		assert_close(after[i],
			before[i + 10 < TH_WATCH_SECONDS ? i + 10 : TH_WATCH_SECONDS - 1]);
	assert_float_equal(th_watch_rate(&watch, all), 0, 0);
	watch.second += TH_WATCH_SECONDS;
	assert_float_equal(th_watch_growth(&watch, all), 0, 0);
	th_watch_close(&watch);
	end_growing(&growing);
}

/* A mapping that is unmapped in parts: each part counts from its own time, whenever it is read. */
static void
test_parts_of_a_mapping(void **state)
{
	static const struct {
		uint32_t ms;
		uint64_t bytes;
		double live;
	} parts[] = {{2000, 1000, 9000}, {3000, 5000, 4000}, {5000, 4000, 0}};
	const uint64_t frames[] = {th_frame_native(MODULE, 0x10)};
	struct growing growing = {.cut_count = 0};
	double curve[TH_WATCH_SECONDS];
	struct th_watch watch;

	(void)state;
	log_init(&growing.log, 0);
	log_module(&growing.log, MODULE, "/nonexistent/libwork.so");
	log_stack(&growing.log, 1, frames, 1);
	uint64_t mapping = log_mapped(&growing.log,
		(struct log_sample){.ms = 1000, .size = 10000, .thread = 1, .stack = 1});
	log_mapped(&growing.log,
		(struct log_sample){.ms = 1000, .size = 100, .thread = 1, .stack = 1});
	cut_here(&growing);
	growing.path = log_save_bytes("x", 1);
	write_part(&growing, growing.cuts[0]);
	open_watch(growing.path, &watch);
	const struct th_watch_site *all = &watch.heaps[TH_HEAP_MAPPED];
	assert_float_equal(live_of(all), 10100, 1e-6);
	for (size_t i = 0; i < 3; i++) {
		log_mapped_end(&growing.log, parts[i].ms, mapping, parts[i].bytes);
		write_part(&growing, growing.log.length);
		th_watch_update(&watch);
		assert_float_equal(live_of(all), parts[i].live + 100, 1e-6);
		assert_int_equal(all->live.samples, parts[i].live > 0 ? 2 : 1);
		/* What is mapped once at the start does not grow. */
		assert_float_equal(th_watch_growth(&watch, all), 0, 0);
		assert_int_equal(watch.sites_count, 1);
		assert_float_equal(live_of(&watch.sites[0]), parts[i].live + 100, 1e-6);
		struct th_estimate live = th_profile_live(watch.profile, TH_HEAP_MAPPED);
		assert_float_equal(live.estimate, parts[i].live + 100, 1e-6);
	}
	th_watch_live_curve(&watch, all, curve);
	const double last[] = {0, 10100, 9100, 4100, 4100, 100};
	for (int i = 0; i < 6; i++)
		assert_float_equal(curve[TH_WATCH_SECONDS - 6 + i], last[i], 0.01);
	assert_float_equal(allocated_of(all), 10100, 1e-6);
	/* After 16 s without the first five: only the last part was unmapped in that time. */
	watch.second = 15;
	assert_float_equal(th_watch_growth(&watch, all), -4000.0 / 11, 0.01);
	th_watch_close(&watch);
	end_growing(&growing);
}

/* An unfinished record delays the following ones by one update and is not lost. */
static void
test_unfinished_record(void **state)
{
	struct growing growing;
	struct th_watch watch;
	uint64_t word;

	(void)state;
	begin_growing(&growing, 0);
	size_t hole = growing.cuts[10];
	memcpy(&word, growing.log.bytes + hole, 8);
	memset(growing.log.bytes + hole, 0, 8);
	write_part(&growing, growing.cuts[9]);
	struct th_recording *recording;
	assert_null(th_recording_follow(growing.path, &recording));
	uint64_t records = recording->records;
	write_part(&growing, growing.cuts[20]);
	th_recording_update(recording);
	assert_int_equal(recording->records, records + 1);
	memcpy(growing.log.bytes + hole, &word, 8);
	write_part(&growing, growing.cuts[20]);
	th_recording_update(recording);
	assert_int_equal(recording->records, records + 11);
	assert_int_equal(recording->torn, 0);
	th_recording_destroy(recording);
	/* A record that stays unfinished is skipped. */
	memset(growing.log.bytes + hole, 0, 8);
	write_part(&growing, growing.cuts[9]);
	open_watch(growing.path, &watch);
	write_part(&growing, growing.cuts[20]);
	th_watch_update(&watch);
	th_watch_update(&watch);
	assert_int_equal(watch.recording->records, records + 10);
	assert_int_equal(watch.recording->torn, 1);
	th_watch_close(&watch);
	end_growing(&growing);
}

/* Expects a table with one row of that name. */
static void
expect_only_row(const struct th_watch *watch, const char *name)
{
	struct th_watch_table table;

	th_watch_table_init(&table);
	th_watch_table_update(&table, watch);
	assert_int_equal(table.rows_count, 1);
	assert_string_equal(th_watch_table_name(&table, watch, table.rows[0].site), name);
	th_watch_table_deinit(&table);
}

/* The stack of a sample and the name of its method arrive later: the sample moves. */
static void
test_late_names(void **state)
{
	const uint64_t frames[] = {th_frame_java(7, 5)};
	struct growing growing = {.cut_count = 0};
	struct th_watch watch;

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
	open_watch(growing.path, &watch);
	expect_only_row(&watch, "byte[] in [lost stack]");
	write_part(&growing, growing.cuts[1]);
	th_watch_update(&watch);
	expect_only_row(&watch, "byte[] in [unknown Java method]");
	write_part(&growing, growing.log.length);
	th_watch_update(&watch);
	expect_only_row(&watch, "byte[] in app.Late.comer");
	th_watch_close(&watch);
	end_growing(&growing);
}

/* The same for a native function, in a module without a file. */
static void
test_late_native_names(void **state)
{
	const uint64_t frames[] = {th_frame_native(1, 0x10)};
	struct growing growing = {.cut_count = 0};
	struct th_watch watch;

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
	open_watch(growing.path, &watch);
	expect_only_row(&watch, "libwork.so+0x10");
	write_part(&growing, growing.cuts[1]);
	th_watch_update(&watch);
	expect_only_row(&watch, "libwork.so+0x10");
	write_part(&growing, growing.log.length);
	th_watch_update(&watch);
	expect_only_row(&watch, "work (libwork.so)");
	th_watch_close(&watch);
	end_growing(&growing);
}

static void
test_table(void **state)
{
	struct growing growing;
	struct th_watch_table table;
	struct th_watch watch;

	(void)state;
	begin_growing(&growing, 0);
	write_part(&growing, growing.log.length);
	open_watch(growing.path, &watch);
	th_watch_table_init(&table);
	for (int order = 0; order < TH_WATCH_ORDERS; order++) {
		table.order = (enum th_watch_order)order;
		th_watch_table_update(&table, &watch);
		assert_int_equal(table.rows_count, 3 * SITES);
		for (size_t i = 1; i < table.rows_count; i++)
			assert_true(table.rows[i - 1].key >= table.rows[i].key);
	}
	/* The selection follows its site. */
	th_watch_table_move(&table, 3);
	uint32_t chosen = table.selected;
	assert_int_equal(th_watch_table_position(&table), 3);
	table.order = TH_WATCH_BY_LIVE;
	th_watch_table_update(&table, &watch);
	assert_int_equal(table.rows[th_watch_table_position(&table)].site, chosen);
	th_watch_table_move(&table, 1000);
	assert_int_equal(th_watch_table_position(&table), 3 * SITES - 1);
	th_watch_table_move(&table, -1000);
	assert_int_equal(th_watch_table_position(&table), 0);
	/* Filters */
	assert_true(th_watch_table_filter(&table, "LIBWORK.so\\+0x(10|20) "));
	th_watch_table_update(&table, &watch);
	assert_int_equal(table.rows_count, 6);
	assert_false(th_watch_table_filter(&table, "("));
	table.heaps = 1u << TH_HEAP_JAVA;
	th_watch_table_update(&table, &watch);
	assert_int_equal(table.rows_count, 2);
	assert_true(th_watch_table_filter(&table, ""));
	th_watch_table_update(&table, &watch);
	assert_int_equal(table.rows_count, SITES);
	th_watch_table_deinit(&table);
	th_watch_close(&watch);
	end_growing(&growing);
}

/* The stacks of all sites add up to the total. */
static void
test_stacks_add_up(void **state)
{
	struct growing growing;
	struct th_watch watch;

	(void)state;
	begin_growing(&growing, 0);
	write_part(&growing, growing.log.length);
	open_watch(growing.path, &watch);
	for (uint32_t i = 0; i < watch.sites_count; i++) {
		struct th_watch_stacks stacks;
		double live = 0;

		th_watch_stacks_init(&stacks, &watch, i);
		assert_int_equal(stacks.items_count, 1);
		for (size_t k = 0; k < stacks.items_count; k++)
			live += stacks.items[k].live.bytes.seen;
		assert_close(live, live_of(&watch.sites[i]));
		th_watch_stacks_deinit(&stacks);
	}
	th_watch_close(&watch);
	end_growing(&growing);
}

static void
test_sparkline(void **state)
{
	const double rising[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
	const double nothing[4] = {0};
	char text[64];

	(void)state;
	th_watch_sparkline(rising, 9, 9, false, text);
	assert_string_equal(text, " ▁▂▃▄▅▆▇█");
	th_watch_sparkline(rising, 9, 3, false, text);
	assert_string_equal(text, "▂▅█");
	th_watch_sparkline(rising, 9, 9, true, text);
	assert_string_equal(text, " ..:-=+*#");
	th_watch_sparkline(rising, 9, 18, true, text);
	assert_string_equal(text, "  ....::--==++**##");
	th_watch_sparkline(nothing, 4, 4, false, text);
	assert_string_equal(text, "    ");
}

/* A leak is shown as soon as it is significant, and its site is marked. */
static void
test_findings(void **state)
{
	struct log_builder log;
	struct th_watch watch;

	(void)state;
	leaks_begin(&log);
	leaks_add_leak(&log, STACK_WORK);
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_OTHER, .to = END_MS, .every = 100, .life = 50});
	log_end(&log, END_MS);
	char *path = log_save(&log);
	assert_null(th_watch_open(path, &world, &watch));
	assert_non_null(watch.findings.headline);
	assert_memory_equal(watch.findings.headline, "1 leak, ", 8);
	assert_int_equal(watch.sites_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(watch.sites[i].is_leak, live_of(&watch.sites[i]) > 50 * BLOCK);
	th_watch_close(&watch);
	unlink(path);
	free(path);
	log_deinit(&log);
}

/* Keys of top: the sort column to the left and right, the reverse order, and to freeze. */
static void
test_keys_of_top(void **state)
{
	struct growing growing;
	struct th_watch watch;
	struct th_watch_view view;

	(void)state;
	begin_growing(&growing, 0);
	write_part(&growing, growing.log.length);
	open_watch(growing.path, &watch);
	th_watch_view_init(&view, &watch);
	th_watch_view_key(&view, '>');
	assert_int_equal(view.table.order, TH_WATCH_BY_GROWTH);
	th_watch_view_key(&view, '<');
	th_watch_view_key(&view, '<');
	assert_int_equal(view.table.order, TH_WATCH_BY_RATE);
	th_watch_view_key(&view, 'R');
	for (size_t i = 1; i < view.table.rows_count; i++)
		assert_true(view.table.rows[i - 1].key >= view.table.rows[i].key);
	assert_true(view.table.rows[0].key <= 0);
	th_watch_view_key(&view, 'z');
	assert_true(view.is_paused);
	th_watch_view_key(&view, 'o');
	assert_true(view.is_typing);
	th_watch_view_deinit(&view);
	th_watch_close(&watch);
	end_growing(&growing);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_come_to_the_whole),
		cmocka_unit_test(test_figures_are_those_of_summary),
		cmocka_unit_test(test_rate_is_bounded),
		cmocka_unit_test(test_curves_move_on),
		cmocka_unit_test(test_parts_of_a_mapping),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_keys_of_top),
		cmocka_unit_test(test_unfinished_record),
		cmocka_unit_test(test_late_names),
		cmocka_unit_test(test_late_native_names),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_stacks_add_up),
		cmocka_unit_test(test_sparkline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
