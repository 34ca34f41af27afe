/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/names/classes.h"

#include <stddef.h>
#include <string.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/shared/hash.h"

#define SLOTS (TH_CLASSES_MAX * 2)
#define PROBES 128

static uint64_t *slots; /* hashes, atomic, 0 = empty; id = index + 1 */

bool
th_classes_init(void)
{
	if (!slots)
		slots = th_memory_map(SLOTS * sizeof(*slots));
	return slots != NULL;
}

void
th_classes_restart(void)
{
	th_memory_retire(slots);
	slots = NULL;
}

static uint64_t
hash_text(const char *text)
{
	/* Mixed, because the high bits select the slot. */
	uint64_t hash = th_hash_mix(th_hash_bytes(TH_HASH_START, text, strlen(text)));

	return hash | !hash;
}

static void
log_class(uint32_t id, const char *signature)
{
	struct th_event_class event = {.class = id};
	struct th_log_part part = th_log_text(signature);

	th_log_append(TH_EVENT_CLASS, &event, &part, 1);
}

uint32_t
th_classes_id(const char *signature)
{
	uint64_t hash = hash_text(signature);

	for (uint64_t probe = 0; probe < PROBES; probe++) {
		uint32_t index = (uint32_t)(hash + probe) & (SLOTS - 1);
		uint64_t found = th_load_relaxed(&slots[index]);

		if (!found && th_cas_acq_rel(&slots[index], &found, hash)) {
			log_class(index + 1, signature);
			return index + 1;
		}
		if (found == hash)
			return index + 1;
	}
	return 0;
}

uint32_t
th_classes_id_of(jvmtiEnv *jvmti, jclass type)
{
	char *signature;
	uint32_t id;

	if ((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return 0;
	id = th_classes_id(signature);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
	return id;
}
