/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of frames, in a simulated code cache, stack and JavaThread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvmti/stacks/java_frames.h"
#include "jvmti/names/methods.h"
#include "unify/shared/log_format.h"

#define SEGMENT_LOG2 7
#define BLOCK_HEADER 16
/* Two segments each. */
enum { METHOD, OTHER_METHOD, INTERPRETER, CALL_STUB, RUNTIME_STUB, BLOBS };
#define BLOB_BYTES (2 << SEGMENT_LOG2)
#define CODE_END 200 /* the stub section, from the blob on */
#define FRAME_WORDS 4
#define STACK_WORDS 256
#if defined(__aarch64__)
#	define BCP_WORD 9
#	define SENDER_MAY_BE_BELOW true
#else
#	define BCP_WORD 8
#	define SENDER_MAY_BE_BELOW false
#endif
/* Indexes of the frames on the stack. */
#define FIRST 8
#define INTERPRETED_FP 40
#define STUB_FP 80
#define WRAPPER 100

struct blob {
	const char *name;
	const void *method; /* of a native one */
	int32_t frame_size;
	int32_t compile_id;
	int32_t stub_offset;
	int32_t original_pc;
	int32_t bytes;
	const void *code;
	const void *scopes;
	int32_t pcs, pcs_end; /* offsets from here */
	int32_t metadata;
};

struct thread {
	uintptr_t vtable;
	uintptr_t sp, fp, pc, base, size;
	uintptr_t unpacking;
};

struct wrapper {
	const void *thread;
	uintptr_t callee;
	uintptr_t sp, fp, pc;
};

/* What the VM keeps about compiled code, behind it. */
struct pc_desc {
	int32_t pc, scope, object, flags;
};
#define CALL 100      /* the pc of a call with an inlined method */
#define OTHER_CALL 64 /* without one */
struct debug {
	struct pc_desc pcs[4];
	const void *metadata[3];
	unsigned char scopes[32];
};

