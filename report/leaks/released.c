/* SPDX-License-Identifier: Apache-2.0 */
#include "report/leaks/released.h"

#include "report/base/allocate.h"
#include "report/base/format.h"

/* Released at exit: at least this part; less than NOTABLE_PART is not mentioned. */
#define MOST_PART 0.5
#define NOTABLE_PART 0.05

double
th_released_part(const struct th_evidence *evidence)
{
	return evidence->live > 0 ? evidence->freed_after / evidence->live : 0;
}

bool
th_released_only_at_exit(const struct th_profile *profile, const struct th_evidence *evidence)
{
	return th_profile_is_before_teardown(profile) &&
	       th_released_part(evidence) >= MOST_PART;
}

char *
th_released_text(const struct th_profile *profile, const struct th_evidence *evidence)
{
	double part = th_released_part(evidence);
	double seconds = th_profile_seconds(profile, profile->at.time);

	if (part < NOTABLE_PART)
		return NULL;
	return th_format_new("%s: %.0f %% of it was freed after %s s",
		th_released_only_at_exit(profile, evidence) ? "released only at exit"
		: th_profile_is_before_teardown(profile)    ? "partly released at exit"
							    : "released later",
		100 * part, th_format_time(seconds).text);
}
