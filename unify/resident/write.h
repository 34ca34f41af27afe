/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an account writes to the log, in this order: rows, what of sampled mappings and blocks is
 * resident, where malloc's heaps lie, the control group; account.c ends it with ACCOUNT.
 */
#ifndef TH_UNIFY_RESIDENT_WRITE_H
#define TH_UNIFY_RESIDENT_WRITE_H

#include <stdint.h>

#include "unify/resident/cgroup.h"

struct th_breakdown_tables;

void th_breakdown_log_rows(const struct th_breakdown_tables *tables); /* [any] */

/* MALLOC_HEAPS, and TOUCHED of sampled mappings and blocks, while tables->pages is open. [any] */
void th_breakdown_log_pages(struct th_breakdown_tables *tables);

void th_breakdown_log_group(
	struct th_breakdown_tables *tables, const struct th_cgroup *group); /* [any] */

/* Resident bytes of the process, by its statm; 0: it has ended. [any] */
uint64_t th_breakdown_resident(void);

/* Writes a RESIDENT and returns its bytes; 0: the process has ended. [any] */
uint64_t th_breakdown_log_resident(uint64_t now, const struct th_cgroup *group);

#endif
