/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All related sites of a recording, leaking or not, as sums: the input of a comparison of many
 * recordings, in which a line that does not leak counts too.
 */
#ifndef TH_REPORT_LEAKS_LINES_H
#define TH_REPORT_LEAKS_LINES_H

#include "report/leaks/leaks.h"

/* The sites of a heap with one path to one line of the application (leak_sites.h). */
struct th_leak_line {
	enum th_heap heap;
	enum th_verdict
		verdict; /* the worst of its sites; LEAK also as part of a finding above */
	uint32_t prefix; /* their path prefix, of the sites' `ways` */
	uint32_t group;  /* with --group-by: function number, instead; else 0 */
	uint32_t place;  /* site with most live bytes */
	double live;     /* bytes, point estimate */
	double growth;   /* bytes per second, point estimate */
	double low; /* limits of the growth of its leaks, bytes per second; 0: it has none */
	double high;
};

struct th_leak_lines {
	struct th_id_map ids; /* heap << 32 | prefix */
	TH_ARRAY(struct th_leak_line, items);
};

/* After th_leaks_find(). */
void th_leak_lines_init(struct th_leak_lines *lines, const struct th_leaks *leaks);
void th_leak_lines_deinit(struct th_leak_lines *lines);

#endif
