/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation sites: rows grouped by the allocating code, whatever path led there.
 *
 * A site is the function that allocated and, if that is not the application's own Java code,
 * the nearest method of the application above it: "byte[] in java.util.Arrays.copyOf, called
 * from app.Codec.decode". Without Java above, allocations of the library of C++ or Rust, and of
 * functions with alloc in their names, have the nearest other function: "std::__new_allocator<int>::allocate
 * < Table::insert", "xmalloc < read_line". The VM's own
 * allocations are one site for each of its threads. If rows are grouped, each group is one
 * site.
 */
#ifndef TH_REPORT_PROFILE_SITES_H
#define TH_REPORT_PROFILE_SITES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/profile/profile.h"

#define TH_SITE_NO_FUNCTION UINT32_MAX

/* A site without its class. */
struct th_site_place {
	uint32_t function; /* that allocated */
	uint32_t caller;   /* of the application; TH_SITE_NO_FUNCTION = none */
};

struct th_site {
	uint32_t class_name; /* string number; 0 = none */
	struct th_site_place place;
	struct th_estimator sum;
};

struct th_sites {
	TH_ARRAY(struct th_site, items); /* largest first, by the value of the view */
};

/*
 * For allocations by plumbing or the runtime (struct th_function): the number of frames of the path up
 * to and including the nearest to the allocation that is neither. 0 if there is none, or that one
 * allocated.
 */
uint32_t th_sites_client_length(const struct th_frames *frames, const struct th_path *path);

/*
 * The application's method nearest to the allocation, else the nearest method of the Java
 * runtime; TH_SITE_NO_FUNCTION without Java.
 */
uint32_t th_sites_find_caller(const struct th_frames *frames, const struct th_path *path);

/* The site at the leaf of a path; not for the VM's own threads. */
struct th_site_place th_sites_place(const struct th_frames *frames, const struct th_path *path);

/* "CLASS in FUNCTION < CALLER". */
const char *
th_sites_text(const struct th_frames *frames, uint32_t class_name, struct th_site_place place);

/* The same of a row's site, without its class. */
const char *th_sites_row_text(const struct th_profile *profile, const struct th_row *row);

/* The sites of one heap; with --group-by, the groups. */
void th_sites_init(struct th_sites *sites, const struct th_profile *profile, enum th_heap heap);
void th_sites_deinit(struct th_sites *sites);

#endif
