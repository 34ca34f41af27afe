/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, sizes, percentages and durations in the syntax of users: 12, 512k, 1GiB, 0.5%, 30s. */
#ifndef TH_UNIFY_SHARED_SIZE_H
#define TH_UNIFY_SHARED_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Parses the digits at *text, of a base up to 16 and in lower case, and advances *text past them.  False:
 * there are none, or the number does not fit. [any]
 */
bool th_digits_parse(const char **text, unsigned base, uint64_t *number_ret);

/* Parses decimal digits alone; otherwise like th_size_parse(). [any] */
bool th_number_parse(const char *text, uint64_t *number_ret);

/*
 * Parses decimal digits and an optional unit: k, M, G or T in either case, powers of 1024,
 * followed by an optional B or iB; no blanks.  False, with *bytes_ret unchanged, if `text` has
 * another form or the value does not fit into 64 bits.  No locale, no errno, no allocation.
 * [any]
 */
bool th_size_parse(const char *text, uint64_t *bytes_ret);

/*
 * Parses a percentage ("1%", "0.5 %" or "2") into millionths: at most 100 %, at most four
 * decimals. [any]
 */
bool th_percent_parse(const char *text, uint64_t *millionths_ret);

/* Parses a duration ("30", "30s", "5m" or "2h") into seconds. [any] */
bool th_seconds_parse(const char *text, uint64_t *seconds_ret);

#endif
