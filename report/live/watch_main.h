/* SPDX-License-Identifier: Apache-2.0 */
/* The command that shows a running recording on a terminal. */
#ifndef TH_REPORT_LIVE_WATCH_MAIN_H
#define TH_REPORT_LIVE_WATCH_MAIN_H

#include "report/base/error.h"
#include "report/profile/options.h"

/* Shows the log or process of the options until the user quits. */
struct th_error *th_watch_run(const struct th_options *options);

#endif
