/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of frames, in a simulated code cache, stack and JavaThread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvmti/frame_memo.h"

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
	const void *method; /* that it was compiled for */
	int32_t frame_size;
	int32_t compile_id;
	int32_t stub_offset;
};

struct thread {
	uintptr_t vtable;
	uintptr_t sp, fp, pc, base, size;
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

/* Methods of one class; the ID of number i is ID(i). */
#define METHODS 2
#define ID(number) ((uintptr_t)0x7f0123450000 + (uintptr_t)(number))
static const uintptr_t ids[1 + METHODS] = {METHODS, ID(0), ID(1)};
static const struct {
	uintptr_t vtable;
	const uintptr_t *ids;
} holder = {0, ids};
static const struct {
	uintptr_t vtable;
	const void *holder;
} pool = {0, &holder};
static const struct {
	uintptr_t vtable;
	const void *pool;
	uint16_t number;
} fixed[METHODS] = {{0, &pool, 0}, {0, &pool, 1}};
static const struct {
	uintptr_t vtable;
	const void *fixed;
} method[METHODS] = {{0, &fixed[0]}, {0, &fixed[1]}};

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
		{"nmethod", &method[0], FRAME_WORDS, 7, CODE_END},
		{"native nmethod", &method[1], FRAME_WORDS, 8, CODE_END},
		{"Interpreter", NULL, 0, 0, 0},
		{"StubRoutines (1)", NULL, 0, 0, 0},
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
	vm.thread = (struct thread){0, address(FIRST), 0, pc_in(METHOD, 100),
		(uintptr_t)(vm.stack + STACK_WORDS), sizeof(vm.stack)};
	vm.stack[second - 1] = pc_in(OTHER_METHOD, 64);
	vm.stack[third - 1] = pc_in(INTERPRETER, 80);
	vm.stack[third - 2] = address(INTERPRETED_FP);
	for (unsigned i = 1; i <= 10; i++)
		vm.stack[INTERPRETED_FP - i] = 1000 + i;
	vm.stack[INTERPRETED_FP - 1] = address(INTERPRETED_FP + 2);
	vm.stack[INTERPRETED_FP - 7] = address(INTERPRETED_FP + 4); /* locals */
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
		.env = 8,
		.thread_state = 8,
		.state_in_native = 4,
		.state_in_java = 8,
		.walkable_states = 1,
		.code_low = &vm.heap.low,
		.code_high = &vm.heap.high,
		.last_java_sp = offsetof(struct thread, sp),
		.last_java_fp = offsetof(struct thread, fp),
		.last_java_pc = offsetof(struct thread, pc),
		.stack_base = offsetof(struct thread, base),
		.stack_size = offsetof(struct thread, size),
		.wrapper_last_java_sp = offsetof(struct wrapper, sp),
		.wrapper_callee = offsetof(struct wrapper, callee),
		.entry_frame_wrapper = -6,
		.array_data = (char *)&vm.array.data - (char *)&vm.array,
		.code_heap_high = (char *)&vm.heap.high - (char *)&vm.heap,
		.code_heap_segments = (char *)&vm.heap.segments - (char *)&vm.heap,
		.code_heap_log2 = (char *)&vm.heap.log2 - (char *)&vm.heap,
		.code_block_header = BLOCK_HEADER,
		.blob_frame_size = offsetof(struct blob, frame_size),
		.method_fixed = offsetof(__typeof(method[0]), fixed),
		.fixed_pool = offsetof(__typeof(fixed[0]), pool),
		.fixed_number = offsetof(__typeof(fixed[0]), number),
		.pool_holder = offsetof(__typeof(pool), holder),
		.class_method_ids = offsetof(__typeof(holder), ids),
		.code_method = offsetof(struct blob, method),
		.code_compile_id = offsetof(struct blob, compile_id),
		.code_stub_offset = offsetof(struct blob, stub_offset),
		.code_heaps = &vm.array_address,
		.call_stub_return = &vm.call_stub_return,
	};
	vm.unloaded = 3;
	th_frame_memo_start(&hotspot, &vm.unloaded);
	return 0;
}

#define MANY 64

