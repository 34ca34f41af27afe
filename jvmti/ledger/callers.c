/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/ledger/callers.h"

#include <stddef.h>
#include <string.h>

#include "unify/base/memory.h"

#define CALLERS (1u << TH_CALLERS_BITS)
/* At most one take in 2^(9 + 8) is recorded. */
#define SHIFT_MOST 8

struct th_caller *th_callers;
uint32_t th_callers_shift;

static uint32_t samples; /* atomic: of frequent callers, in this second */

bool
th_callers_clear(void)
{
	if (!th_callers)
		th_callers = th_memory_map(CALLERS * sizeof(*th_callers));
	else
		memset(th_callers, 0, CALLERS * sizeof(*th_callers));
	return th_callers != NULL;
}

void
th_callers_drawn(struct th_caller *caller, uint32_t level, uint32_t stack)
{
	th_store_relaxed(&caller->samples, th_load_relaxed(&caller->samples) + 1);
	if (stack)
		th_store_relaxed(&caller->stack, stack);
	if (level)
		th_add_relaxed(&samples, 1);
}

void
th_callers_adapt(void)
{
	uint32_t count = __atomic_exchange_n(&samples, 0, __ATOMIC_RELAXED);
	uint32_t shift = th_load_relaxed(&th_callers_shift);

	if (count < TH_CALLERS_RATE / 4 && shift)
		shift--;
	for (; count > TH_CALLERS_RATE && shift < SHIFT_MOST; count /= 2)
		shift++;
	th_store_relaxed(&th_callers_shift, shift);
}
