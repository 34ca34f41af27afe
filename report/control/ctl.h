/* SPDX-License-Identifier: Apache-2.0 */
/* The command `ctl`: submits a request to a running recording through its control page. */
#ifndef TH_REPORT_CONTROL_CTL_H
#define TH_REPORT_CONTROL_CTL_H

#include <stddef.h>
#include <stdint.h>

#include "report/base/error.h"

/*
 * Reads from the log of a running process what a walk of the Java heap is limited to: the objects of a
 * class, or of a finding (from 1, if `class_name` is NULL), as th_holder_selected(); to be freed.
 */
typedef struct th_error *th_ctl_select(const char *target, const char *class_name,
	uint64_t finding, uint64_t **items_ret, size_t *count_ret);

/* argv[0] is the name of the command.  Returns the exit status. */
int th_control_main(int argc, char **argv, th_ctl_select *select);

#endif
