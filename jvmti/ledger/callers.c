/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/ledger/callers.h"

#include <string.h>

#define CALLERS (1u << TH_CALLERS_BITS)
/* From level to level the probability falls to 1/8. */
#define LEVEL_STEP 3
/* At most one take in 2^(9 + 8) is recorded. */
#define SHIFT_MOST 8

struct th_caller th_callers[CALLERS];

/* Written by any thread, atomic. */
static struct {
	uint32_t is_exact;
	uint32_t is_full;
	uint32_t shift;   /* added to the levels of frequent callers */
	uint32_t samples; /* of frequent callers, in this second */
} rules;

static uint32_t
level_after(uint32_t samples)
{
	uint32_t level = samples / TH_CALLERS_PER_LEVEL * LEVEL_STEP;

	if (th_load_relaxed(&rules.is_exact))
		level = 0;
	if (level > TH_CALLERS_FREQUENT)
		level = TH_CALLERS_FREQUENT;
	if (level)
		level += th_load_relaxed(&rules.shift);
	return level < TH_CALLERS_FREQUENT && th_load_relaxed(&rules.is_full)
		       ? TH_CALLERS_FREQUENT
		       : level;
}

/* Entries that do not change are not touched. */
static void
update(struct th_caller *caller)
{
	uint32_t level = level_after(th_load_relaxed(&caller->samples));
	uint64_t skip = level ? UINT64_MAX << (64 - level) : 0;

	if (skip != th_load_relaxed(&caller->skip))
		th_store_relaxed(&caller->skip, skip);
}

static void
set(uint32_t *rule, uint32_t value)
{
	if (th_load_relaxed(rule) == value)
		return;
	th_store_relaxed(rule, value);
	for (uint32_t i = 0; i < CALLERS; i++)
		update(&th_callers[i]);
}

void
th_callers_clear(void)
{
	memset(th_callers, 0, sizeof(th_callers));
	memset(&rules, 0, sizeof(rules));
}

void
th_callers_set_exact(bool is_exact)
{
	set(&rules.is_exact, is_exact);
}

void
th_callers_set_full(bool is_full)
{
	set(&rules.is_full, is_full);
}

/* Not only once a second: millions of takes may come until then. */
static void
count_frequent(void)
{
	uint32_t count = th_add_relaxed(&rules.samples, 1) + 1;
	uint32_t shift = th_load_relaxed(&rules.shift);

	if (count % TH_CALLERS_RATE == 0 && shift < SHIFT_MOST)
		set(&rules.shift, shift + 1);
}

void
th_callers_drawn(struct th_caller *caller, uint32_t level, uint32_t stack)
{
	th_store_relaxed(&caller->samples, th_load_relaxed(&caller->samples) + 1);
	if (stack)
		th_store_relaxed(&caller->stack, stack);
	if (level)
		count_frequent();
	update(caller);
}

void
th_callers_adapt(void)
{
	uint32_t count = __atomic_exchange_n(&rules.samples, 0, __ATOMIC_RELAXED);
	uint32_t shift = th_load_relaxed(&rules.shift);

	if (count < TH_CALLERS_RATE / 4 && shift)
		set(&rules.shift, shift - 1);
}
