/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the latest of many address ranges that contains an address. A later range hides what it
 * covers of earlier ones.
 *
 * Ranges are added one at a time. Level k holds 2^k consecutive ranges, or none, as disjoint
 * sorted pieces; lower levels are later. A new range is a level 0, and two levels of one size
 * are merged into one of the next, so n ranges cost n log n in total, and a lookup at most one
 * bisection per level.
 */
#ifndef TH_REPORT_LOG_RESERVATIONS_H
#define TH_REPORT_LOG_RESERVATIONS_H

#include <stddef.h>
#include <stdint.h>

#define TH_RESERVATION_LEVELS 32

/* [first, last] of a range, without what later ones hide. */
struct th_reservation_piece {
	uint64_t first;
	uint64_t last;
	uint32_t number; /* of the range, from 1 */
};

/* Empty when zeroed. */
struct th_reservations {
	struct {
		struct th_reservation_piece *pieces; /* NULL: none */
		size_t count;
	} levels[TH_RESERVATION_LEVELS];
	uint32_t count; /* of ranges */
};

/* Adds a range, which gets the next number, from 1; a range of 0 bytes contains no address. */
void th_reservations_add(struct th_reservations *reservations, uint64_t start, uint64_t bytes);

/* The number of the latest range that contains an address, 0 = none. */
uint32_t th_reservations_find(const struct th_reservations *reservations, uint64_t address);

void th_reservations_deinit(struct th_reservations *reservations);

#endif
