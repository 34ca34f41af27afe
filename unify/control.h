/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's side of the control page (struct th_log_control in the log's header): takes up
 * what somebody asks for while the process runs, and shows what the rate control does.  No
 * socket, no signal: whoever may write the log's file may ask.
 */
#ifndef TH_UNIFY_CONTROL_H
#define TH_UNIFY_CONTROL_H

#include <stdint.h>

#include "unify/rate.h"

/* SetHeapSamplingInterval takes a jint. */
#define TH_CONTROL_INTERVAL_MAX INT32_MAX
#define TH_CONTROL_RATE_MAX 1000000

/*
 * Does what was asked for since the last call, and writes to the log that it did.  The caller is
 * the rate's one writer. [in-malloc]
 */
void th_control_poll(struct th_rate *rate, uint64_t now);

#endif
