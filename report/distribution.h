/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one distribution behind all intervals.  With n = a + b trials of probability p, a of them
 * hits,
 *
 *     F(a, b, p) = P(hits > a) + P(hits = a) / 2
 *                = (I_p(a, b+1) + I_p(a+1, b)) / 2
 *
 * is the mid-P confidence distribution, of b when p is known and of p when b is known; a and b
 * may be any real numbers >= 0.  For small p it is that of a Poisson mean.  All functions:
 * [offline].
 */
#ifndef TH_REPORT_BETA_H
#define TH_REPORT_BETA_H

/* F(a, b, p) with p in [0, 1] and q = 1 - p, given apart so that neither loses digits. */
double th_beta_mid(double a, double b, double p, double q);

/* The number of misses b at which F = `level`; 0 if F is above it even there.  0 < p < 1. */
double th_beta_misses(double a, double p, double q, double level);

/*
 * The odds p/q at which F = `level`; 0 or HUGE_VAL where F stays above or below it, as it does
 * without any hit or without any miss.
 */
double th_beta_odds(double a, double b, double level);

#endif
