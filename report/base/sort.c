/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/sort.h"

#include <stdlib.h>

void
th_sort_items(
	void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	const char *item = items;
	size_t i = 1;

	for (; i < count && compare(item, item + size) <= 0; i++)
		item += size;
	if (i < count)
		qsort(items, count, size, compare);
}

TH_COMPARE(compare, uint32_t, th_order(*left, *right))

void
th_sort_numbers(uint32_t *numbers, size_t count)
{
	th_sort(numbers, count, compare);
}

TH_COMPARE(compare_words, uint64_t, th_order(*left, *right))

void
th_sort_by_word(void *items, size_t count, size_t size)
{
	th_sort_items(items, count, size, compare_words);
}
