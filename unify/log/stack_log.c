/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/log/stack_log.h"

#include "unify/base/atomic.h"
#include "unify/base/hash_set.h"
#include "unify/base/memory.h"
#include "unify/log/function_names.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/log/ring.h"
#include "unify/shared/hash.h"

/* Hashes of stacks; ids are the numbers. */
static struct th_hash_set stacks;
/*
 * By level of the set and slot, atomic: the turn of the last use; 0: the log has no STACK record.  A level is
 * atomic; NULL: not allocated yet.
 */
static uint32_t *uses[TH_HASH_SET_LEVELS];

/* NULL: out of memory. */
static uint32_t *
use_of(uint32_t id)
{
	uint32_t slot = id - 1;
	unsigned level = 0;

	for (; slot >= th_hash_set_slots(level); level++)
		slot -= th_hash_set_slots(level);
	uint32_t *of_level = th_memory_map_once(
		&uses[level], th_hash_set_slots(level) * sizeof(*of_level));
	return of_level ? &of_level[slot] : NULL;
}

static uint64_t
hash_frames(const uint64_t *frames, size_t count, uint32_t flags)
{
	uint64_t hash = (uint64_t)flags << 32 ^ count;

	for (size_t i = 0; i < count; i++)
		hash = th_hash_mix(hash ^ frames[i]);
	return th_hash_mix(hash) | 1;
}

uint32_t
th_stack_table_intern(
	const uint64_t *frames, size_t count, uint32_t flags, uint32_t **logged_ret)
{
	uint32_t id = th_hash_set_add(&stacks, hash_frames(frames, count, flags)).number;

	*logged_ret = id ? use_of(id) : NULL;
	return *logged_ret ? id : 0;
}

bool
th_stack_table_forget(const uint64_t *frames, size_t count, uint32_t flags, uint32_t used)
{
	uint32_t *logged;
	uint32_t last;

	/* It is in the table: nothing is inserted, but where it was inserted under two ids. */
	if (!th_stack_table_intern(frames, count, flags, &logged))
		return true;
	last = th_load_relaxed(logged);
	/* A thread that uses it at this moment sees the 0, or makes the exchange fail. */
	return last < used && th_cas_acq_rel(logged, &last, 0);
}

/* The log */

static void
log_module(struct th_module *module)
{
	static const char digits[] = "0123456789abcdef";
	char build_id[2 * TH_BUILD_ID_MAX + 1];
	struct th_event_module event = {
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.module = module->id,
	};
	uint32_t bytes = 0;

	for (; bytes < module->build_id_bytes; bytes++) {
		build_id[2 * bytes] = digits[module->build_id[bytes] >> 4];
		build_id[2 * bytes + 1] = digits[module->build_id[bytes] & 15];
	}
	build_id[2 * bytes] = '\0';
	struct th_log_part parts[] = {th_log_text(module->path), th_log_text(build_id)};
	if (th_log_append(TH_EVENT_MODULE, &event, parts, 2))
		th_store_relaxed(&module->logged, 1);
}

void
th_stack_log_module(uint32_t id)
{
	struct th_module *module = th_module_get(id);

	if (module && !th_load_relaxed(&module->logged))
		log_module(module);
}

/* Ensures that the log has the module of a frame, and will have the name of its function. */
static void
log_frame(uint64_t frame)
{
	if (th_frame_kind(frame) != TH_FRAME_NATIVE || !th_frame_module(frame))
		return;
	th_stack_log_module(th_frame_module(frame));
	th_met_add(frame);
}

/* Writes a STACK record and the modules of its frames; false: the log is full. */
static bool
log_stack(uint32_t id, const uint64_t *frames, uint32_t count, uint32_t flags)
{
	struct th_event_stack event = {.stack = id, .flags = flags};
	struct th_log_part part = {frames, count};

	for (uint32_t i = 0; i < count; i++)
		log_frame(frames[i]);
	return th_log_append(TH_EVENT_STACK, &event, &part, 1) != 0;
}

bool
th_stack_log_use(uint32_t *use)
{
	uint32_t now = th_ring_chunk();
	uint32_t last = th_load_relaxed(use);

	/* Fails only if another thread does the same, or the ring drops the record. */
	while (last && last != now && !th_cas_acq_rel(use, &last, now))
		continue;
	return last != 0;
}

uint32_t
th_stack_log_id(const uint64_t *frames, uint32_t count, uint32_t flags, uint32_t **use_ret)
{
	uint32_t *logged;
	uint32_t id = th_stack_table_intern(frames, count, flags, &logged);

	*use_ret = logged;
	if (!id) {
		th_log_count(TH_COUNTER_DROPPED_STACKS_FULL, 1);
		return 0;
	}
	if (th_stack_log_use(logged))
		return id;
	if (!log_stack(id, frames, count, flags)) {
		th_log_count(TH_COUNTER_DROPPED_LOG_FULL, 1);
		return 0;
	}
	th_store_relaxed(logged, th_ring_chunk());
	return id;
}

void
th_stack_log_reset(void)
{
	th_hash_set_reset(&stacks);
	for (unsigned i = 0; i < TH_HASH_SET_LEVELS; i++) {
		th_memory_retire(uses[i]);
		uses[i] = NULL;
	}
	for (uint32_t id = 1; id <= th_module_count(); id++) {
		struct th_module *module = th_module_get(id);

		if (module)
			th_store_relaxed(&module->logged, 0);
	}
	th_function_names_reset();
}
