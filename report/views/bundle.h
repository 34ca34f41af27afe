/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle is a log plus, after its last record, the names of all native frames in its stacks,
 * so that it prints the same on another machine as on the recording machine.  The original
 * records keep their offsets, which are the ids of samples.  Readers that do not know the events
 * of a bundle skip them.
 */
#ifndef TH_REPORT_VIEWS_BUNDLE_H
#define TH_REPORT_VIEWS_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/log/recording.h"
#include "report/symbols/symbols.h"

/* Size of a written bundle. */
struct th_bundle_size {
	uint64_t bytes;     /* before compression */
	uint64_t addresses; /* native addresses in stacks */
};

/*
 * Writes the bundle of `recording`, which must not be a bundle itself.  `compressed` selects gzip;
 * `without_command` overwrites the command line with zeros.  `warn` is called for modules without
 * symbols.  The caller checks `file` for errors.
 */
void th_bundle_write(FILE *file, const struct th_recording *recording, bool compressed,
	bool without_command, th_symbols_warn *warn, void *warn_data,
	struct th_bundle_size *size_ret);

#endif
