/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of words without locks, in which each has a number.  Entries are never removed.
 *
 * The set grows by levels, each four times the size of the previous one, when half of a level is
 * taken: a small set takes two pages, and has at most TH_HASH_SET_MOST words, in 10.7 MiB.
 */
#ifndef TH_UNIFY_BASE_HASH_SET_H
#define TH_UNIFY_BASE_HASH_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unify/shared/hash.h"

#define TH_HASH_SET_LEVELS 6
#define TH_HASH_SET_FIRST 1024u
/* The numbers are 1 to this. */
#define TH_HASH_SET_NUMBERS (TH_HASH_SET_FIRST * ((1u << 2 * TH_HASH_SET_LEVELS) - 1) / 3)
#define TH_HASH_SET_MOST (TH_HASH_SET_NUMBERS / 2)
/* The highest bit of a word is the caller's, and not compared. */
#define TH_HASH_SET_MARK (UINT64_C(1) << 63)

struct th_hash_set {
	struct th_hash_level {
		uint64_t *slots; /* atomic; NULL: not allocated yet; 0 = free */
		uint32_t taken;  /* atomic */
	} levels[TH_HASH_SET_LEVELS];
};

struct th_hash_entry {
	uint64_t *word;  /* atomic; NULL: the set is full, or there is no memory */
	uint32_t number; /* 0: as above */
	bool is_new;
};

/* The slots of a level. */
static inline uint32_t
th_hash_set_slots(unsigned level)
{
	return TH_HASH_SET_FIRST << 2 * level;
}

/* A word for a text; two texts have the same with probability 2^-62. [any] */
static inline uint64_t
th_hash_set_text(const char *text)
{
	return th_hash_mix(th_hash_bytes(TH_HASH_START, text, strlen(text))) | 1;
}

/* Adds `word`, which is not 0 without its mark, unless it is there. [any] */
struct th_hash_entry th_hash_set_add(struct th_hash_set *set, uint64_t word);

/* The number of `word`; 0: it is not in the set. [any] */
uint32_t th_hash_set_find(struct th_hash_set *set, uint64_t word);

/* Empties a set that others may be using: what they add meanwhile may stay. [any] */
void th_hash_set_clear(struct th_hash_set *set);

/* Empties a set that is not in use, and releases its memory. [any] */
void th_hash_set_reset(struct th_hash_set *set);

#endif
