/* SPDX-License-Identifier: Apache-2.0 */
/* The caller of a runtime stub's frame, in a simulated code cache and stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvmti/stacks/stub_frames.h"
#include "jvmti/vm/code_blob.h"

#define SEGMENT_LOG2 7
#define SEGMENTS 8
#define BLOCK_HEADER 16
#define FREE 0xff
#define FRAME_WORDS 4

struct blob {
	const char *name;
	int32_t frame_size;
};

static struct {
	_Alignas(128) unsigned char code[SEGMENTS << SEGMENT_LOG2];
	unsigned char map[SEGMENTS];
	struct {
		uintptr_t low, high, segments;
		int32_t log2;
	} heap;
	uintptr_t heaps[1];
	struct {
		int32_t length;
		uintptr_t data;
	} array;
	uintptr_t array_address;
	uintptr_t stack[8];
} vm;

static struct th_hotspot hotspot;

/* A blob of three segments, starting at the third; the last four segments are free. */
static int
set_up(void **state)
{
	static const unsigned char map[SEGMENTS] = {0, 1, 0, 1, 2, FREE, FREE, FREE};
	const struct blob blob = {"_new_array_Java", FRAME_WORDS};

	(void)state;
	memcpy(vm.map, map, sizeof(map));
	memcpy(vm.code + (2 << SEGMENT_LOG2) + BLOCK_HEADER, &blob, sizeof(blob));
	vm.heap.low = (uintptr_t)vm.code;
	vm.heap.high = vm.heap.low + sizeof(vm.code);
	vm.heap.segments = (uintptr_t)vm.map;
	vm.heap.log2 = SEGMENT_LOG2;
	vm.heaps[0] = (uintptr_t)&vm.heap;
	vm.array.length = 1;
	vm.array.data = (uintptr_t)vm.heaps;
	vm.array_address = (uintptr_t)&vm.array;
	vm.stack[FRAME_WORDS - 1] = 0x1234;
	vm.stack[FRAME_WORDS - 2] = 0x5678;
	hotspot = (struct th_hotspot){
		.last_java_pc = 8,
		.last_java_fp = 16,
		.array_data = (char *)&vm.array.data - (char *)&vm.array,
		.code_heap_high = (char *)&vm.heap.high - (char *)&vm.heap,
		.code_heap_segments = (char *)&vm.heap.segments - (char *)&vm.heap,
		.code_heap_log2 = (char *)&vm.heap.log2 - (char *)&vm.heap,
		.code_block_header = BLOCK_HEADER,
		.blob_frame_size = offsetof(struct blob, frame_size),
		.code_heaps = &vm.array_address,
	};
	return 0;
}

static bool
find(size_t offset, struct th_java_frame *caller_ret)
{
	struct th_code_blob blob;

	return th_hotspot_has_stubs(&hotspot) &&
	       th_code_blob_find(&hotspot, (uintptr_t)vm.code + offset, &blob) &&
	       blob.kind == TH_CODE_OTHER && blob.words &&
	       th_stub_caller((uintptr_t)vm.stack, blob.words, caller_ret);
}

static void
name_blob(const char *name)
{
	memcpy(vm.code + (2 << SEGMENT_LOG2) + BLOCK_HEADER, &name, sizeof(const char *));
}

static void
test_caller_of_a_stub(void **state)
{
	struct th_java_frame caller;

	(void)state;
	for (size_t segment = 2; segment < 5; segment++) {
		assert_true(find((segment << SEGMENT_LOG2) + 99, &caller));
		assert_int_equal(caller.sp, (uintptr_t)(vm.stack + FRAME_WORDS));
		assert_int_equal(caller.pc, 0x1234);
		assert_int_equal(caller.fp, 0x5678);
	}
}

static void
test_methods_are_left_to_the_vm(void **state)
{
	struct th_java_frame caller;

	(void)state;
	name_blob("nmethod");
	assert_false(find(2 << SEGMENT_LOG2, &caller));
	name_blob("native nmethod");
	assert_false(find(2 << SEGMENT_LOG2, &caller));
}

/* Free memory, and addresses outside the code cache: no blob. */
static void
test_no_blob(void **state)
{
	struct th_java_frame caller;

	(void)state;
	assert_false(find(5 << SEGMENT_LOG2, &caller));
	assert_false(find(sizeof(vm.code), &caller));
	assert_false(find((size_t)-1, &caller));
}

/* The VM's structures are damaged, or point to unmapped memory. */
static void
test_damage(void **state)
{
	struct th_java_frame caller;

	(void)state;
	vm.map[2] = 3;
	assert_false(find(2 << SEGMENT_LOG2, &caller));
	set_up(NULL);
	vm.heap.segments = 16;
	assert_false(find(2 << SEGMENT_LOG2, &caller));
	set_up(NULL);
	vm.heap.log2 = 60;
	assert_false(find(2 << SEGMENT_LOG2, &caller));
	set_up(NULL);
	vm.heaps[0] = 16;
	assert_false(find(2 << SEGMENT_LOG2, &caller));
	set_up(NULL);
	vm.array.length = 1 << 30;
	assert_false(find(2 << SEGMENT_LOG2, &caller));
	set_up(NULL);
	hotspot.blob_frame_size = -1;
	assert_false(find(2 << SEGMENT_LOG2, &caller));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_caller_of_a_stub, set_up),
		cmocka_unit_test_setup(test_methods_are_left_to_the_vm, set_up),
		cmocka_unit_test_setup(test_no_blob, set_up),
		cmocka_unit_test_setup(test_damage, set_up),
	};

	return cmocka_run_group_tests_name("runtime_stub", tests, NULL, NULL);
}
