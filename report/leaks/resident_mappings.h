/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resident bytes of each sampled mapping at each resident-memory snapshot. Mapped memory is not
 * yet used: an allocator maps chunks that it fills later.
 */
#ifndef TH_REPORT_LEAKS_RESIDENT_MAPPINGS_H
#define TH_REPORT_LEAKS_RESIDENT_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/log/recording.h"

/* Data of a snapshot on a sample; sorted by record and snapshot. */
struct th_resident_mappings_point {
	uint32_t record;
	uint32_t account; /* index into `times` */
	uint64_t bytes;
};

struct th_resident_mappings {
	TH_ARRAY(uint64_t, times); /* of the snapshots that have data on mappings, ascending */
	TH_ARRAY(struct th_resident_mappings_point, points);
};

/* Gathers the data of the snapshots up to the time `to`. */
void th_resident_mappings_init(struct th_resident_mappings *residency,
	const struct th_recording *recording, uint64_t to);
void th_resident_mappings_deinit(struct th_resident_mappings *residency);

/* The points of a sample, by snapshot; NULL if there are none. */
const struct th_resident_mappings_point *th_resident_mappings_find(
	const struct th_resident_mappings *residency, uint32_t record, size_t *count_ret);

#endif
