/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack as text, from the allocation towards the root, in some twenty lines at most: the innermost
 * frames and those of the program.  What is left out is of libraries and of the Java runtime.
 */
#ifndef TH_REPORT_VIEWS_STACK_LINES_H
#define TH_REPORT_VIEWS_STACK_LINES_H

#include <stdio.h>

#include "report/leaks/leaks.h"

/* `label` is printed before the first line, in 6 columns at most. */
void th_stack_lines_print(
	FILE *file, const struct th_profile *profile, struct th_path path, const char *label);

/*
 * The stack of a leak, by its number (causes.h), and the one that started its thread if only that
 * contains the line of the application.  None for memory of the VM.
 */
void th_stack_lines_of_leak(FILE *file, const struct th_leaks *leaks,
	const struct th_leak_site *place, uint32_t number);

#endif
