/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which native blocks were freed because a collection found their Java owner unreachable: the
 * program dropped the owner and did not close it.
 */
#ifndef TH_REPORT_STATISTICS_REFERENCE_FREES_H
#define TH_REPORT_STATISTICS_REFERENCE_FREES_H

#include <stdbool.h>

#include "report/statistics/forced_collection.h"

struct th_reference_frees {
	struct th_forced_collections collections;
	bool *is_reference_thread; /* by index of the thread */
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
