/* SPDX-License-Identifier: Apache-2.0 */
/* The words that select heaps, in settings and in options of the tool. */
#ifndef TH_UNIFY_SHARED_HEAPS_H
#define TH_UNIFY_SHARED_HEAPS_H

#include <stdbool.h>

#include "unify/shared/log_format.h"

#define TH_HEAPS_BOTH (1u << TH_HEAP_JAVA | 1u << TH_HEAP_NATIVE)
#define TH_HEAPS_ALL (TH_HEAPS_BOTH | 1u << TH_HEAP_MAPPED)

/* For help texts and messages. */
#define TH_HEAPS_WORDS "all|both|java|native|mapped"

/*
 * Parses comma-separated words: java, native, mapped, both (the first two), all.  Returns bits
 * 1 << enum th_heap; false if the text contains anything else. [any]
 */
bool th_heaps_parse(const char *text, unsigned *heaps_ret);

/* The shortest text that selects `heaps`, "" for none. [any] */
const char *th_heaps_text(unsigned heaps);

#endif
