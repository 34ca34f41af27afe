/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/sort.h"

#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

void
th_sort_numbers(uint32_t *numbers, size_t count)
{
	size_t i = 1;

	/* Most are sorted already. */
	while (i < count && numbers[i - 1] <= numbers[i])
		i++;
	if (i < count)
		qsort(numbers, count, sizeof(*numbers), compare);
}
