/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differences between two snapshots, of one recording or of two of the same program.
 *
 * Stacks are compared by heap, class and function names (from the first Java method on, where
 * there is one); addresses, lines and threads are ignored. Two recordings were sampled
 * independently, so the interval of a difference combines both. Two snapshots of one recording
 * share most of their samples: there the difference is the new samples less the ended ones, and
 * the common ones add no uncertainty.
 */
#ifndef TH_REPORT_PROFILE_DIFF_H
#define TH_REPORT_PROFILE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/leak_sites.h"
#include "report/profile/profile.h"

enum th_sampling_change {
	TH_CHANGE_NONE,
	TH_CHANGE_GREW,
	TH_CHANGE_SHRANK,
	TH_CHANGE_NEW,  /* no samples before */
	TH_CHANGE_GONE, /* no samples any more */
};

extern const char *const th_sampling_change_names[];

struct th_difference {
	enum th_heap heap;
	uint32_t side;  /* 0 or 1: the side that `place` belongs to */
	uint32_t place; /* site of that side; TH_NO_PLACE: the whole heap */
	struct th_estimate old_value;
	struct th_estimate new_value;
	struct th_estimate change;
	enum th_sampling_change kind;
	bool may_be_chance; /* not significant: the interval of the change includes 0 */
};

struct th_diff {
	/* The old snapshot, and the new one: the `at` of their profiles. */
	const struct th_leak_sites *sides[2];
	bool is_one_recording;
	struct th_difference totals[TH_HEAPS];
	TH_ARRAY(struct th_difference, items); /* significant ones first, then by size */
};

/*
 * Compares two sides by the value of their profiles' options, which must be the same. Two
 * snapshots of one recording have profiles of the same struct th_recording.
 */
void th_diff_init(struct th_diff *diff, const struct th_leak_sites *old_side,
	const struct th_leak_sites *new_side);
void th_diff_deinit(struct th_diff *diff);

#endif
