/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots are claimed by any thread and freed by the agent thread.  A slot is in use from `sample` not
 * being 0 on; `reference` is written before.
 */
#include "jvmti/ledger/buffers.h"

#include "jvmti/ledger/references.h"
#include "jvmti/ledger/takes.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"

#define CLAIMED 1 /* no sample: ids are multiples of 8 */
/* Slots that a thread looks at for a free one. */
#define PROBES 64

struct followed {
	uint64_t sample; /* atomic; 0 = free */
	jweak reference;
};

static struct followed *buffers; /* atomic */

/* A slot of our own; NULL: none was found. */
static struct followed *
claim(uint64_t sample)
{
	struct followed *table = th_memory_map_once(
		&buffers, TH_LEDGER_BUFFERS_MAX * sizeof(*table));

	for (uint32_t i = 0; table && i < PROBES; i++) {
		struct followed *slot = &table[(sample / 8 + i) % TH_LEDGER_BUFFERS_MAX];
		uint64_t free = 0;

		if (!th_load_relaxed(&slot->sample) &&
			th_cas_acq_rel(&slot->sample, &free, CLAIMED))
			return slot;
	}
	return NULL;
}

void
th_ledger_buffers_follow(
	const struct JNINativeInterface_ *jni, JNIEnv *env, jobject buffer, uint64_t sample)
{
	struct followed *slot;

	th_guard_enter();
	slot = claim(sample);
	if (slot)
		slot->reference = jni->NewWeakGlobalRef(env, buffer);
	if (slot && slot->reference)
		th_add_relaxed(&th_references_own, 1);
	if (slot)
		/* Pairs with the acquire in th_ledger_buffers_log(). */
		th_store_release(&slot->sample, slot->reference ? sample : 0);
	if (!slot || !slot->reference)
		th_log_count(TH_COUNTER_LEDGER_FULL, 1);
	th_guard_leave();
}

void
th_ledger_buffers_log(JNIEnv *env)
{
	struct followed *table = th_load_acquire(&buffers);

	for (uint32_t i = 0; table && i < TH_LEDGER_BUFFERS_MAX; i++) {
		uint64_t sample = th_load_acquire(&table[i].sample);

		if (sample <= CLAIMED || !(*env)->IsSameObject(env, table[i].reference, NULL))
			continue;
		th_references_delete_weak(env, table[i].reference);
		th_store_release(&table[i].sample, 0);
		th_take_log_end(sample, 0, TH_LEDGER_DIED);
	}
}
