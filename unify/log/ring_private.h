/* SPDX-License-Identifier: Apache-2.0 */
/* What ring.c, the ring's space and copies, and ring_keep.c, what stays, share; under the ring's lock. */
#ifndef TH_UNIFY_LOG_RING_PRIVATE_H
#define TH_UNIFY_LOG_RING_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"

/* Space is measured in parts of a ring; a chunk is full when it has so many of them. */
#define TH_RING_PARTS 16
#define TH_RING_CHUNK_PARTS 7

/* A record in the full chunk. */
struct th_ring_record {
	uint64_t offset; /* where it was first appended: the id of a sample */
	uint64_t place;  /* where it is now */
	const char *bytes;
	uint32_t size;
	uint16_t type;
	bool is_copy;   /* it is in a KEPT event */
	double thinned; /* of a sample: the probability with which it was kept; 0 = all were */
};

struct th_ring {
	struct th_spinlock working;
	uint64_t bytes; /* atomic; 0: the log is no ring */
	uint64_t
		from; /* start of the older chunk, the full one in a change: all before has gone */
	uint64_t next;  /* atomic; start of the present chunk */
	uint64_t at;    /* next record of the pass */
	uint32_t word;  /* if it is a KEPT: next record in that */
	uint32_t chunk; /* atomic; number of the present chunk, from 1 */
	uint32_t pass;  /* atomic; over the full chunk: 0 none, 1 looks, 2 copies */
};
extern struct th_ring th_ring;

/* A recording begins, at a time. */
void th_ring_keep_init(uint64_t origin);
void th_ring_keep_deinit(void);

/* A change of chunks begins: of th_ring.chunk. */
void th_ring_keep_begin(void);

/* The first pass sees a record. */
void th_ring_look(const struct th_ring_record *record);

/* Between the passes: only samples stay that fit, and are in the full chunk. */
void th_ring_thin(void);

/* The second pass: the probability with which a record stays; 1 if it is no sample; 0: it goes. */
double th_ring_part(const struct th_ring_record *record);

/* Where the record of a sample that stays is; NULL: not known.  Valid until the next change. */
uint64_t *th_ring_find_place(uint64_t sample);

#endif
