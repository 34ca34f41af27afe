/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays of a list that is too long for a text: what the caller wants, in order of importance, and
 * of the program's own code more than of libraries and of the Java runtime.
 */
#ifndef TH_REPORT_VIEWS_ELISION_H
#define TH_REPORT_VIEWS_ELISION_H

#include <stdbool.h>
#include <stddef.h>

/* Items of the program that are wanted, within the others or beside them. */
#define TH_ELISION_PROGRAM_MAX 8

typedef bool th_elision_wants(const void *list, size_t item);

struct th_elision {
	const void *list; /* of the caller */
	bool *is_kept;    /* by item */
	size_t count;
	size_t kept;
};

void th_elision_init(struct th_elision *elision, const void *list, size_t count);
void th_elision_deinit(struct th_elision *elision);

/* Keeps the first of the items that are wanted, until `most` are kept. */
void th_elision_keep(struct th_elision *elision, th_elision_wants *is_wanted, size_t most);

/* Keeps some of the program's beside them. */
void th_elision_keep_program(struct th_elision *elision, th_elision_wants *is_of_program);

/*
 * The number of items that are left out from this one on; 0: it is printed.  A line that says what is
 * left out takes the place of two items at least.
 */
size_t th_elision_gap(const struct th_elision *elision, size_t item);

#endif
