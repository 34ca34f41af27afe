/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations of exported stacks: a location is a native frame with its inlined functions, a Java
 * frame, or a synthetic frame of the report. Several addresses that print alike may share a
 * location, which has the first one's address.
 */
#ifndef TH_REPORT_VIEWS_LOCATIONS_H
#define TH_REPORT_VIEWS_LOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

/*
 * Called for a new location: the `count` frames that end at `inner`, each inlined into the one
 * before it.
 */
typedef void th_locations_add(void *data, uint64_t id, const uint32_t *inner, size_t count);

struct th_locations {
	const struct th_profile *profile;
	th_locations_add *add;
	void *data;
	/*
	 * Ids of lists of frames, innermost first: number of the list's tail << 32
	 * frame.
	 */
	struct th_id_map lists;
	TH_ARRAY(uint64_t, ids);   /* by number in `lists`: of the location; 0 = none yet */
	TH_ARRAY(uint64_t, stack); /* locations of the current row, leaf first */
	uint64_t count;            /* ids given so far; the first is 1 */
	uint32_t internal_frame;   /* root frame of VM-internal threads */
};

void th_locations_init(struct th_locations *locations, const struct th_profile *profile,
	th_locations_add *add, void *data);
void th_locations_deinit(struct th_locations *locations);

/* Sets `stack` to the locations of a row. */
void th_locations_find(struct th_locations *locations, const struct th_row *row);

/* The module of a frame word of the log; NULL if it has none. */
const struct th_decoded_module *
th_locations_module(const struct th_profile *profile, uint64_t word);

/* The module of the executable; NULL if unknown. */
const struct th_decoded_module *th_locations_executable(const struct th_profile *profile);

#endif
