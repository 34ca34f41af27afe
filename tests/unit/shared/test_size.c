/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of numbers, sizes, percentages and durations: valid forms, limits of 64 bits, and rejected text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unify/shared/size.h"

#define UNTOUCHED 0x5a5a5a5a5a5a5a5a

static void
test_sizes_that_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {
		{"0", 0},
		{"1", 1},
		{"007", 7},
		{"4096", 4096},
		{"4096B", 4096},
		{"4096b", 4096},
		{"512k", 524288},
		{"512K", 524288},
		{"512kB", 524288},
		{"512KiB", 524288},
		{"512kib", 524288},
		{"2M", 2097152},
		{"2m", 2097152},
		{"1G", 1073741824},
		{"1g", 1073741824},
		{"1GiB", 1073741824},
		{"3T", 3298534883328},
		{"0T", 0},
		/* the largest of each: 2^64 - 1, and the last multiple of the unit */
		{"18446744073709551615", UINT64_MAX},
		{"18014398509481983k", UINT64_MAX - 1023},
		{"16777215T", 0xffffff0000000000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t bytes = UNTOUCHED;

		assert_true(th_size_parse(sizes[i].text, &bytes));
		assert_int_equal(bytes, sizes[i].bytes);
	}
}

static void
test_texts_that_are_no_sizes(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"k",
		"B",
		"iB",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1 k",
		"1kk",
		"1i",
		"1iB",
		"1ki",
		"1kBB",
		"1kiBx",
		"1P",
		"1.5M",
		"0x10",
		"1e6",
		"1\n",
		"12three",
		"1,024",
		/* 2^64, and one unit more than fits */
		"18446744073709551616",
		"18014398509481984k",
		"17592186044416M",
		"17179869184G",
		"16777216T",
		"99999999999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint64_t bytes = UNTOUCHED;

		assert_false(th_size_parse(texts[i], &bytes));
		assert_int_equal(bytes, UNTOUCHED);
	}
}

static void
parts_in_percent(void **state)
{
	static const struct {
		const char *text;
		uint64_t millionths;
	} good[] = {{"1%", 10000}, {"1", 10000}, {"0.5%", 5000}, {"0.5 %", 5000},
		{"100%", 1000000}, {"0.0001%", 1}, {"12.3456", 123456}, {"0", 0}};
	static const char *const bad[] = {"", "%", "-1%", "101%", "100.1%", "1%%", "1 %x", ".5",
		"1.23456%", "1e2", "99999999999999999999%"};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(th_percent_parse(good[i].text, &value));
		assert_int_equal(value, good[i].millionths);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (th_percent_parse(bad[i], &value))
			fail_msg("%s", bad[i]);
	}
}

static void
durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} good[] = {{"30", 30}, {"30s", 30}, {"5m", 300}, {"2h", 7200}, {"0", 0}};
	static const char *const bad[] = {"", "s", "-1", "1.5s", "1ms", "1 s", "1ss",
		"99999999999999999999", "9999999999999999999h"};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(th_seconds_parse(good[i].text, &value));
		assert_int_equal(value, good[i].seconds);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (th_seconds_parse(bad[i], &value))
			fail_msg("%s", bad[i]);
	}
}

static void
numbers(void **state)
{
	static const char *const bad[] = {
		"", " 1", "1 ", "-1", "+1", "0x1", "1k", "18446744073709551616"};
	uint64_t value = UNTOUCHED;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(th_number_parse(bad[i], &value));
	assert_int_equal(value, UNTOUCHED);
	assert_true(th_number_parse("18446744073709551615", &value));
	assert_int_equal(value, UINT64_MAX);
	assert_true(th_number_parse("007", &value));
	assert_int_equal(value, 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_that_read),
		cmocka_unit_test(test_texts_that_are_no_sizes),
		cmocka_unit_test(parts_in_percent),
		cmocka_unit_test(durations),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
