/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of stacks, in a simulated code cache, stack and JavaThread, and the answers found by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvmti/walk_memo.h"

#define SEGMENT_LOG2 7
#define BLOCK_HEADER 16
/* Two segments each. */
enum { METHOD, OTHER_METHOD, INTERPRETER, CALL_STUB, BLOBS };
#define BLOB_BYTES (2 << SEGMENT_LOG2)
#define CODE_END 200 /* the stub section, from the blob on */
#define FRAME_WORDS 4
#define STACK_WORDS 256
/* Indexes of the frames on the stack. */
#define FIRST 8
#define INTERPRETED_FP 40
#define STUB_FP 80
#define WRAPPER 100

struct blob {
	const char *name;
	int32_t frame_size;
	int32_t compile_id;
	int32_t stub_offset;
};

struct thread {
	uintptr_t sp, fp, pc, base;
};

struct wrapper {
	const void *thread;
	uintptr_t callee;
	uintptr_t sp, fp, pc;
};

static struct {
	_Alignas(128) unsigned char code[BLOBS * BLOB_BYTES];
	unsigned char map[2 * BLOBS];
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
	uintptr_t call_stub_return;
	uintptr_t stack[STACK_WORDS];
	struct thread thread;
	int64_t unloaded;
} vm;

static struct th_hotspot hotspot;

static struct blob *
blob(int number)
{
	return (struct blob *)(void *)(vm.code + number * BLOB_BYTES + BLOCK_HEADER);
}

static uintptr_t
pc_in(int number, unsigned offset)
{
	return (uintptr_t)blob(number) + offset;
}

static uintptr_t
address(unsigned index)
{
	return (uintptr_t)&vm.stack[index];
}

static void
make_code(void)
{
	static const struct blob blobs[BLOBS] = {
		{"nmethod", FRAME_WORDS, 7, CODE_END},
		{"native nmethod", FRAME_WORDS, 8, CODE_END},
		{"Interpreter", 0, 0, 0},
		{"StubRoutines (1)", 0, 0, 0},
	};

	for (int i = 0; i < BLOBS; i++) {
		*blob(i) = blobs[i];
		vm.map[2 * i] = 0;
		vm.map[2 * i + 1] = 1;
	}
	vm.heap.low = (uintptr_t)vm.code;
	vm.heap.high = vm.heap.low + sizeof(vm.code);
	vm.heap.segments = (uintptr_t)vm.map;
	vm.heap.log2 = SEGMENT_LOG2;
	vm.heaps[0] = (uintptr_t)&vm.heap;
	vm.array.length = 1;
	vm.array.data = (uintptr_t)vm.heaps;
	vm.array_address = (uintptr_t)&vm.array;
	vm.call_stub_return = pc_in(CALL_STUB, 64);
}

/* Two compiled frames, an interpreted one, the call stub, and no older Java frames. */
static void
make_stack(void)
{
	unsigned second = FIRST + FRAME_WORDS, third = second + FRAME_WORDS;
	struct wrapper *wrapper = (struct wrapper *)(void *)&vm.stack[WRAPPER];

	memset(vm.stack, 0, sizeof(vm.stack));
	vm.thread = (struct thread){
		address(FIRST), 0, pc_in(METHOD, 100), (uintptr_t)(vm.stack + STACK_WORDS)};
	vm.stack[second - 1] = pc_in(OTHER_METHOD, 64);
	vm.stack[third - 1] = pc_in(INTERPRETER, 80);
	vm.stack[third - 2] = address(INTERPRETED_FP);
	for (unsigned i = 1; i <= 10; i++)
		vm.stack[INTERPRETED_FP - i] = 1000 + i;
	vm.stack[INTERPRETED_FP - 1] = address(INTERPRETED_FP + 2);
	vm.stack[INTERPRETED_FP] = address(STUB_FP);
	vm.stack[INTERPRETED_FP + 1] = vm.call_stub_return;
	vm.stack[STUB_FP - 6] = (uintptr_t)wrapper;
	vm.stack[STUB_FP] = 0;
	*wrapper = (struct wrapper){.thread = &vm.thread};
}

