/* SPDX-License-Identifier: Apache-2.0 */
/* The command `holders` of ctl. */
#ifndef TH_REPORT_CONTROL_CTL_HOLDERS_H
#define TH_REPORT_CONTROL_CTL_HOLDERS_H

#include "report/control/ctl.h"
#include "report/control/request.h"

/*
 * Estimates the cost, prints it, and lets the process find what holds its sampled Java objects; then
 * prints the command that shows the result.  `arguments`: what follows the command, `target_text`:
 * what the user called the recording.  TH_ERROR_REFUSED if it would cost more than allowed.
 */
struct th_error *th_ctl_holders(struct th_target *target, const char *target_text, int count,
	char **arguments, bool is_json, th_ctl_select *select);

#endif
