/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that will be loaded for a command, and the symbols they define. */
#ifndef TH_REPORT_RUN_LAUNCH_OBJECTS_H
#define TH_REPORT_RUN_LAUNCH_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

struct th_launch_objects {
	char *text;   /* output of the dynamic linker, split into paths */
	char **paths; /* in lookup order, the program first */
	size_t paths_count;
	size_t paths_capacity;
};

/*
 * Lists the objects that the dynamic linker would load for `program` under
 * LD_PRELOAD=`preload`, without running any code of the program.  If the dynamic linker fails,
 * the list contains the program only.  Free with `deinit`.
 */
void
th_launch_objects_list(const char *program, const char *preload, struct th_launch_objects *ret);
void th_launch_objects_deinit(struct th_launch_objects *objects);

/*
 * Whether an object defines each of `count` dynamic symbols, in `defined_ret`.  An unreadable
 * object defines none.
 */
void th_launch_objects_define(
	const char *path, const char *const *symbols, size_t count, bool *defined_ret);

#endif
