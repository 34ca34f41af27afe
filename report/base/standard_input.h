/* SPDX-License-Identifier: Apache-2.0 */
/* A log on standard input, for the operand "-". */
#ifndef TH_REPORT_BASE_STANDARD_INPUT_H
#define TH_REPORT_BASE_STANDARD_INPUT_H

#include "report/base/error.h"

/*
 * The path of a file with the contents of standard input, valid until the program ends: a pipe is
 * copied to memory, since a log is read at random. Standard input is read once; later calls
 * return the same.
 */
struct th_error *th_standard_input_path(const char **path_ret);

#endif
