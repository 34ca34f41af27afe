/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of the page refer to, numbered in the order of its first use: strings,
 * functions, frames, and the paths of all rows as one tree.
 */
#ifndef TH_REPORT_HTML_PAGE_NAMES_H
#define TH_REPORT_HTML_PAGE_NAMES_H

#include <stdint.h>
#include <stdio.h>

#include "report/profile/profile.h"

/* Indices for numbers of the frames, which are small. */
struct th_page_index {
	TH_ARRAY(uint32_t, indices); /* by number: plus one, 0 = none */
	TH_ARRAY(uint32_t, numbers); /* by index */
};

struct th_page_names {
	const struct th_profile *profile;
	uint32_t internal_frame; /* what threads of the VM begin with */
	struct th_page_index strings;
	struct th_page_index functions;
	struct th_page_index frames;
	TH_ARRAY(uint32_t, node_parents); /* plus one */
	TH_ARRAY(uint32_t, node_frames);
	uint32_t *row_nodes;    /* plus one */
	uint32_t *row_packages; /* indices of strings: the groups that rows belong to */
	uint32_t *row_libraries;
};

/* Numbers what the rows of a profile refer to; it must outlive the names. */
void th_page_names_init(struct th_page_names *names, const struct th_profile *profile);
void th_page_names_deinit(struct th_page_names *names);

/* Prints the members "strings", "functions", "frames" and "nodes". */
void th_page_names_print(FILE *file, const struct th_page_names *names);

/* The index of a string or a function by its number of the frames. */
uint32_t th_page_names_string(const struct th_page_names *names, uint32_t string);
uint32_t th_page_names_function(const struct th_page_names *names, uint32_t function);

#endif
