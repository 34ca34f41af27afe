/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the code blob of a pc through the VM's code heaps, checks that it is not compiled Java
 * code, and computes the caller from the blob's frame size.
 */
#include "jvmti/runtime_stub.h"

#include <string.h>

#include "unify/base/atomic.h"
#include "unify/base/safe_read.h"

/* CodeCache::allocate_code_heaps creates at most three. */
#define HEAPS_MAX 16
/* heap.hpp: this segment belongs to no block. */
#define FREE_SEGMENT 0xff
/* Steps back through the segment map to the start of a block: 254 segments per step. */
#define STEPS_MAX 4096
#define NAME_MAX_BYTES 16
/* Compiled code allocates through some ten stubs, each with one call. */
#define KNOWN_MAX 64

/* A stub, by the return address of its call.  Written once. */
struct known {
	uintptr_t claimed; /* atomic: the pc, or 0 = free */
	uintptr_t pc;      /* atomic: the same once the other fields are written */
	uintptr_t blob;
	uintptr_t name; /* const char*, of the VM's own text */
	int32_t words;
};

/*
 * Finding a blob takes 1 us, most of it to prove that memory can be read.  Stubs of the VM are
 * never freed; should other code ever be in their place, it has another name or another start.
 */
static struct known known[KNOWN_MAX];

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
find_blob(const struct th_hotspot *hotspot, uintptr_t pc, uintptr_t *blob_ret)
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
			*blob_ret = start + (segment << log2) +
				    (uintptr_t)hotspot->code_block_header;
			return true;
		}
	}
	return false;
}

/* Compiled methods and the wrappers of native ones are "nmethod" and "native nmethod". */
static bool
is_method(const struct th_hotspot *hotspot, struct th_safe_read *memory, uintptr_t blob)
{
	static const char *const names[] = {"nmethod", "native nmethod"};
	uintptr_t name;
	char text[NAME_MAX_BYTES] = "";

	if (!read_field(memory, blob, hotspot->blob_name, &name))
		return true;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		if (!th_read_bytes(memory, name + i, &text[i], 1) || !text[i])
			break;
	return !strcmp(text, names[0]) || !strcmp(text, names[1]);
}

static struct known *
slot_of(uintptr_t pc)
{
	return &known[pc * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

bool
th_runtime_stub_is_known(uintptr_t pc)
{
	return pc && th_load_relaxed(&slot_of(pc)->pc) == pc;
}

/* A blob once found stays mapped: the code cache does not shrink. */
static bool
recall(const struct th_hotspot *hotspot, uintptr_t pc, int32_t *words_ret)
{
	const struct known *slot = slot_of(pc);

	/* Pairs with the release in remember(). */
	if (th_load_acquire(&slot->pc) != pc)
		return false;
	*words_ret = slot->words;
	return *(const uintptr_t *)(slot->blob + (uintptr_t)hotspot->blob_name) == slot->name &&
	       *(const int32_t *)(slot->blob + (uintptr_t)hotspot->blob_frame_size) ==
		       slot->words;
}

static void
remember(const struct th_hotspot *hotspot, uintptr_t pc, uintptr_t blob, int32_t words)
{
	struct known *slot = slot_of(pc);
	uintptr_t before = 0;

	if (!th_cas_acq_rel(&slot->claimed, &before, pc))
		return;
	slot->blob = blob;
	slot->name = *(const uintptr_t *)(blob + (uintptr_t)hotspot->blob_name);
	slot->words = words;
	th_store_release(&slot->pc, pc);
}

/* The size of the frame at `pc`, if that is in a runtime stub. */
static bool
find_words(const struct th_hotspot *hotspot, uintptr_t pc, int32_t *words_ret)
{
	struct th_safe_read memory = {0};
	uintptr_t blob;

	if (recall(hotspot, pc, words_ret))
		return true;
	if (!find_blob(hotspot, pc, &blob) || is_method(hotspot, &memory, blob) ||
		!read_int(&memory, blob, hotspot->blob_frame_size, words_ret) || *words_ret < 2)
		return false;
	remember(hotspot, pc, blob, *words_ret);
	return true;
}

bool
th_runtime_stub_caller(const struct th_hotspot *hotspot, const struct th_java_frame *frame,
	struct th_java_frame *caller_ret)
{
	struct th_safe_read stack;
	int32_t words;

	th_safe_read_init(&stack, (const void *)frame->sp);
	if (!th_hotspot_has_stubs(hotspot) || !find_words(hotspot, frame->pc, &words))
		return false;
	/* frame::sender_for_compiled_frame(): the return address on top, the frame pointer below. */
	caller_ret->sp = frame->sp + (uintptr_t)words * sizeof(uintptr_t);
	return th_read_word(&stack, caller_ret->sp - sizeof(uintptr_t), &caller_ret->pc) &&
	       th_read_word(&stack, caller_ret->sp - 2 * sizeof(uintptr_t), &caller_ret->fp);
}
