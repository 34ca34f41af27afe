/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfork and clone, interposed: their children may run in the memory of this process, under another
 * process id.  Without such a child a process need not ask for its id at each sample.
 */
#include "preload/children.h"

#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "preload/entry.h"
#include "preload/next.h"
#include "unify/base/atomic.h"
#include "unify/log/log.h"

static pid_t (*next_vfork)(void); /* atomic; NULL: not looked up yet */

void
th_children_init(void)
{
	void *found = th_next_find_now("vfork");

	memcpy(&next_vfork, &found, sizeof(found));
}

/* Not static: called by the code below.  Returns the next vfork; fork is one by POSIX. */
void *th_children_vfork(void);

void *
th_children_vfork(void)
{
	pid_t (*next)(void);
	void *address;

	th_log_thread_vforks();
	if (!th_load_relaxed(&next_vfork))
		th_children_init();
	next = th_load_relaxed(&next_vfork);
	if (!next)
		next = fork;
	memcpy(&address, &next, sizeof(address));
	return address;
}

/* It returns twice, so none of our frames may be left on the stack. */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call th_children_vfork\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, %function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	hint 34\n" /* bti c */
	"	stp x29, x30, [sp, -16]!\n"
	"	.cfi_adjust_cfa_offset 16\n"
	"	.cfi_offset x29, -16\n"
	"	.cfi_offset x30, -8\n"
	"	bl th_children_vfork\n"
	"	mov x16, x0\n"
	"	ldp x29, x30, [sp], 16\n"
	"	.cfi_adjust_cfa_offset -16\n"
	"	.cfi_restore x29\n"
	"	.cfi_restore x30\n"
	"	br x16\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");
#endif

/* Arguments that a caller has not passed are not read by the next function either. */
EXPORT int
clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	va_list more;

	if (flags & CLONE_VM)
		th_log_memory_is_shared();
	va_start(more, argument);
	pid_t *parent = va_arg(more, pid_t *);
	void *storage = va_arg(more, void *);
	pid_t *child = va_arg(more, pid_t *);
	va_end(more);
	return th_next.clone(function, stack, flags, argument, parent, storage, child);
}
