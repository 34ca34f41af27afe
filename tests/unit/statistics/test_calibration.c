/* SPDX-License-Identifier: Apache-2.0 */
/* Totals and weights compared with numbers computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/statistics/calibration.h"
#include "tests/unit/log/log_builder.h"
#include "tests/unit/sample/probability.h"
#include "unify/sample/poisson.h"

#define INTERVAL 1000

static struct th_recording *
load(struct log_builder *log)
{
	struct th_recording *recording = NULL;
	char *path = log_save(log);

	assert_null(th_recording_load(path, &recording));
	unlink(path);
	free(path);
	log_deinit(log);
	return recording;
}

static void
assert_near(double actual, double expected)
{
	if (fabs(actual - expected) > 1e-6 * fabs(expected))
		fail_msg("%.9g instead of %.9g", actual, expected);
}

/* Bytes that one sample of `size` represents, by the definition of the estimator. */
static double
weight(double size, double interval)
{
	return size / (1 - exp(-size / interval));
}

static struct th_calibration
calibrate(const struct th_recording *recording, enum th_heap heap, struct th_window window)
{
	struct th_calibration calibration;

	th_calibration_init(&calibration, recording, heap, &window);
	return calibration;
}

/* `count` samples of one size on a thread, each `gap` bytes after the last, one per ms. */
static void
add_samples(struct log_builder *log, uint32_t thread, uint32_t stack, uint32_t first_ms,
	uint32_t count, uint64_t size, uint64_t gap)
{
	for (uint32_t i = 0; i < count; i++)
		log_native(log, (struct log_sample){
					.ms = first_ms + i,
					.size = size,
					.interval = INTERVAL,
					.thread_bytes = (i + 1) * gap,
					.thread = thread,
					.stack = stack,
				});
}

/* 200 samples represent 200 * s/p; the count is 210,000 bytes. */
static void
test_weights_add_up_to_the_exact_total(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 150, 100, 1000);
	add_samples(&log, 1, 2, 150, 50, 500, 1200);
	log_thread_bytes(&log, 300, TH_HEAP_NATIVE, 1, 210000);
	log_end(&log, 301);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);

	assert_true(calibration.is_calibrated);
	assert_true(calibration.bytes.exact);
	assert_near(calibration.bytes.estimate, 210000);
	assert_int_equal(calibration.bytes.samples, 200);
	assert_false(calibration.objects.exact);
	assert_true(calibration.total_error == 0);

	/* The seen bytes are certain; the unseen ones are scaled to fill the rest. */
	double seen = 150 * 100 + 50 * 500;
	double unseen = 150 * weight(100, INTERVAL) + 50 * weight(500, INTERVAL) - seen;
	double factor = (210000 - seen) / unseen;
	assert_near(calibration.factors[0], factor);

	struct th_estimator part = {0};
	const struct th_samples *samples = &recording->samples[TH_HEAP_NATIVE];
	for (size_t i = 150; i < 200; i++)
		th_calibration_add(&calibration, recording, &samples->items[i], &part);
	struct th_estimate share = th_calibration_bytes(&calibration, &part);
	assert_near(share.estimate, 50 * 500 + factor * 50 * (weight(500, INTERVAL) - 500));
	assert_true(share.low < share.estimate && share.estimate < share.high);
	assert_true(share.high < 210000);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* Below 100 samples the total is exact all the same, and the weights are not changed. */
static void
test_few_samples_are_not_scaled(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 99, 100, 1000);
	log_thread_bytes(&log, 300, TH_HEAP_NATIVE, 1, 120000);
	log_end(&log, 301);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);

	assert_false(calibration.is_calibrated);
	assert_true(calibration.bytes.exact);
	assert_near(calibration.bytes.estimate, 120000);
	assert_true(calibration.factors[0] == 1);
	assert_near(calibration.whole.bytes.seen + calibration.whole.bytes.unseen,
		99 * weight(100, INTERVAL));
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* A thread with 100 samples has a separate factor, two smaller ones share the third's. */
/*
 * The reason: a row of small mappings beside others of several sampling intervals. By weights
 * alone it is right on average; a factor that makes 33 samples add up transfers the random
 * error of the large ones to the small. 4,000 recordings; the standard deviation of one row is
 * 61 %, so that of the mean 1 %.
 */
