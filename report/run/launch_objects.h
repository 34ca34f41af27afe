/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that a command will be made of, and what they define. */
#ifndef TH_REPORT_RUN_LAUNCH_OBJECTS_H
#define TH_REPORT_RUN_LAUNCH_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

struct th_launch_objects {
	char *text;   /* what the dynamic linker printed, cut into paths */
	char **paths; /* in the order of lookup, the program first */
	size_t paths_count;
	size_t paths_capacity;
};

/*
 * Asks the dynamic linker what it would load for `program` under LD_PRELOAD=`preload`; nothing of
 * the program runs.  Where it does not tell, only the program is in the list.  `deinit` afterwards.
 */
void
th_launch_objects_list(const char *program, const char *preload, struct th_launch_objects *ret);
void th_launch_objects_deinit(struct th_launch_objects *objects);

/*
 * Whether an object defines each of `count` dynamic symbols, in `defined_ret`.  What cannot be
 * read defines nothing.
 */
void th_launch_objects_define(
	const char *path, const char *const *symbols, size_t count, bool *defined_ret);

#endif
