/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program (ring_program.h) is written to an unbounded log and to a ring: both are read, and the
 * figures compared.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "report/statistics/calibration.h"
#include "report/statistics/lifetimes.h"
#include "tests/unit/log/ring_program.h"
#include "unify/log/ring.h"

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
	struct th_recording *recording = ring_load();
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
	struct ring_program program;
	struct figures whole, ring;

	ring_open(false);
	ring_begin(&program, SAMPLES, heap);
	ring_run(&program, SAMPLES, NULL);
	measure(&whole, heap);
	log_fixture_detach();
	ring_end(&program);

	ring_open(true);
	ring_begin(&program, SAMPLES, heap);
	ring_run(&program, SAMPLES, NULL);
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
	ring_end(&program);
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
check_now(struct ring_program *program)
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
		assert_true(figures.live[k] <= ring_lives[k] / STACKS + 1);
	assert_true(disk_bytes() <= RING);
	program->checks++;
}

#define STEPPED 120000u

static void
check_each_step(uint32_t step_every)
{
	struct ring_program program;

	ring_open(true);
	ring_begin(&program, STEPPED, TH_HEAP_NATIVE);
	program.step_every = step_every;
	ring_run(&program, STEPPED, check_now);
	assert_true(th_ring_chunk() >= 4);
	assert_true(program.checks > 100);
	ring_end(&program);
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
int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_native_figures, log_fixture_teardown),
		cmocka_unit_test_teardown(test_java_figures, log_fixture_teardown),
		cmocka_unit_test_teardown(test_each_step, log_fixture_teardown),
		cmocka_unit_test_teardown(test_each_slow_step, log_fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
