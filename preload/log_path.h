/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of the log: the pattern of TWINHEAP_OUTPUT, made absolute.  Existing files are never
 * overwritten.
 */
#ifndef TH_PRELOAD_LOG_PATH_H
#define TH_PRELOAD_LOG_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/log/log.h"

/*
 * Saves TMPDIR and, unless `pattern` is absolute, the current directory, which the program may
 * change.  In the constructor, or when the agent is loaded.
 */
void th_log_path_init(const char *pattern);

/* Names tried before the recording is abandoned. */
#define TH_LOG_PATH_NAMES 10000

/*
 * Creates the log under the name that `pattern` yields.  If a file of that name exists, uses
 * NAME.PID.EXTENSION, unless the pattern contains the pid; then the first of the two with a
 * number from 2 on, as in NAME.PID.2.EXTENSION. *path_ret: the name tried last.
 */
enum th_log_status th_log_path_create(const char *pattern, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes);

/*
 * After a failure with this errno, which is kept: if the directory is read-only or not writable,
 * creates the log under the same name in TMPDIR, /tmp or /dev/shm (there of 64 MiB at most), the
 * first that accepts it.  False: none, *path_ret is undefined.
 */
bool th_log_path_create_elsewhere(const char *pattern, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes);

#endif
