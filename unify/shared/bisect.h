/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_UNIFY_SHARED_BISECT_H
#define TH_UNIFY_SHARED_BISECT_H

#include <stddef.h>

/*
 * Binary search: the number of items, out of `count`, that meet the condition.  Items that meet
 * it must precede those that do not.  `i` is the name that the condition uses for the index of
 * an item. [any]
 *
 *   size_t first = th_bisect(count, i, items[i].time < time);
 */
#define th_bisect(count, i, condition)                                          \
	__extension__({                                                         \
		size_t bisect_low = 0;                                          \
		size_t bisect_high = (count);                                   \
		while (bisect_low < bisect_high) {                              \
			size_t i = bisect_low + (bisect_high - bisect_low) / 2; \
			if (condition)                                          \
				bisect_low = i + 1;                             \
			else                                                    \
				bisect_high = i;                                \
		}                                                               \
		bisect_low;                                                     \
	})

#endif
