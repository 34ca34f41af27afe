/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are sorted, few and many, small and large ones. */
#include "report/base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int
compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* Numbers of at most `bits` bits are sorted as qsort() does. */
static void
check(size_t count, unsigned bits)
{
	uint32_t *numbers = calloc(count + 1, sizeof(*numbers));
	uint32_t *expected = calloc(count + 1, sizeof(*expected));
	uint64_t state = bits;

	for (size_t i = 0; i < count; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		numbers[i] = expected[i] = (uint32_t)(state >> (64 - bits));
	}
	qsort(expected, count, sizeof(*expected), compare);
	th_sort_numbers(numbers, count);
	assert_memory_equal(numbers, expected, count * sizeof(*numbers));
	/* Sorted ones stay as they are. */
	th_sort_numbers(numbers, count);
	assert_memory_equal(numbers, expected, count * sizeof(*numbers));
	free(numbers);
	free(expected);
}

static void
numbers_are_sorted_as_by_comparison(void **test)
{
	static const unsigned bits[] = {1, 8, 11, 12, 22, 23, 32};

	(void)test;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		check(0, bits[i]);
		check(1, bits[i]);
		check(100, bits[i]);
		check(5000, bits[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_sorted_as_by_comparison),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
