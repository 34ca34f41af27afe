/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_stacks: allocates on unusual stacks: those of threads of 32 KiB and of the minimum
 * size, alternate signal stacks, contexts that run in turn (makecontext), and one that is
 * 20,000 frames deep.  Each small stack has an inaccessible guard page.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/programs/sites.h"

#define BLOCKS 200
#define FIBERS 4
#define FIBER_BYTES (16 << 10)
/* Includes what Linux 5.14 and later may need for the frame itself. */
#define SIGNAL_STACK_BYTES (12 << 10)
#define DEPTH 20000

TH_SITE(thread_32k_site)
TH_SITE(smallest_thread_site)
TH_SITE(signal_stack_site)
TH_SITE(fiber_site)
TH_SITE(deep_site)

/* `bytes` with a page below that faults. */
static void *
map_stack(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(
		NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE))
		abort();
	return memory + page;
}

/* Threads */

struct work {
	void *(*site)(size_t bytes);
};

static void *
allocate(void *argument)
{
	const struct work *work = argument;

	allocate_and_free(work->site, BLOCKS, 100);
	return NULL;
}

static void
on_thread(size_t stack_bytes, void *(*site)(size_t bytes))
{
	struct work work = {site};
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, stack_bytes) ||
		pthread_create(&thread, &attributes, allocate, &work))
		abort();
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* Signals */

static void
handle(int signal)
{
	(void)signal;
	allocate_and_free(signal_stack_site, BLOCKS, 100);
}

static void
on_signal_stack(void)
{
	const stack_t stack = {
		.ss_sp = map_stack(SIGNAL_STACK_BYTES), .ss_size = SIGNAL_STACK_BYTES};
	const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	/* Raised outside the allocator, which a handler must not reenter. */
	raise(SIGUSR1);
}

/* Contexts */

static ucontext_t scheduler;
static ucontext_t fibers[FIBERS];

static void
run_fiber(int number)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *block = fiber_site(100);

		swapcontext(&fibers[number], &scheduler);
		free(block);
	}
}

/* Round robin: a block is freed after every other fiber has allocated one. */
static void
on_fibers(void)
{
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = map_stack(FIBER_BYTES);
		fibers[i].uc_stack.ss_size = FIBER_BYTES;
		fibers[i].uc_link = &scheduler;
		makecontext(&fibers[i], (void (*)(void))(uintptr_t)run_fiber, 1, i);
	}
	for (int turn = 0; turn <= BLOCKS; turn++)
		for (int i = 0; i < FIBERS; i++)
			swapcontext(&scheduler, &fibers[i]);
}

/* Recursion */

static __attribute__((noinline)) int
descend(int depth)
{
	int below;

	if (depth % (DEPTH / BLOCKS) == 0)
		free(deep_site(100));
	below = depth > 1 ? descend(depth - 1) : 0;
	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

int
main(void)
{
	on_thread(32 << 10, thread_32k_site);
	on_thread((size_t)sysconf(_SC_THREAD_STACK_MIN), smallest_thread_site);
	on_signal_stack();
	on_fibers();
	printf("{\"depth\": %d}\n", descend(DEPTH));
	print_site(&thread_32k_site_truth);
	print_site(&smallest_thread_site_truth);
	print_site(&signal_stack_site_truth);
	print_site(&fiber_site_truth);
	print_site(&deep_site_truth);
	return 0;
}
