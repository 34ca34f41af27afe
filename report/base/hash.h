/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of data from a log, keyed by random words of this process: the author of a log cannot
 * choose ids or names that collide in a table. No result of the tool depends on them.
 */
#ifndef TH_REPORT_BASE_HASH_H
#define TH_REPORT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Set before main(). */
extern uint64_t th_hash_key[2];

/* The exclusive or of the two halves of a 128-bit product. */
static inline uint64_t
th_hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * A hash whose low bits are as good as its high ones.  Two rounds: with one, words in arithmetic
 * progression cluster under some keys.
 */
static inline uint64_t
th_hash_word(uint64_t word)
{
	uint64_t mixed = th_hash_fold(word ^ th_hash_key[0], th_hash_key[1]);

	return th_hash_fold(mixed ^ th_hash_key[0], 0xa0761d6478bd642fu);
}

/* Adds one word to the hash of a sequence, which starts at any value. */
static inline uint64_t
th_hash_next(uint64_t hash, uint64_t word)
{
	return th_hash_word(hash ^ th_hash_word(word));
}

/* Hash of a string without its NUL. */
uint64_t th_hash_text(const char *text);

#endif
