/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that never ran is written to an unbounded log and to a ring, which turns several times:
 * both are read, and the figures and the verdicts on leaks compared.  Blocks of one thread and of another one are allocated at
 * some stacks, live for a time that depends on the stack, and are freed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/leaks/leaks.h"
#include "report/log/recording.h"
#include "report/statistics/calibration.h"
#include "report/statistics/lifetimes.h"
#include "tests/unit/log/log_fixture.h"
#include "unify/base/memory.h"
#include "unify/log/ring.h"
#include "unify/log/stack_log.h"

#define RING (UINT64_C(8) << 20)
#define UNBOUNDED (UINT64_C(1) << 30)
#define INTERVAL 4096u
#define SIZE 256u
#define STEP_NS 1000000u /* between two samples */
#define STACKS 8u
#define YOUNG_EVERY 64u
#define MAJOR_EVERY 4096u
#define HEAP_BYTES (UINT64_C(1) << 40)

/* Blocks at stack k live for lives[k] samples; one in LEAKED of the last stack is never freed. */
static const uint32_t lives[STACKS] = {1, 1, 2, 3, 10, 100, 20000, 5};
#define LEAKED 16u
#define LEAKED_RARELY 64u

struct program {
	uint64_t *ids;     /* of samples, by number */
	uint64_t samples;  /* in all */
	uint64_t count;    /* so far */
	uint64_t bytes[2]; /* of the threads */
	uint64_t start;
	uint64_t step; /* nanoseconds between two samples */
	uint32_t leaked;
	uint32_t
		step_every; /* samples between two steps of a change of chunks that is not urgent */
	uint32_t collections;
	uint32_t checks; /* of the log so far */
	enum th_heap heap;
};

static void
open_log(bool is_ring)
{
	const struct th_log_identity identity = {.process_start = 1,
		.process_space = 1,
		.interval = INTERVAL,
		.ring = is_ring ? RING : 0};
	char *path = log_fixture_new_path();

	assert_int_equal(th_log_create(path, is_ring ? RING : UNBOUNDED, &identity), TH_LOG_OK);
	log_fixture_read(path);
	free(path);
}

static void
add_stacks(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		struct th_event_stack stack = {.stack = i};
		uint64_t frames[] = {th_frame_native(0, 0x1000 * i), th_frame_native(0, 0x10)};
		struct th_log_part part = {frames, 2};

		assert_true(th_log_append(TH_EVENT_STACK, &stack, &part, 1));
	}
}

static void
add_thread(uint32_t id, const char *name)
{
	struct th_event_thread thread = {
		.time = th_log_header()->start_monotonic, .thread = id, .tid = id};
	struct th_log_part part = th_log_text(name);

	assert_true(th_log_append(TH_EVENT_THREAD, &thread, &part, 1));
}

static void
begin_program(struct program *program, uint64_t samples, enum th_heap heap)
{
	*program = (struct program){.start = th_log_header()->start_monotonic,
		.step = STEP_NS,
		.leaked = LEAKED,
		.step_every = 1,
		.heap = heap};
	program->samples = samples;
	program->ids = calloc(samples, sizeof(*program->ids));
	assert_non_null(program->ids);
	add_stacks(1, STACKS);
	add_thread(1, "one");
	add_thread(2, "two");
}

static uint64_t
time_now(const struct program *program)
{
	return program->start + program->count * program->step;
}

/* Of Java objects from the middle on, one of 2^LEVEL is followed, also of those from before. */
#define SAMPLES 400000u
#define LEVEL 3u

static uint32_t
level_at(const struct program *program, uint64_t number)
{
	return number >= program->samples / 2 ? LEVEL : 0;
}

static void
free_block(struct program *program, uint64_t number)
{
	struct th_event_native_free freed = {
		.time = time_now(program), .sample = program->ids[number], .thread = 1};
	struct th_event_java_death death = {
		.time = time_now(program), .sample = program->ids[number]};

	if (program->heap == TH_HEAP_JAVA)
		assert_true(th_live_keeps(death.sample, level_at(program, number)) == 0 ||
			    th_log_append(TH_EVENT_JAVA_DEATH, &death, NULL, 0));
	else
		assert_true(th_log_append(TH_EVENT_NATIVE_FREE, &freed, NULL, 0));
}

static void
free_due(struct program *program)
{
	for (unsigned k = 0; k < STACKS; k++) {
		uint64_t number = program->count - lives[k];

		if (program->count >= lives[k] && number % STACKS == k &&
			(k != STACKS - 1 || number / STACKS % program->leaked))
			free_block(program, number);
	}
}

