/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of a stack of Java frames, in a simulated VM.  The stack ends in a page without access:
 * a search beyond the frames that are kept ends the test.
 */
#include "tests/unit/recording/recorder_fixture.h"

#include <string.h>
#include <sys/mman.h>

#include "jvmti/java_stack.h"
#include "jvmti/methods.h"
#include "unify/log/stack_table.h"
#include "unify/unwind/unwind.h"

#define PAGE 4096
#define CODE 0x7000000000
#define CODE_BYTES 0x1000
#define CALL_STUB_RETURN (CODE + 0x80)
#define NATIVE_BCI (-3)
#define IN_VM 6
#define IN_NATIVE 4
#define IN_JAVA 8
/* Words from an entry frame to its wrapper's address, as on x86-64. */
#define WRAPPER_WORD (-6)
/* Frames of the youngest segment; the next begins with a native method. */
#define YOUNGEST 10
/* Words of the stack: call stub frames, and the segments between them. */
#define FIRST_SP 8
#define FIRST_STUB 64
#define SECOND_SP 128
#define SECOND_STUB 192
#define THIRD_SP 256

struct frame {
	jint bci;
	jmethodID method;
};

struct trace {
	JNIEnv *env;
	jint count;
	struct frame *frames;
};

struct thread {
	uintptr_t vtable;
	uintptr_t sp, fp, pc, base;
	int32_t state;
	struct JNINativeInterface_ *env; /* a JNIEnv points here */
};

struct wrapper {
	const void *thread;
	uintptr_t callee, sp;
};

static struct thread thread;
static uintptr_t *stack; /* a page, and one without access */
static jint frames_in_all;
static jint native_at[2]; /* indexes of native methods */
static uintptr_t code_low = CODE, code_high = CODE + CODE_BYTES;
static uintptr_t call_stub_return = CALL_STUB_RETURN;
static struct th_hotspot hotspot;

/* The VM */

static jclass JNICALL
find_class(JNIEnv *env, const char *name)
{
	(void)env, (void)name;
	return NULL;
}

static struct JNINativeInterface_ functions = {.FindClass = find_class};

static jint JNICALL
get_env(JavaVM *vm, void **env, jint version)
{
	(void)vm, (void)version;
	*env = &thread.env;
	return JNI_OK;
}

static const struct JNIInvokeInterface_ invocations = {.GetEnv = get_env};
static JavaVM vm = &invocations;

static void
get_trace(struct trace *trace, jint depth, void *context)
{
	(void)context;
	trace->count = frames_in_all < depth ? frames_in_all : depth;
	for (jint i = 0; i < trace->count; i++)
		trace->frames[i] = (struct frame){
			.bci = i == native_at[0] || i == native_at[1] ? NATIVE_BCI : 1,
			.method = (jmethodID)(uintptr_t)(0x1000 + 8 * i),
		};
}

/* A call stub frame at `at`, below which the segment at `older` begins; 0: none. */
static void
put_stub(unsigned at, unsigned older)
{
	uintptr_t *fp = &stack[at + 16];
	struct wrapper *wrapper = (struct wrapper *)(void *)&stack[at + 32];

	stack[at - 1] = (uintptr_t)fp;
	stack[at] = CALL_STUB_RETURN;
	/* The code of its caller, and the end of the frame pointers. */
	fp[0] = 0;
	fp[1] = (uintptr_t)&stack[at];
	fp[WRAPPER_WORD] = (uintptr_t)wrapper;
	*wrapper = (struct wrapper){
		.thread = &thread, .sp = older ? (uintptr_t)&stack[older] : 0};
}

static void
make_hotspot(void)
{
	memset(&hotspot, 0xff, sizeof(hotspot));
	hotspot.env = offsetof(struct thread, env);
	hotspot.thread_state = offsetof(struct thread, state);
	hotspot.last_java_sp = offsetof(struct thread, sp);
	hotspot.last_java_fp = offsetof(struct thread, fp);
	hotspot.last_java_pc = offsetof(struct thread, pc);
	hotspot.stack_base = offsetof(struct thread, base);
	hotspot.wrapper_last_java_sp = offsetof(struct wrapper, sp);
	hotspot.wrapper_callee = offsetof(struct wrapper, callee);
	hotspot.entry_frame_wrapper = WRAPPER_WORD;
	hotspot.state_in_native = IN_NATIVE;
	hotspot.state_in_java = IN_JAVA;
	hotspot.own_states = 1 << IN_VM;
	hotspot.walkable_states = 1 << IN_VM | 1 << IN_NATIVE;
	hotspot.code_low = &code_low;
	hotspot.code_high = &code_high;
	hotspot.call_stub_return = &call_stub_return;
	hotspot.perf_data = NULL;
	hotspot.code_heaps = NULL;
	hotspot.interpreter_code = NULL;
}