static jint
find(struct th_call_frame *frames)
{
	return th_frame_memo_find((const char *)&vm.thread, frames, MANY);
}

static bool
is_found(void)
{
	struct th_call_frame frames[MANY];

	return find(frames) >= 0;
}

/* The methods by number, each with a bytecode index of its own. */
static uint32_t
make_answer(struct th_call_frame *frames, const char *numbers)
{
	uint32_t count = 0;

	for (; numbers[count]; count++)
		frames[count] = (struct th_call_frame){
			(numbers[count] - '0') * 5000 - 3, (jmethodID)ID(numbers[count] - '0')};
	return count;
}

static void
learn(const char *numbers)
{
	struct th_call_frame frames[MANY];

	th_frame_memo_learn((const char *)&vm.thread, frames, make_answer(frames, numbers));
}

/* Every stack of a test has other code, so that no test knows what another one has learned. */
static void
forget(void)
{
	static int32_t id = 100;

	blob(METHOD)->compile_id = id++;
	blob(OTHER_METHOD)->compile_id = id++;
	vm.unloaded = id;
}

/* Two inlined methods, and one frame each. */
static void
stacks_are_found(void **state)
{
	struct th_call_frame wanted[MANY], found[MANY];
	uint32_t count = make_answer(wanted, "56017");

	(void)state;
	forget();
	assert_false(is_found());
	learn("56017");
	assert_int_equal(find(found), count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(found[i].bci, wanted[i].bci);
		assert_ptr_equal(found[i].method, wanted[i].method);
	}
	/* No room for one more. */
	assert_int_equal(th_frame_memo_find((const char *)&vm.thread, found, count), -1);
	assert_int_equal(th_frame_memo_find((const char *)&vm.thread, found, count + 1), count);
}

/* What the methods depend on decides whether a frame is known, and nothing else does. */
static void
frames_are_told_apart(void **state)
{
	(void)state;
	forget();
	learn("56017");
	vm.stack[FIRST + 1] = 99;                   /* a spilled value */
	vm.stack[INTERPRETED_FP - 4]++;             /* the mirror moved */
	vm.stack[INTERPRETED_FP - 7] = address(50); /* other locals */
	assert_true(is_found());
	vm.thread.pc += 4;
	assert_false(is_found());
	make_stack();
	vm.stack[FIRST + FRAME_WORDS - 1] += 4;
	assert_false(is_found());
	make_stack();
	vm.stack[INTERPRETED_FP - 8]++; /* the bytecode pointer */
	assert_false(is_found());
	make_stack();
	vm.stack[INTERPRETED_FP - 3]++; /* the method */
	assert_false(is_found());
	make_stack();
	vm.unloaded++;
	assert_false(is_found());
	vm.unloaded--;
	/* Another compilation in the same place. */
	blob(OTHER_METHOD)->compile_id += 1000;
	assert_false(is_found());
	blob(OTHER_METHOD)->compile_id -= 1000;
	assert_true(is_found());
}

/* Where the method of a frame occurs twice, other stacks tell which of them is its own. */
static void
recursion(void **state)
{
	struct th_call_frame found[MANY];

	(void)state;
	forget();
	learn("050017");
	assert_false(is_found());
	vm.thread.sp = address(FIRST + FRAME_WORDS);
	vm.thread.pc = pc_in(OTHER_METHOD, 64);
	learn("17");
	assert_int_equal(find(found), 2);
	make_stack();
	learn("050017");
	assert_int_equal(find(found), 6);
}

/* Answers that cannot be those of the frames, or will be others. */
static void
what_is_not_learned(void **state)
{
	struct th_call_frame frames[MANY];
	uint32_t count = make_answer(frames, "56017");

	(void)state;
	forget();
	learn("17");
	learn("55555");
	learn("5555555555555555017");
	assert_false(is_found());
	frames[0].method = NULL; /* it will have an ID later */
	th_frame_memo_learn((const char *)&vm.thread, frames, count);
	assert_false(is_found());
	make_answer(frames, "56017");
	frames[1].bci = 0x10000;
	th_frame_memo_learn((const char *)&vm.thread, frames, count);
	assert_false(is_found());
}

