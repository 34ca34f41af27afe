/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field is found by trial: with a short interval, arrays are allocated until the supposed field
 * has held plausible draws.  JDK 25 changed the counter from counting down to counting up; before,
 * a countdown is set in steps.
 */
#include "jvmti/heap/vm_countdown.h"

#include <stddef.h>

#include "unify/base/align.h"

/*
 * The previous countdown of the thread is ended by arrays of LARGE_BYTES, except with a probability
 * of exp(-16): their number times their size is 16 times HotSpot's own interval.  After that the
 * field is at most DRAW_MAX, with the same exception, and arrays of SMALL_BYTES are allocated, which
 * are in the TLAB even if TLABs are as small as 2 KiB.
 */
#define PROBE_INTERVAL 256
#define DRAW_MAX (16 * PROBE_INTERVAL)
#define LARGE_BYTES 8192
#define SMALL_BYTES 128
#define PROBES_MAX 1024
/* Samples with a verified countdown that are required. */
#define PROOFS 8

/* threadHeapSampler.hpp; up to JDK 24 only the first field exists, and it counts down. */
struct sampler {
	uint64_t countdown; /* constant from JDK 25 on, where the fields below count up */
	uint64_t tlab_top_at_start;
	uint64_t bytes_in_tlabs;
	uint64_t bytes_outside;
};

/*
 * threadLocalAllocBuffer.hpp, 11 to 24: _refill_waste_limit, _allocated_before_last_gc,
 * _bytes_since_last_sample_point.
 */
#define BYTES_SINCE_AFTER_LIMIT 16

/* More than any TLAB has, and less than the lowest color bit of an address under Z (2^42). */
#define TLAB_BYTES_MAX (UINT64_C(1) << 40)

/* The first release known to set the sample point anew after each slow allocation. */
#define FIRST_WITH_POINT 17

static struct {
	const struct th_hotspot *hotspot;
	bool counts_up;
	bool loses_point; /* the sample point, after an object outside of the TLAB */
} vm;

static uint64_t
field(const char *thread, int64_t offset)
{
	return *(const uint64_t *)(const void *)(thread + offset);
}

static struct sampler *
sampler_of(const char *thread)
{
	return (struct sampler *)(void *)((char *)thread + vm.hotspot->allocated_bytes +
					  (int64_t)sizeof(uint64_t));
}

/* What the VM believes to be allocated at the next end of the TLAB, up to JDK 24. */
static uint64_t *
bytes_since(char *thread)
{
	return (uint64_t *)(void *)(thread + vm.hotspot->tlab_refill_waste_limit +
				    BYTES_SINCE_AFTER_LIMIT);
}

static uint64_t
room_in_tlab(const char *thread)
{
	return field(thread, vm.hotspot->tlab_end) - field(thread, vm.hotspot->tlab_top);
}

/*
 * After a sample the VM ends the TLAB, for compiled code, where the countdown will end
 * (ThreadLocalAllocBuffer::set_sample_end, set_sampling_point): in whole words.
 */
static bool
is_proved_by_tlab(char *thread)
{
	uint64_t room = room_in_tlab(thread);

	return field(thread, vm.hotspot->tlab_top) && room &&
	       room == (sampler_of(thread)->countdown & ~UINT64_C(7));
}

static bool
starts_at_top(char *thread)
{
	return sampler_of(thread)->tlab_top_at_start == field(thread, vm.hotspot->tlab_top);
}

/* Whether the countdown was drawn with the short interval. */
static bool
has_drawn(const char *thread)
{
	return sampler_of(thread)->countdown <= DRAW_MAX;
}

/*
 * A first draw may be as short, in a TLAB from before the event was enabled, which has no sample
 * point: a large array ends that TLAB.
 */
static bool
ends_at_sample(const char *thread)
{
	return has_drawn(thread) && room_in_tlab(thread) <= sampler_of(thread)->countdown;
}

static bool
allocate_probe(JNIEnv *env, const char *thread)
{
	bool is_near = ends_at_sample(thread);
	jbyteArray array = (*env)->NewByteArray(env, is_near ? SMALL_BYTES : LARGE_BYTES);

	if (array)
		(*env)->DeleteLocalRef(env, array);
	return array;
}

static bool
prove(JNIEnv *env, char *thread)
{
	uint64_t last = 0;
	int proofs = 0;
	int starts = 0;
	int sums = 0;

	for (int i = 0; i < PROBES_MAX && proofs < PROOFS; i++) {
		if (!allocate_probe(env, thread))
			break;
		/* The first countdown, drawn before the event was enabled, proves nothing. */
		if (!has_drawn(thread) || !is_proved_by_tlab(thread) ||
			sampler_of(thread)->countdown == last)
			continue;
		last = sampler_of(thread)->countdown;
		starts += starts_at_top(thread);
		/* In whole words if the TLAB ends there anyway. */
		sums += (*bytes_since(thread) ^ last) < sizeof(uint64_t);
		proofs++;
	}
	(*env)->ExceptionClear(env);
	vm.counts_up = starts == PROOFS;
	return proofs == PROOFS && (vm.counts_up || !starts) &&
	       (sums == PROOFS || !vm.loses_point);
}

