/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xoshiro256++ and splitmix64 after Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", ACM TOMS 2021 (public domain).
 *
 * ln is a series after a reduction by powers of two.  The library implements it because it may
 * depend on libc alone, and malloc may not call functions that the host can replace; its error is
 * a few units in the last place, where 1e-12 would be sufficient.
 */
#include "unify/sample/poisson.h"

#include <stddef.h>
#include <string.h>

#include "unify/shared/hash.h"

#define LN2 0.693147180559945309417
#define SQRT2 1.41421356237309504880
/* The largest double below 2^63. */
#define COUNTDOWN_MAX 9223372036854774784.0

static uint64_t
rotate_left(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static uint64_t
splitmix64(uint64_t *state)
{
	return th_hash_mix(*state += 0x9e3779b97f4a7c15u);
}

void
th_random_seed(struct th_random *random, uint64_t seed)
{
	/* Never all zero: splitmix64 is a bijection, so only one of four words can be 0. */
	for (size_t i = 0; i < 4; i++)
		random->state[i] = splitmix64(&seed);
}

uint64_t
th_random_next(struct th_random *random)
{
	uint64_t *s = random->state;
	uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double
th_random_unit(struct th_random *random)
{
	return (double)((th_random_next(random) >> 11) + 1) * 0x1p-53;
}

/* x = m * 2^exponent with m in [sqrt(1/2), sqrt(2)), for a positive normal x. */
static double
split_exponent(double x, int *exponent_ret)
{
	uint64_t bits;
	double m;

	memcpy(&bits, &x, sizeof(bits));
	*exponent_ret = (int)(bits >> 52) - 1023;
	bits = bits % (UINT64_C(1) << 52) | UINT64_C(1023) << 52;
	memcpy(&m, &bits, sizeof(m));
	if (m >= SQRT2) {
		m *= 0.5;
		++*exponent_ret;
	}
	return m;
}

/* ln x = e ln 2 + 2 atanh((m-1)/(m+1)), for x in [2^-1022, 1]. */
static double
natural_log(double x)
{
	/* f^2 <= 0.0295, so the first omitted term is below 1e-17 of the sum. */
	static const double odd[] = {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11,
		1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
	int exponent;
	double m = split_exponent(x, &exponent);
	double f = (m - 1) / (m + 1);
	double sum = 0;

	for (size_t i = sizeof(odd) / sizeof(odd[0]); i-- > 0;)
		sum = sum * (f * f) + odd[i];
	return exponent * LN2 + 2 * f * sum;
}

int64_t
th_sampler_draw(struct th_random *random, uint64_t interval)
{
	double bytes = -(double)interval * natural_log(th_random_unit(random));

	return bytes < COUNTDOWN_MAX ? (int64_t)bytes : (int64_t)COUNTDOWN_MAX;
}