static void
test_factors_out_of_few_samples_are_biased(void **state)
{
	enum { LARGE = 30, SMALL = 20, RECORDINGS = 4000 };
	const uint64_t interval = 512 << 10;
	const double small = SMALL * (64 << 10);
	const double exact = LARGE * (2.0 * (1 << 20)) + small;
	struct th_random random;
	double plain = 0;
	double scaled = 0;

	(void)state;
	th_random_seed(&random, 8);
	for (int i = 0; i < RECORDINGS; i++) {
		struct th_estimator all = {0}, row = {0};

		for (int k = 0; k < LARGE + SMALL; k++) {
			uint64_t size = k < LARGE ? 2 << 20 : 64 << 10;

			if (th_random_unit(&random) > sampling_probability(size, interval))
				continue;
			th_estimator_add(&all, size, interval, 1, 1);
			if (k >= LARGE)
				th_estimator_add(&row, size, interval, 1, 1);
		}
		plain += (row.bytes.seen + row.bytes.unseen) / RECORDINGS;
		scaled += (row.bytes.seen + row.bytes.unseen * exact_factor(&all, exact)) /
			  RECORDINGS;
	}
	print_message("plain %+.3f, scaled %+.3f\n", plain / small - 1, scaled / small - 1);
	assert_true(fabs(plain / small - 1) < 0.04);
	assert_true(scaled / small - 1 < -0.04);
}

static void
test_factors_of_threads(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 400, 100, 1000);
	add_samples(&log, 2, 1, 0, 60, 100, 1000);
	add_samples(&log, 3, 1, 0, 60, 100, 1000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 1, 500000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 2, 60000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 3, 61000);
	/* A thread that was never sampled, and threads without a record. */
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 4, 500);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 0, 700);
	log_header(&log)->counters[TH_COUNTER_NATIVE_BYTES_QUIET] = 300;
	log_end(&log, 501);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);
	double unseen = weight(100, INTERVAL) - 100;

	assert_true(calibration.bytes.exact);
	assert_near(calibration.bytes.estimate, 500000 + 60000 + 61000 + 500 + 700 + 300);
	assert_near(calibration.factors[0], (500000 - 400 * 100) / (400 * unseen));
	double pool = 60000 + 61000 + 500 + 700 + 300;
	assert_near(calibration.factors[1], (pool - 120 * 100) / (120 * unseen));
	assert_near(calibration.factors[2], calibration.factors[1]);
	assert_near(calibration.whole.bytes.seen + calibration.whole.bytes.unseen,
		calibration.bytes.estimate);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* A pool too small for a factor joins the smallest thread that has one. */
static void
test_small_pool_joins_a_thread(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 400, 100, 1000);
	add_samples(&log, 2, 1, 0, 200, 100, 1000);
	add_samples(&log, 3, 1, 0, 5, 100, 1000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 1, 500000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 2, 220000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 3, 6000);
	log_end(&log, 501);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);

	assert_near(calibration.factors[2], calibration.factors[1]);
	assert_true(fabs(calibration.factors[0] - calibration.factors[1]) > 0.01);
	assert_near(calibration.whole.bytes.seen + calibration.whole.bytes.unseen,
		calibration.bytes.estimate);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/*
 * Many short threads that the sampler missed: 200,000 bytes and 10 samples instead of 200.
 * Their bytes do not affect the factor of the thread that was sampled correctly.
 */
static void
test_threads_passed_over(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 400, 100, 1000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 1, 420000);
	for (uint32_t thread = 2; thread < 12; thread++) {
		add_samples(&log, thread, 2, 0, 1, 100, 1000);
		log_thread_bytes(&log, 500, TH_HEAP_NATIVE, thread, 1000);
	}
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 0, 190000);
	log_end(&log, 501);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);
	double unseen = weight(100, INTERVAL) - 100;

	assert_near(calibration.factors[0], (420000 - 400 * 100) / (400 * unseen));
	assert_near(calibration.factors[1], (200000 - 10 * 100) / (10 * unseen));
	assert_true(fabs(calibration.unplaced) < 1);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* The same without any sample: the bytes are in the total and in no part. */