bool
th_vm_countdown_find(
	jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot, uint64_t interval)
{
	bool proved;

	if (!th_hotspot_has_bytes(hotspot) || hotspot->tlab_end <= 0 ||
		hotspot->tlab_desired_size <= 0 || hotspot->tlab_refill_waste_limit <= 0)
		return false;
	vm.hotspot = hotspot;
	vm.loses_point = hotspot->release < FIRST_WITH_POINT;
	(*jvmti)->SetHeapSamplingInterval(jvmti, PROBE_INTERVAL);
	proved = prove(env, th_hotspot_thread(hotspot, env));
	(*jvmti)->SetHeapSamplingInterval(jvmti, (jint)interval);
	return proved;
}

/* From JDK 25 on: the threshold of a sum that begins anew with each sample. */
static void
set_threshold(char *thread, uint64_t bytes)
{
	struct sampler *sampler = sampler_of(thread);

	bytes += sampler->bytes_in_tlabs + sampler->bytes_outside;
	if (sampler->tlab_top_at_start)
		bytes += field(thread, vm.hotspot->tlab_top) - sampler->tlab_top_at_start;
	sampler->countdown = bytes;
}

/*
 * A countdown of u is short enough for r = `bytes`, with f bytes free in the TLAB, in any of these
 * cases (memAllocator.cpp, threadHeapSampler.cpp):
 *
 * u <= f / 2: the TLAB's sample point lies u ahead.  An object outside of the TLAB before that did
 *   not fit into the rest, at least f - u, so its size is at least u: the VM calls.
 * u + f <= r and u <= f: what the VM leaves out is in this TLAB, at most f, and it calls at the
 *   first object of the next one.
 * u + f <= r and u + 2 (u - f) <= r: at most u - f is left there, which again is short enough in a
 *   TLAB of twice that; in a smaller one the VM leaves out no more than that TLAB.
 * u + f <= r and u + d <= r: no TLAB is larger than the desired size d.
 */
uint64_t
th_vm_countdown_step(const struct th_tlab *tlab, uint64_t bytes)
{
	uint64_t longest = tlab->free / 2;

	if (bytes > tlab->free) {
		uint64_t beyond = th_max((bytes + 2 * tlab->free) / 3,
			bytes - th_min(bytes, tlab->desired_size));

		longest = th_max(longest, th_min(bytes - tlab->free, beyond));
	}
	/* An object that ends at the sample point still fits. */
	return th_max(th_min(longest, bytes - 1), 1);
}

/*
 * The VM moves the end as well, from the true end of the TLAB, which it has in another field, to where
 * the countdown ends (is_proved_by_tlab() has seen it do so), and fills a TLAB that it retires up to
 * the true end.  So an end that is only moved down, and not below top, corrupts nothing.  Color bits
 * that differ between top and end make their distance larger than any TLAB.
 */
uint64_t
th_vm_countdown_sample_end(const struct th_thread_bytes *tlab, uint64_t countdown)
{
	uint64_t point = countdown & ~UINT64_C(7);

	if (!tlab->tlab_top || tlab->tlab_end <= tlab->tlab_top ||
		tlab->tlab_end - tlab->tlab_top > TLAB_BYTES_MAX ||
		tlab->tlab_end - tlab->tlab_top <= point)
		return 0;
	return tlab->tlab_top + point;
}

/*
 * JDK 11 sets no sample point after an object outside of the TLAB, and allocates up to the TLAB's
 * end.  Only this thread, which is in a callback, makes and fills its TLAB.  Meanwhile a collection
 * may retire it (threadLocalAllocBuffer.cpp, make_parsable() or retire(), of 11 to 16), which clears
 * the end without reading it again, or Z may give it another color (zThreadLocalAllocBuffer.cpp):
 * the exchange fails, or what it wrote is overwritten by the VM's value.
 */
static void
set_sample_point(char *thread, const struct th_thread_bytes *now, uint64_t countdown)
{
	uint64_t *end = (uint64_t *)(void *)(thread + vm.hotspot->tlab_end);
	uint64_t expected = now->tlab_end;
	uint64_t sample_end = th_vm_countdown_sample_end(now, countdown);

	*bytes_since(thread) = countdown;
	if (sample_end)
		__atomic_compare_exchange_n(
			end, &expected, sample_end, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* `now`: NULL if the TLAB is being changed: the shortest countdown is short enough for any. */
static uint64_t
step(const char *thread, const struct th_thread_bytes *now, uint64_t bytes)
{
	struct th_tlab tlab;

	if (!now)
		return 1;
	tlab.free = now->tlab_end - now->tlab_top;
	tlab.desired_size = field(thread, vm.hotspot->tlab_desired_size) * sizeof(uint64_t);
	return th_vm_countdown_step(&tlab, bytes);
}

void
th_vm_countdown_set(char *thread, uint64_t bytes)
{
	struct th_thread_bytes now;

	if (vm.counts_up) {
		set_threshold(thread, bytes);
		return;
	}
	bool is_known = th_thread_bytes_read(vm.hotspot, thread, &now);
	uint64_t countdown = step(thread, is_known ? &now : NULL, bytes);
	sampler_of(thread)->countdown = countdown;
	if (vm.loses_point && is_known)
		set_sample_point(thread, &now, countdown);
}
