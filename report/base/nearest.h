/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known word that a mistyped one is most similar to: by the number of characters to insert,
 * remove, replace or exchange with their neighbor.
 */
#ifndef TH_REPORT_BASE_NEAREST_H
#define TH_REPORT_BASE_NEAREST_H

#include <stddef.h>

struct th_nearest {
	const char *word;  /* as typed */
	char option[32];   /* the same without dashes and value, of an option */
	const char *found; /* NULL: none is similar */
	size_t distance;
};

void th_nearest_init(struct th_nearest *nearest, const char *word);

/* The same for an option such as "--name=value", of which only the name counts. */
void th_nearest_init_option(struct th_nearest *nearest, const char *option);

/* Compares a known word, which must outlive `nearest`. */
void th_nearest_offer(struct th_nearest *nearest, const char *known);

/*
 * The end of a message: "; did you mean WORD?" with `dashes` in front of the word, else ", see
 * twinheap VERB --help".
 */
const char *
th_nearest_text(const struct th_nearest *nearest, const char *dashes, const char *verb);

#endif
