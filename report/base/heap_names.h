/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the heaps in views. */
#ifndef TH_REPORT_BASE_HEAP_NAMES_H
#define TH_REPORT_BASE_HEAP_NAMES_H

#include "unify/shared/log_format.h"

/* In machine-readable output, and on the command line: "java", "native", "mapped". */
const char *th_heap_word(enum th_heap heap);

/* For people: "Java heap", "native heap", "mapped"; 12 columns at most. */
const char *th_heap_title(enum th_heap heap);

/* As an adjective: "Java", "native", "mapped". */
const char *th_heap_adjective(enum th_heap heap);

#endif
