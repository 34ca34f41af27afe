/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_astray: allocates below a function without unwind information that uses the frame pointer
 * as a general register, as generated code may.  The register holds an address on the stack of the
 * thread that cannot be read, so a walk must ask before it follows.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/sites.h"

#define BLOCKS 200
#define STACK_BYTES (256 << 10) /* the least on aarch64 is 128 KiB */

/* Without .cfi directives. */
void call_astray(void (*function)(void), uintptr_t frame_pointer);
#if defined(__x86_64__)
__asm__(".text\n"
	".type call_astray, @function\n"
	"call_astray:\n"
	"	push %rbp\n"
	"	mov %rsi, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n"
	".size call_astray, . - call_astray\n");
#else
__asm__(".text\n"
	".type call_astray, %function\n"
	"call_astray:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	mov x29, x1\n"
	"	blr x0\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n"
	".size call_astray, . - call_astray\n");
#endif

TH_SITE(astray_site)

static void
allocate(void)
{
	allocate_and_free(astray_site, BLOCKS, 100);
}

static void *
run(void *closed)
{
	call_astray(allocate, (uintptr_t)closed);
	return NULL;
}

int
main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *stack = mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *closed = stack + STACK_BYTES;
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (stack == MAP_FAILED || mprotect(closed, page, PROT_NONE) ||
		pthread_attr_setstack(&attributes, stack, STACK_BYTES) ||
		pthread_create(&thread, &attributes, run, closed))
		abort();
	pthread_join(thread, NULL);
	print_site(&astray_site_truth);
	return 0;
}
