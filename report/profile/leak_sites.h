/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows grouped by allocation site, for the leak verdicts and for diffs.
 *
 * The creator of an allocation is the nearest Java method of the application above it: the line
 * that its developers can change.
 *
 * A site is a heap, a class, the functions from the thread's first to the one that allocated,
 * and two lines, that of the creator and that of the allocation. Other lines, bytecode indices,
 * files of modules and threads are ignored. Memory that the VM allocates for itself is one site
 * for each purpose, since its stacks are many and not the application's to fix.
 *
 * With --group-by, in a profile of shaped stacks, each group of a heap is one site.
 *
 * Sites with the same functions down to the creator (down to the allocation, where there is
 * none) are related.
 */
#ifndef TH_REPORT_PROFILE_LEAK_SITES_H
#define TH_REPORT_PROFILE_LEAK_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/path_prefixes.h"
#include "report/profile/profile.h"

#define TH_NO_PLACE UINT32_MAX
#define TH_NO_FRAME UINT32_MAX

/* Purposes of internal memory that the VM allocates on behalf of the application. */
#define TH_PURPOSE_CLASSES "[JVM-internal] classes, symbols and linking"
#define TH_PURPOSE_THREADS "[JVM-internal] threads"

struct th_leak_site {
	enum th_heap heap;
	uint32_t class_name; /* string number; 0 = none */
	uint32_t way;        /* path prefix to the function that allocated */
	uint32_t
		creator; /* path prefix to the creator; 0 = no Java method of the application */
	uint32_t next;   /* next site of the same heap, prefix and class; TH_NO_PLACE = none */
	uint32_t path;   /* of the row with most live bytes, for lines and files */
	uint32_t thread; /* function number of the label of the same row's thread */
	bool is_internal;     /* that thread is one of the VM */
	const char *internal; /* purpose of memory of the VM; NULL = not the VM's */
	double live;          /* bytes, of that row */
};

struct th_leak_sites {
	const struct th_profile *profile;
	struct th_path_prefixes ways;
	struct th_id_map line_ids;  /* creator's line << 32 | allocation's */
	struct th_id_map what_ids;  /* heap, prefix and class */
	struct th_id_map place_ids; /* what << 32 | lines */
	TH_ARRAY(uint32_t, first);  /* site by number of `what_ids`; others by `next` */
	TH_ARRAY(struct th_leak_site, items);
	uint32_t *of_row; /* by row */
};

/* The profile must outlive the sites. */
void th_leak_sites_init(struct th_leak_sites *places, const struct th_profile *profile);
void th_leak_sites_deinit(struct th_leak_sites *places);

/* The site's row, for the profile's filter. */
struct th_subject th_leak_sites_subject(const struct th_leak_site *place);

/* The site of a sample (by index), TH_NO_PLACE if the options leave it out. */
static inline uint32_t
th_leak_sites_of(const struct th_leak_sites *places, enum th_heap heap, size_t index)
{
	uint32_t row = places->profile->sample_rows[heap][index];

	return row == TH_NO_ROW ? TH_NO_PLACE : places->of_row[row];
}

/*
 * A site of that heap, prefix and class, from which `next` leads to the others; TH_NO_PLACE if
 * nothing was allocated there.
 */
uint32_t th_leak_sites_find(const struct th_leak_sites *places, enum th_heap heap, uint32_t way,
	uint32_t class_name);

/*
 * Number of frames of a path up to and including its creator; 0 if it has none. A native method
 * has no line, so its caller is used. Without Java it is as th_sites_client_length().
 */
uint32_t
th_leak_sites_creator_length(const struct th_profile *profile, const struct th_path *path);

/* The user of a path with a creator, as th_leak_sites_user_frame(). */
uint32_t th_leak_sites_user_of(const struct th_profile *profile, const struct th_path *path);

/*
 * For a site with a creator: the creator's line, as a frame of the site's path, and its user:
 * the nearest line of the program above it that is in another library (struct th_function);
 * without one, and if the creator is not of the program, that of another library.  TH_NO_FRAME:
 * there is none.
 */
uint32_t th_leak_sites_creator_frame(
	const struct th_leak_sites *places, const struct th_leak_site *place);
uint32_t
th_leak_sites_user_frame(const struct th_leak_sites *places, const struct th_leak_site *place);

#endif