static struct {
	_Alignas(128) unsigned char code[BLOBS * BLOB_BYTES];
	struct debug debug;
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

/* Methods of one class. */
#define METHODS 3
#define BYTECODES 40
#define TEXT_BYTES 16
struct symbol {
	uint16_t length;
	char text[TEXT_BYTES];
};
#define SYMBOL(text)                   \
	{                              \
		sizeof(text) - 1, text \
	}
static struct symbol symbols[] = {SYMBOL("a/Class"), SYMBOL("Class.java"), SYMBOL("()V"),
	SYMBOL("first"), SYMBOL("second"), SYMBOL("third")};
enum { CLASS, SOURCE, SIGNATURE, FIRST_NAME };

static struct {
	uintptr_t vtable;
	const struct symbol *name;
} class;
static struct pool {
	uintptr_t vtable;
	const void *holder;
	int32_t length;
	uint16_t source;
	const struct symbol *entries[1 + sizeof(symbols) / sizeof(symbols[0])];
} pool;
static struct fixed {
	uintptr_t vtable;
	const struct pool *pool;
	uint16_t flags, bytes, name, signature;
	unsigned char bytecodes[BYTECODES];
	unsigned char lines[8];
} fixed[METHODS];
static struct method {
	uintptr_t vtable;
	const struct fixed *fixed;
	uint16_t access;
} methods[METHODS];

static void
make_methods(void)
{
	class.name = &symbols[CLASS];
	pool = (struct pool){.holder = &class,
		.length = sizeof(pool.entries) / sizeof(pool.entries[0]),
		.source = 1 + SOURCE};
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		pool.entries[1 + i] = &symbols[i];
	for (uint16_t i = 0; i < METHODS; i++) {
		fixed[i] = (struct fixed){.pool = &pool,
			.bytes = BYTECODES,
			.name = (uint16_t)(1 + FIRST_NAME + i),
			.signature = 1 + SIGNATURE};
		methods[i] = (struct method){.fixed = &fixed[i]};
	}
	methods[1].access = TH_ACCESS_NATIVE;
	vm.debug = (struct debug){
		.pcs = {{-1, 0, 0, 0}, {OTHER_CALL, 8, 0, 0}, {CALL, 1, 0, 0},
			{INT32_MAX, 0, 0, 0}},
		.metadata = {&methods[0], &methods[1], &methods[2]},
		/*
		 * At 1: inlined in the scope at 8, method 2, bytecode 6.  At 8: method 0, bytecode 200, in
		 * two bytes.
		 */
		.scopes = {[1] = 8, 3, 7, [8] = 0, 1, 201, 0},
	};
}

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
		{.name = "nmethod",
			.frame_size = FRAME_WORDS,
			.compile_id = 7,
			.stub_offset = CODE_END,
			.original_pc = sizeof(uintptr_t)},
		{.name = "native nmethod",
			.method = &methods[1],
			.frame_size = FRAME_WORDS,
			.compile_id = 8,
			.stub_offset = CODE_END},
		{.name = "Interpreter"},
		{.name = "StubRoutines (1)"},
		{.name = "_new_array_Java", .frame_size = FRAME_WORDS},
	};

	for (int i = 0; i < BLOBS; i++) {
		*blob(i) = blobs[i];
		blob(i)->code = blob(i);
		blob(i)->scopes = vm.debug.scopes;
		blob(i)->pcs = (int32_t)((char *)vm.debug.pcs - (char *)blob(i));
		blob(i)->pcs_end = blob(i)->pcs + (int32_t)sizeof(vm.debug.pcs);
		blob(i)->metadata = (int32_t)((char *)vm.debug.metadata - (char *)blob(i));
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

/* A return address as the VM may store it: on aarch64 with an authentication code. */
static uintptr_t
stored(uintptr_t pc)
{
#if defined(__aarch64__)
	register uintptr_t address __asm__("x17") = pc;
	register uintptr_t modifier __asm__("x16") = 0;

	__asm__("hint #8" : "+r"(address) : "r"(modifier)); /* pacia1716 */
	return address;
#else
	return pc;
#endif
}

/* Two compiled frames, an interpreted one, the call stub, and no older Java frames. */
static void
make_stack(void)
{
	unsigned second = FIRST + FRAME_WORDS, third = second + FRAME_WORDS;
	struct wrapper *wrapper = (struct wrapper *)(void *)&vm.stack[WRAPPER];

	memset(vm.stack, 0, sizeof(vm.stack));
	vm.thread = (struct thread){0, address(FIRST), 0, pc_in(METHOD, CALL),
		(uintptr_t)(vm.stack + STACK_WORDS), sizeof(vm.stack), 0};
	vm.stack[second - 1] = stored(pc_in(OTHER_METHOD, 64));
	vm.stack[third - 1] = stored(pc_in(INTERPRETER, 80));
	vm.stack[third - 2] = address(INTERPRETED_FP);
	for (unsigned i = 1; i <= 10; i++)
		vm.stack[INTERPRETED_FP - i] = 1000 + i;
	vm.stack[INTERPRETED_FP - 1] = address(INTERPRETED_FP + 2);
	vm.stack[INTERPRETED_FP - 3] = (uintptr_t)&methods[2];
	vm.stack[INTERPRETED_FP - BCP_WORD] = (uintptr_t)&fixed[2].bytecodes[9];
	vm.stack[INTERPRETED_FP - 7] = address(INTERPRETED_FP + 4); /* locals */
	vm.stack[INTERPRETED_FP] = address(STUB_FP);
	vm.stack[INTERPRETED_FP + 1] = stored(vm.call_stub_return);
	vm.stack[STUB_FP - 6] = (uintptr_t)wrapper;
	vm.stack[STUB_FP] = 0;
	*wrapper = (struct wrapper){.thread = &vm.thread};
}

/* The call stub's frame is at STUB_FP; its wrapper is farther out. */
static int
set_up(void **state)
{
	(void)state;
	make_methods();
	make_code();
	make_stack();
	hotspot = (struct th_hotspot){
		.release = 17,
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
		.entry_frame_wrapper = -6,
		.array_data = (char *)&vm.array.data - (char *)&vm.array,
		.code_heap_high = (char *)&vm.heap.high - (char *)&vm.heap,
		.code_heap_segments = (char *)&vm.heap.segments - (char *)&vm.heap,
		.code_heap_log2 = (char *)&vm.heap.log2 - (char *)&vm.heap,
		.code_block_header = BLOCK_HEADER,
		.blob_frame_size = offsetof(struct blob, frame_size),
		.blob_bytes = offsetof(struct blob, bytes),
		.blob_code = offsetof(struct blob, code),
		.blob_mutable = -1,
		.code_original_pc = offsetof(struct blob, original_pc),
		.code_immutable = -1,
		.code_pcs = offsetof(struct blob, pcs),
		.code_pcs_end = offsetof(struct blob, pcs_end),
		.code_scopes = offsetof(struct blob, scopes),
		.code_scopes_offset = -1,
		.code_metadata = offsetof(struct blob, metadata),
		.method_fixed = offsetof(struct method, fixed),
		.method_access = offsetof(struct method, access),
		.fixed_bytes = offsetof(struct fixed, bytecodes),
		.fixed_pool = offsetof(struct fixed, pool),
		.fixed_flags = offsetof(struct fixed, flags),
		.fixed_code_bytes = offsetof(struct fixed, bytes),
		.fixed_name = offsetof(struct fixed, name),
		.fixed_signature = offsetof(struct fixed, signature),
		.pool_bytes = offsetof(struct pool, entries),
		.pool_length = offsetof(struct pool, length),
		.pool_holder = offsetof(struct pool, holder),
		.pool_source = offsetof(struct pool, source),
		.class_name = offsetof(__typeof(class), name),
		.symbol_length = offsetof(struct symbol, length),
		.symbol_text = offsetof(struct symbol, text),
		.unpacking = offsetof(struct thread, unpacking),
		.code_method = offsetof(struct blob, method),
		.code_compile_id = offsetof(struct blob, compile_id),
		.code_stub_offset = offsetof(struct blob, stub_offset),
		.code_heaps = &vm.array_address,
		.call_stub_return = &vm.call_stub_return,
	};
	vm.unloaded = 3;
	assert_true(th_methods_init());
	th_java_frames_start(&hotspot, &vm.unloaded);
	return 0;
}

#define MANY 64
#define DECLINED UINT32_MAX

/* The frame words of the whole stack; their number, or DECLINED. */
static uint32_t
walk(uint64_t *words)
{
	uint64_t frame[TH_FRAME_METHODS_MAX];
	struct th_frame_walk walk;
	uint32_t count = 0;
	struct th_registers native;

	if (!th_frame_walk_begin(&walk, (const char *)&vm.thread, NULL))
		return DECLINED;
	for (;;) {
		uint32_t own = th_frame_walk_methods(&walk, frame);

		if (!own || count + own > MANY)
			return DECLINED;
		memcpy(words + count, frame, own * sizeof(*words));
		count += own;
		switch (th_frame_walk_next(&walk, &native)) {
		case TH_STEP_END:
			return count;
		case TH_STEP_UNKNOWN:
			return DECLINED;
		default:
			break;
		}
	}
}

static bool
is_walked(void)
{
	uint64_t words[MANY];

	return walk(words) != DECLINED;
}

/* Every stack of a test has other code, so that no test knows what another one has remembered. */
static void
forget(void)
{
	static int32_t id = 100;

	blob(METHOD)->compile_id = id++;
	blob(OTHER_METHOD)->compile_id = id++;
	vm.unloaded = id;
}

static void
assert_frame(uint64_t word, const struct method *method, uint32_t bci)
{
	struct th_vm_method read;

	assert_true(th_vm_method_read(&hotspot, (uintptr_t)method, &read));
	uint32_t id = th_methods_id(&hotspot, &read);
	assert_true(id > 0);
	assert_int_equal(word, th_frame_java(id, bci));
}

/* An inlined method and its caller, a native one, and an interpreted one. */
static void
inlined_native_and_interpreted_methods(void **state)
{
	uint64_t words[MANY];

	(void)state;
	forget();
	for (int i = 0; i < 2; i++) { /* decoded, remembered */
		assert_int_equal(walk(words), 4);
		assert_frame(words[0], &methods[2], 6);
		assert_frame(words[1], &methods[0], 200);
		assert_frame(words[2], &methods[1], TH_BCI_NATIVE);
		assert_frame(words[3], &methods[2], 9);
		memset(&vm.debug, 0, sizeof(vm.debug));
	}
}

/* Methods of other classes that are called the same have one id; any difference makes another. */
static void
ids_depend_on_what_a_method_is_called(void **state)
{
	struct th_vm_method method;
	uint16_t *const different[] = {
		&fixed[0].name, &fixed[0].signature, &fixed[0].bytes, &pool.source};

	(void)state;
	assert_true(th_vm_method_read(&hotspot, (uintptr_t)&methods[0], &method));
	uint32_t id = th_methods_id(&hotspot, &method);
	fixed[2].name = fixed[0].name;
	assert_true(th_vm_method_read(&hotspot, (uintptr_t)&methods[2], &method));
	assert_int_equal(th_methods_id(&hotspot, &method), id);
	for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++) {
		++*different[i];
		assert_true(th_vm_method_read(&hotspot, (uintptr_t)&methods[0], &method));
		assert_int_not_equal(th_methods_id(&hotspot, &method), id);
		--*different[i];
	}
}

