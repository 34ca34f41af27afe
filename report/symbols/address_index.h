/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of addresses, possibly nested, and lookup of the range that an address is in. Filled,
 * sorted once, then searched many times.
 */
#ifndef TH_REPORT_SYMBOLS_ADDRESS_INDEX_H
#define TH_REPORT_SYMBOLS_ADDRESS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "report/base/allocate.h"

struct th_address_range {
	uint64_t start;
	uint64_t end;   /* one past the last address; == start: a label of unknown extent */
	uint32_t value; /* the caller's */
	uint32_t
		rank; /* of two ranges with one extent, the one with the higher rank is found */
};

/* Zeroed: empty. */
struct th_address_index {
	TH_ARRAY(struct th_address_range, ranges);
	uint64_t
		*reach; /* reach[i]: highest end of ranges[0..i]; bounds the search backwards */
};

void th_address_index_deinit(struct th_address_index *index);

void th_address_index_add(struct th_address_index *index, uint64_t start, uint64_t end,
	uint32_t value, uint32_t rank);

/* Must be called before the first find, and again after every add. */
void th_address_index_sort(struct th_address_index *index);

/*
 * Extends each label that no range covers to the next start, at most to the end of the range of
 * `limits` that it lies in. Call after sort; sorts again.
 */
void th_address_index_extend_labels(
	struct th_address_index *index, const struct th_address_index *limits);

/* The innermost range around `address`, the one that starts last; NULL if there is none. */
const struct th_address_range *
th_address_index_find(const struct th_address_index *index, uint64_t address);

#endif
