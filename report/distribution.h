/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two distributions behind all intervals.  All functions: [offline].
 */
#ifndef TH_REPORT_DISTRIBUTION_H
#define TH_REPORT_DISTRIBUTION_H

/*
 * Of a + b blocks, each hit with probability p, a were hit:
 *
 *     F(a, b, p) = P(hits > a) + P(hits = a) / 2
 *                = (I_p(a, b+1) + I_p(a+1, b)) / 2
 *
 * is the mid-P confidence distribution of b, the number of blocks that were missed: it rises
 * from p^a / 2 at b = 0 to 1, and the 95 % interval for b is where it lies within 0.025 and
 * 0.975.  a and b may be any real numbers >= 0.  For small p this is the distribution of a
 * Poisson mean.  p is in (0, 1) and q = 1 - p, given apart so that neither loses digits.
 * Accurate to 1e-13 for up to 10^5 hits, to 1e-4 for up to 10^8.
 */
double th_distribution_mid(double a, double b, double p, double q);

/* The standard normal quantile, to 7 digits; 0 < level < 1. */
double th_distribution_normal_quantile(double level);

#endif
