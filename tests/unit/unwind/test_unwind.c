/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over real stacks of many shapes match those of other unwinders, frame by frame. */
#include "tests/unit/unwind/unwind_oracle.h"

#include "unify/unwind/unwind.h"

#include <alloca.h>
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* cmocka.h must follow the four headers above. */
#include <cmocka.h>

#define NOINLINE __attribute__((noinline))
#if defined(__aarch64__)
#	define PROCESSOR "aarch64"
#else
#	define PROCESSOR "x86_64"
#endif
/* Prevents a tail call. */
#define RETURN_AFTER_CALL(value)                   \
	do {                                       \
		__asm__ volatile("" ::: "memory"); \
		return value;                      \
	} while (0)

/* All checks so far agreed, and there was at least one, `frames` deep. */
static void
assert_agreed(size_t frames)
{
	struct oracle_counts counts = oracle_take_counts();

	assert_int_not_equal(counts.checks, 0);
	assert_int_equal(counts.differences, 0);
	assert_true(counts.deepest >= frames);
}

/* Shapes of frames */

static NOINLINE int
recurse(int depth)
{
	int below = 0;

	if (depth)
		below = recurse(depth - 1);
	else
		oracle_check("recursion");
	RETURN_AFTER_CALL(below + 1);
}

static void
test_recursion(void **state)
{
	(void)state;
	for (int depth = 0; depth < 300; depth += 23)
		recurse(depth);
	assert_agreed(276);
}

static NOINLINE int
with_alloca(size_t bytes, int depth)
{
	char *block = alloca(bytes);
	int result = 0;

	memset(block, 1, bytes);
	if (depth)
		result = with_alloca(bytes * 2 + 24, depth - 1);
	else
		oracle_check("alloca");
	RETURN_AFTER_CALL(result + block[bytes / 2]);
}

static NOINLINE int
with_vla(int count, int depth)
{
	int values[count];
	int result = 0;

	for (int i = 0; i < count; i++)
		values[i] = i;
	if (depth)
		result = with_vla(count + 17, depth - 1);
	else
		oracle_check("variable-length array");
	RETURN_AFTER_CALL(result + values[count / 2]);
}

/*
 * Larger than the compact rule's 16-bit slots can express, with registers saved at its far end.
 */
static NOINLINE int
with_large_frame(int depth)
{
	volatile char block[400000];
	int result = 0;

	block[0] = (char)depth;
	if (depth)
		result = with_large_frame(depth - 1);
	else
		oracle_check("large frame");
	RETURN_AFTER_CALL(result + block[0]);
}

/* Stack realigned in the prologue: the CFA is an expression on x86-64. */
static NOINLINE int
with_aligned_frame(int depth)
{
	volatile char block[128] __attribute__((aligned(64)));
	int result = 0;

	block[0] = (char)depth;
	if (depth)
		result = with_aligned_frame(depth - 1);
	else
		oracle_check("realigned frame");
	RETURN_AFTER_CALL(result + block[0]);
}

/* Realigned and of variable size: all rules are expressions. */
static NOINLINE int
with_aligned_alloca(size_t bytes, int depth)
{
	volatile char block[64] __attribute__((aligned(64)));
	volatile char *more = alloca(bytes);
	int result = 0;

	block[0] = 1;
	more[0] = 1;
	if (depth)
		result = with_aligned_alloca(bytes + 40, depth - 1);
	else
		oracle_check("realigned frame of variable size");
	RETURN_AFTER_CALL(result + block[0] + more[0]);
}

/* More stacked arguments than registers, pushed and popped around the call. */
static NOINLINE int
with_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i, int depth)
{
	int result = 0;

	if (depth)
		result = with_arguments(b, c, d, e, f, g, h, i, a, depth - 1);
	else
		oracle_check("stacked arguments");
	RETURN_AFTER_CALL(result + a - i);
}

