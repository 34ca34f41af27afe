/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a recording, as `ctl` prints it, and the format of its output and that of `list`. */
#ifndef TH_REPORT_CONTROL_STATUS_H
#define TH_REPORT_CONTROL_STATUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/base/error.h"
#include "report/control/request.h"
#include "unify/shared/log_format.h"

/* A path or a command line, with unprintable characters replaced; a new reference. */
json_t *th_output_json_text(const char *text);

/* Prints a value on stdout and drops the reference to it. */
void th_output_json(json_t *value);

/* The state on stdout, as lines or as JSON, of the header as the target has it. */
void th_status_print(const struct th_target *target);
void th_status_print_json(const struct th_target *target);

/* Samples of all heaps so far. */
uint64_t th_status_samples(const struct th_log_header *header);

/* ["java", "mapped"] for bits 1 << enum th_heap; a new reference. */
json_t *th_status_json_heaps(unsigned heaps);

#endif
