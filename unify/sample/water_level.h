/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max-min fair division of a total: each of several demands is met up to a common level, so
 * that small ones are met in full, and large ones share what is left equally.
 */
#ifndef TH_UNIFY_SAMPLE_WATER_LEVEL_H
#define TH_UNIFY_SAMPLE_WATER_LEVEL_H

#include <stddef.h>

/*
 * The level at which sum of min(demand, level) = `total`; `total` itself if all demands can be
 * met.  Demands are >= 0; the array is used for the work.  [in-malloc]
 */
double th_water_level(double *demands, size_t count, double total);

#endif