static int
set_up(void **state)
{
	void (*function)(struct trace *, jint, void *) = get_trace;
	char *memory = mmap(
		NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *async;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
	stack = (uintptr_t *)(void *)memory;
	thread = (struct thread){
		.sp = (uintptr_t)&stack[FIRST_SP],
		.pc = CODE + 8,
		.base = (uintptr_t)memory + 2 * PAGE,
		.state = IN_NATIVE,
		.env = &functions,
	};
	make_hotspot();
	memcpy(&async, &function, sizeof(async));
	assert_true(th_unwind_init());
	assert_true(th_methods_init());
	th_capture_start(DEPTH);
	th_java_stack_expect(&hotspot);
	assert_true(th_java_stack_start(&vm, NULL, async, 17));
	return 0;
}

/* The frames of a capture from code of the VM, in the log. */
static uint32_t
capture(struct log_image *image, const uint64_t **frames_ret, uint32_t *flags_ret)
{
	const struct th_registers registers = {.pc = CODE + 16, .sp = thread.sp};

	log_fixture_open(1 << 20);
	assert_true(th_stack_table_init());
	uint32_t id = th_capture_stack(&registers, 0, TH_HEAP_NATIVE).id;
	assert_int_not_equal(id, 0);
	log_image_open(image);
	return recorder_frames(image, id, frames_ret, flags_ret);
}

static int
tear_down(void **state)
{
	th_stack_table_reset();
	return log_fixture_teardown(state);
}

static bool
is_native(uint64_t frame)
{
	return th_frame_kind(frame) == TH_FRAME_NATIVE;
}

static void
make_stack(jint count, jint first_native, jint second_native)
{
	memset(stack, 0, PAGE);
	put_stub(FIRST_STUB, SECOND_SP);
	frames_in_all = count;
	native_at[0] = first_native;
	native_at[1] = second_native;
}

/*
 * Asserts that the native frames of a stack are at these indexes, in ascending order, and that all
 * others are of Java methods.
 */
static void
assert_native(
	const uint64_t *frames, uint32_t count, const uint32_t *wanted, uint32_t wanted_count)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!is_native(frames[i]))
			continue;
		assert_true(found < wanted_count);
		assert_int_equal(i, wanted[found++]);
	}
	assert_int_equal(found, wanted_count);
}

/* Both call stubs are found; the second is the end of the stack. */
static void
test_whole_stack(void **state)
{
	static const uint32_t wanted[] = {YOUNGEST, 2 * YOUNGEST + 1};
	struct log_image image;
	const uint64_t *frames;
	uint32_t count, flags;

	(void)state;
	make_stack(2 * YOUNGEST, YOUNGEST, -1);
	put_stub(SECOND_STUB, 0);
	count = capture(&image, &frames, &flags);
	assert_int_equal(count, 2 * YOUNGEST + 2);
	assert_native(frames, count, wanted, 2);
	assert_int_equal(flags & TH_STACK_TRUNCATED, 0);
	log_image_close(&image);
}

/* No native method among the frames kept: no call stub is looked for. */
static void
test_deep_recursion(void **state)
{
	struct log_image image;
	const uint64_t *frames;
	uint32_t flags;

	(void)state;
	make_stack(10000, -1, -1);
	stack[FIRST_STUB] = 0;
	assert_int_equal(capture(&image, &frames, &flags), DEPTH);
	assert_native(frames, DEPTH, NULL, 0);
	assert_true(flags & TH_STACK_TRUNCATED);
	log_image_close(&image);
}

/* One is found below the youngest frames; that of the frames below it is not looked for. */
static void
test_deep_recursion_below_a_native_method(void **state)
{
	static const uint32_t wanted[] = {YOUNGEST};
	struct log_image image;
	const uint64_t *frames;
	uint32_t flags;

	(void)state;
	make_stack(10000, YOUNGEST, -1);
	assert_int_equal(capture(&image, &frames, &flags), DEPTH);
	assert_native(frames, DEPTH, wanted, 1);
	assert_true(flags & TH_STACK_TRUNCATED);
	log_image_close(&image);
}

/* As far as native methods are among the frames that are kept, also if it is the last. */
static void
test_last_native_method(void **state)
{
	static const uint32_t wanted[] = {YOUNGEST, DEPTH - 2};
	struct log_image image;
	const uint64_t *frames;
	uint32_t flags;

	(void)state;
	make_stack(10000, YOUNGEST, DEPTH - 3);
	put_stub(SECOND_STUB, THIRD_SP);
	assert_int_equal(capture(&image, &frames, &flags), DEPTH);
	assert_native(frames, DEPTH, wanted, 2);
	assert_true(flags & TH_STACK_TRUNCATED);
	log_image_close(&image);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_whole_stack, tear_down),
		cmocka_unit_test_teardown(test_deep_recursion, tear_down),
		cmocka_unit_test_teardown(test_deep_recursion_below_a_native_method, tear_down),
		cmocka_unit_test_teardown(test_last_native_method, tear_down),
	};

	return cmocka_run_group_tests_name("java stack", tests, set_up, NULL);
}
