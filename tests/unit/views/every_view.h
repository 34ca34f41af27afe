/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs everything that the tool does with a log in this process; shared by the tests of damaged
 * logs and the fuzzer.
 */
#ifndef TH_TESTS_EVERY_VIEW_H
#define TH_TESTS_EVERY_VIEW_H

#include <stdbool.h>

#include "tests/unit/log/log_builder.h"

/*
 * Loads the log at `path` and prints it in every view, discarding the output.  Returns false if
 * an error prevented a view, which is legal for a damaged log.  Leaks, crashes and endless
 * loops are found by the caller's sanitizers and time limits.
 */
bool every_view(const char *path);

/* The same for `count` of the views, each `step` after the one before; `first` may be any number. */
bool some_views(const char *path, unsigned first, unsigned step, unsigned count);

/* Builds a small log with every event that views use. */
void every_event(struct log_builder *log);

/* The same as a ring, which has kept the first part of the events; some samples are thinned out. */
void every_event_in_ring(struct log_builder *log);

#endif
