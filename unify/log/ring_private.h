/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the ring (ring.h).  Private to the ring*.c files; all under its lock. */
#ifndef TH_UNIFY_LOG_RING_PRIVATE_H
#define TH_UNIFY_LOG_RING_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"
#include "unify/log/id_table.h"
#include "unify/log/log_window.h"
#include "unify/shared/hash.h"
#include "unify/shared/log_format.h"

/* The largest KEPT event, and the largest record that one can hold. */
#define TH_RING_CARRIER_BYTES TH_LOG_WINDOW_OVERLAP
/* Read at once; every record fits. */
#define TH_RING_BUFFER_BYTES (TH_LOG_WINDOW_OVERLAP + (64u << 10))

/* A record as the scan meets it. */
struct th_ring_record {
	uint64_t offset; /* where it was appended: the id of a sample */
	uint64_t place;  /* where it is now */
	const char *bytes;
	uint32_t size;
	uint16_t type;
	bool is_carried; /* it was moved before */
	double thinned;  /* of a sample: the probability with which it was kept; 0 = all were */
};

/* What is collected before it is appended as KEPT. */
struct th_ring_carrier {
	uint64_t *words; /* TH_RING_CARRIER_BYTES */
	uint32_t count;
};

/* State of the passes over one segment. */
struct th_ring_cycle {
	uint32_t pass; /* 0: none; 1: ends of samples; 2: everything else */
	uint64_t at;   /* next record */
	uint64_t cut;  /* end of the segment: known after the first pass */
	uint64_t kept; /* bytes carried */
};

struct th_ring {
	struct th_spinlock working;
	uint64_t bytes;   /* 0: the log is no ring */
	uint64_t segment; /* compacted at once */
	uint64_t start;   /* end of the metadata, which stay */
	uint64_t from;    /* records before it are carried */
	uint64_t punched; /* the file has no space before it, but for header and metadata */
	uint64_t extra;   /* bytes beyond the usual maximum, where compaction needed them */
	int64_t credit;   /* bytes that may be carried in this cycle beyond half of it */
	uint64_t lap_end; /* the tail when this turn began */
	uint32_t lap;     /* atomic; from 1 */
	struct th_ring_cycle cycle;
	char *buffer; /* TH_RING_BUFFER_BYTES of the file, from `buffered` on */
	uint64_t buffered;
	uint64_t buffered_end;
	struct th_ring_carrier carrier;

	struct th_id_table open;   /* samples without an end: place of the record; see rules */
	uint32_t chosen;           /* of these, those that stay */
	double open_tau;           /* weight below which they are thinned out */
	struct th_id_table latest; /* by th_ring_key(): offset of the last record */
	struct th_id_table marks;  /* by th_ring_key(): the turn in which it was last needed */
	uint32_t pruned;           /* where stale marks are looked for next */
	double tau;         /* weight below which samples that have ended are thinned out */
	uint64_t time;      /* the latest of a record so far */
	uint64_t origin;    /* start of the recording */
	uint32_t account;   /* number of the last complete breakdown */
	uint32_t level;     /* of followed Java objects */
	bool follows_few;   /* TH_JVM_FOLLOWS_FEW */
	uint64_t last_kept; /* the sample that was carried last: its end follows */
	uint64_t slots[2][TH_EVENT_NUMBERS]; /* series: last slot of time, by whether carried */
	uint32_t few[TH_EVENT_NUMBERS];      /* records of rare types kept in this turn */
};
extern struct th_ring th_ring;
extern bool (*th_ring_is_alive)(uint32_t thread);

/* Sets the maximum size of the file. */
void th_ring_set_maximum(uint64_t bytes);

/* A key of the tables. */
static inline uint64_t
th_ring_key(uint32_t type, uint64_t a, uint64_t b)
{
	return th_hash_mix(a ^ th_hash_mix(b + ((uint64_t)type << 40))) | 1;
}

/* Reading: ring_scan.c */

/* The next record at or after cycle->at; false: none before `end`, or not readable now. */
bool th_ring_read(uint64_t end, struct th_ring_record *record_ret);
/* The record of type `type` at `place` that was appended at `offset`; false: none. */
bool th_ring_read_at(
	uint64_t place, uint64_t offset, uint32_t bytes, struct th_ring_record *record_ret);
/* Forgets what was read, which may have changed. */
void th_ring_forget_buffer(void);
/* The records in a KEPT, one after the other: *at begins with 0. */
bool th_ring_next_inner(
	const struct th_ring_record *carrier, uint32_t *at, struct th_ring_record *record_ret);

/* Carrying: ring_carry.c */

/* Appends a copy of a record, of a sample with its probability or 0; false: no space. */
bool th_ring_carry(const struct th_ring_record *record, double thinned);
/* Writes what was collected. */
bool th_ring_flush(void);

/* Rules: ring_rules.c */

/* The first pass: samples begin and end. */
void th_ring_look(const struct th_ring_record *record);
/* The second pass: what is needed is carried; false: no space. */
bool th_ring_keep(const struct th_ring_record *record);

/* Samples: ring_samples.c */

bool th_ring_is_sample(uint32_t type);
bool th_ring_is_end(uint32_t type);
void th_ring_begin_sample(const struct th_ring_record *record);
void th_ring_end_sample(const struct th_ring_record *record);
/* In the second pass, with the records behind it in the same KEPT; false: no space. */
bool th_ring_keep_sample(
	const struct th_ring_record *record, const struct th_ring_record *carrier, uint32_t at);
bool th_ring_keep_end(const struct th_ring_record *record);

#endif
