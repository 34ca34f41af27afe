/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_REPORT_BASE_SORT_H
#define TH_REPORT_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* -1 if the number `left` comes before `right`, 1 if after it, 0 if they are equal. */
#define th_order(left, right)                                                \
	({                                                                   \
		__auto_type order_left_ = (left);                            \
		__auto_type order_right_ = (right);                          \
		(order_left_ > order_right_) - (order_left_ < order_right_); \
	})

/*
 * Defines a function for th_sort(): `expression` is the order of the items `left` and `right`, such as
 * th_order(left->size, right->size) ?: th_order(left->number, right->number).
 */
#define TH_COMPARE(name, type, expression)                               \
	static int name(const void *left_item_, const void *right_item_) \
	{                                                                \
		const type *left = left_item_;                           \
		const type *right = right_item_;                         \
		return expression;                                       \
	}

/* The same for th_sort_with(), whose data the expression names. */
#define TH_COMPARE_WITH(name, type, data_type, data, expression)                      \
	static int name(const void *left_item_, const void *right_item_, void *data_) \
	{                                                                             \
		const type *left = left_item_;                                        \
		const type *right = right_item_;                                      \
		data_type *data = data_;                                              \
		return expression;                                                    \
	}

/* Sorts an array, which may be NULL if it is empty; a sorted one takes one pass. */
#define th_sort(items, count, compare) th_sort_items(items, count, sizeof(*(items)), compare)
#define th_sort_with(items, count, compare, data)                        \
	do {                                                             \
		if ((count) > 0)                                         \
			qsort_r(items, count, sizeof(*(items)), compare, \
				(void *)(uintptr_t)(data));              \
	} while (0)

void th_sort_items(
	void *items, size_t count, size_t size, int (*compare)(const void *, const void *));

/* Sorts numbers, ascending. */
void th_sort_numbers(uint32_t *numbers, size_t count);

/* Sorts items of `size` bytes by the uint64_t, such as a time, that each begins with. */
void th_sort_by_word(void *items, size_t count, size_t size);

#endif
