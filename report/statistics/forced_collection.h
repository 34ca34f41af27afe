/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full collections that the library requested: at exit, every so often (--gc-every), by `ctl gc`.
 * What they free is not freed by the program, so native memory is judged before them.
 *
 * And which native blocks were freed because a collection found their Java owner unreachable: the
 * program dropped the owner and did not close it.
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

/* The last one that was requested because the Java VM was about to end; false: none was. */
bool th_forced_collection_at_exit(
	const struct th_recording *recording, struct th_forced_collection *ret);

struct th_reference_frees {
	TH_ARRAY(struct th_forced_collection, collections); /* by time */
	bool *is_reference_thread;                          /* by index of the thread */
};

void
th_reference_frees_init(struct th_reference_frees *frees, const struct th_recording *recording);
void th_reference_frees_deinit(struct th_reference_frees *frees);

/*
 * Whether a block was freed by a thread that runs Cleaners or finalizers, or by any thread during a
 * full collection that the library requested.
 */
bool
th_reference_frees_has(const struct th_reference_frees *frees, const struct th_free_info *info);

#endif
