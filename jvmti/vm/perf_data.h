/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's performance counters (which jstat reads from hsperfdata), read from the process's
 * own memory.  With -XX:-UsePerfData there are none, and all functions return NULL.
 */
#ifndef TH_JVMTI_VM_PERF_DATA_H
#define TH_JVMTI_VM_PERF_DATA_H

#include <stdint.h>

/* The counter `name` in the region at `start` (PerfMemory::_start); NULL: no such counter. */
const int64_t *th_perf_data_long(const char *start, const char *name);
const char *th_perf_data_text(const char *start, const char *name);

#endif
