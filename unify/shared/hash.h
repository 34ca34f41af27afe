/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_UNIFY_SHARED_HASH_H
#define TH_UNIFY_SHARED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Initial value of th_hash_bytes(). */
#define TH_HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a of `bytes` bytes; `hash` is the hash of the preceding data. [any] */
static inline uint64_t
th_hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/*
 * The finalizer of splitmix64: a bijection in which each input bit affects all output bits.
 * [any]
 */
static inline uint64_t
th_hash_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

#endif
