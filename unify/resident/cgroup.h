/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory control group of the process, version 1 or 2.  A process that exceeds its limit is
 * killed; besides RSS the limit covers page cache and kernel memory.
 */
#ifndef TH_UNIFY_RESIDENT_CGROUP_H
#define TH_UNIFY_RESIDENT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

#define TH_CGROUP_PATH_MAX 512

struct th_cgroup {
	unsigned version;              /* 0: no readable group */
	char path[TH_CGROUP_PATH_MAX]; /* directory of the group with the tightest limit */
	uint64_t limit;                /* bytes; 0 = none */
};

/*
 * Finds the observed process's group, and among its ancestors the one with the tightest limit.
 * [any]
 */
void th_cgroup_find(struct th_cgroup *group);

/* The same with other directories than /proc/self and /sys/fs/cgroup, for tests. */
void th_cgroup_find_below(struct th_cgroup *group, const char *process, const char *root);

/* Bytes in use, 0 if unknown. [any] */
uint64_t th_cgroup_current(const struct th_cgroup *group);

/* Size for memory.stat: about 60 lines. */
#define TH_CGROUP_TEXT_MAX 4096

/*
 * Limit and use, but for the number of the breakdown, read through `text`, a buffer of
 * TH_CGROUP_TEXT_MAX bytes. [any]
 */
struct th_event_cgroup th_cgroup_use(const struct th_cgroup *group, char *text);

#endif
