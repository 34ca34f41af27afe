/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/mapped_use.h"

#include "report/profile/values.h"

/* Older sums are printed with their time. */
#define RECENT_S 0.01
/* Sums and the mark that follows them. */
#define RECENT_NS 1000000

const struct th_decoded_mapped_use *
th_mapped_use_at(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_mapped_use *found = NULL;

	for (size_t i = 0; i < recording->mapped_uses_count; i++) {
		const struct th_decoded_mapped_use *use = &recording->mapped_uses[i];

		if (use->time <= profile->at.time && (!found || use->time >= found->time))
			found = use;
	}
	return found;
}

/*
 * Whether the sums are those of the time of the view: written with the mark of teardown, or as the
 * last of a complete recording.
 */
static bool
is_of_moment(const struct th_profile *profile, const struct th_decoded_mapped_use *use)
{
	const struct th_recording *recording = profile->recording;

	if (th_profile_is_before_teardown(profile))
		return profile->teardown.mark && profile->at.time - use->time <= RECENT_NS;
	return recording->is_complete && profile->at.time == recording->end &&
	       use == &recording->mapped_uses[recording->mapped_uses_count - 1];
}

bool
th_mapped_use_live(const struct th_profile *profile, struct th_estimate *ret)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_mapped_use *use = th_mapped_use_at(profile);

	/* Pauses: mappings made in that time are in the sums, but in no sample. */
	if (!use || !is_of_moment(profile, use) || profile->window.from > 0 ||
		profile->window.to < UINT64_MAX || th_options_filter_stacks(profile->options) ||
		recording->changes_count)
		return false;
	*ret = th_estimate_exact((double)use->accessible,
		profile->selected[TH_HEAP_MAPPED][TH_MEASURE_LIVE].samples);
	return true;
}

void
th_mapped_use_print(FILE *file, const struct th_profile *profile)
{
	const struct th_decoded_mapped_use *use = th_mapped_use_at(profile);

	if (!use || !th_profile_has_heap(profile, TH_HEAP_MAPPED))
		return;
	double age = th_profile_seconds(profile, profile->at.time) -
		     th_profile_seconds(profile, use->time);
	th_print(file, "total mapped: {b} accessible, {b} of it files; {b} more reserved",
		use->accessible, use->files, use->reserved);
	if (use->returned)
		th_print(file, "; {b} released by madvise so far", use->returned);
	if (age > RECENT_S)
		th_print(file, " (at {t} s)", th_profile_seconds(profile, use->time));
	fputc('\n', file);
}
