/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `push`. */
#ifndef TH_REPORT_PUSH_PUSH_OPTIONS_H
#define TH_REPORT_PUSH_PUSH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/error.h"
#include "report/base/labels.h"

struct th_push_options {
	const char *log;   /* LOG or PID; NULL: all recordings, until a signal */
	const char *to;    /* NULL: from the environment */
	const char *state; /* directory, as given; "none" = none, NULL = the default */
	uint64_t window;   /* ns */
	uint64_t timeout;  /* of a request, ns */
	uint64_t patience; /* how long a single push is tried, ns */
	struct th_labels labels;
	struct th_labels only; /* processes that have these */
	bool wants_help;
};

/* Reads the arguments; th_labels_deinit() on both lists of labels afterwards. */
struct th_error *th_push_options_read(struct th_push_options *options, int argc, char **argv);

void th_push_options_help(void);

#endif
