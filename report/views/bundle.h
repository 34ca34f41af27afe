/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle: a log and, behind its last record, the names of all native frames in its stacks, so
 * that it reads on another machine as it does on this one.  It is a log like any other: the
 * records of the original stand at their places, since offsets are the ids of samples, and a
 * reader that does not know the events of a bundle passes over them.
 */
#ifndef TH_REPORT_VIEWS_BUNDLE_H
#define TH_REPORT_VIEWS_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/log/recording.h"
#include "report/symbols/symbols.h"

/* What a bundle came to. */
struct th_bundle_size {
	uint64_t bytes;     /* before compression */
	uint64_t addresses; /* native addresses in stacks */
};

/*
 * Writes the bundle of `recording`, which is not a bundle itself, compressed by gzip on demand,
 * with zeros in place of the command line on demand.  `warn` is called for modules without names.
 * The caller checks `file` for errors.
 */
void th_bundle_write(FILE *file, const struct th_recording *recording, bool compressed,
	bool without_command, th_symbols_warn *warn, void *warn_data,
	struct th_bundle_size *size_ret);

#endif
