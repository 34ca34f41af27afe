/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an export in pprof or OTLP contains of a profile: integer values of each row, of some
 * kinds, for a span of time. A whole recording is one part; `push` sends what a window added.
 */
#ifndef TH_REPORT_VIEWS_EXPORT_PART_H
#define TH_REPORT_VIEWS_EXPORT_PART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/labels.h"
#include "report/profile/profile.h"

/* Values of a sample, in the order of pprof's heap profiles. */
enum th_export_value {
	TH_EXPORT_ALLOC_OBJECTS,
	TH_EXPORT_ALLOC_SPACE,
	TH_EXPORT_INUSE_OBJECTS,
	TH_EXPORT_INUSE_SPACE,
	TH_EXPORT_VALUES,
};

/* Sets of values: bits 1 << enum th_export_value. */
#define TH_EXPORT_ALLOC (1u << TH_EXPORT_ALLOC_OBJECTS | 1u << TH_EXPORT_ALLOC_SPACE)
#define TH_EXPORT_INUSE (1u << TH_EXPORT_INUSE_OBJECTS | 1u << TH_EXPORT_INUSE_SPACE)
#define TH_EXPORT_ALL (TH_EXPORT_ALLOC | TH_EXPORT_INUSE)

typedef int64_t th_export_row[TH_EXPORT_VALUES];

struct th_export_part {
	const struct th_profile *profile;
	const th_export_row *rows; /* by row of the profile */
	unsigned values;           /* set of values */
	uint64_t start;            /* of the span of time, ns since 1970 */
	uint64_t duration;         /* ns; 0: values at one time */
	bool is_whole;  /* of the whole recording: intervals are those of its totals */
	uint64_t id[2]; /* identifies the profiles, for a receiver that gets one twice; or 0 */
	const struct th_labels *labels; /* of the process; NULL: none, not for OTLP */
};

extern const struct th_export_kind {
	const char *name;
	const char *unit;
} th_export_kinds[TH_EXPORT_VALUES];

/*
 * The values of all rows, rounded so that the sum of a heap is the rounded sum; zeros for rows of
 * mapped memory that hold the blocks of another heap (th_profile_contents()). To be freed.
 */
th_export_row *th_export_rows(const struct th_profile *profile);

/* Whether any value of the part's set is not 0. */
bool th_export_part_has(const struct th_export_part *part, size_t row);

/* ns since 1970 of a time of the recording (CLOCK_MONOTONIC ns). */
uint64_t th_export_time(const struct th_recording *recording, uint64_t time);

/*
 * A whole recording in two parts: what was allocated in its duration, and what is live at the
 * time of the profile, which has none (receivers add up profiles that have a duration).
 */
void th_export_both(const struct th_profile *profile, const th_export_row *rows,
	const struct th_labels *labels, struct th_export_part parts_ret[2]);

/* The gzipped protocol buffer of pprof. */
void th_export_pprof(FILE *file, const struct th_export_part *part);

/*
 * The parts of one process as OTLP's ProfilesData, which is also the body of an export request:
 * one profile for each value. The caller frees the bytes.
 */
uint8_t *
th_export_otlp(const struct th_export_part *parts, size_t parts_count, size_t *length_ret);

#endif
