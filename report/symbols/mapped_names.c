/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of mapped memory, by the native functions of the stack that mapped it: tables of name
 * parts for the VM's mappings and for allocators, else the kind of mapping.
 */
#include "report/symbols/mapped_names.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

#define VM_PREFIX "[JVM-internal] "
#define JAVA_HEAP "Java heap"
#define MALLOC_ARENA "arena of malloc"
#define MALLOC_BUSINESS "[malloc] arenas of the allocator"

/* A function whose name contains one of `parts` maps memory for this purpose. */
struct rule {
	const char *business;
	const char *parts[18]; /* until NULL */
};

/* Names of HotSpot 11 to 25; the first rule that applies counts. */
static const struct rule vm_rules[] = {
	{VM_PREFIX JAVA_HEAP, {"ReservedHeapSpace", "Universe::reserve_heap", "ZPhysicalMemory",
				      "ZVirtualMemory",
				      /* Z without generations, 21 to 23 */
				      "XPhysicalMemory", "XVirtualMemory"}},
	{VM_PREFIX "class space", {"ompressed_class_space", "ompressedClassSpace"}},
	{VM_PREFIX "class archive", {"FileMapInfo", "MetaspaceShared", "AOTMetaspace"}},
	{VM_PREFIX "metaspace", {"etaspace", "VirtualSpaceNode", "VirtualSpaceList"}},
	{VM_PREFIX "code cache", {"CodeCache", "CodeHeap", "ReservedCodeSpace"}},
	{VM_PREFIX "collector",
		{"G1", "HeapRegion", "CardTable", "BlockOffset", "Bitmap", "BitMap", "Parallel",
			"ParMark", "PS", "CollectedHeap", "Shenandoah", "TaskQueue",
			"initialize_heap", "ZHeap", "ZMark", "XHeap", "XMark"}},
	{VM_PREFIX "virtual machine", {NULL}},
};
#define VM_RULES (sizeof(vm_rules) / sizeof(vm_rules[0]))

/* Functions of allocators that are linked into libraries. */
static const char *const arena_parts[] = {"je_", "jemalloc", "tcmalloc", "mi_arena", "mi_os_",
	"mimalloc", "rpmalloc", "snmalloc", "mspace", "PartitionAlloc", NULL};

static bool
contains_any(const char *name, const char *const *parts)
{
	while (*parts && !strstr(name, *parts))
		parts++;
	return *parts;
}

/*
 * The first native function of a stack, leaf first and up to the first Java frame, the C runtime's
 * aside, whose name contains one of `parts`, and that is of the VM if `is_of_vm` is set; NULL: there
 * is none.
 */
static const struct th_function *
find_function(struct th_frames *frames, const struct th_words *words, bool is_of_vm,
	const char *const *parts)
{
	const uint32_t *numbers;

	for (uint32_t i = 0; i < words->count; i++) {
		if (th_frame_kind(words->words[i]) != TH_FRAME_NATIVE)
			return NULL;
		uint32_t count = th_frames_expand(frames, words->words[i], &numbers);

		for (uint32_t j = 0; j < count; j++) {
			const struct th_function *function = th_frames_function_of(
				frames, numbers[j]);

			if (!function->is_runtime &&
				(!is_of_vm || function->kind == TH_KIND_VM) &&
				contains_any(th_frames_string(frames, function->name), parts))
				return function;
		}
	}
	return NULL;
}

/* Memory of the VM */

/* For a stack whose owner is the VM. */
static const struct rule *
find_vm_rule(struct th_frames *frames, const struct th_words *words)
{
	const struct rule *rule = vm_rules;

	while (rule < &vm_rules[VM_RULES - 1] &&
		!find_function(frames, words, true, rule->parts))
		rule++;
	return rule;
}

/*
 * The stack that reserved an address range. The VM uncommits memory by mapping it again without
 * access: that is a return to the reservation around it, not another one.
 */
static const struct th_words *
reserver_of(struct th_frames *frames, const struct th_recording *recording, uint32_t place)
{
	static const char *const uncommit[] = {"uncommit", NULL};

	for (;;) {
		const struct th_reservation_info *reservation =
			&recording->reservations[place - 1];
		const struct th_words *words = &recording->stacks[reservation->stack].frames;

		if (!reservation->outer || !find_function(frames, words, true, uncommit))
			return words;
		place = reservation->outer;
	}
}

/* The stack that reserved the address range is more specific than the one that mapped it. */
static const char *
vm_business(struct th_frames *frames, const struct th_recording *recording,
	const struct th_sample *sample)
{
	uint32_t place = sample->class >> TH_MAPPED_PLACE_SHIFT;

	if (place) {
		const struct rule *rule = find_vm_rule(
			frames, reserver_of(frames, recording, place));

		if (*rule->parts)
			return rule->business;
	}
	return find_vm_rule(frames, &recording->stacks[sample->stack].frames)->business;
}

/* Labels */

static uint32_t
intern_arena(struct th_frames *frames, const struct th_function *function)
{
	const char *module = th_frames_string(frames, function->module);
	char *label = th_format_new("arena of %s", th_text_base_name(module));
	uint32_t number = th_frames_intern(frames, label);

	free(label);
	return number;
}

static const char *
plain_label(const struct th_sample *sample)
{
	if (sample->function == TH_FUNCTION_BRK)
		return "program break";
	if (sample->class & TH_MAPPED_FILE)
		return "file";
	return sample->class & TH_MAPPED_SHARED ? "shared memory" : "memory";
}

uint32_t
th_mapped_names_label(struct th_frames *frames, const struct th_recording *recording,
	const struct th_sample *sample)
{
	const struct th_words *words = &recording->stacks[sample->stack].frames;
	const struct th_function *owner;

	if (sample->class & TH_MAPPED_ARENA)
		return th_frames_intern(frames, MALLOC_ARENA);
	owner = find_function(frames, words, false, (const char *const[]){"", NULL});
	if (owner && owner->kind == TH_KIND_VM)
		return th_frames_intern(
			frames, vm_business(frames, recording, sample) + strlen(VM_PREFIX));
	if (!(sample->class & TH_MAPPED_FILE)) {
		const struct th_function *arena = find_function(
			frames, words, false, arena_parts);

		if (arena)
			return intern_arena(frames, arena);
	}
	return th_frames_intern(frames, plain_label(sample));
}

const char *
th_mapped_names_business(const char *label)
{
	if (!strcmp(label, MALLOC_ARENA))
		return MALLOC_BUSINESS;
	for (size_t i = 0; i < VM_RULES; i++) {
		if (!strcmp(label, vm_rules[i].business + strlen(VM_PREFIX)))
			return vm_rules[i].business;
	}
	return NULL;
}

enum th_heap
th_mapped_names_contents(const char *label)
{
	if (!strcmp(label, MALLOC_ARENA))
		return TH_HEAP_NATIVE;
	return strcmp(label, JAVA_HEAP) != 0 ? 0 : TH_HEAP_JAVA;
}
