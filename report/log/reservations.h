/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of many ranges of addresses, each of which hides what it covers of those before it, holds
 * an address.
 *
 * Ranges come one by one.  Level k holds 2^k of them in a row, or none, as disjoint pieces in
 * order; lower levels are later.  A new range is a level 0, and two levels of one size are merged
 * to one of the next, so n ranges cost n log n in all, and a lookup at most a bisection for each
 * level.
 */
#ifndef TH_REPORT_LOG_RESERVATIONS_H
#define TH_REPORT_LOG_RESERVATIONS_H

#include <stddef.h>
#include <stdint.h>

#define TH_RESERVATION_LEVELS 32

/* [first, last] of a range, as far as later ones do not hide it. */
struct th_reservation_piece {
	uint64_t first;
	uint64_t last;
	uint32_t number; /* of the range, from 1 */
};

/* Zeroed it is empty. */
struct th_reservations {
	struct {
		struct th_reservation_piece *pieces; /* NULL: none */
		size_t count;
	} levels[TH_RESERVATION_LEVELS];
	uint32_t count; /* of ranges */
};

/* Adds a range, which gets the next number, from 1; one of 0 bytes holds nothing. */
void th_reservations_add(struct th_reservations *reservations, uint64_t start, uint64_t bytes);

/* The number of the latest range that holds an address, 0 = none. */
uint32_t th_reservations_find(const struct th_reservations *reservations, uint64_t address);

void th_reservations_deinit(struct th_reservations *reservations);

#endif
