/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a window adds to the allocated values of a recording: the difference between all that is
 * known now and all that a receiver has accepted, for each call path. So windows that were not
 * accepted are part of the next one, nothing is counted twice, and the sum of everything sent is
 * the total of the recording, also after estimates of earlier windows have changed.
 *
 * Values only grow for a receiver: where an estimate became smaller, or a call path got another
 * name, the reduction is taken off the paths that grew.
 */
#ifndef TH_REPORT_PUSH_INCREMENTS_H
#define TH_REPORT_PUSH_INCREMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/views/export_part.h"

/* Allocated values of a call path: objects, bytes. */
#define TH_INCREMENT_VALUES 2

/* One of a heap, class, thread and path, by a hash of their names. */
struct th_increment {
	int64_t sent[TH_INCREMENT_VALUES];   /* accepted */
	int64_t staged[TH_INCREMENT_VALUES]; /* as `sent` will be once the window is accepted */
	int64_t total[TH_INCREMENT_VALUES];  /* known now */
	uint32_t row;                        /* the first one of this path, now */
	uint8_t heap;
};

/* Zeroed: nothing was sent. */
struct th_increments {
	struct th_id_map keys;
	TH_ARRAY(uint64_t, hashes); /* by number in `keys` */
	TH_ARRAY(struct th_increment, items);
};

void th_increments_deinit(struct th_increments *increments);

/*
 * Replaces the allocated values in `rows`, which th_export_rows() made, by what they add to what
 * was accepted. False: nothing.
 */
bool th_increments_take(struct th_increments *increments, const struct th_profile *profile,
	th_export_row *rows);

/* The values taken last were accepted. */
void th_increments_commit(struct th_increments *increments);

/* Writes what was accepted, and reads it into an empty struct; false: it is no such text. */
void th_increments_write(const struct th_increments *increments, FILE *file);
bool th_increments_read(struct th_increments *increments, FILE *file);

#endif
