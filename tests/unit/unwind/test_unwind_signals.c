/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks that start in a signal handler and pass through the interrupted code, which may be at
 * any instruction: in a prologue, in a PLT entry, in the dynamic linker.
 */
#include "tests/unit/unwind/unwind_oracle.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

/* cmocka.h must follow the headers above. */
#include <cmocka.h>

#define NOINLINE __attribute__((noinline))

static const char *what;
static volatile sig_atomic_t signals;

static void
check_in_handler(int number)
{
	(void)number;
	signals++;
	oracle_check(what);
}

static void
handle(int number, int flags)
{
	struct sigaction action = {.sa_handler = check_in_handler, .sa_flags = flags};

	signals = 0;
	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void
assert_agreed(unsigned checks)
{
	struct oracle_counts counts = oracle_take_counts();

	assert_in_range(counts.checks, checks, UINT32_MAX);
	assert_int_equal(counts.differences, 0);
	/* PLT entries of aarch64 have no unwind information. */
	assert_in_range(counts.given_up, 0, counts.checks / 4);
}

static void
test_handler(void **state)
{
	(void)state;
	what = "handler";
	handle(SIGUSR1, 0);
	raise(SIGUSR1);
	assert_agreed(1);
}

#define STACK_BYTES (256 << 10)

/* Interrupts this thread, whose handler runs on `memory`. */
static void *
raise_on_alternate_stack(void *memory)
{
	stack_t stack = {.ss_sp = memory, .ss_size = STACK_BYTES};
	stack_t none = {.ss_flags = SS_DISABLE};

	if (!sigaltstack(&stack, NULL))
		raise(SIGUSR1);
	sigaltstack(&none, NULL);
	return NULL;
}

/* The interrupted stack is above the handler's in one case, below in the other. */
static void
test_alternate_stack(void **state)
{
	char on_stack[STACK_BYTES];
	void *mapped = mmap(
		NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	(void)state;
	what = "alternate stack";
	assert_ptr_not_equal(mapped, MAP_FAILED);
#if defined(__x86_64__)
	assert_true((uintptr_t)mapped < (uintptr_t)on_stack);
#endif
	handle(SIGUSR1, SA_ONSTACK);
	raise_on_alternate_stack(mapped);
	assert_agreed(1);
	assert_int_equal(pthread_create(&thread, NULL, raise_on_alternate_stack, on_stack), 0);
	pthread_join(thread, NULL);
	assert_agreed(1);
	munmap(mapped, STACK_BYTES);
}

static void
raise_again(int number)
{
	(void)number;
	raise(SIGUSR2);
}

/* Two trampolines on one stack. */
static void
test_nested_handlers(void **state)
{
	struct sigaction outer = {.sa_handler = raise_again};

	(void)state;
	what = "nested handlers";
	handle(SIGUSR2, 0);
	assert_int_equal(sigaction(SIGUSR1, &outer, NULL), 0);
	raise(SIGUSR1);
	assert_agreed(1);
}

/* Functions to interrupt */

static NOINLINE int
leaf(int a, int b)
{
	return a * 31 + b;
}

static NOINLINE int
with_early_exit(int depth, const int *values)
{
	int sum = 0;

	if (!values)
		return -1;
	for (int i = 0; i < 2; i++)
		sum += leaf(values[i], depth);
	if (depth)
		sum += with_early_exit(depth - 1, values) ^ values[0];
	return sum + values[1];
}

static NOINLINE int
with_aligned_block(int value)
{
	volatile char block[96] __attribute__((aligned(64)));

	for (size_t i = 0; i < sizeof(block); i += 16)
		block[i] = (char)leaf(value, (int)i);
	return block[0] + block[32];
}

static NOINLINE int
with_variable_block(size_t bytes)
{
	volatile char block[bytes];

	block[0] = 1;
	block[bytes - 1] = (char)leaf((int)bytes, 3);
	return block[0] + block[bytes - 1];
}

static int
compare(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

/*
 * Runs through many kinds of code; returns a value that depends on all of it.  No printing of
 * floating point: glibc's multiplication in assembly pushes registers without unwind
 * information, and libgcc crashes there.
 */
static NOINLINE int
work(void)
{
	int values[] = {4, 1, 3, 5, 2};
	char text[200];
	int sum = with_early_exit(3, values) + with_early_exit(1, NULL);

	sum += with_aligned_block(7) + with_variable_block(333);
	qsort(values, 5, sizeof(*values), compare);
	sum += snprintf(text, sizeof(text), "%d %s %40x", sum, "text", 1500);
	sum += (int)strtol("25", NULL, 8) + (int)strlen(text) + (memcmp(text, "abc", 3) < 0);
	free(malloc(5000));
	return sum;
}

/* At random times */

static void
test_timer(void **state)
{
	const struct itimerval soon = {{0, 0}, {0, 500}};
	int armed = 0;
	int sum = 0;

	(void)state;
	what = "timer";
	handle(SIGALRM, 0);
	/* One signal at a time: under an emulator a handler may take longer than until the next. */
	for (int i = 0; i < 50000 || signals < 200; i++) {
		if (armed == signals) {
			armed++;
			setitimer(ITIMER_REAL, &soon, NULL);
		}
		sum += work();
	}
	while (armed > signals)
		sum += work();
	assert_int_not_equal(sum, 0);
	assert_agreed(200);
}

#if defined(__x86_64__)
/* At every single instruction */

#	define TRAP_FLAG 0x100

/*
 * With the flag set the processor traps after each instruction; the kernel clears it in
 * handlers.
 */
static inline void
start_stepping(void)
{
	/* Below the red zone: the compiler may keep something there. */
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "orq %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
}

static inline void
stop_stepping(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "andq %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(~TRAP_FLAG)
			 : "memory", "cc");
}

/*
 * Of variable size, so that the frame is found by the frame pointer: the instructions above move the stack
 * pointer, which the oracle is not told.
 */
#	define STEPPED_BYTES(count) __builtin_alloca((size_t)(count))

static void
test_every_instruction(void **state)
{
	int expected = work();
	int *found = STEPPED_BYTES(sizeof(*found) + (size_t)signals);

	(void)state;
	what = "every instruction";
	handle(SIGTRAP, 0);
	start_stepping();
	*found = work();
	stop_stepping();
	assert_int_equal(*found, expected);
	assert_agreed(1000);
}

/* The first call through each PLT entry goes through the dynamic linker's resolver. */
static void
test_every_instruction_of_lazy_binding(void **state)
{
	char *text = STEPPED_BYTES(40 + signals);

	(void)state;
	what = "lazy binding";
	handle(SIGTRAP, 0);
	start_stepping();
	snprintf(text, 40, "%d", abs(atoi("-12")));
	stop_stepping();
	assert_agreed(100);
}
#endif

static int
setup(void **state)
{
	(void)state;
	oracle_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handler),
		cmocka_unit_test(test_alternate_stack),
		cmocka_unit_test(test_nested_handlers),
		cmocka_unit_test(test_timer),
#if defined(__x86_64__)
		cmocka_unit_test(test_every_instruction),
		cmocka_unit_test(test_every_instruction_of_lazy_binding),
#endif
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