/* A sample stands for INTERVAL bytes of its thread, more or less. */
static void
allocate(struct program *program)
{
	uint64_t number = program->count;
	uint32_t thread = number % 3 != 0;

	program->bytes[thread] += INTERVAL + number % 7;
	const struct th_event_native_alloc alloc = {
		.time = time_now(program),
		.size = SIZE,
		.interval = INTERVAL,
		.thread_bytes = program->bytes[thread],
		.thread = thread + 1,
		.stack = (uint32_t)(number % STACKS) + 1,
		.address = 0x10000 + number * SIZE,
		.function = TH_FUNCTION_MALLOC,
		.flags = TH_NATIVE_TRACKED,
	};
	const struct th_event_java_alloc object = {
		.time = time_now(program),
		.size = SIZE,
		.interval = INTERVAL,
		.thread_bytes = program->bytes[thread],
		.thread = thread + 1,
		.stack = alloc.stack,
	};
	struct th_event_java_level level = {.time = time_now(program), .level = LEVEL};
	if (program->heap == TH_HEAP_JAVA && number == program->samples / 2)
		assert_true(th_log_append(TH_EVENT_JAVA_LEVEL, &level, NULL, 0));
	program->ids[number] = program->heap == TH_HEAP_JAVA
				       ? th_log_append(TH_EVENT_JAVA_ALLOC, &object, NULL, 0)
				       : th_log_append(TH_EVENT_NATIVE_ALLOC, &alloc, NULL, 0);
	assert_true(program->ids[number]);
	program->count++;
}

/*
 * Young collections, and up to three quarters of the time some that judge old objects: of those the
 * segments of a ring have none at the end.
 */
static void
collect(struct program *program)
{
	const bool is_major = program->count % MAJOR_EVERY == 0 &&
			      program->count <= program->samples * 3 / 4;
	struct th_event_collection collection = {.start = time_now(program) - program->step / 4,
		.end = time_now(program) - program->step / 8,
		.number = ++program->collections};
	struct th_event_heap_use use = {.time = time_now(program) - program->step / 8,
		.used = HEAP_BYTES,
		.committed = HEAP_BYTES,
		.collections = program->collections};
	struct th_log_part kind = th_log_text(
		is_major ? "G1 full collection pauses (Metadata GC Threshold)"
			 : "G1 young collection pauses (G1 Evacuation Pause)");
	struct th_log_part source = th_log_text("test");

	assert_true(th_log_append(TH_EVENT_COLLECTION, &collection, &kind, 1));
	assert_true(th_log_append(TH_EVENT_HEAP_USE, &use, &source, 1));
}

/* `after_step`, if not NULL, is called after each step of a change of chunks. */
static void
run_program(struct program *program, uint64_t samples, void (*after_step)(struct program *))
{
	while (program->count < samples) {
		allocate(program);
		if (program->heap == TH_HEAP_JAVA && program->count % YOUNG_EVERY == 0)
			collect(program);
		free_due(program);
		if (program->count % program->step_every && th_ring_urgency() != TH_RING_NOW)
			continue;
		while (th_ring_step(after_step ? 128u << 10 : 64u << 10))
			if (after_step) {
				after_step(program);
				break; /* the program goes on between the steps */
			}
	}
}

static void
end_program(struct program *program)
{
	free(program->ids);
}

static struct th_recording *
load(void)
{
	struct th_recording *recording;
	struct th_error *error = th_recording_load(log_fixture_path(), &recording);

	if (error)
		fail_msg("%s", th_error_message(error));
	return recording;
}

struct figures {
	struct th_estimate total;
	struct th_estimator stacks[STACKS];
	struct th_estimate stack_bytes[STACKS];
	uint64_t live[STACKS]; /* samples */
	double leaked;         /* samples of the leak, with their weights */
};

/* What the report computes of a log. */
static void
measure(struct figures *figures, enum th_heap heap)
{
	struct th_recording *recording = load();
	struct th_calibration calibration;
	struct th_lifetimes lifetimes;
	const struct th_samples *samples = &recording->samples[heap];

	*figures = (struct figures){.live = {0}};
	assert_int_equal(recording->undecodable, 0);
	assert_int_equal(recording->damaged, 0);
	th_calibration_init(&calibration, recording, heap, &TH_WINDOW_ALL);
	th_lifetimes_init(&lifetimes, recording);
	struct th_moment end = th_lifetimes_moment(&lifetimes, recording->end);
	figures->total = calibration.bytes;
	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		uint32_t stack = recording->stacks[sample->stack].stack - 1;

		assert_true(stack < STACKS);
		th_calibration_add(&calibration, recording, sample, &figures->stacks[stack]);
		uint64_t number = (sample->time - recording->start) / STEP_NS;
		if (heap == TH_HEAP_NATIVE)
			assert_int_equal(
				th_recording_address(recording, sample) -
					th_recording_address(recording, samples->items),
				(number -
					(samples->items[0].time - recording->start) / STEP_NS) *
					SIZE);
		assert_true(heap == TH_HEAP_JAVA || th_recording_address(recording, sample));
		if (number % STACKS == 7 && number / STACKS % LEAKED == 0)
			figures->leaked += 1 / (double)sample->keep;
		figures->live[stack] += th_lifetimes_is_live(&lifetimes, heap, i, &end);
	}
	for (unsigned k = 0; k < STACKS; k++)
		figures->stack_bytes[k] = th_calibration_bytes(
			&calibration, &figures->stacks[k]);
	th_lifetimes_deinit(&lifetimes);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

