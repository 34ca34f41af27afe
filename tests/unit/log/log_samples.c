/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/log/log_samples.h"

static struct th_event_native_alloc
sample_of(uint32_t thread, uint64_t number)
{
	return (struct th_event_native_alloc){
		.time = number * 3,
		.size = number + 1,
		.interval = 4096,
		.thread_bytes = number * 7,
		.address = number ^ 0x5555555555555555u,
		.thread = thread,
		.stack = (uint32_t)number,
		.function = TH_FUNCTION_MALLOC,
		.flags = thread,
	};
}

uint64_t
log_samples_append(uint32_t thread, uint64_t number)
{
	struct th_event_native_alloc event = sample_of(thread, number);

	return th_log_append(TH_EVENT_NATIVE_ALLOC, &event, NULL, 0);
}

uint64_t
log_samples_fill(void)
{
	uint64_t count = 0;

	while (log_samples_append(0, count))
		count++;
	return count;
}

void
log_samples_assert_is(const void *record, uint32_t thread, uint64_t number)
{
	struct th_event_native_alloc expected = sample_of(thread, number);
	const size_t head = sizeof(struct th_log_record);

	assert_memory_equal((const char *)record + head, (const char *)&expected + head,
		sizeof(expected) - head);
}

void
log_samples_assert_held(uint64_t count)
{
	struct log_image image;
	uint64_t next = 0;

	log_image_open(&image);
	for (size_t i = 0; i < image.count; i++) {
		if (image.records[i].type == TH_EVENT_NATIVE_ALLOC)
			log_samples_assert_is(image.records[i].bytes, 0, next++);
	}
	assert_int_equal(next, count);
	assert_int_equal(image.torn, 0);
	assert_int_equal(image.damaged, 0);
	log_image_close(&image);
}
