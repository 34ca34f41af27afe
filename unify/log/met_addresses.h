/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native addresses that occur in stacks of the log, each once, in order of first
 * occurrence: what function_names.h is to name.
 */
#ifndef TH_UNIFY_LOG_MET_ADDRESSES_H
#define TH_UNIFY_LOG_MET_ADDRESSES_H

#include <stdint.h>

/* Maximum number of addresses; further ones are counted and not named. */
#define TH_MET_MAX (1u << 16)

/* Adds a native frame word with a module.  Takes no lock. [in-malloc] */
void th_met_add(uint64_t word);

/* Number of addresses so far; the last ones may not be readable yet. [any] */
uint32_t th_met_count(void);

/* The address number `index`, below th_met_count(); 0: it is about to be stored. [any] */
uint64_t th_met_get(uint32_t index);

/* In a forked child: forgets all addresses. */
void th_met_reset(void);

#endif