static uint64_t
disk_bytes(void)
{
	struct stat status;

	assert_int_equal(stat(log_fixture_path(), &status), 0);
	return (uint64_t)status.st_blocks * 512;
}

/*
 * 400,000 samples with their ends are 41 MB: five turns of the ring.  The bytes of the whole are
 * exact in both logs; those of a stack are estimates in the ring, whose interval must cover them.
 */
static void
check_figures(enum th_heap heap)
{
	struct program program;
	struct figures whole, ring;

	open_log(false);
	begin_program(&program, SAMPLES, heap);
	run_program(&program, SAMPLES, NULL);
	measure(&whole, heap);
	log_fixture_detach();
	end_program(&program);

	open_log(true);
	begin_program(&program, SAMPLES, heap);
	run_program(&program, SAMPLES, NULL);
	assert_true(disk_bytes() <= RING);
	assert_int_equal(th_log_header()->counters[TH_COUNTER_RING_LOST], 0);
	assert_true(th_log_header()->counters[TH_COUNTER_RING_THINNED] > SAMPLES / 2);
	measure(&ring, heap);
	assert_float_equal(ring.total.estimate, whole.total.estimate, 1);
	/* Of the leak nothing is thinned out in the C heap, and in the other one some of 3,125. */
	assert_true(fabs(ring.leaked - whole.leaked) <= (heap == TH_HEAP_NATIVE ? 0 : 1250));
	for (unsigned k = 0; k < STACKS; k++) {
		const struct th_estimate *bytes = &ring.stack_bytes[k];

		/* Twice the 95 % interval is 3.9 standard errors: 1 in 10,000, and the seed is fixed. */
		assert_true(fabs(bytes->estimate - whole.stack_bytes[k].estimate) <
			    2 * (bytes->high - bytes->estimate));
		/* 0.1 of the whole is in 9,000 samples of eight stacks. */
		assert_true(bytes->high - bytes->low < bytes->estimate / 2);
		if (heap == TH_HEAP_NATIVE)
			assert_int_equal(ring.live[k], whole.live[k]);
	}
	end_program(&program);
}

static void
test_native_figures(void **state)
{
	(void)state;
	check_figures(TH_HEAP_NATIVE);
}

static void
test_java_figures(void **state)
{
	(void)state;
	check_figures(TH_HEAP_JAVA);
}

/*
 * The file after each step of a change of chunks, as a process that is killed then leaves it: it has the
 * exact total, and all that is alive.
 */
static void
check_now(struct program *program)
{
	struct figures figures;
	uint64_t leaked = 0;

	measure(&figures, TH_HEAP_NATIVE);
	/* A thread is expected to have allocated INTERVAL since its last sample. */
	assert_float_equal(figures.total.estimate,
		(double)(program->bytes[0] + program->bytes[1] + 2 * INTERVAL), 2 * INTERVAL);
	for (uint64_t i = 0; i < program->count; i++)
		leaked += i % STACKS == STACKS - 1 && i / STACKS % LEAKED == 0;
	assert_float_equal(figures.leaked, (double)leaked, 0.001);
	assert_true(figures.live[STACKS - 1] >= leaked);
	for (unsigned k = 0; k < STACKS - 1; k++)
		assert_true(figures.live[k] <= lives[k] / STACKS + 1);
	assert_true(disk_bytes() <= RING);
	program->checks++;
}

#define STEPPED 120000u

static void
check_each_step(uint32_t step_every)
{
	struct program program;

	open_log(true);
	begin_program(&program, STEPPED, TH_HEAP_NATIVE);
	program.step_every = step_every;
	run_program(&program, STEPPED, check_now);
	assert_true(th_ring_chunk() >= 4);
	assert_true(program.checks > 100);
	end_program(&program);
}

static void
test_each_step(void **state)
{
	(void)state;
	check_each_step(1);
}

/* A chunk is full by the time that the one before has been copied: copies lie behind its end. */
static void
test_each_slow_step(void **state)
{
	(void)state;
	check_each_step(300);
}

/* Leaks */

#define DAY_NS (86400 * (uint64_t)1000000000)
#define DAYS 9u
#define MEMORY_BESIDES (1u << 20)

