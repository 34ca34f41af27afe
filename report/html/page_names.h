/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of the page refer to, numbered in the order of first use: strings, functions,
 * frames, and the paths of all rows as one tree.
 */
#ifndef TH_REPORT_HTML_PAGE_NAMES_H
#define TH_REPORT_HTML_PAGE_NAMES_H

#include <stdint.h>
#include <stdio.h>

#include "report/profile/profile.h"

/* Maps the numbers of report/symbols/frames.h, which are dense, to indices of the page. */
struct th_page_index {
	TH_ARRAY(uint32_t, indices); /* by number: index plus one, 0 = none */
	TH_ARRAY(uint32_t, numbers); /* by index */
};

struct th_page_names {
	const struct th_profile *profile;
	uint32_t internal_frame; /* root frame of VM-internal threads */
	struct th_page_index strings;
	struct th_page_index functions;
	struct th_page_index frames;
	TH_ARRAY(uint32_t, node_parents); /* node index plus one; 0 = no parent */
	TH_ARRAY(uint32_t, node_frames);
	uint32_t *row_nodes;    /* by row: node index plus one */
	uint32_t *row_packages; /* indices of strings: the groups that rows belong to */
	uint32_t *row_libraries;
};

/* Numbers what the rows of a profile refer to; the profile must outlive the names. */
void th_page_names_init(struct th_page_names *names, const struct th_profile *profile);
void th_page_names_deinit(struct th_page_names *names);

/* Numbers the frames of a path that need not be one of a row. */
void th_page_names_add(struct th_page_names *names, struct th_path path);

/* Prints the members "strings", "functions", "frames" and "nodes", and releases the nodes. */
void th_page_names_print(FILE *file, struct th_page_names *names);

/*
 * Index on the page of a string, a function or a frame, by its number in the frames; UINT32_MAX: it
 * has none.
 */
uint32_t th_page_names_string(const struct th_page_names *names, uint32_t string);
uint32_t th_page_names_function(const struct th_page_names *names, uint32_t function);
uint32_t th_page_names_frame(const struct th_page_names *names, uint32_t frame);

#endif
