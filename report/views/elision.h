/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays of a list that is too long for a text: what the caller names, then what comes first, and
 * beside these some of the program's code, but nothing more of libraries and of the Java runtime.
 */
#ifndef TH_REPORT_VIEWS_ELISION_H
#define TH_REPORT_VIEWS_ELISION_H

#include <stddef.h>

/* An item of the list. */
enum th_elision {
	TH_ELISION_OTHER,
	TH_ELISION_PROGRAM,
	TH_ELISION_NAMED, /* stays */
	TH_ELISION_OUT,   /* the result */
};

/* Keeps `most` items, named ones included, and up to eight of the program; sets the others to _OUT. */
void th_elide(enum th_elision *items, size_t count, size_t most);

/*
 * The number of items that are left out from this one on; 0: it is printed.  A line that says what is
 * left out takes the place of two items at least.
 */
size_t th_elision_gap(const enum th_elision *items, size_t count, size_t item);

#endif
