/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/id_allowance.h"

#include "unify/base/atomic.h"
#include "unify/shared/clock.h"

/* Reading the CPU time is a system call. */
#define READ_NS (TH_NS_PER_S / 10)

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Makes up for IDs by the CPU time used since the last time; several processors count as one. */
static void
settle(struct th_id_allowance *allowance, uint32_t rate, uint64_t now, uint64_t cpu)
{
	uint64_t elapsed = least(now - th_load_relaxed(&allowance->time),
		cpu - th_load_relaxed(&allowance->cpu));
	uint64_t settled = rate * (double)elapsed / TH_NS_PER_S;
	/* The rate may be lower than that with which they were used. */
	uint64_t used = least(th_load_relaxed(&allowance->used), rate);

	th_store_relaxed(&allowance->used, (uint32_t)(used - least(used, settled)));
	th_id_allowance_start(allowance, now, cpu);
}

void
th_id_allowance_start(struct th_id_allowance *allowance, uint64_t now, uint64_t cpu)
{
	th_store_relaxed(&allowance->time, now);
	th_store_relaxed(&allowance->cpu, cpu);
}

bool
th_id_allowance_is_left(struct th_id_allowance *allowance, uint32_t rate, uint64_t now,
	uint64_t (*read_cpu)(void))
{
	if (th_load_relaxed(&allowance->used) >= rate &&
		now - th_load_relaxed(&allowance->time) >= READ_NS)
		settle(allowance, rate, now, read_cpu());
	return th_load_relaxed(&allowance->used) < rate;
}

void
th_id_allowance_use(struct th_id_allowance *allowance, uint32_t count)
{
	th_add_relaxed(&allowance->used, count);
}
