/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays the control events of a recording in order of time: the sampled time of a heap, the
 * pauses, and the notices about what was left out.
 */
#include "report/statistics/sampling_changes.h"

#include <stdio.h>

#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/base/line.h"

/* The sampling state at a time. */
struct state {
	bool is_paused;
	uint64_t heaps; /* bits 1 << enum th_heap */
};

static void
apply(struct state *state, const struct th_decoded_control *change)
{
	if (th_text_equals(change->name, "paused"))
		state->is_paused = change->value;
	else if (th_text_equals(change->name, "heaps"))
		state->heaps = change->value;
}

static bool
samples(const struct state *state, enum th_heap heap)
{
	return !state->is_paused && state->heaps >> heap & 1;
}

static uint64_t
clamp(uint64_t time, uint64_t from, uint64_t to)
{
	if (time < from)
		return from;
	return time < to ? time : to;
}

uint64_t
th_sampling_changes_sampled(
	const struct th_recording *recording, enum th_heap heap, uint64_t from, uint64_t to)
{
	struct state state = {.heaps = th_recording_heaps(recording)};
	uint64_t last = from;
	uint64_t sum = 0;

	for (size_t i = 0; i < recording->changes_count; i++) {
		uint64_t time = clamp(recording->changes[i].time, last, to);

		sum += samples(&state, heap) ? time - last : 0;
		last = time;
		apply(&state, &recording->changes[i]);
	}
	return sum + (samples(&state, heap) && to > last ? to - last : 0);
}

bool
th_sampling_changes_next_pause(const struct th_recording *recording, size_t *change_number,
	uint64_t *from_ret, uint64_t *to_ret)
{
	bool is_paused = false;

	*to_ret = recording->end;
	while (*change_number < recording->changes_count) {
		const struct th_decoded_control *change =
			&recording->changes[(*change_number)++];

		if (!th_text_equals(change->name, "paused") ||
			(change->value != 0) == is_paused)
			continue;
		*(is_paused ? to_ret : from_ret) = change->time;
		if (is_paused)
			return true;
		is_paused = true;
	}
	return is_paused;
}

/* Notices */

static const char *
text_of_heaps(uint64_t heaps, double seconds)
{
	char names[64] = "";
	size_t length = 0;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (heaps >> heap & 1)
			length += (size_t)snprintf(names + length, sizeof(names) - length,
				"%s%s", length ? ", " : "", th_heap_title((enum th_heap)heap));
	}
	return th_text_format("sampled from %s s on: %s", th_format_time(seconds).text, names);
}

void
th_sampling_changes_tell(const struct th_recording *recording,
	void (*warn)(void *data, const char *text), void *data)
{
	uint64_t from, to, paused = 0;

	if (!warn)
		return;
	for (size_t i = 0; th_sampling_changes_next_pause(recording, &i, &from, &to);)
		paused += to - from;
	if (paused)
		warn(data, th_text_format("paused for %s of %s: allocations in that time "
					  "are not counted",
				   th_format_seconds((double)paused / 1e9).text,
				   th_format_seconds(th_recording_duration(recording)).text));
	for (size_t i = 0; i < recording->changes_count; i++) {
		const struct th_decoded_control *change = &recording->changes[i];
		double seconds = (double)(change->time - recording->start) / 1e9;

		if (th_text_equals(change->name, "heaps"))
			warn(data, text_of_heaps(change->value, seconds));
		if (th_text_equals(change->name, "stop"))
			warn(data, th_text_format("the recording was stopped after %s s; the "
						  "process continued",
					   th_format_time(seconds).text));
	}
}
