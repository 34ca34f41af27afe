/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The underlying allocator of a command, either requested or brought by the command itself, and
 * the forwarding libraries that it needs (preload/operators.h, preload/mallocx.h).
 */
#ifndef TH_REPORT_RUN_LAUNCH_ALLOCATOR_H
#define TH_REPORT_RUN_LAUNCH_ALLOCATOR_H

#include <limits.h>

#include "report/base/error.h"

/*
 * Finds the library of an allocator: jemalloc, tcmalloc, mimalloc, a file name in a library
 * directory, or a path.
 */
struct th_error *th_launch_allocator_find(const char *name, char path_ret[PATH_MAX]);

/*
 * The value of LD_PRELOAD for `program`: `library`, the forwarding libraries beside it that the
 * underlying allocator needs, `allocator` ("" = none) and the previous value `before` ("" =
 * none).  To be freed.
 */
char *th_launch_allocator_preload(
	const char *program, const char *library, const char *allocator, const char *before);

#endif
