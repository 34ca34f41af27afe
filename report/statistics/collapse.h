/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collapse of a heap's live bytes right before the end of a process: a large part of what was
 * live is freed within a short time, as at no time before.
 */
#ifndef TH_REPORT_STATISTICS_COLLAPSE_H
#define TH_REPORT_STATISTICS_COLLAPSE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"
#include "report/statistics/lifetimes.h"

struct th_collapse {
	uint64_t time; /* when it began */
	double bytes;  /* estimate: by how much live bytes fell */
};

/*
 * Whose live bytes: those of a heap (C or mapped) that the Java VM did not allocate in threads of
 * its own.  What a collection frees of its own tables, or a compiler, is no collapse.
 */
struct th_collapse_blocks {
	const struct th_recording *recording;
	const struct th_lifetimes *lifetimes;
	const bool *is_internal; /* by index of the thread: one of the VM */
	enum th_heap heap;
};

/* Whether they collapsed right before `end`.  Takes O(samples) and 64 KiB. */
bool th_collapse_find(
	struct th_collapse *ret, const struct th_collapse_blocks *blocks, uint64_t end);

/*
 * The bytes that a sample represents, roughly (as if each byte was sampled by itself): for sums
 * over all samples that must be fast.
 */
double th_collapse_weight(const struct th_recording *recording, const struct th_sample *sample);

#endif
