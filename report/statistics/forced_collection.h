/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full collections that the library requested: at exit, every so often (--gc-every), by `ctl gc`.
 * What they free is not freed by the program, so native memory is judged before them.
 */
#ifndef TH_REPORT_STATISTICS_FORCED_COLLECTION_H
#define TH_REPORT_STATISTICS_FORCED_COLLECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"

/* Times: from the request until the VM has ended it and deaths are logged. */
struct th_forced_collection {
	uint64_t start;
	uint64_t end;
};

struct th_forced_collections {
	TH_ARRAY(struct th_forced_collection, items); /* by time */
};

void th_forced_collections_init(
	struct th_forced_collections *collections, const struct th_recording *recording);
void th_forced_collections_deinit(struct th_forced_collections *collections);

/* Whether `time` is within one of them. */
bool
th_forced_collections_contain(const struct th_forced_collections *collections, uint64_t time);

/* The last one that was requested because the Java VM was about to end; false: none was. */
bool th_forced_collection_at_exit(
	const struct th_recording *recording, struct th_forced_collection *ret);

#endif
