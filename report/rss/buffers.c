/* SPDX-License-Identifier: Apache-2.0 */
#include "report/rss/buffers.h"

#include "unify/shared/clock.h"

/* An older count is not valid for a snapshot. */
#define COUNT_HOLDS_NS (10 * (uint64_t)TH_NS_PER_S)

/* A snapshot taken right after a count is simultaneous with it. */
static bool
belongs_to(const struct th_decoded_buffers *count, const struct th_profile *profile,
	const struct th_decoded_account *head)
{
	return count->time <= head->time &&
	       head->time - count->time <= count->stopped + COUNT_HOLDS_NS &&
	       !th_lifetimes_collections(&profile->lifetimes, count->time, head->time);
}

const struct th_decoded_buffers *
th_breakdown_buffers(const struct th_profile *profile, const struct th_decoded_account *head,
	enum th_buffers_kind kind)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_buffers *found = NULL;

	for (size_t i = 0; i < recording->buffers_count; i++) {
		const struct th_decoded_buffers *count = &recording->buffers[i];

		if (count->kind == kind && belongs_to(count, profile, head))
			found = count;
	}
	return found;
}

const struct th_decoded_account *
th_breakdown_of_last_count(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_account *found = NULL;

	for (size_t i = 0; i < recording->accounts_count; i++)
		if (th_breakdown_buffers(profile, &recording->accounts[i], TH_BUFFERS_DIRECT))
			found = &recording->accounts[i];
	return found;
}

const char *
th_breakdown_buffers_name(enum th_buffers_kind kind)
{
	static const char *const names[TH_BUFFERS_KINDS] = {
		[TH_BUFFERS_DIRECT] = "direct",
		[TH_BUFFERS_MAPPED] = "mapped",
		[TH_BUFFERS_FOREIGN] = "foreign",
	};

	return names[kind];
}