static void
test_unplaced_bytes(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 400, 100, 1000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 1, 420000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 0, 200000);
	log_end(&log, 501);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);
	double unseen = weight(100, INTERVAL) - 100;

	assert_near(calibration.bytes.estimate, 620000);
	assert_near(calibration.factors[0], (420000 - 400 * 100) / (400 * unseen));
	assert_near(calibration.unplaced, 200000);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/*
 * A log without end.  The count is known up to the last sample: 400,000 bytes with it, so
 * before it 399,900; from there on the sample's own weight is the estimate.
 */
static void
test_log_without_end(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 400, 100, 1000);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);

	assert_false(calibration.bytes.exact);
	assert_near(calibration.bytes.estimate, 399900 + weight(100, INTERVAL));
	assert_true(calibration.bytes.low >= 400000 - 1);
	assert_true(calibration.bytes.high > 401000);
	assert_true(calibration.bytes.high < 410000);
	assert_true(calibration.is_calibrated);
	assert_true(calibration.total_error > 0);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/*
 * The last record is a count, but the process may have continued: not exact, and not above it.
 */
static void
test_count_without_end(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 400, 100, 1000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 1, 400300);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);

	assert_false(calibration.bytes.exact);
	assert_near(calibration.bytes.estimate, 400300);
	assert_near(calibration.bytes.low, 400300);
	assert_true(calibration.bytes.high > 402000);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* Java threads without a count: their samples keep their weights, and nothing is exact. */
static void
test_unknown_java_bytes(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	log_jvm(&log, 17, TH_JVM_SAMPLED_ALLOC);
	for (uint32_t i = 0; i < 200; i++)
		log_java(&log, (struct log_sample){.ms = i,
				       .size = 200,
				       .interval = INTERVAL,
				       .thread = 1,
				       .stack = 1,
				       .class = 1});
	log_end(&log, 300);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_JAVA, TH_WINDOW_ALL);

	assert_true(calibration.is_recorded);
	assert_false(calibration.is_calibrated);
	assert_false(calibration.bytes.exact);
	assert_near(calibration.bytes.estimate, 200 * weight(200, INTERVAL));
	assert_near(calibration.objects.estimate, 200 * weight(200, INTERVAL) / 200);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* One of two Java threads is counted: its part is exact, the other's estimated. */
static void
test_partly_counted(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	log_jvm(&log, 17, TH_JVM_SAMPLED_ALLOC);
	for (uint32_t i = 0; i < 400; i++)
		log_java(&log, (struct log_sample){.ms = i,
				       .size = 200,
				       .interval = INTERVAL,
				       .thread_bytes = i % 2 ? 0 : (i + 1) * 1000,
				       .thread = 1 + i % 2,
				       .stack = 1,
				       .class = 1});
	log_thread_bytes(&log, 500, TH_HEAP_JAVA, 1, 400000);
	log_end(&log, 501);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_JAVA, TH_WINDOW_ALL);

	assert_false(calibration.bytes.exact);
	assert_near(calibration.bytes.estimate, 400000 + 200 * weight(200, INTERVAL));
	assert_true(calibration.factors[1] == 1);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* All samples are not all bytes: 3.69 intervals stay unseen once in 40 times. */
static void
test_part_with_every_sample(void **state)
{
	const double total = 400 * 1000;
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 400, 100, 1000);
	log_thread_bytes(&log, 500, TH_HEAP_NATIVE, 1, 400 * 1000);
	log_end(&log, 501);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);
	struct th_estimate part = th_calibration_bytes(&calibration, &calibration.whole);

	assert_true(calibration.bytes.exact);
	assert_near(calibration.bytes.estimate, total);
	assert_false(part.exact);
	assert_near(part.estimate, total);
	assert_near(part.high, total);
	assert_true(fabs(total - part.low - 3.689 * INTERVAL) < 0.05 * INTERVAL);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/*
 * Two threads, one sample a millisecond each, windows in the middle: the total is that of the
 * counts at the borders, up to the weight of one sample per thread and border.
 */
