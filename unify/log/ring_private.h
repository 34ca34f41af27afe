/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the ring (ring.h).  Private to the ring*.c files; all under its lock. */
#ifndef TH_UNIFY_LOG_RING_PRIVATE_H
#define TH_UNIFY_LOG_RING_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unify/base/atomic.h"
#include "unify/log/log_window.h"
#include "unify/shared/hash.h"
#include "unify/shared/log_format.h"

/* The largest KEPT event, and the largest record that one can hold. */
#define TH_RING_CARRIER_BYTES TH_LOG_WINDOW_OVERLAP
/* Read at once; every record fits. */
#define TH_RING_BUFFER_BYTES (TH_LOG_WINDOW_OVERLAP + (64u << 10))

/* Space is measured in parts of a ring; a chunk is full when it has so many of them. */
#define TH_RING_PARTS 16
#define TH_RING_CHUNK_PARTS 7

/*
 * A hash table of numbers in the library's own memory, for one thread at a time.  Open addressing
 * with linear probing; it grows when three quarters are in use, and deletion shifts entries back.
 */
struct th_id_entry {
	uint64_t key; /* not 0 */
	uint64_t place;
	/* Of a sample in a ring, see ring_samples.c. */
	uint64_t left;  /* bytes of a mapping that have not ended */
	uint32_t birth; /* times in units of 8 ms, from 1 */
	uint32_t end;   /* 0: it has not ended */
	float weight;   /* bytes that it represents */
	uint16_t type;  /* of its event */
	uint16_t flags;
};

/* Zeroed: empty. */
struct th_id_table {
	struct th_id_entry *entries;
	uint32_t slots; /* a power of two */
	uint32_t count;
};

/* The entry of a key; NULL: none.  Valid until the next change. [any] */
struct th_id_entry *th_id_table_find(const struct th_id_table *table, uint64_t key);

/* The same, inserted zeroed if it is new; NULL: out of memory. [any] */
struct th_id_entry *th_id_table_add(struct th_id_table *table, uint64_t key);

/* Removes an entry of the table. [any] */
void th_id_table_remove(struct th_id_table *table, struct th_id_entry *entry);

/* Gives the memory back. */
void th_id_table_deinit(struct th_id_table *table);

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
	uint64_t bytes;    /* atomic; 0: the log is no ring */
	uint64_t metadata; /* their end; they stay */
	uint64_t punched;  /* the file has no space before it, but for header and metadata */
	uint64_t from;     /* start of the older chunk: all before has gone */
	uint64_t next;     /* atomic; start of the present chunk */
	uint64_t end;      /* in the first pass: records before it are complete */
	uint64_t at;       /* next record of the pass */
	uint32_t chunk;    /* atomic; number of the present chunk, from 1 */
	uint32_t pass;     /* atomic; over the older chunk: 0 none, 1 looks, 2 copies */
	char *buffer;      /* TH_RING_BUFFER_BYTES of the file, from `buffered` on */
	uint64_t buffered;
	uint64_t buffered_end;
	uint64_t *words; /* of the next KEPT, TH_RING_CARRIER_BYTES */
	uint32_t words_count;

	uint64_t origin; /* start of the recording */
	uint64_t time;   /* the latest of a record so far */

	/* Samples that stay, see ring_samples.c. */
	struct th_id_table samples;
	uint32_t count[2]; /* by whether they have ended */
	double tau[2];     /* weight below which they are thinned out */
	double least[2];   /* the smallest score in the last sweep */
	uint64_t others;   /* bytes of the copies of other records */
	uint32_t level;    /* of followed Java objects */
	bool follows_few;  /* TH_JVM_FOLLOWS_FEW */

	/* Other records, see ring_rules.c. */
	struct th_id_table facts;       /* of the full chunk */
	struct th_id_table dead[2];     /* threads found dead, by chunk modulo 2 */
	uint32_t few[TH_EVENT_NUMBERS]; /* records of rare types kept in this pass */
	uint32_t account;               /* number of the last complete breakdown */
	uint64_t left_bytes[2];         /* of dead threads that were not copied; 1: Java */
};
extern struct th_ring th_ring;
extern bool (*th_ring_is_alive)(uint32_t thread);

/* Of `bytes` bytes at most; 0 if the record is too short. */
static inline uint64_t
th_ring_field(const struct th_ring_record *record, size_t at, size_t bytes)
{
	uint64_t value = 0;

	if (bytes <= sizeof(value) && at + bytes <= record->size)
		memcpy(&value, record->bytes + at, bytes);
	return value;
}

/* Of a type of record that begins with its time. */
static inline uint64_t
th_ring_time(const struct th_ring_record *record)
{
	return th_ring_field(record, sizeof(struct th_log_record), sizeof(uint64_t));
}

/* Copies a record, of a sample with its probability or 0; false: no space. */
bool th_ring_copy(const struct th_ring_record *record, double thinned);

/* A change of chunks begins: of th_ring.chunk. */
void th_ring_begin_rules(void);

/* The first pass over the full chunk, and the second one: what is needed is copied; false: no space. */
bool th_ring_look(const struct th_ring_record *record);
bool th_ring_keep(const struct th_ring_record *record);

/* The same of samples and their ends.  False: another record. */
bool th_ring_look_at_sample(const struct th_ring_record *record);
/* `part_ret`: the probability with which it stays; 0: it does not, 1 also of an end. */
bool th_ring_is_of_sample(const struct th_ring_record *record, double *part_ret);

/* Between the passes: only samples stay that fit, and are in the full chunk. */
void th_ring_thin_samples(void);

#endif
