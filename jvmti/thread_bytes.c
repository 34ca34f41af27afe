/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/thread_bytes.h"

#include "unify/base/atomic.h"

/* Each try coincides with a collection that retires the TLAB with a probability below 1/1000. */
#define READ_TRIES 4

static uint64_t
read_field(const char *thread, int64_t offset)
{
	return offset > 0 ? th_load_acquire((const uint64_t *)(const void *)(thread + offset))
			  : 0;
}

/* If two reads of count and start agree, top and end, read between them, belong to them. */
void
th_thread_bytes_read(
	const struct th_hotspot *hotspot, const char *thread, struct th_thread_bytes *ret)
{
	for (int i = 0; i < READ_TRIES; i++) {
		ret->retired = read_field(thread, hotspot->allocated_bytes);
		ret->tlab_start = read_field(thread, hotspot->tlab_start);
		ret->tlab_top = read_field(thread, hotspot->tlab_top);
		ret->tlab_end = read_field(thread, hotspot->tlab_end);
		if (read_field(thread, hotspot->allocated_bytes) == ret->retired &&
			read_field(thread, hotspot->tlab_start) == ret->tlab_start)
			return;
	}
}

uint64_t
th_thread_bytes(const struct th_hotspot *hotspot, const char *thread)
{
	struct th_thread_bytes bytes;

	th_thread_bytes_read(hotspot, thread, &bytes);
	return bytes.retired + (bytes.tlab_top - bytes.tlab_start);
}
