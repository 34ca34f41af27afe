/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of the library below the root directory of a process that cannot open the original: in
 * another container, or where the original's directory is closed to its user.
 */
#ifndef TH_REPORT_RUN_LIBRARY_COPY_H
#define TH_REPORT_RUN_LIBRARY_COPY_H

#include <limits.h>
#include <stdbool.h>

#include "report/control/java_process.h"

/* Directories to be tried, by number from 0. */
#define TH_LIBRARY_COPY_DIRECTORIES 6

struct th_library_copy {
	int directory;
	char name[64];
	char path_inside[PATH_MAX]; /* as the process sees it */
};

/* False: there is no such directory, or it is not writable. */
bool th_library_copy_create(const struct th_java_process *process, const char *library,
	int number, struct th_library_copy *ret);

/* Once the file is loaded, it is no longer needed. */
void th_library_copy_remove(struct th_library_copy *copy);

#endif
