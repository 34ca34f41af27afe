/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaks with one cause: one line of the application leads to all of them, in their own stacks or in
 * those that started their threads.  The largest leads; the others are its parts.
 */
#ifndef TH_REPORT_LEAKS_CAUSES_H
#define TH_REPORT_LEAKS_CAUSES_H

#include "report/leaks/leaks.h"

/* Sets `cause` of the leaks among tallies and findings.  After both are known. */
void th_causes_find(struct th_leaks *leaks);
void th_causes_deinit(struct th_leaks *leaks);

/* The number of a leak: tallies first, then findings.  UINT32_MAX: the tally is no leak. */
uint32_t
th_causes_number_of_tallied(const struct th_leaks *leaks, const struct th_tallied *tallied);
uint32_t th_causes_number_of(const struct th_leaks *leaks, const struct th_listed *listed);

/* The number of the leak that this one is a part of; its own number: it leads, or is none. */
uint32_t th_causes_leader(const struct th_leaks *leaks, uint32_t number);

/* Whether it is a part of another leak, in whose report it is shown. */
bool th_causes_is_part(const struct th_leaks *leaks, uint32_t number);

/* The index of the leak that leads, in a list of all tallies and then all findings. */
size_t th_causes_leader_index(const struct th_leaks *leaks, uint32_t number);

/* The next part after `number` of the leak `leader`; start with `leader`.  UINT32_MAX: no more. */
uint32_t th_causes_next(const struct th_leaks *leaks, uint32_t leader, uint32_t number);

/*
 * The line of the application that started the thread of a leak whose own stack has none; TH_NO_FRAME:
 * it has one, or none is known.
 */
uint32_t th_causes_starter(const struct th_leaks *leaks, uint32_t number);

#endif