/* A frame that will be deoptimized returns into the stub section; its pc is in the frame. */
static void
frames_to_deoptimize(void **state)
{
	uint64_t words[MANY];

	(void)state;
	forget();
	vm.thread.pc = pc_in(METHOD, CODE_END + 4);
	vm.stack[FIRST + 1] = pc_in(METHOD, CALL);
	assert_int_equal(walk(words), 4);
	assert_frame(words[0], &methods[2], 6);
	vm.stack[FIRST + 1] = pc_in(METHOD, CODE_END + 4);
	assert_false(is_walked());
	blob(METHOD)->original_pc = INT32_MAX;
	assert_false(is_walked());
}

/* What is remembered of a frame holds while its method and bytecode are certainly the same. */
static void
remembered_frames_are_told_apart(void **state)
{
	uint64_t words[MANY];

	(void)state;
	forget();
	assert_true(is_walked());
	vm.stack[INTERPRETED_FP - BCP_WORD]++;
	assert_int_equal(walk(words), 4);
	assert_frame(words[3], &methods[2], 10);
	vm.stack[INTERPRETED_FP - 3] = (uintptr_t)&methods[0];
	vm.stack[INTERPRETED_FP - BCP_WORD] = (uintptr_t)&fixed[0].bytecodes[1];
	assert_int_equal(walk(words), 4);
	assert_frame(words[3], &methods[0], 1);
	/* Other classes and another compilation in the same place. */
	fixed[0].name = fixed[2].name;
	vm.debug.metadata[2] = &methods[1];
	vm.unloaded++;
	blob(METHOD)->compile_id += 1000;
	assert_int_equal(walk(words), 4);
	assert_frame(words[0], &methods[1], TH_BCI_NATIVE);
	assert_frame(words[3], &methods[2], 1);
}

