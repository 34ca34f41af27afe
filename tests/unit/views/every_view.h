/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that the tool does with a log, in this process: what tests of damaged logs and the
 * fuzzer have in common.
 */
#ifndef TH_TESTS_EVERY_VIEW_H
#define TH_TESTS_EVERY_VIEW_H

#include <stdbool.h>

#include "tests/unit/log/log_builder.h"

/*
 * Loads the log at `path` and prints it in every view, to nowhere.  False: an error kept one
 * from being shown, which is fine for a damaged log; leaks, crashes and endless loops are for
 * the caller's sanitizers and time limits to find.
 */
bool every_view(const char *path);

/* The same, but in one view, which may be any number. */
bool one_view(const char *path, unsigned which);

/* A small log with something of everything that views look at. */
void every_event(struct log_builder *log);

#endif
