/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording is to sample, as the user said it (preload/settings.h) or by default. */
#ifndef TH_UNIFY_SAMPLE_SETTINGS_H
#define TH_UNIFY_SAMPLE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct th_recorder_settings {
	uint64_t interval; /* mean bytes between samples; 0 = every allocation */
	uint64_t rate;     /* samples a second to stay below, both heaps together; 0 = no cap */
	uint64_t rate_free;  /* samples that the rate leaves alone, once */
	uint64_t overhead;   /* millionths of the process's CPU time to keep to; 0 = any */
	uint32_t depth;      /* frames per stack; the root end of deeper ones is cut */
	bool native;         /* sample the C heap; what is in force: admission.h */
	bool has_malloc;     /* malloc reaches us: the C heap can be sampled */
	bool mapped;         /* sample mapped memory */
	bool has_mmap;       /* the functions that map memory reach us: follow what they map */
	uint64_t seed;       /* of the samplers that belong to no thread */
	bool java;           /* sample the Java heap */
	const char *threads; /* only those whose name matches (glob.h); NULL or "" = all */
};

#endif
