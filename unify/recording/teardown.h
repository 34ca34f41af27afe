/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks in the log where the process or its Java VM begins to end.  What is freed from then on was
 * held until then: the report takes live values before (report/statistics/teardown.h).
 */
#ifndef TH_UNIFY_RECORDING_TEARDOWN_H
#define TH_UNIFY_RECORDING_TEARDOWN_H

#include "unify/shared/log_format.h"

/*
 * Appends the exact bytes of mapped memory and a TEARDOWN with the current time, once for each
 * cause except SIGNAL.  `detail` may be
 * NULL.  Does nothing unless this process is recorded.  The guard must be held.  Preserves errno.
 * [any]
 */
void th_teardown_begins(enum th_teardown_cause cause, const char *detail);

/* In a forked child: the causes of the parent are forgotten. */
void th_teardown_reset(void);

#endif
