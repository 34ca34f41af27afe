/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation sites: rows put together by what allocated, whatever led there.
 *
 * A site is the function that allocated and, where that one is not the application's own Java
 * code, the nearest method of the application above it: "byte[] in java.util.Arrays.copyOf,
 * from app.Codec.decode".  Without Java above, what the C++ library allocates has the nearest
 * function outside of it: "std::__new_allocator<int>::allocate < Table::insert".  What the VM allocates for itself is one site per thread of it.
 * Where rows are grouped, each group is one site.
 */
#ifndef TH_REPORT_PROFILE_SITES_H
#define TH_REPORT_PROFILE_SITES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/profile/profile.h"

#define TH_SITE_NO_FUNCTION UINT32_MAX

struct th_site {
	uint32_t class_name; /* string number; 0 = none */
	uint32_t function;   /* that allocated */
	uint32_t caller;     /* of the application; TH_SITE_NO_FUNCTION = none */
	struct th_estimator sum;
};

struct th_sites {
	TH_ARRAY(struct th_site, items); /* largest first, by the value of the view */
};

/* Whether a function is a Java method, and not one of the Java runtime. */
bool th_sites_is_application(const struct th_frames *frames, uint32_t function);

/*
 * Where the C++ library allocates: frames of the path up to and including the nearest to the
 * allocation that is not the library's own.  0 if there is none or the library did not.
 */
uint32_t th_sites_client_length(const struct th_frames *frames, const struct th_path *path);

/*
 * The method nearest to the allocation that is the application's, or of the Java runtime where
 * there is none; TH_SITE_NO_FUNCTION without Java.
 */
uint32_t th_sites_find_caller(const struct th_frames *frames, const struct th_path *path);

/* A site without its class. */
struct th_site_place {
	uint32_t function; /* that allocated */
	uint32_t caller;   /* of the application; TH_SITE_NO_FUNCTION = none */
};

/* Where the end of a path is; not for the VM's own threads. */
struct th_site_place th_sites_place(const struct th_frames *frames, const struct th_path *path);

/* The place of a row; not where rows are grouped. */
struct th_site_place
th_sites_of_row(const struct th_profile *profile, const struct th_row *row);

/* "FUNCTION" or "FUNCTION (LIBRARY)". */
void th_sites_print_function(FILE *file, const struct th_frames *frames, uint32_t number);

/* "CLASS in FUNCTION < CALLER". */
void th_sites_print(FILE *file, const struct th_frames *frames, uint32_t class_name,
	struct th_site_place place);

/* The sites of one heap; with --group-by, the groups. */
void th_sites_init(struct th_sites *sites, const struct th_profile *profile, enum th_heap heap);
void th_sites_deinit(struct th_sites *sites);

#endif
