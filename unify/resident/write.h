/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a breakdown to the log, in this order: rows, resident bytes of sampled mappings and
 * blocks, ranges of malloc's heaps, the control group.  breakdown.c ends it with ACCOUNT.
 */
#ifndef TH_UNIFY_RESIDENT_WRITE_H
#define TH_UNIFY_RESIDENT_WRITE_H

#include <stdint.h>

#include "unify/resident/cgroup.h"

struct th_breakdown_tables;

void th_breakdown_log_rows(const struct th_breakdown_tables *tables); /* [any] */

/*
 * Writes MALLOC_HEAPS, and TOUCHED of sampled mappings and blocks, while tables->pages is open.
 * [any]
 */
void th_breakdown_log_pages(struct th_breakdown_tables *tables);

void th_breakdown_log_group(
	struct th_breakdown_tables *tables, const struct th_cgroup *group); /* [any] */

/* Resident bytes of the process, from statm; 0: it has ended. [any] */
uint64_t th_breakdown_resident(void);

/* Writes a RESIDENT and returns its bytes; 0: the process has ended. [any] */
uint64_t th_breakdown_log_resident(uint64_t now, const struct th_cgroup *group);

#endif
