/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's performance counters (what jstat reads from hsperfdata), read in the process's own
 * memory.  Gone with -XX:-UsePerfData; then everything here answers NULL.
 */
#ifndef TH_JVMTI_PERF_DATA_H
#define TH_JVMTI_PERF_DATA_H

#include <stdint.h>

/* The counter `name` in the region at `start`, which PerfMemory::_start tells; NULL: not there. */
const int64_t *th_perf_data_long(const char *start, const char *name);
const char *th_perf_data_text(const char *start, const char *name);

#endif
