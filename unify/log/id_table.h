/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of numbers in the library's own memory, for one thread at a time.  Open addressing
 * with linear probing; it grows when three quarters are in use, and deletion shifts entries back.
 */
#ifndef TH_UNIFY_LOG_ID_TABLE_H
#define TH_UNIFY_LOG_ID_TABLE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
