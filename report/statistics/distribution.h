/* SPDX-License-Identifier: Apache-2.0 */
/* The two distributions from which all intervals are computed. */
#ifndef TH_REPORT_STATISTICS_DISTRIBUTION_H
#define TH_REPORT_STATISTICS_DISTRIBUTION_H

/*
 * Of a + b blocks, each hit with probability p, a were hit:
 *
 *     F = P(hits > a) + tie P(hits = a)
 *       = tie I_p(a, b+1) + (1 - tie) I_p(a+1, b)
 *
 * is the confidence that the true number of misses is b or less; it rises with b, from tie p^a
 * at b = 0 to 1. A lower limit is where it is 0.025, an upper one where it is 0.975: exact
 * limits after Clopper and Pearson with a tie of 1 and 0, mid-P limits with 1/2. a and b may be
 * any real numbers >= 0. For small p this is the distribution of a Poisson mean. p is in (0, 1)
 * and q = 1 - p, passed separately so that neither loses precision. Accurate to 1e-12 for up to
 * 10^5 hits, to 1e-4 for up to 10^8.
 */
double th_distribution_misses(double a, double b, double p, double q, double tie);

/*
 * The normal score of the same: -1.96 at a lower limit, 1.96 at an upper one, with an error
 * below 2e-4 between -3 and 3. Takes microseconds for any number of hits.
 */
double th_distribution_score(double a, double b, double p, double q, double tie);

/* The standard normal quantile, to 7 digits; 0 < level < 1. */
double th_distribution_normal_quantile(double level);

#endif
