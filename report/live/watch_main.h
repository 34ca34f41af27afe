/* SPDX-License-Identifier: Apache-2.0 */
/* The verb that watches a recording on a terminal. */
#ifndef TH_REPORT_LIVE_WATCH_MAIN_H
#define TH_REPORT_LIVE_WATCH_MAIN_H

#include "report/base/error.h"
#include "report/profile/options.h"

/* Watches the log or process of the options until somebody leaves. */
struct th_error *th_watch_run(const struct th_options *options);

#endif
