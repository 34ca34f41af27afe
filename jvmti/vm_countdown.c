/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the field by trial: sets a short interval, allocates arrays, and checks that the
 * supposed field holds plausible draws.  JDK 25 changed the counter from counting down to
 * counting up.
 */
#include "jvmti/vm_countdown.h"

#include <stddef.h>

/*
 * PROBE_BYTES exceeds nearly every draw with PROBE_INTERVAL, so that each array is sampled.
 * The number of arrays ends the thread's previous countdown except with a probability of
 * exp(-16).
 */
#define PROBE_INTERVAL 256
#define PROBE_BYTES 8192
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

static struct {
	const struct th_hotspot *hotspot;
	bool counts_up;
} vm;

static uint64_t
field(const char *thread, int64_t offset)
{
	return *(const uint64_t *)(const void *)(thread + offset);
}

static struct sampler *
sampler_of(char *thread)
{
	return (struct sampler *)(void *)(thread + vm.hotspot->allocated_bytes +
					  (int64_t)sizeof(uint64_t));
}

/*
 * After a sample the VM ends the TLAB, for compiled code, where the countdown will end
 * (ThreadLocalAllocBuffer::set_sample_end, set_sampling_point): in whole words.
 */
static bool
is_proved_by_tlab(char *thread)
{
	uint64_t top = field(thread, vm.hotspot->tlab_top);
	uint64_t room = field(thread, vm.hotspot->tlab_end) - top;

	return top && room && room == (sampler_of(thread)->countdown & ~UINT64_C(7));
}

static bool
starts_at_top(char *thread)
{
	return sampler_of(thread)->tlab_top_at_start == field(thread, vm.hotspot->tlab_top);
}

static bool
prove(JNIEnv *env, char *thread)
{
	uint64_t last = 0;
	int proofs = 0;
	int starts = 0;

	for (int i = 0; i < PROBES_MAX && proofs < PROOFS; i++) {
		jbyteArray array = (*env)->NewByteArray(env, PROBE_BYTES);

		if (!array)
			break;
		(*env)->DeleteLocalRef(env, array);
		if (!is_proved_by_tlab(thread) || sampler_of(thread)->countdown == last)
			continue;
		last = sampler_of(thread)->countdown;
		starts += starts_at_top(thread);
		proofs++;
	}
	(*env)->ExceptionClear(env);
	vm.counts_up = starts == PROOFS;
	return proofs == PROOFS && (vm.counts_up || !starts);
}

bool
th_vm_countdown_find(
	jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot, uint64_t interval)
{
	bool proved;

	if (!th_hotspot_has_bytes(hotspot) || hotspot->tlab_end <= 0)
		return false;
	vm.hotspot = hotspot;
	(*jvmti)->SetHeapSamplingInterval(jvmti, PROBE_INTERVAL);
	proved = prove(env, th_hotspot_thread(hotspot, env));
	(*jvmti)->SetHeapSamplingInterval(jvmti, (jint)interval);
	return proved;
}

void
th_vm_countdown_set(char *thread, uint64_t bytes)
{
	struct sampler *sampler = sampler_of(thread);

	if (vm.counts_up) {
		bytes += sampler->bytes_in_tlabs + sampler->bytes_outside;
		if (sampler->tlab_top_at_start)
			bytes += field(thread, vm.hotspot->tlab_top) -
				 sampler->tlab_top_at_start;
	}
	sampler->countdown = bytes;
}
