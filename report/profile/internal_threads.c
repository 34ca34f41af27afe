/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/internal_threads.h"

#include <stdlib.h>

#include "report/base/allocate.h"

bool *
th_internal_threads_find(const struct th_recording *recording, const struct th_frames *frames)
{
	bool *is_internal = th_allocate(recording->threads_count, sizeof(*is_internal));
	uint8_t *stacks = th_allocate(recording->stacks_count, 1);
	uint8_t *threads = th_allocate(recording->threads_count, 1);

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_samples *samples = &recording->samples[heap];

		for (size_t i = 0; i < samples->items_count; i++) {
			const struct th_sample *sample = &samples->items[i];
			uint8_t *thread = &threads[th_recording_thread(recording, sample)];
			uint8_t *stack = &stacks[sample->stack];

			/* Most threads are known to be the program's by their first sample. */
			if (*thread & ~TH_TRAIT_VM)
				continue;
			if (!*stack)
				*stack = (uint8_t)th_frames_traits(frames, sample->stack);
			*thread |= *stack;
		}
	}
	for (uint32_t i = 0; i < recording->threads_count; i++)
		is_internal[i] = threads[i] == TH_TRAIT_VM;
	free(stacks);
	free(threads);
	return is_internal;
}
