/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows put together by where they allocate, for questions about one place over time or in two
 * recordings.
 *
 * The creator of an allocation is the nearest Java method of the application above it: the line
 * that somebody can change.
 *
 * A place is a heap, a class, the functions from the thread's first to the one that allocated,
 * and two lines, that of the creator and that of the allocation.  Other lines, bytecode indices,
 * files of modules and threads make no difference.  What the VM allocates for itself is one
 * place for each kind of business, since its stacks are many and nobody's to mend.
 *
 * With --group-by, in a profile whose stacks are not whole, each group of a heap is one place.
 *
 * Places with the same functions down to the creator (down to the allocation, where there is
 * none) are related.
 */
#ifndef TH_REPORT_PROFILE_LEAK_SITES_H
#define TH_REPORT_PROFILE_LEAK_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"
#include "report/profile/path_prefixes.h"

#define TH_NO_PLACE UINT32_MAX
#define TH_NO_FRAME UINT32_MAX

struct th_leak_site {
	enum th_heap heap;
	uint32_t class_name;  /* string number; 0 = none */
	uint32_t way;         /* to the function that allocated */
	uint32_t creator;     /* way to the creator; 0 = no Java method of the application */
	uint32_t next;        /* of the same heap, way and class; TH_NO_PLACE = no other */
	uint32_t path;        /* of the row with most live bytes, for lines and files */
	uint32_t thread;      /* function number of the label of the same row's thread */
	bool is_internal;     /* that thread is the VM's own */
	const char *internal; /* the VM's business that it is; NULL = not the VM's */
	double live;          /* bytes, of that row */
};

struct th_leak_sites {
	const struct th_profile *profile;
	struct th_path_prefixes ways;
	struct th_id_map line_ids;  /* creator's line << 32 | allocation's */
	struct th_id_map what_ids;  /* heap, way and class */
	struct th_id_map place_ids; /* what << 32 | lines */
	TH_ARRAY(uint32_t, first);  /* place by number of the what; others by `next` */
	TH_ARRAY(struct th_leak_site, items);
	uint32_t *of_row; /* by row */
};

/* The profile must outlive the places. */
void th_leak_sites_init(struct th_leak_sites *places, const struct th_profile *profile);
void th_leak_sites_deinit(struct th_leak_sites *places);

/* The place's row, for the profile's filter. */
struct th_subject th_leak_sites_subject(const struct th_leak_site *place);

/* The place of a sample (by index), TH_NO_PLACE if the options leave it out. */
static inline uint32_t
th_leak_sites_of(const struct th_leak_sites *places, enum th_heap heap, size_t index)
{
	uint32_t row = places->profile->sample_rows[heap][index];

	return row == TH_NO_ROW ? TH_NO_PLACE : places->of_row[row];
}

/*
 * A place of that heap, way and class, from which `next` leads to the others; TH_NO_PLACE if
 * nothing was allocated there.
 */
uint32_t th_leak_sites_find(const struct th_leak_sites *places, enum th_heap heap, uint32_t way,
	uint32_t class_name);

/*
 * For a place with a creator: its line, as a frame of the place's path, and the nearest line of
 * the application above it that is in another library (the first two parts of its package
 * differ), TH_NO_FRAME if there is none: who uses the creator's.
 */
uint32_t th_leak_sites_creator_frame(
	const struct th_leak_sites *places, const struct th_leak_site *place);
uint32_t
th_leak_sites_user_frame(const struct th_leak_sites *places, const struct th_leak_site *place);

#endif
