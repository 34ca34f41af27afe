/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resident bytes of each sampled block that was alive at a snapshot of resident memory. Mapped memory
 * is not yet used: an allocator maps chunks that it fills later, as its snapshots show.
 */
#ifndef TH_REPORT_PROFILE_RESIDENT_BLOCKS_H
#define TH_REPORT_PROFILE_RESIDENT_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"

struct th_resident_blocks {
	struct th_id_map ids; /* record of the sample -> index */
	TH_ARRAY(uint64_t, words);
};

/* Reads the data of the snapshot with that number on the samples with these records; NULL: on all. */
void th_resident_blocks_init(struct th_resident_blocks *touched,
	const struct th_recording *recording, uint32_t account,
	const struct th_id_map *records);
void th_resident_blocks_deinit(struct th_resident_blocks *touched);

/* The word of TOUCHED for a sample; false: the snapshot has no data on it. */
bool th_resident_blocks_find(const struct th_resident_blocks *touched,
	const struct th_sample *sample, uint64_t *word_ret);

/* Snapshots of mapped memory over time. */
struct th_resident_mappings {
	TH_ARRAY(uint64_t, times); /* of the snapshots that have data on pages, ascending */
	TH_ARRAY(struct th_resident_blocks, blocks); /* by snapshot: samples of mapped memory */
	bool has_data;
};

/* Gathers the data of the snapshots up to the time `to`. */
void th_resident_mappings_init(struct th_resident_mappings *residency,
	const struct th_recording *recording, uint64_t to);
void th_resident_mappings_deinit(struct th_resident_mappings *residency);

/* Resident bytes of a sample according to a word. */
static inline double
th_touched_bytes(const struct th_sample *sample, uint64_t word)
{
	uint64_t bytes = word & TH_TOUCHED_BYTES;

	return (double)(bytes < sample->size ? bytes : sample->size);
}

#endif
