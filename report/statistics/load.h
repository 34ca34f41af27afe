/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load of a program over time, measured by the samples of a heap.  What a program keeps of each
 * request grows evenly by load, also where it grows in bursts.
 */
#ifndef TH_REPORT_STATISTICS_LOAD_H
#define TH_REPORT_STATISTICS_LOAD_H

#include <stdint.h>

#include "report/log/recording.h"

#define TH_LOAD_PARTS 256
/* Fewer samples do not show when the program worked. */
#define TH_LOAD_ENOUGH 64

struct th_load {
	enum th_heap heap;
	double from, to; /* ns */
	/* Up to the start of each equal part, and in all. */
	double samples[TH_LOAD_PARTS + 1];
	double bytes[TH_LOAD_PARTS +
		     1]; /* a sample of an interval counts as that, however large it is */
};

/* Counts the samples of a heap between two times. */
void th_load_init(struct th_load *load, const struct th_recording *recording, enum th_heap heap,
	uint64_t from, uint64_t to);

/* The same for the Java heap if it has samples, else for the C heap. */
void th_load_init_program(
	struct th_load *load, const struct th_recording *recording, uint64_t from, uint64_t to);

/* Samples between two times, as if they came evenly within a part. */
double th_load_samples(const struct th_load *load, double from, double to);

/* Bytes between two times: samples are fewer where the interval is longer. */
double th_load_bytes(const struct th_load *load, double from, double to);

/* The time at which a part, 0 to 1, of the bytes between two times had been allocated. */
double th_load_time(const struct th_load *load, double from, double to, double part);

#endif
