/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a heap between two times, and when a part of them had been taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/statistics/load.h"

#define SECOND UINT64_C(1000000000)
#define LENGTH (TH_LOAD_PARTS * SECOND)

/* `each` samples in every second from one to before another. */
static void
add(struct th_samples *samples, unsigned from, unsigned to, unsigned each, float keep,
	unsigned interval)
{
	for (unsigned second = from; second < to; second++)
		for (unsigned i = 0; i < each; i++)
			samples->items[samples->items_count++] = (struct th_sample){
				.time = SECOND + second * SECOND + i * SECOND / each,
				.size = 1 << 20,
				.interval = interval,
				.keep = keep};
}

/* Since the start. */
static double
second_of(const struct th_load *load, double from, double to, double part)
{
	return (th_load_time(load, from, to, part) - load->from) / (double)SECOND;
}

/*
 * Two bursts of 40 s, at 10 s and at 200 s.  A ring left out three of four of the second, at twice the
 * interval.
 */
static void
bursts(void **state)
{
	struct th_sample items[2 * 40 * 8];
	uint64_t intervals[] = {1024, 2048};
	struct th_recording recording = {.samples = {{.items = NULL}}, .intervals = intervals};
	struct th_load load;
	const double start = SECOND, end = SECOND + LENGTH;

	(void)state;
	recording.samples[TH_HEAP_NATIVE].items = items;
	add(&recording.samples[TH_HEAP_NATIVE], 10, 50, 8, 1, 0);
	add(&recording.samples[TH_HEAP_NATIVE], 200, 240, 2, 0.25F, 1);
	th_load_init_program(&load, &recording, SECOND, SECOND + LENGTH);
	assert_float_equal(th_load_samples(&load, start, end), 640, 1e-6);
	assert_float_equal(th_load_samples(&load, start, start + 30.5 * SECOND), 164, 1e-6);
	assert_float_equal(
		th_load_samples(&load, start + 60 * SECOND, start + 190 * SECOND), 0, 1e-6);
	assert_float_equal(th_load_samples(&load, end, start), 0, 1e-6);
	assert_float_equal(th_load_bytes(&load, start, end), 320 * 3072, 1e-6);
	assert_float_equal(second_of(&load, start, end, 1. / 6), 30, 1e-5);
	assert_float_equal(second_of(&load, start, end, 2. / 3), 220, 1e-5);
	assert_float_equal(second_of(&load, start + 30 * SECOND, end, 0), 30, 1e-5);
	assert_float_equal(second_of(&load, start, end, 1), 240, 1e-5);
}

static void
no_samples(void **state)
{
	const struct th_recording recording = {.samples = {{.items = NULL}}};
	struct th_load load;

	(void)state;
	th_load_init_program(&load, &recording, SECOND, SECOND + LENGTH);
	assert_float_equal(th_load_samples(&load, SECOND, SECOND + LENGTH), 0, 0);
	double time = th_load_time(&load, SECOND, SECOND + LENGTH, 0.5);
	assert_true(time >= (double)SECOND && time <= (double)(SECOND + LENGTH));
	th_load_init_program(&load, &recording, SECOND, SECOND);
	assert_float_equal(th_load_samples(&load, SECOND, SECOND), 0, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bursts),
		cmocka_unit_test(no_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
