/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaks with one cause: one line of the application leads to all of them, in their own stacks or in
 * those that started their threads.  The largest leads; the others are its parts.
 */
#ifndef TH_REPORT_LEAKS_CAUSES_H
#define TH_REPORT_LEAKS_CAUSES_H

#include "report/leaks/leaks.h"

/* Sets `causes` of the leaks, by number.  After tallies and findings are known. */
void th_causes_find(struct th_leaks *leaks);

/* The number of a finding: tallies first, then findings, leaks or not. */
uint32_t
th_causes_number_of_tallied(const struct th_leaks *leaks, const struct th_tallied *tallied);
uint32_t th_causes_number_of(const struct th_leaks *leaks, const struct th_listed *listed);

/* Whether it is a part of another leak, in whose report it is shown. */
bool th_causes_is_part(const struct th_leaks *leaks, uint32_t number);

/* The next part after `number` of the leak `leader`; start with `leader`.  UINT32_MAX: no more. */
uint32_t th_causes_next(const struct th_leaks *leaks, uint32_t leader, uint32_t number);

#endif