/* All callee-saved registers are in use across the call. */
static NOINLINE int
with_all_registers(int depth, int *values)
{
	int a = values[0], b = values[1], c = values[2], d = values[3], e = values[4];
	int f = values[5], g = values[6], h = values[7];
	int result = 0;

	if (depth)
		result = with_all_registers(depth - 1, values);
	else
		oracle_check("all registers");
	RETURN_AFTER_CALL(result + a + b * c + d * e + f * g + h + values[0]);
}

static void
test_frame_shapes(void **state)
{
	int values[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	(void)state;
	for (int depth = 0; depth < 8; depth++) {
		with_alloca(16, depth);
		with_vla(3, depth);
		with_large_frame(depth);
		with_aligned_frame(depth);
		with_aligned_alloca(100, depth);
		with_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9, depth);
		with_all_registers(depth, values);
	}
	assert_agreed(10);
}

/* On aarch64: the return address on the stack has an authentication code. */
#if defined(__aarch64__)
#	define SIGNED __attribute__((target("branch-protection=pac-ret+leaf")))
#else
#	define SIGNED
#endif

static NOINLINE SIGNED int
with_signed_address(int depth)
{
	int result = 0;

	if (depth)
		result = with_signed_address(depth - 1);
	else
		oracle_check_libgcc("signed return addresses");
	RETURN_AFTER_CALL(result + 1);
}

static void
test_signed_addresses(void **state)
{
	(void)state;
	with_signed_address(30);
	assert_agreed(30);
}

/* Callbacks out of libraries */

static int
compare_and_check(const void *left, const void *right)
{
	oracle_check("qsort");
	return *(const int *)left - *(const int *)right;
}

static void
visit_and_check(const void *node, VISIT visit, int depth)
{
	(void)node;
	(void)visit;
	(void)depth;
	oracle_check("twalk");
}

static int
compare_pointers(const void *left, const void *right)
{
	return left < right ? -1 : left > right;
}

static void
ignore(void *node)
{
	(void)node;
}

static void
check_once(void)
{
	oracle_check("pthread_once");
}

static void
test_callbacks(void **state)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int values[] = {5, 2, 9, 1, 7, 3, 8, 4, 6, 0};
	int key = 7;
	void *root = NULL;

	(void)state;
	qsort(values, 10, sizeof(*values), compare_and_check);
	bsearch(&key, values, 10, sizeof(*values), compare_and_check);
	for (int i = 0; i < 10; i++)
		tsearch(&values[i], &root, compare_pointers);
	twalk(root, visit_and_check);
	tdestroy(root, ignore);
	pthread_once(&once, check_once);
	assert_agreed(5);
}

/* Through a Java VM */

/* The VM refuses an option, and prints that by our function. */
static int
check_and_print(FILE *file, const char *format, va_list arguments)
{
	(void)file;
	(void)format;
	(void)arguments;
	oracle_check("libjvm");
	return 0;
}

/* libjvm of the newest JDK of this processor; NULL: there is none. */
static void *
load_vm(void)
{
	char command[] = TH_TEST_SOURCE "/scripts/find-jdks --arch " PROCESSOR " | tail -n 1";
	FILE *pipe = popen(command, "r");
	char home[512];
	char path[600];
	int found = pipe ? fscanf(pipe, "%*d %511s", home) : 0;

	if (pipe)
		pclose(pipe);
	snprintf(path, sizeof(path), "%s/lib/server/libjvm.so", home);
	return found == 1 ? dlopen(path, RTLD_NOW) : NULL;
}

static jint (*create_vm)(JavaVM **vm, void **env, void *arguments);

static int
compare_and_create(const void *left, const void *right)
{
	JavaVMOption options[] = {
		{"vfprintf", (void *)check_and_print}, {"-Xno-option-of-this-name", NULL}};
	JavaVMInitArgs arguments = {
		.version = JNI_VERSION_1_8, .nOptions = 2, .options = options};
	JavaVM *vm;
	void *env;

	assert_int_not_equal(create_vm(&vm, &env, &arguments), JNI_OK);
	return left < right ? -1 : left > right;
}

static NOINLINE int
recurse_and_create(int depth)
{
	int values[] = {2, 1};
	int below = 0;

	if (depth)
		below = recurse_and_create(depth - 1);
	else
		qsort(values, 2, sizeof(*values), compare_and_create);
	RETURN_AFTER_CALL(below + values[0]);
}

