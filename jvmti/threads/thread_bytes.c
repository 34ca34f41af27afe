/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/threads/thread_bytes.h"

#include "unify/base/atomic.h"
#include "unify/base/observed.h"

/*
 * Each try coincides with a change of the TLAB with a probability below 1/1000.  A collection that
 * is stopped in the middle of a change fails them all.
 */
#define READ_TRIES 4

static uint64_t
read_field(const char *thread, int64_t offset)
{
	return offset > 0 ? th_load_acquire((const uint64_t *)(const void *)(thread + offset))
			  : 0;
}

static bool
is_ordered(const struct th_hotspot *hotspot, const struct th_thread_bytes *bytes)
{
	return bytes->tlab_start <= bytes->tlab_top &&
	       (hotspot->tlab_end <= 0 || bytes->tlab_top <= bytes->tlab_end);
}

/*
 * If two reads of count and start agree, top and end, read between them, belong to them.  Stores of
 * another thread may be seen in another order on aarch64: then top or end is out of order.
 */
bool
th_thread_bytes_read(
	const struct th_hotspot *hotspot, const char *thread, struct th_thread_bytes *ret)
{
	for (int i = 0; i < READ_TRIES; i++) {
		ret->retired = read_field(thread, hotspot->allocated_bytes);
		ret->tlab_start = read_field(thread, hotspot->tlab_start);
		ret->tlab_top = read_field(thread, hotspot->tlab_top);
		ret->tlab_end = read_field(thread, hotspot->tlab_end);
		if (read_field(thread, hotspot->allocated_bytes) == ret->retired &&
			read_field(thread, hotspot->tlab_start) == ret->tlab_start &&
			is_ordered(hotspot, ret))
			return true;
	}
	return false;
}

bool
th_thread_bytes(const struct th_hotspot *hotspot, const char *thread, uint64_t *bytes_ret)
{
	struct th_thread_bytes bytes;

	if (!th_thread_bytes_read(hotspot, thread, &bytes))
		return false;
	*bytes_ret = bytes.retired + (bytes.tlab_top - bytes.tlab_start);
	return true;
}

struct allocated {
	uint64_t bytes;      /* excluding the current TLAB */
	uint64_t tlab_start; /* 0 = none */
	uint64_t tlab_top;
};

/* Reads both in this order.  The copy fails where a plain read would fault. */
static bool
read_allocated(const struct th_hotspot *hotspot, const char *thread, struct allocated *ret)
{
	char *start = (char *)(uintptr_t)thread;
	struct iovec local[] = {{&ret->bytes, 8}, {&ret->tlab_start, 8}, {&ret->tlab_top, 8}};
	struct iovec remote[] = {{start + hotspot->allocated_bytes, 8},
		{start + hotspot->tlab_start, 8}, {start + hotspot->tlab_top, 8}};

	return th_observed_copy_pieces(remote, local, 3, 24);
}

/*
 * A thread that changes its TLAB adds the old one to its bytes and then sets start and top.
 * Read in between, they are inconsistent (a top of 0 makes 2^64 bytes).  If a second read finds
 * bytes and start unchanged, the top read between the two belongs to them.
 */
bool
th_thread_bytes_of(const struct th_hotspot *hotspot, const char *thread, uint64_t *bytes_ret)
{
	struct allocated first, second;

	for (int i = 0; i < READ_TRIES; i++) {
		if (!read_allocated(hotspot, thread, &first) ||
			!read_allocated(hotspot, thread, &second))
			return false;
		if (first.bytes != second.bytes || first.tlab_start != second.tlab_start ||
			first.tlab_top < first.tlab_start)
			continue;
		*bytes_ret = first.bytes + (first.tlab_top - first.tlab_start);
		return true;
	}
	return false;
}
