/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
/* Fewer are sorted by comparison: counting takes a pass over DIGITS counts for each digit. */
#define FEW 2048

static int
compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* One pass of a radix sort: stable, by the digit at `shift`. */
static void
sort_by_digit(const uint32_t *from, uint32_t *to, size_t count, unsigned shift)
{
	size_t starts[DIGITS + 1] = {0};

	for (size_t i = 0; i < count; i++)
		starts[(from[i] >> shift) % DIGITS + 1]++;
	for (size_t i = 0; i < DIGITS; i++)
		starts[i + 1] += starts[i];
	for (size_t i = 0; i < count; i++)
		to[starts[(from[i] >> shift) % DIGITS]++] = from[i];
}

static bool
is_sorted(const uint32_t *numbers, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (numbers[i] < numbers[i - 1])
			return false;
	return true;
}

static uint32_t
largest_of(const uint32_t *numbers, size_t count)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < count; i++)
		largest = numbers[i] > largest ? numbers[i] : largest;
	return largest;
}

void
th_sort_numbers(uint32_t *numbers, size_t count)
{
	uint32_t *from = numbers;
	uint32_t *to;

	if (is_sorted(numbers, count))
		return;
	if (count < FEW) {
		qsort(numbers, count, sizeof(*numbers), compare);
		return;
	}
	uint32_t largest = largest_of(numbers, count);
	uint32_t *copy = th_allocate(count, sizeof(*copy));
	to = copy;
	for (unsigned shift = 0; shift < 32 && largest >> shift; shift += DIGIT_BITS) {
		uint32_t *sorted = to;

		sort_by_digit(from, to, count, shift);
		to = from;
		from = sorted;
	}
	if (from != numbers)
		memcpy(numbers, from, count * sizeof(*numbers));
	free(copy);
}
