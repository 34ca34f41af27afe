/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a log that are read and decoded together, so that one thread decodes while another
 * adds the records before to the recording.
 */
#ifndef TH_REPORT_LOG_BATCH_H
#define TH_REPORT_LOG_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "report/log/recording.h"

struct th_batch {
	unsigned char *bytes; /* entries, see batch.c */
	size_t used;
	struct th_cursor after; /* the last record */
	bool is_last;           /* the log ends after it */
};

void th_batch_init(struct th_batch *batch);
void th_batch_deinit(struct th_batch *batch);

/* Replaces the contents by the next records at the cursor, which the schema learns from. */
void th_batch_fill(struct th_batch *batch, struct th_cursor *cursor, struct th_schema *schema);

/* Adds the records to the recording, whose schema and cursor it does not use. */
void th_batch_add(const struct th_batch *batch, struct th_recording *recording);

#endif