/* The anchor's pc is not always set; then it is on the stack. */
static void
anchor_without_pc(void **state)
{
	(void)state;
	forget();
	vm.stack[FIRST - 1] = vm.thread.pc;
	vm.thread.pc = 0;
	assert_true(is_walked());
	assert_int_equal(vm.thread.pc, 0);
}

/*
 * Compiled code that called a runtime stub, whose frame has no methods.  The stub is found again without a
 * search, unless other code is in its place.
 */
static void
runtime_stubs(void **state)
{
	uint64_t words[MANY];

	(void)state;
	forget();
	vm.thread.sp = address(FIRST - FRAME_WORDS);
	vm.thread.pc = pc_in(RUNTIME_STUB, 40);
	vm.stack[FIRST - 1] = stored(pc_in(METHOD, CALL));
	for (int i = 0; i < 2; i++) { /* found, remembered */
		assert_int_equal(walk(words), 4);
		assert_frame(words[0], &methods[2], 6);
		vm.map[2 * RUNTIME_STUB] = 0xff;
	}
	blob(RUNTIME_STUB)->frame_size++;
	assert_false(is_walked());
	blob(RUNTIME_STUB)->frame_size--;
	blob(RUNTIME_STUB)->name = "nmethod";
	assert_false(is_walked());
}

/* Java frames beyond the call stub, called by native code. */
static void
older_segments(void **state)
{
	struct wrapper *wrapper = (struct wrapper *)(void *)&vm.stack[WRAPPER];
	const unsigned older = WRAPPER + 20;
	uint64_t words[MANY];

	(void)state;
	forget();
	wrapper->sp = address(older);
	wrapper->pc = pc_in(METHOD, OTHER_CALL);
	vm.stack[older + FRAME_WORDS - 1] = vm.call_stub_return;
	vm.stack[older + FRAME_WORDS - 2] = address(older + 40);
	vm.stack[older + 40 - 6] = address(older + 50);
	*(struct wrapper *)(void *)&vm.stack[older + 50] = (struct wrapper){
		.thread = &vm.thread};
	assert_int_equal(walk(words), 5);
	assert_frame(words[4], &methods[0], 200);
	wrapper->pc += 4; /* no call */
	assert_false(is_walked());
}