/* Frames of this program, libc, libjvm, and of libcmocka, which is stripped. */
static void
test_java_vm(void **state)
{
	void *library = load_vm();

	(void)state;
	if (!library)
		skip();
	*(void **)&create_vm = dlsym(library, "JNI_CreateJavaVM");
	assert_non_null(create_vm);
	recurse_and_create(20);
	assert_agreed(30);
}

/* Roots */

static void *
check_in_thread(void *argument)
{
	recurse(*(int *)argument);
	return NULL;
}

static void
test_thread_base(void **state)
{
	int depth = 20;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, check_in_thread, &depth), 0);
	pthread_join(thread, NULL);
	assert_agreed(22);
}

static void *
take_thread_end(void *argument)
{
	struct th_registers registers;
	uint64_t frames[64];

	th_registers_here(&registers);
	assert_in_range(th_unwind(&registers, NULL, frames, 64, argument), 2, 63);
	return NULL;
}

/* Threads and the process start at a marked base, which is not a failure. */
static void
test_base_is_reached(void **state)
{
	enum th_unwind_end end = TH_UNWIND_STOPPED;
	pthread_t thread;

	(void)state;
	take_thread_end(&end);
	assert_int_equal(end, TH_UNWIND_BASE);
	end = TH_UNWIND_STOPPED;
	assert_int_equal(pthread_create(&thread, NULL, take_thread_end, &end), 0);
	pthread_join(thread, NULL);
	assert_int_equal(end, TH_UNWIND_BASE);
}

static void
clean_up(void *argument)
{
	oracle_check_libgcc(argument);
}

static NOINLINE void
leave_thread(void)
{
	pthread_cleanup_push(clean_up, "pthread_exit");
	pthread_exit(NULL);
	pthread_cleanup_pop(0);
}

static void *
run_leaving(void *argument)
{
	(void)argument;
	leave_thread();
	return NULL;
}

/* The unwinder of the host is on the stack, in the middle of its own unwind. */
static void
test_inside_forced_unwind(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, run_leaving, NULL), 0);
	pthread_join(thread, NULL);
	assert_agreed(4);
}

static ucontext_t main_context;
static ucontext_t fiber_context;

static void
run_fiber(void)
{
	recurse(10);
	swapcontext(&fiber_context, &main_context);
	recurse(30);
}

static void
test_fibers(void **state)
{
	static char stack[256 << 10] __attribute__((aligned(16)));

	(void)state;
	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = stack;
	fiber_context.uc_stack.ss_size = sizeof(stack);
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, run_fiber, 0);
	swapcontext(&main_context, &fiber_context);
	recurse(5);
	swapcontext(&main_context, &fiber_context);
	assert_agreed(32);
}

/* Exceptions */

static void
check_in_exception(void)
{
	oracle_check_libgcc("C++ exception");
}

/* Called by destructors while an exception propagates, and by the handler that catches it. */
static void
test_exceptions(void **state)
{
	void *handle = dlopen(TH_TEST_BUILD "/tests/programs/libthrower.so", RTLD_NOW);
	int (*throw_through)(int depth, void (*callback)(void));

	(void)state;
	if (!handle)
		print_error("%s\n", dlerror());
	assert_non_null(handle);
	*(void **)&throw_through = dlsym(handle, "throw_through");
	assert_int_equal(throw_through(12, check_in_exception), 12);
	assert_agreed(12);
}

static int
setup(void **state)
{
	(void)state;
	oracle_init();
	assert_true(oracle_has_libunwind());
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_frame_shapes),
		cmocka_unit_test(test_callbacks),
		cmocka_unit_test(test_signed_addresses),
		cmocka_unit_test(test_java_vm),
		cmocka_unit_test(test_thread_base),
		cmocka_unit_test(test_base_is_reached),
		cmocka_unit_test(test_inside_forced_unwind),
		cmocka_unit_test(test_fibers),
		cmocka_unit_test(test_exceptions),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
