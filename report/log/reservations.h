/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the latest of many address ranges that contains an address. A later range hides what it
 * covers of earlier ones, so n ranges are at most 2 n pieces, in a balanced tree.
 */
#ifndef TH_REPORT_LOG_RESERVATIONS_H
#define TH_REPORT_LOG_RESERVATIONS_H

#include <stdint.h>

/* Empty when zeroed. */
struct th_reservations {
	void *pieces;   /* tree of tsearch() */
	uint32_t count; /* of ranges */
};

/* Adds a range, which gets the next number, from 1; a range of 0 bytes contains no address. */
void th_reservations_add(struct th_reservations *reservations, uint64_t start, uint64_t bytes);

/* The number of the latest range that contains an address, 0 = none. */
uint32_t th_reservations_find(const struct th_reservations *reservations, uint64_t address);

void th_reservations_deinit(struct th_reservations *reservations);

#endif