/* The call stub's frame is at STUB_FP; its wrapper is farther out. */
static int
set_up(void **state)
{
	(void)state;
	make_code();
	make_stack();
	hotspot = (struct th_hotspot){
		.last_java_sp = offsetof(struct thread, sp),
		.last_java_fp = offsetof(struct thread, fp),
		.last_java_pc = offsetof(struct thread, pc),
		.stack_base = offsetof(struct thread, base),
		.wrapper_last_java_sp = offsetof(struct wrapper, sp),
		.wrapper_callee = offsetof(struct wrapper, callee),
		.entry_frame_wrapper = -6,
		.array_data = (char *)&vm.array.data - (char *)&vm.array,
		.code_heap_high = (char *)&vm.heap.high - (char *)&vm.heap,
		.code_heap_segments = (char *)&vm.heap.segments - (char *)&vm.heap,
		.code_heap_log2 = (char *)&vm.heap.log2 - (char *)&vm.heap,
		.code_block_header = BLOCK_HEADER,
		.blob_frame_size = offsetof(struct blob, frame_size),
		.code_compile_id = offsetof(struct blob, compile_id),
		.code_stub_offset = offsetof(struct blob, stub_offset),
		.code_heaps = &vm.array_address,
		.call_stub_return = &vm.call_stub_return,
	};
	vm.unloaded = 3;
	th_walk_memo_start(&hotspot, &vm.unloaded);
	return 0;
}

static uint64_t
key(void)
{
	return th_walk_memo_key((const char *)&vm.thread);
}

/* What the answer depends on changes the key, and nothing else does. */
static void
keys_tell_stacks_apart(void **state)
{
	uint64_t first = key();

	(void)state;
	assert_int_not_equal(first, 0);
	assert_int_equal(key(), first);
	vm.stack[FIRST + 1] = 99; /* a spilled value */
	assert_int_equal(key(), first);
	vm.stack[INTERPRETED_FP - 4]++; /* the mirror moved */
	assert_int_equal(key(), first);
	vm.thread.pc += 4;
	assert_int_not_equal(key(), first);
	make_stack();
	vm.stack[FIRST + FRAME_WORDS - 1] += 4;
	assert_int_not_equal(key(), first);
	make_stack();
	vm.stack[INTERPRETED_FP - 8]++; /* the bytecode pointer */
	assert_int_not_equal(key(), first);
	make_stack();
	vm.stack[INTERPRETED_FP - 3]++; /* the method */
	assert_int_not_equal(key(), first);
	make_stack();
	vm.unloaded++;
	assert_int_not_equal(key(), first);
	vm.unloaded--;
	/* Another compilation in the same place, found by the same addresses. */
	blob(OTHER_METHOD)->compile_id++;
	assert_int_not_equal(key(), first);
	assert_int_not_equal(key(), 0);
	blob(OTHER_METHOD)->compile_id--;
	assert_int_equal(key(), first);
}

/* The anchor's pc is not always set; then it is on the stack. */
static void
anchor_without_pc(void **state)
{
	uint64_t first = key();

	(void)state;
	vm.stack[FIRST - 1] = vm.thread.pc;
	vm.thread.pc = 0;
	assert_int_equal(key(), first);
}

/* Java frames beyond the call stub, called by native code. */
static void
older_segments(void **state)
{
	struct wrapper *wrapper = (struct wrapper *)(void *)&vm.stack[WRAPPER];
	uint64_t first = key();
	const unsigned older = WRAPPER + 20;

	(void)state;
	wrapper->sp = address(older);
	wrapper->pc = pc_in(METHOD, 120);
	vm.stack[older + FRAME_WORDS - 1] = vm.call_stub_return;
	vm.stack[older + FRAME_WORDS - 2] = address(older + 40);
	vm.stack[older + 40 - 6] = address(older + 50);
	*(struct wrapper *)(void *)&vm.stack[older + 50] = (struct wrapper){
		.thread = &vm.thread};
	uint64_t second = key();
	assert_int_not_equal(second, 0);
	assert_int_not_equal(second, first);
	wrapper->pc += 4;
	assert_int_not_equal(key(), second);
	assert_int_not_equal(key(), 0);
}

