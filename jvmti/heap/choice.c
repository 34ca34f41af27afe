/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/heap/choice.h"

static uint32_t
stratum_of(const struct th_choice *choice, uint64_t site, uint64_t size)
{
	uint64_t limit = choice->bytes_max / TH_CHOICE_SMALL_PART;
	uint32_t stratum = TH_CHOICE_SMALL;

	if (size <= limit)
		return (uint32_t)((site ^ choice->salt) * 0x9e3779b97f4a7c15u >> 32) %
		       TH_CHOICE_SMALL;
	for (limit *= 2; size > limit && stratum + 1 < TH_CHOICE_STRATA; limit *= 2)
		stratum++;
	return stratum;
}

void
th_choice_init(struct th_choice *choice, uint64_t bytes_max, uint64_t salt, uint64_t time)
{
	*choice = (struct th_choice){.bytes_max = bytes_max,
		.salt = salt,
		.span = time / TH_CHOICE_SPAN_NS,
		.in_use_before = (UINT64_C(1) << TH_CHOICE_STRATA) - 1};
}

/* Notes that a stratum is in use.  Returns the length of a period. */
static uint64_t
note_use(struct th_choice *choice, uint32_t stratum, uint64_t time)
{
	uint64_t span = time / TH_CHOICE_SPAN_NS;

	if (span != choice->span) {
		choice->in_use_before = span == choice->span + 1 ? choice->in_use : 0;
		choice->in_use = 0;
		choice->span = span;
	}
	choice->in_use |= UINT64_C(1) << stratum;
	return TH_CHOICE_SPACING_NS *
	       (uint64_t)__builtin_popcountll(choice->in_use | choice->in_use_before);
}

static void
begin_period(struct th_choice_stratum *stratum, uint64_t time, uint64_t length)
{
	double elapsed = (double)(time - stratum->begin);

	*stratum = (struct th_choice_stratum){.begin = time,
		.before = (double)stratum->count * (double)length / elapsed,
		.open = 1};
}

double
th_choice_offer(struct th_choice *choice, struct th_random *random, uint64_t site,
	uint64_t size, uint64_t time)
{
	uint32_t number = stratum_of(choice, site, size);
	struct th_choice_stratum *stratum = &choice->strata[number];
	uint64_t length = note_use(choice, number, time);

	/* The clocks of two threads may differ. */
	if (time >= stratum->begin + length)
		begin_period(stratum, time, length);
	stratum->count++;
	double expected = stratum->before > (double)stratum->count ? stratum->before
								   : (double)stratum->count;
	double keep = stratum->open / expected;
	stratum->open -= keep;
	if (stratum->is_used || th_random_unit(random) * expected > 1)
		return 0;
	stratum->is_used = true;
	return keep;
}
