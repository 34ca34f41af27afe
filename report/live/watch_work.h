/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of watch.h share: how each sample was placed, and what was seen so far. */
#ifndef TH_REPORT_LIVE_WATCH_WORK_H
#define TH_REPORT_LIVE_WATCH_WORK_H

#include "report/live/watch.h"

#define TH_WATCH_NO_SITE UINT32_MAX

/* Sites of the samples of a heap, by index, as far as they were placed. */
struct th_watch_placed {
	TH_ARRAY(uint32_t, sites);
};

/* What is left of a sample. */
struct th_watch_remains {
	uint64_t bytes;
	uint64_t time; /* since when it is not more */
	bool is_gone;
};

struct th_watch_work {
	struct th_watch_placed placed[TH_HEAPS];
	struct th_estimate renewed[TH_HEAPS]; /* allocated bytes at the last summing up */
	struct th_estimator fresh[TH_HEAPS];  /* samples since */
	size_t frees_seen;
	size_t deaths_seen;
	size_t mapped_ends_seen;
	TH_ARRAY(struct th_watch_remains, remains); /* by index of a mapping */
	size_t losses_seen;
	size_t levels_seen;
	size_t followed_seen;
	size_t counted[TH_HEAPS];  /* samples that the calibration knows */
	size_t factors_count;      /* names of threads that have a factor */
	uint64_t renew_at;         /* CLOCK_MONOTONIC ns */
	TH_ARRAY(uint8_t, traits); /* by thread index: bits of enum th_stack_trait */
	uint32_t internal_group;
	/* By the sample's numbers: thread << 32 | class, then that << 34 | stack << 2 | heap. */
	struct th_id_map actor_ids;
	struct th_id_map raw_ids;
	TH_ARRAY(uint32_t, raw_sites);
	/* By what is shown: function << 32 | caller, then that << 34 | heap << 32 | class. */
	struct th_id_map place_ids;
	struct th_id_map site_ids;
};

/*
 * The site of a sample, a new one perhaps; TH_WATCH_NO_SITE: names that belong to it are still on
 * their way.
 */
uint32_t
th_watch_site_of(struct th_watch *watch, enum th_heap heap, const struct th_sample *sample);

/*
 * What a sample (by index in th_recording_allocations()) adds by itself to what was allocated, and
 * to what is alive: nothing where it ended, or nobody would know.
 */
struct th_estimator
th_watch_allocation(const struct th_watch *watch, enum th_heap heap, size_t index);
struct th_estimator
th_watch_rest(const struct th_watch *watch, enum th_heap heap, size_t index);

/* Samples that were read but not known here begin whole. */
void th_watch_extend(struct th_watch *watch);

/* Adds a sample that was just placed to its site and its heap, and its end if that has come. */
void th_watch_add(struct th_watch *watch, enum th_heap heap, size_t index);

/* Takes in ends that were read since the last time. */
void th_watch_add_ends(struct th_watch *watch);

/* Second of the recording. */
int64_t th_watch_second_of(const struct th_watch *watch, uint64_t time);

#endif
