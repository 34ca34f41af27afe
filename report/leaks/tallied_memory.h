/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that leaked threads and classes belong to, and the memory that they hold. */
#ifndef TH_REPORT_LEAKS_TALLIED_MEMORY_H
#define TH_REPORT_LEAKS_TALLIED_MEMORY_H

#include "report/leaks/tallied.h"

struct th_tallied_line {
	uint32_t key;        /* equal for all stacks with this line, and for no others */
	uint32_t frame;      /* of the application, else of the Java runtime, else the leaf */
	uint32_t user;       /* as in struct th_tallied */
	bool is_application; /* the frame is one of the application */
};

/* The line of a path. */
struct th_tallied_line
th_tallied_line(struct th_tallies *tallies, struct th_leak_sites *places, uint32_t path);

/* Sets `resident` and `vm` of all items, as of `time`. */
void
th_tallied_measure(struct th_tallies *tallies, struct th_leak_sites *places, uint64_t time);

#endif
