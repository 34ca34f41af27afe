/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of what is held: from a key (a reference or an address, and its kind) to the sample that
 * recorded its take.  It has a fixed size, and only sampled takes are in it.
 *
 * Without locks.  A program that gives something back has got it before, so put and take of one key do
 * not run at the same time; if they do because of an error of the program, one of them wins.
 */
#ifndef TH_JVMTI_LEDGER_HELD_H
#define TH_JVMTI_LEDGER_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"

/* Takes that can be held at the same time; 2 MiB, touched as needed. */
#define TH_HELD_BITS 17
#define TH_HELD_MAX (1u << TH_HELD_BITS)

/*
 * How many keys of each hash value are in the table: the frequent question, for a key that is not there,
 * reads one byte.  Atomic; counted before a key is entered, and after it is removed.
 */
extern uint8_t th_held_present[TH_HELD_MAX] __attribute__((visibility("hidden")));

/* Maps the table; false: out of memory. */
bool th_held_init(void);

/*
 * The key of an address (of which the low 56 bits count) and a kind, from 1; never 0. [any]
 */
static inline uint64_t
th_held_key(uint32_t kind, uintptr_t address)
{
	return (uint64_t)kind << 56 | ((uint64_t)address & UINT64_C(0xffffffffffffff));
}

/* Fibonacci hashing: the upper `bits`. */
static inline uint32_t
th_held_hash(uint64_t key, int bits)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* False: the key is not in the table.  True: look it up. [any] */
static inline bool
th_held_may_have(uint64_t key)
{
	return th_load_relaxed(&th_held_present[th_held_hash(key, TH_HELD_BITS)]) != 0;
}

/*
 * Enters a sample (not 0).  *replaced_ret: the one that had this key before, 0 = none.  False: there
 * is no room for it. [any]
 */
bool th_held_put(uint64_t key, uint64_t sample, uint64_t *replaced_ret);

/* Removes a key and returns its sample; 0: it is not in the table. [any] */
uint64_t th_held_take(uint64_t key);

/* The sample of a key, which stays; 0: it is not in the table. [any] */
uint64_t th_held_find(uint64_t key);

/* Number of keys, about. [any] */
uint32_t th_held_count(void);

/* Calls `visit` with the address and the sample of each key of a kind. [any] */
void th_held_each(uint32_t kind, void (*visit)(uintptr_t address, uint64_t sample, void *data),
	void *data);

/* Forgets everything; while nothing is entered. [any] */
void th_held_clear(void);

#endif
