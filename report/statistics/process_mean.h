/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Means over processes, with 95 % intervals.
 *
 * Each process contributes one number, an estimate with an error of its own. The spread of these
 * numbers contains both the differences between processes and the errors of their estimates, so
 * the variance over processes is all that an interval needs; no interval of a single process
 * enters. (The variance of a mean from the totals of independently sampled units: Hansen, Hurwitz
 * and Madow, Sample Survey Methods and Theory, 1953, chapter 6.) Processes count alike, whatever
 * they allocate.
 */
#ifndef TH_REPORT_STATISTICS_PROCESS_MEAN_H
#define TH_REPORT_STATISTICS_PROCESS_MEAN_H

#include <stdint.h>

#include "report/statistics/estimate.h"

/* Zeroed: no processes. */
struct th_process_sums {
	uint64_t count;
	double mean;
	double squares; /* sum of the squared distances from the mean */
};

/* Adds a process (Welford, Technometrics 1962). */
void th_process_sums_add(struct th_process_sums *sums, double value);

/* Adds processes whose value is 0. */
void th_process_sums_add_zeros(struct th_process_sums *sums, uint64_t count);

/*
 * The quantile of Student's distribution for a two-sided interval that misses with probability
 * `miss` (0.05: 95 %), by Hill's algorithm 396 (Communications of the ACM 1970): at least 4 digits
 * for `freedom` >= 3; below that `freedom` is rounded down to 1 or 2, where it is exact.
 */
double th_student_quantile(double miss, double freedom);

/*
 * The mean m of n processes and its interval m +- t(n-1) sqrt(s^2/n) (Student, Biometrika 1908),
 * which misses with probability `miss`; `samples` is n. It may include negative values. With less
 * than two processes there is no variance: low and high are infinite.
 */
struct th_estimate th_process_mean(const struct th_process_sums *sums, double miss);

/*
 * The difference of the means of two independent groups, by Welch's test (Biometrika 1947) with
 * the degrees of freedom of Satterthwaite (1946). Infinite as above if a group has less than two.
 */
struct th_estimate th_process_difference(const struct th_process_sums *old_sums,
	const struct th_process_sums *new_sums, double miss);

#endif