struct verdicts {
	unsigned leaks; /* findings */
	struct th_evidence leak;
};

static void
judge(struct verdicts *verdicts)
{
	char *arguments[] = {"leaks", (char *)(uintptr_t)log_fixture_path(), NULL};
	struct th_options options;
	struct th_recording *recording = load();
	struct th_leaks leaks;

	*verdicts = (struct verdicts){.leaks = 0};
	assert_null(th_options_parse(&options, TH_OPTIONS_OF_LOGS, 2, arguments));
	struct th_profile *profile = th_profile_create(recording, &options, NULL, NULL);
	th_leaks_init(&leaks, profile);
	for (size_t i = 0; i < leaks.findings_count; i++) {
		struct th_finding finding = th_leaks_next(&leaks, leaks.findings[i].group);

		if (finding.evidence.verdict != TH_VERDICT_LEAK)
			continue;
		verdicts->leaks++;
		verdicts->leak = finding.evidence;
	}
	th_leaks_deinit(&leaks);
	th_profile_destroy(profile);
	th_recording_destroy(recording);
	th_options_deinit(&options);
}

static void
run_days(struct verdicts *verdicts, bool is_ring, enum th_heap heap, uint64_t samples,
	uint32_t leaked)
{
	struct program program;

	open_log(is_ring);
	begin_program(&program, samples, heap);
	program.step = DAYS * DAY_NS / samples;
	program.leaked = leaked;
	run_program(&program, samples, NULL);
	judge(verdicts);
	end_program(&program);
	print_message("%u chunks, %" PRIu64 " bytes of memory\n", th_ring_chunk(),
		th_memory_resident());
	if (is_ring) {
		assert_true(th_ring_chunk() > samples / 33000); /* most was dropped */
		assert_true(th_ring_chunk() >= 100 || samples == SAMPLES);
		/* The table of samples, the buffers, and the few other tables of the test. */
		assert_true(th_memory_resident() <= RING / 10 + MEMORY_BESIDES);
	}
	log_fixture_detach();
}

/* Of an estimate on a scale of roots, on which its distribution is nearly symmetric. */
static void
assert_covers(const struct th_estimate *estimate, double truth, const char *what)
{
	double middle = sqrt(estimate->estimate);
	double width = truth < estimate->estimate ? middle - sqrt(estimate->low)
						  : sqrt(estimate->high) - middle;

	print_message("%s: %.2f (%.2f .. %.2f), in truth %.2f\n", what, estimate->estimate,
		estimate->low, estimate->high, truth);
	/* Twice the 95 % interval, as above. */
	assert_true(fabs(middle - sqrt(truth)) <= 2 * width + 1e-3 * middle);
}

/* In nine days one of STACKS x LEAKED samples is of the leak, and each is one of INTERVAL + 3 bytes. */
static void
check_leaks(bool is_ring, enum th_heap heap, uint64_t samples, uint32_t leaked)
{
	const double bytes = (double)samples / (STACKS * leaked) * (INTERVAL + 3);
	struct verdicts verdicts;

	run_days(&verdicts, is_ring, heap, samples, leaked);
	assert_int_equal(verdicts.leaks, 1);
	assert_covers(
		&verdicts.leak.growth, bytes / (DAYS * 86400), "growth in bytes per second");
	if (heap == TH_HEAP_NATIVE)
		assert_covers(&verdicts.leak.live_bytes, bytes, "live bytes");
}

static void
test_native_leak_of_days(void **state)
{
	(void)state;
	check_leaks(false, TH_HEAP_NATIVE, SAMPLES, LEAKED);
	check_leaks(true, TH_HEAP_NATIVE, SAMPLES, LEAKED);
}

static void
test_java_leak_of_days(void **state)
{
	(void)state;
	check_leaks(false, TH_HEAP_JAVA, SAMPLES, LEAKED);
	check_leaks(true, TH_HEAP_JAVA, SAMPLES, LEAKED);
}

static void
test_leaks_after_a_hundred_chunks(void **state)
{
	(void)state;
	check_leaks(true, TH_HEAP_NATIVE, 2000000, LEAKED_RARELY);
	check_leaks(true, TH_HEAP_JAVA, 3000000, LEAKED_RARELY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_native_figures, log_fixture_teardown),
		cmocka_unit_test_teardown(test_java_figures, log_fixture_teardown),
		cmocka_unit_test_teardown(test_each_step, log_fixture_teardown),
		cmocka_unit_test_teardown(test_each_slow_step, log_fixture_teardown),
		cmocka_unit_test_teardown(test_native_leak_of_days, log_fixture_teardown),
		cmocka_unit_test_teardown(test_java_leak_of_days, log_fixture_teardown),
		cmocka_unit_test_teardown(
			test_leaks_after_a_hundred_chunks, log_fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
