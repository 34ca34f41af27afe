/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/vm/code_blob.h"

#include <string.h>

#include "unify/base/safe_read.h"

/* CodeCache::allocate_code_heaps creates at most three. */
#define HEAPS_MAX 16
/* heap.hpp: this segment belongs to no block. */
#define FREE_SEGMENT 0xff
/* Steps back through the segment map to the start of a block: 254 segments per step. */
#define STEPS_MAX 4096
#define NAME_MAX_BYTES 32

/* Reads the word at `offset` in an object of the VM. */
static bool
read_field(struct th_safe_read *memory, uintptr_t object, int64_t offset, uintptr_t *ret)
{
	return th_read_word(memory, object + (uintptr_t)offset, ret);
}

static bool
read_int(struct th_safe_read *memory, uintptr_t object, int64_t offset, int32_t *ret)
{
	return th_read_bytes(memory, object + (uintptr_t)offset, ret, sizeof(*ret));
}

/* The CodeHeap that contains `pc`, and the start of its memory. */
static bool
find_heap(const struct th_hotspot *hotspot, struct th_safe_read *memory, uintptr_t pc,
	uintptr_t *heap_ret, uintptr_t *start_ret)
{
	uintptr_t array = *hotspot->code_heaps;
	uintptr_t heaps, high;
	int32_t count;

	if (!read_int(memory, array, hotspot->array_length, &count) || count > HEAPS_MAX ||
		!read_field(memory, array, hotspot->array_data, &heaps))
		return false;
	for (int32_t i = 0; i < count; i++) {
		if (!th_read_word(memory, heaps + (uintptr_t)i * sizeof(uintptr_t), heap_ret) ||
			!read_field(memory, *heap_ret, hotspot->code_heap_low, start_ret) ||
			!read_field(memory, *heap_ret, hotspot->code_heap_high, &high))
			return false;
		if (pc >= *start_ret && pc < high)
			return true;
	}
	return false;
}

/*
 * CodeHeap::find_block_for(): the bytes of the map lead back to the first segment of a block.
 */
static bool
find_start(const struct th_hotspot *hotspot, uintptr_t pc, uintptr_t *ret)
{
	struct th_safe_read memory = {0};
	struct th_safe_read map = {0};
	uintptr_t heap, start, segments;
	int32_t log2;
	uint8_t back;

	if (!find_heap(hotspot, &memory, pc, &heap, &start) ||
		!read_field(&memory, heap, hotspot->code_heap_segments, &segments) ||
		!read_int(&memory, heap, hotspot->code_heap_log2, &log2) || log2 < 3 ||
		log2 > 16)
		return false;
	uintptr_t segment = (pc - start) >> log2;

	for (int step = 0; step < STEPS_MAX; step++, segment -= back) {
		if (!th_read_bytes(&map, segments + segment, &back, sizeof(back)) ||
			back == FREE_SEGMENT || back > segment)
			return false;
		if (!back) {
			*ret = start + (segment << log2) +
			       (uintptr_t)hotspot->code_block_header;
			return true;
		}
	}
	return false;
}

/* By the start of its name. */
static enum th_code_kind
read_kind(const struct th_hotspot *hotspot, uintptr_t blob)
{
	/* UpcallLinker::make_upcall_stub(), DowncallLinker::make_downcall_stub(). */
	static const char names[TH_CODE_OTHER][NAME_MAX_BYTES] = {
		[TH_CODE_METHOD] = "nmethod",
		[TH_CODE_NATIVE] = "native nmethod",
		[TH_CODE_INTERPRETER] = "Interpreter",
		[TH_CODE_UPCALL] = "upcall_stub",
		[TH_CODE_DOWNCALL] = "nep_invoker_blob",
	};
	struct th_safe_read memory = {0};
	char text[NAME_MAX_BYTES] = "";
	unsigned kind = TH_CODE_METHOD;
	uintptr_t name;

	if (!read_field(&memory, blob, hotspot->blob_name, &name))
		return TH_CODE_UNKNOWN;
	for (size_t i = 0; i < NAME_MAX_BYTES - 1; i++)
		if (!th_read_bytes(&memory, name + i, &text[i], 1) || !text[i])
			break;
	while (kind < TH_CODE_OTHER && strcmp(text, names[kind]))
		kind++;
	return (enum th_code_kind)kind;
}

bool
th_code_blob_find(const struct th_hotspot *hotspot, uintptr_t pc, struct th_code_blob *ret)
{
	struct th_safe_read memory = {0};
	int32_t words;

	if (!find_start(hotspot, pc, &ret->start))
		return false;
	ret->kind = read_kind(hotspot, ret->start);
	ret->words = read_int(&memory, ret->start, hotspot->blob_frame_size, &words) &&
				     words >= 2
			     ? (uint32_t)words
			     : 0;
	return true;
}
