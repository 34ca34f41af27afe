/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/sort.h"

#include <stdlib.h>

TH_COMPARE(compare, uint32_t, th_order(*left, *right))

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

TH_COMPARE(compare_words, uint64_t, th_order(*left, *right))

void
th_sort_by_word(void *items, size_t count, size_t size)
{
	const char *item = items;
	size_t i = 1;

	for (; i < count && compare_words(item, item + size) <= 0; i++)
		item += size;
	if (i < count)
		qsort(items, count, size, compare_words);
}
