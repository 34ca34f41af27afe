/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/unseen.h"

#include "report/base/chunk.h"

/* Parts below are noise: blocks in thread caches count as in use, and the VM allocates for us. */
#define NOTABLE_BYTES (1 << 20)
#define NOTABLE_PART 0.05
#define NOTABLE_REUSED 0.01

/* The time of the breakdown to which figures of the allocator belong; 0: it is incomplete. */
static uint64_t
time_of(const struct th_recording *recording, const struct th_decoded_allocator *figures)
{
	for (size_t i = 0; i < recording->accounts_count; i++)
		if (recording->accounts[i].account == figures->account)
			return recording->accounts[i].time;
	return 0;
}

static struct th_estimate
live_between(const struct th_profile *profile, uint64_t from, uint64_t to)
{
	const struct th_samples *samples = &profile->recording->samples[TH_HEAP_NATIVE];
	struct th_moment moment = th_lifetimes_moment(&profile->lifetimes, to);
	struct th_estimator sum = {0};

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];

		if (sample->time <= from ||
			!th_lifetimes_is_live(&profile->lifetimes, TH_HEAP_NATIVE, i, &moment))
			continue;
		th_lifetimes_add_part(&profile->lifetimes, &profile->heaps[TH_HEAP_NATIVE],
			TH_HEAP_NATIVE, sample, &moment, th_chunk_bytes(sample->size), &sum);
	}
	return th_profile_bytes(profile, TH_HEAP_NATIVE, TH_MEASURE_LIVE, &sum);
}

static double
in_use(const struct th_decoded_allocator *figures)
{
	return (double)figures->used + (double)figures->mapped;
}

static void
find_growth(const struct th_profile *profile, struct th_unseen *unseen)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_allocator *first = recording->allocators, *last;
	uint64_t from, to;

	if (recording->allocators_count < 2 || !profile->heaps[TH_HEAP_NATIVE].is_recorded ||
		!th_text_equals(first->name, "libc.so.6"))
		return;
	last = &recording->allocators[recording->allocators_count - 1];
	from = time_of(recording, first);
	to = time_of(recording, last);
	if (!from || to <= from)
		return;
	unseen->has_growth = true;
	unseen->grown = in_use(last) - in_use(first);
	unseen->seen = live_between(profile, from, to);
	if (unseen->grown > unseen->seen.high)
		unseen->at_least = unseen->grown - unseen->seen.high;
}

bool
th_unseen_find(const struct th_profile *profile, struct th_unseen *ret)
{
	const struct th_recording *recording = profile->recording;

	*ret = (struct th_unseen){
		.slots = th_recording_counter(recording, "slots"),
		.objects = th_recording_counter(recording, "slot_objects"),
		.foreign = th_recording_counter(recording, "slots_foreign"),
		.searched = th_recording_counter(recording, "slot_searched"),
		.blocks = th_recording_counter(recording, "native_samples"),
		.reused = th_recording_counter(recording, "live_reused"),
	};
	if (!ret->slots && !ret->searched)
		return false;
	for (size_t i = 0; i < recording->slot_copies_count; i++)
		ret->copies += recording->slot_copies[i].copies;
	find_growth(profile, ret);
	return true;
}

bool
th_unseen_is_notable(const struct th_unseen *unseen)
{
	return (unseen->at_least > NOTABLE_BYTES &&
		       unseen->at_least > NOTABLE_PART * unseen->grown) ||
	       (double)unseen->reused > NOTABLE_REUSED * (double)unseen->blocks;
}
