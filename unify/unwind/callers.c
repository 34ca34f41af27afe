/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/unwind/callers.h"

#include "unify/base/memory.h"
#include "unify/base/safe_read.h"
#include "unify/base/version.h"
#include "unify/shared/hash.h"

#define ENTRIES 2048
/* The offset of a caller that is not on the stack: the walk begins in it. */
#define IN_REGISTER UINT32_MAX

/* All fields atomic. */
struct entry {
	uint32_t version;
	uint32_t count;
	uint64_t depth;
	uint32_t offsets[TH_CALLERS_MAX]; /* bytes above the stack pointer */
	uintptr_t callers[TH_CALLERS_MAX];
};

struct walked {
	uint32_t count;
	bool has_offsets;
	uint32_t offsets[TH_CALLERS_MAX];
};

static struct entry *entries; /* atomic; NULL: not allocated yet */

static struct entry *
entry_of(struct entry *table, uint64_t depth)
{
	return &table[th_hash_mix(depth) % ENTRIES];
}

static struct th_safe_read
stack_at(const struct th_registers *registers, const struct th_unwind_limits *limits)
{
	struct th_safe_read memory;

	th_safe_read_init(&memory, __builtin_frame_address(0));
	if (registers->sp >= memory.low && limits->stack_end > memory.high)
		memory.high = th_align_down(limits->stack_end, TH_PAGE_BYTES);
	return memory;
}

/* Their number; 0: they are not where they were. */
static size_t
find(const struct entry *entry, const struct th_registers *registers,
	struct th_safe_read *memory, uint64_t depth, uintptr_t *callers)
{
	uint32_t version = th_version_read(&entry->version);
	uint32_t count = th_load_relaxed(&entry->count);
	uintptr_t word;

	if (th_load_relaxed(&entry->depth) != depth || count > TH_CALLERS_MAX)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t offset = th_load_relaxed(&entry->offsets[i]);

		callers[i] = th_load_relaxed(&entry->callers[i]);
		word = registers->pc;
		if (offset != IN_REGISTER &&
			!th_read_word(memory, registers->sp + offset, &word))
			return 0;
		if (word != callers[i])
			return 0;
	}
	return th_version_is_still(&entry->version, version) ? count : 0;
}

static void
keep(struct entry *entry, uint64_t depth, const struct walked *walked, const uintptr_t *callers)
{
	uint32_t version;

	if (!th_version_begin(&entry->version, &version))
		return;
	th_store_relaxed(&entry->depth, depth);
	th_store_relaxed(&entry->count, walked->count);
	for (uint32_t i = 0; i < walked->count; i++) {
		th_store_relaxed(&entry->offsets[i], walked->offsets[i]);
		th_store_relaxed(&entry->callers[i], callers[i]);
	}
	th_version_end(&entry->version, version);
}

/*
 * Where the return address of `at` is, above `base`: a call pushes it on x86-64.  False: unknown, as
 * on aarch64, where each function saves it in a place of its own.
 */
static bool
find_offset(const struct th_registers *at, uintptr_t base, struct th_safe_read *memory,
	uint32_t *offset_ret)
{
	uintptr_t address = at->sp - sizeof(uintptr_t);
	uintptr_t word;

	*offset_ret = (uint32_t)(address - base);
#if defined(__x86_64__)
	return !at->exact && address - base < IN_REGISTER &&
	       th_read_word(memory, address, &word) && word == at->pc;
#else
	(void)memory;
	(void)word;
	return false;
#endif
}

/* Walks frame by frame: `end` is FULL as long as there is another one. */
static struct walked
walk(const struct th_registers *registers, const struct th_unwind_limits *limits,
	struct th_safe_read *memory, uintptr_t *callers)
{
	struct walked walked = {.has_offsets = true};
	struct th_registers at = *registers;
	enum th_unwind_end end;
	uint64_t frame;

	th_unwind(&at, limits, &frame, 0, &end);
	while (end == TH_UNWIND_FULL && walked.count < TH_CALLERS_MAX) {
		uint32_t *offset = &walked.offsets[walked.count];

		if (at.sp == registers->sp)
			*offset = IN_REGISTER;
		else if (!find_offset(&at, registers->sp, memory, offset))
			walked.has_offsets = false;
		callers[walked.count++] = at.pc;
		th_unwind(&at, limits, &frame, 1, &end);
	}
	return walked;
}

size_t
th_unwind_callers(const struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t depth, uintptr_t *callers)
{
	struct th_safe_read memory = stack_at(registers, limits);
	struct entry *table = th_memory_map_once(&entries, ENTRIES * sizeof(struct entry));
	struct entry *entry = table ? entry_of(table, depth) : NULL;
	size_t count = entry ? find(entry, registers, &memory, depth, callers) : 0;

	if (count)
		return count;
	struct walked walked = walk(registers, limits, &memory, callers);
	if (entry && walked.has_offsets)
		keep(entry, depth, &walked, callers);
	return walked.count;
}

void
th_unwind_callers_reset(void)
{
	th_memory_retire(entries);
	entries = NULL;
}
