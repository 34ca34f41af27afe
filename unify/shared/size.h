/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as people type them: 4096, 512k, 2M, 1GiB. */
#ifndef TH_UNIFY_SHARED_SIZE_H
#define TH_UNIFY_SHARED_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads decimal digits and an optional unit: k, M, G or T in either case, powers of 1024, and
 * after it an optional B or iB; nothing may stand before or behind.  False, and *bytes_ret
 * untouched, when `text` is not that or does not fit 64 bits.  No locale, no errno, no
 * allocation. [any]
 */
bool th_size_parse(const char *text, uint64_t *bytes_ret);

/*
 * Reads a part of the whole in percent, as "1%", "0.5 %" or "2", into millionths: at most 100 %, at
 * most four decimals. [any]
 */
bool th_percent_parse(const char *text, uint64_t *millionths_ret);

#endif