static const uintptr_t *
wrong_words(size_t *count)
{
	static uintptr_t words[10];
	const uintptr_t wrong[] = {0, 3, 0x1000, address(FIRST), vm.thread.base - 8,
		vm.thread.base, pc_in(CALL_STUB, 80), (uintptr_t)1 << 46,
		/* Its end overflows. */
		UINTPTR_MAX - 39, UINTPTR_MAX};

	memcpy(words, wrong, sizeof(wrong));
	*count = sizeof(wrong) / sizeof(wrong[0]);
	return words;
}

/* Whatever is on the stack, nothing beyond it is read, and no frame is found that is none. */
static void
wrong_words_on_the_stack(void **state)
{
	struct wrapper *wrapper = (struct wrapper *)(void *)&vm.stack[WRAPPER];
	uintptr_t *const damaged[] = {
		&vm.stack[FIRST + FRAME_WORDS - 1],     /* pc */
		&vm.stack[FIRST + 2 * FRAME_WORDS - 2], /* frame pointers */
		&vm.stack[INTERPRETED_FP],
		&vm.stack[INTERPRETED_FP - 1], /* stack pointers */
		&vm.stack[INTERPRETED_FP - 3], /* the method */
		&vm.stack[STUB_FP - 6],        /* wrapper */
		&vm.thread.sp,
	};
	size_t count;
	const uintptr_t *wrong = wrong_words(&count);

	(void)state;
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		for (size_t k = 0; k < count; k++) {
			forget();
			make_stack();
			if (*damaged[i] == wrong[k])
				continue;
			*damaged[i] = wrong[k];
			/* On aarch64 a sender's stack pointer may be below the frame. */
			if (SENDER_MAY_BE_BELOW &&
				damaged[i] == &vm.stack[INTERPRETED_FP - 1] &&
				wrong[k] == address(FIRST))
				continue;
			assert_false(is_walked());
		}
	make_stack();
	wrapper->thread = NULL;
	assert_false(is_walked());
}

/* The same of what the VM keeps about code and methods: a walk gives up, and does not crash. */
static void
wrong_words_in_the_vm(void **state)
{
	void *const damaged[] = {&blob(METHOD)->scopes, &vm.debug.metadata[0],
		&methods[0].fixed, &fixed[0].pool, &pool.holder, &class.name,
		&pool.entries[1 + FIRST_NAME]};
	size_t count;
	const uintptr_t *wrong = wrong_words(&count);

	(void)state;
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		for (size_t k = 0; k < count; k++) {
			uint64_t words[MANY];
			uintptr_t before;

			forget();
			memcpy(&before, damaged[i], sizeof(before));
			memcpy(damaged[i], &wrong[k], sizeof(before));
			uint32_t walked = walk(words);
			/* Memory that can be read, but is no symbol, gives a method without a name. */
			assert_true(walked == DECLINED || walked == 4);
			memcpy(damaged[i], &before, sizeof(before));
		}
	assert_true(is_walked());
}

static void
frames_that_are_no_calls(void **state)
{
	(void)state;
	forget();
	vm.thread.pc++;
	assert_false(is_walked());
	vm.thread.pc--;
	vm.debug.scopes[1] = 1; /* inlined in itself */
	assert_false(is_walked());
	make_methods();
	vm.thread.unpacking = 1;
	assert_false(is_walked());
	vm.thread.unpacking = 0;
	assert_true(is_walked());
	hotspot.code_compile_id = -1;
	th_java_frames_start(&hotspot, &vm.unloaded);
	assert_false(is_walked());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(inlined_native_and_interpreted_methods, set_up),
		cmocka_unit_test_setup(ids_depend_on_what_a_method_is_called, set_up),
		cmocka_unit_test_setup(frames_to_deoptimize, set_up),
		cmocka_unit_test_setup(remembered_frames_are_told_apart, set_up),
		cmocka_unit_test_setup(anchor_without_pc, set_up),
		cmocka_unit_test_setup(runtime_stubs, set_up),
		cmocka_unit_test_setup(older_segments, set_up),
		cmocka_unit_test_setup(wrong_words_on_the_stack, set_up),
		cmocka_unit_test_setup(wrong_words_in_the_vm, set_up),
		cmocka_unit_test_setup(frames_that_are_no_calls, set_up),
	};

	return cmocka_run_group_tests_name("java_frames", tests, NULL, NULL);
}
