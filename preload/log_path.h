/* SPDX-License-Identifier: Apache-2.0 */
/* Where the log goes: the pattern of TWINHEAP_OUTPUT, made absolute, never over another file. */
#ifndef TH_PRELOAD_LOG_PATH_H
#define TH_PRELOAD_LOG_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "unify/log/log.h"

/* Remembers the current directory, which the program may leave.  In the constructor. */
void th_log_path_init(void);

/* Names that are tried before the recording is given up. */
#define TH_LOG_PATH_NAMES 10000

/*
 * Creates the log under the name that `pattern` gives; where a file of that name is in the way,
 * under NAME.PID.EXTENSION, unless the pattern has the pid already; then under the former of the
 * two with a number from 2 on, as NAME.PID.2.EXTENSION.  *path_ret: the name tried last.
 */
enum th_log_status th_log_path_create(const char *pattern, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes);

#endif
