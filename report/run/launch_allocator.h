/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator under a command: the one that was asked for, or the one that the command brings;
 * and which libraries of ours belong over it (preload/operators.h, preload/mallocx.h).
 */
#ifndef TH_REPORT_RUN_LAUNCH_ALLOCATOR_H
#define TH_REPORT_RUN_LAUNCH_ALLOCATOR_H

#include <limits.h>

#include "report/base/error.h"

/*
 * Finds the library of an allocator: jemalloc, tcmalloc, mimalloc, the name of a file in a
 * directory of libraries, or a path.
 */
struct th_error *th_launch_allocator_find(const char *name, char path_ret[PATH_MAX]);

/*
 * What to put into LD_PRELOAD for `program`: `library`, those beside it that the allocator
 * underneath calls for, `allocator` ("" = none) and what was preloaded before ("" = nothing).  To
 * be freed.
 */
char *th_launch_allocator_preload(
	const char *program, const char *library, const char *allocator, const char *before);

#endif
