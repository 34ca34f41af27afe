/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording samples, as set by the user (preload/settings.h) or by default. */
#ifndef TH_UNIFY_SAMPLE_SETTINGS_H
#define TH_UNIFY_SAMPLE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct th_recorder_settings {
	uint64_t interval; /* first mean bytes between samples; 0 = every allocation */
	uint64_t least_interval;
	uint64_t rate;       /* maximum samples per second, all heaps together; 0 = none */
	uint64_t overhead;   /* maximum CPU time, millionths of the process's; 0 = no limit */
	uint64_t burst;      /* ns of CPU time, once, beyond the overhead */
	bool saves_space;    /* sample less before the log or a table becomes full */
	uint32_t depth;      /* frames per stack; the root end of deeper ones is cut */
	bool native;         /* sample the C heap; current state: admission.h */
	bool has_malloc;     /* malloc is interposed: the C heap can be sampled */
	bool mapped;         /* sample mapped memory */
	bool has_mmap;       /* mapping functions are interposed: follow the mappings */
	uint64_t seed;       /* of samplers that belong to no thread */
	bool java;           /* sample the Java heap */
	const char *threads; /* globs for thread names to sample (glob.h); NULL or "" = all */
};

#endif