static void
test_window(void **state)
{
	const struct th_window window = {LOG_START + 200000000, LOG_START + 700000000};
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 1000, 100, 1000);
	add_samples(&log, 2, 1, 0, 1000, 100, 3000);
	log_thread_bytes(&log, 1000, TH_HEAP_NATIVE, 1, 1000000);
	log_thread_bytes(&log, 1000, TH_HEAP_NATIVE, 2, 3000000);
	log_end(&log, 1001);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, window);

	/* Samples 200 .. 699: at both borders the same weight is added, so it cancels. */
	assert_int_equal(calibration.bytes.samples, 1000);
	assert_near(calibration.bytes.estimate, 500 * 1000 + 500 * 3000);
	assert_false(calibration.bytes.exact);
	assert_true(calibration.bytes.high - calibration.bytes.low < 20000);
	assert_true(calibration.is_calibrated);
	assert_near(calibration.whole.bytes.seen + calibration.whole.bytes.unseen,
		calibration.bytes.estimate);
	/* Three times the bytes with the same number of samples. */
	double unseen = 500 * (weight(100, INTERVAL) - 100);
	assert_near(calibration.factors[1], (1500000 - 50000) / unseen);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* Too few samples in the window for separate factors: those of the recording are used. */
static void
test_small_window_is_a_share(void **state)
{
	const struct th_window window = {LOG_START + 200000000, LOG_START + 250000000};
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 1000, 100, 2000);
	log_thread_bytes(&log, 1000, TH_HEAP_NATIVE, 1, 2000000);
	log_end(&log, 1001);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, window);

	assert_int_equal(calibration.bytes.samples, 50);
	assert_true(calibration.is_calibrated);
	/* All samples are equal, so each represents a thousandth of the total. */
	assert_near(calibration.bytes.estimate, 50 * 2000);
	assert_false(calibration.bytes.exact);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

static void
test_no_java(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, INTERVAL);
	add_samples(&log, 1, 1, 0, 10, 100, 1000);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_JAVA, TH_WINDOW_ALL);

	assert_false(calibration.is_recorded);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

/* Interval 0: everything was recorded, everything is exact, objects too. */
static void
test_every_allocation(void **state)
{
	struct log_builder log;

	(void)state;
	log_init(&log, 0);
	for (uint32_t i = 1; i <= 10; i++)
		log_native(&log, (struct log_sample){.ms = i,
					 .size = i,
					 .thread_bytes = i * (i + 1) / 2,
					 .thread = 1,
					 .stack = 1});
	log_thread_bytes(&log, 20, TH_HEAP_NATIVE, 1, 55);
	log_end(&log, 21);
	struct th_recording *recording = load(&log);
	struct th_calibration calibration = calibrate(recording, TH_HEAP_NATIVE, TH_WINDOW_ALL);

	assert_true(calibration.bytes.exact && calibration.objects.exact);
	assert_near(calibration.bytes.estimate, 55);
	assert_near(calibration.objects.estimate, 10);
	th_calibration_deinit(&calibration);
	th_recording_destroy(recording);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights_add_up_to_the_exact_total),
		cmocka_unit_test(test_few_samples_are_not_scaled),
		cmocka_unit_test(test_factors_out_of_few_samples_are_biased),
		cmocka_unit_test(test_factors_of_threads),
		cmocka_unit_test(test_small_pool_joins_a_thread),
		cmocka_unit_test(test_threads_passed_over),
		cmocka_unit_test(test_unplaced_bytes),
		cmocka_unit_test(test_log_without_end),
		cmocka_unit_test(test_count_without_end),
		cmocka_unit_test(test_unknown_java_bytes),
		cmocka_unit_test(test_partly_counted),
		cmocka_unit_test(test_part_with_every_sample),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_small_window_is_a_share),
		cmocka_unit_test(test_no_java),
		cmocka_unit_test(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
