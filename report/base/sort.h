/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_REPORT_BASE_SORT_H
#define TH_REPORT_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts numbers, ascending; sorted ones take one pass. */
void th_sort_numbers(uint32_t *numbers, size_t count);

/* Sorts items of `size` bytes by the uint64_t, such as a time, that each begins with; likewise. */
void th_sort_by_word(void *items, size_t count, size_t size);

#endif