/* What cannot be followed, or does not determine its methods, has no key. */
static void
stacks_without_key(void **state)
{
	struct wrapper *wrapper = (struct wrapper *)(void *)&vm.stack[WRAPPER];

	(void)state;
	vm.stack[FIRST + FRAME_WORDS - 1] = pc_in(OTHER_METHOD, CODE_END); /* deoptimized */
	assert_int_equal(key(), 0);
	make_stack();
	vm.stack[FIRST + FRAME_WORDS - 1] = pc_in(CALL_STUB, 80); /* another stub */
	assert_int_equal(key(), 0);
	make_stack();
	vm.stack[FIRST + FRAME_WORDS - 1] = 0x1000;
	assert_int_equal(key(), 0);
	make_stack();
	vm.stack[FIRST + 2 * FRAME_WORDS - 2] = 0x1000; /* frame pointers */
	assert_int_equal(key(), 0);
	make_stack();
	vm.stack[INTERPRETED_FP - 1] = address(FIRST);
	assert_int_equal(key(), 0);
	make_stack();
	vm.stack[STUB_FP - 6] = vm.thread.base;
	assert_int_equal(key(), 0);
	make_stack();
	wrapper->thread = NULL;
	assert_int_equal(key(), 0);
	make_stack();
	wrapper->sp = address(FIRST);
	assert_int_equal(key(), 0);
	make_stack();
	vm.thread.sp = 0;
	assert_int_equal(key(), 0);
	make_stack();
	vm.thread.sp = vm.thread.base - 8;
	assert_int_equal(key(), 0);
	make_stack();
	th_walk_memo_start(&hotspot, NULL); /* interpreted frames */
	assert_int_equal(key(), 0);
	hotspot.code_compile_id = -1;
	th_walk_memo_start(&hotspot, &vm.unloaded);
	assert_int_equal(key(), 0);
}

#define FRAMES 120

static void
make_frames(struct th_call_frame *frames, unsigned count, uintptr_t method)
{
	for (unsigned i = 0; i < count; i++)
		frames[i] = (struct th_call_frame){
			.bci = (jint)(i % 5) - 3, .method = (jmethodID)(method + i)};
}

static void
answers_are_found(void **state)
{
	const uint64_t first = UINT64_C(0x1111111100000001);
	struct th_call_frame frames[FRAMES + 1], found[FRAMES + 1];

	(void)state;
	assert_int_equal(th_walk_memo_find(first, found, FRAMES), -1);
	make_frames(frames, FRAMES + 1, 0x7f0123456780);
	frames[5].bci = 0xfffc;
	th_walk_memo_store(first, frames, FRAMES);
	assert_int_equal(th_walk_memo_find(first, found, FRAMES), FRAMES);
	assert_memory_equal(frames, found, sizeof(frames[0]) * FRAMES);
	assert_int_equal(th_walk_memo_find(first, found, FRAMES - 1), -1);
	assert_int_equal(th_walk_memo_find(first + 2, found, FRAMES), -1);
	assert_int_equal(th_walk_memo_find(0, found, FRAMES), -1);
	/* A later stack in the same place. */
	th_walk_memo_store(first + 2, frames, 3);
	assert_int_equal(th_walk_memo_find(first, found, FRAMES), -1);
	assert_int_equal(th_walk_memo_find(first + 2, found, FRAMES), 3);
}

static void
answers_that_are_not_kept(void **state)
{
	const uint64_t wanted = UINT64_C(0x2222222200000001);
	struct th_call_frame frames[FRAMES + 1], found[FRAMES + 1];

	(void)state;
	make_frames(frames, FRAMES + 1, 0x1000);
	th_walk_memo_store(wanted, frames, FRAMES + 1);
	th_walk_memo_store(wanted, frames, 0);
	th_walk_memo_store(0, frames, 3);
	frames[2].method = NULL; /* it will have an ID later */
	th_walk_memo_store(wanted, frames, 3);
	frames[1].bci = 0x10000;
	th_walk_memo_store(wanted, frames, 2);
	assert_int_equal(th_walk_memo_find(wanted, found, FRAMES + 1), -1);
}

/* One in 64 has to be asked for again; if the answer differs there are no more keys. */
static void
answers_are_checked(void **state)
{
	const uint64_t wanted = UINT64_C(0x3333333300000001);
	struct th_call_frame frames[4], found[4];
	unsigned asked = 0;

	(void)state;
	make_frames(frames, 4, 0x1000);
	th_walk_memo_store(wanted, frames, 4);
	for (unsigned i = 0; i < 640; i++) {
		if (th_walk_memo_find(wanted, found, 4) == 4)
			continue;
		asked++;
		th_walk_memo_store(wanted, frames, 4);
	}
	assert_int_equal(asked, 10);
	assert_int_not_equal(key(), 0);
	frames[3].bci++;
	th_walk_memo_store(wanted, frames, 4);
	assert_int_equal(key(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(keys_tell_stacks_apart, set_up),
		cmocka_unit_test_setup(anchor_without_pc, set_up),
		cmocka_unit_test_setup(older_segments, set_up),
		cmocka_unit_test_setup(stacks_without_key, set_up),
		cmocka_unit_test_setup(answers_are_found, set_up),
		cmocka_unit_test_setup(answers_that_are_not_kept, set_up),
		cmocka_unit_test_setup(answers_are_checked, set_up),
	};

	return cmocka_run_group_tests_name("walk_memo", tests, NULL, NULL);
}
