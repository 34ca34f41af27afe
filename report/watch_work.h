/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of watch.h share: how each sample was placed, and what was seen so far. */
#ifndef TH_REPORT_WATCH_WORK_H
#define TH_REPORT_WATCH_WORK_H

#include "report/watch.h"

#define TH_WATCH_NO_SITE UINT32_MAX

/* What is known about each sample of a heap, by its index. */
struct th_watch_placed {
	TH_ARRAY(uint32_t, sites); /* as many as were placed */
	TH_ARRAY(uint64_t, ends);  /* as in lifetimes.h, for every sample */
};

struct th_watch_work {
	struct th_watch_placed placed[TH_HEAPS];
	struct th_estimate renewed[TH_HEAPS]; /* allocated bytes at the last summing up */
	struct th_estimator fresh[TH_HEAPS];  /* samples since */
	size_t frees_seen;
	size_t deaths_seen;
	size_t losses_seen;
	size_t levels_seen;
	size_t counted[TH_HEAPS];  /* samples that the calibration knows */
	size_t factors_count;      /* threads that have a factor */
	uint64_t renew_at;         /* CLOCK_MONOTONIC ns */
	TH_ARRAY(uint8_t, traits); /* by thread index: bits of enum th_stack_trait */
	uint32_t internal_group;
	/* By the sample's numbers: thread << 32 | class, then that << 32 | stack << 1 | heap. */
	struct th_map actor_ids;
	struct th_map raw_ids;
	TH_ARRAY(uint32_t, raw_sites);
	/* By what is shown: function << 32 | caller, then that << 33 | heap << 32 | class. */
	struct th_map place_ids;
	struct th_map site_ids;
};

/*
 * The site of a sample, a new one perhaps; TH_WATCH_NO_SITE: names that belong to it are still on
 * their way. [offline]
 */
uint32_t
th_watch_site_of(struct th_watch *watch, enum th_heap heap, const struct th_sample *sample);

/* Whether the end of a sample (by index) is seen, when it comes. [offline] */
bool th_watch_is_followed(const struct th_watch *watch, enum th_heap heap, size_t index);

/* A sample by itself: as allocated, or as its part in what is alive. [offline] */
struct th_estimator
th_watch_alone(const struct th_watch *watch, enum th_heap heap, size_t index, bool of_ends);

#endif
