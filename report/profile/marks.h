/* SPDX-License-Identifier: Apache-2.0 */
/* Marks as times: --from mark:NAME. */
#ifndef TH_REPORT_PROFILE_MARKS_H
#define TH_REPORT_PROFILE_MARKS_H

#include "report/base/error.h"
#include "report/profile/options.h"

/*
 * Replaces the marks that the options name by their times in the log that the options name. If
 * a mark occurs more than once, the last one counts.
 */
struct th_error *th_marks_resolve(struct th_options *options);

#endif