/* The anchor's pc is not always set; then it is on the stack. */
static void
anchor_without_pc(void **state)
{
	(void)state;
	forget();
	learn("56017");
	vm.stack[FIRST - 1] = vm.thread.pc;
	vm.thread.pc = 0;
	assert_true(is_found());
}

/* Java frames beyond the call stub, called by native code. */
static void
older_segments(void **state)
{
	struct wrapper *wrapper = (struct wrapper *)(void *)&vm.stack[WRAPPER];
	const unsigned older = WRAPPER + 20;
	struct th_call_frame found[MANY];

	(void)state;
	forget();
	wrapper->sp = address(older);
	wrapper->pc = pc_in(METHOD, 120);
	vm.stack[older + FRAME_WORDS - 1] = vm.call_stub_return;
	vm.stack[older + FRAME_WORDS - 2] = address(older + 40);
	vm.stack[older + 40 - 6] = address(older + 50);
	*(struct wrapper *)(void *)&vm.stack[older + 50] = (struct wrapper){
		.thread = &vm.thread};
	learn("56017830");
	assert_int_equal(find(found), 8);
	assert_true(found[7].method == (jmethodID)ID(0));
	wrapper->pc += 4;
	assert_false(is_found());
}

/* What cannot be followed, or does not determine its methods. */
static void
stacks_that_are_left_to_the_vm(void **state)
{
	struct wrapper *wrapper = (struct wrapper *)(void *)&vm.stack[WRAPPER];
	uintptr_t *const damaged[] = {
		&vm.stack[FIRST + FRAME_WORDS - 1],     /* pc */
		&vm.stack[FIRST + 2 * FRAME_WORDS - 2], /* frame pointers */
		&vm.stack[INTERPRETED_FP],
		&vm.stack[INTERPRETED_FP - 1], /* stack pointers */
		&wrapper->sp,
		&vm.stack[STUB_FP - 6], /* wrapper */
		&vm.thread.sp,
	};
	const uintptr_t wrong[] = {0x1000, address(FIRST), vm.thread.base - 8, vm.thread.base,
		pc_in(CALL_STUB, 80), pc_in(OTHER_METHOD, CODE_END),
		/* Its end overflows. */
		UINTPTR_MAX - 39};

	(void)state;
	forget();
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
			make_stack();
			if (damaged[i] == &vm.thread.sp && wrong[k] == address(FIRST))
				continue;
			*damaged[i] = wrong[k];
			learn("56017");
			assert_false(is_found());
		}
	make_stack();
	wrapper->thread = NULL;
	learn("56017");
	assert_false(is_found());
	make_stack();
	th_frame_memo_start(&hotspot, NULL); /* interpreted frames */
	learn("56017");
	assert_false(is_found());
	hotspot.code_compile_id = -1;
	th_frame_memo_start(&hotspot, &vm.unloaded);
	learn("56017");
	assert_false(is_found());
}

/* One stack in 64 has to be asked for again; if the answer differs, all are left to the VM. */
static void
answers_are_checked(void **state)
{
	struct th_call_frame frames[MANY];
	unsigned asked = 0;

	(void)state;
	forget();
	learn("56017");
	for (unsigned i = 0; i < 640; i++) {
		if (is_found())
			continue;
		asked++;
		learn("56017");
	}
	assert_int_equal(asked, 10);
	uint32_t count = make_answer(frames, "56017");
	frames[3].bci++;
	th_frame_memo_learn((const char *)&vm.thread, frames, count);
	assert_false(is_found());
	learn("56017");
	assert_false(is_found());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(stacks_are_found, set_up),
		cmocka_unit_test_setup(frames_are_told_apart, set_up),
		cmocka_unit_test_setup(recursion, set_up),
		cmocka_unit_test_setup(what_is_not_learned, set_up),
		cmocka_unit_test_setup(anchor_without_pc, set_up),
		cmocka_unit_test_setup(older_segments, set_up),
		cmocka_unit_test_setup(stacks_that_are_left_to_the_vm, set_up),
		cmocka_unit_test_setup(answers_are_checked, set_up), /* the last */
	};

	return cmocka_run_group_tests_name("frame_memo", tests, NULL, NULL);
}
