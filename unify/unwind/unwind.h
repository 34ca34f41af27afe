/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking native frames.
 *
 * One step tries, in this order: the step cache (keyed by pc), the module's own .eh_frame
 * through its PT_GNU_EH_FRAME search table, the signal frame, the frame pointer.  No step takes
 * a lock, allocates, or reads stack memory without checking that it is readable.
 */
#ifndef TH_UNIFY_UNWIND_UNWIND_H
#define TH_UNIFY_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers needed to continue a walk in the caller: pc, sp, and the callee-saved ones. */
#if defined(__x86_64__)
enum th_register {
	TH_REGISTER_RBX,
	TH_REGISTER_RBP,
	TH_REGISTER_R12,
	TH_REGISTER_R13,
	TH_REGISTER_R14,
	TH_REGISTER_R15,
	TH_REGISTER_COUNT,
	TH_REGISTER_FRAME_POINTER = TH_REGISTER_RBP,
};
#elif defined(__aarch64__)
enum th_register {
	TH_REGISTER_X19, /* x19..x30 in order */
	TH_REGISTER_X29 = 10,
	TH_REGISTER_X30 = 11,
	TH_REGISTER_COUNT = 12,
	TH_REGISTER_FRAME_POINTER = TH_REGISTER_X29,
};
#else
#	error "unknown processor"
#endif

struct th_registers {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t saved[TH_REGISTER_COUNT];
	bool exact; /* pc is the next instruction (a signal frame), not a return address */
};

/* Additional end conditions of a walk. */
struct th_unwind_limits {
	uintptr_t code_low; /* stop at a pc in [code_low, code_high): the JVM's code cache */
	uintptr_t code_high;
	/*
	 * The memory from the walking function's frame to here is that of its stack, and can be
	 * read; 0: unknown.
	 */
	uintptr_t stack_end;
};

enum th_unwind_end {
	TH_UNWIND_BASE,    /* reached the first frame of the thread */
	TH_UNWIND_CODE,    /* reached the code cache; *registers is the frame in it */
	TH_UNWIND_FULL,    /* `capacity` frames were written; there are more */
	TH_UNWIND_STOPPED, /* no unwind information, or unreadable memory */
};

/*
 * The registers of the calling function at this point, exact = false.  Inline, so it has no
 * frame of its own; they are valid for a walk until that function returns. [any]
 */
static inline __attribute__((always_inline)) void
th_registers_here(struct th_registers *ret)
{
#if defined(__x86_64__)
	__asm__ volatile("leaq 0(%%rip), %%rax\n\t"
			 "movq %%rax, 0(%0)\n\t"
			 "movq %%rsp, 8(%0)\n\t"
			 "movq %%rbx, 16(%0)\n\t"
			 "movq %%rbp, 24(%0)\n\t"
			 "movq %%r12, 32(%0)\n\t"
			 "movq %%r13, 40(%0)\n\t"
			 "movq %%r14, 48(%0)\n\t"
			 "movq %%r15, 56(%0)"
			 :
			 : "r"(ret)
			 : "rax", "memory");
#elif defined(__aarch64__)
	__asm__ volatile("adr x16, .\n\t"
			 "mov x17, sp\n\t"
			 "stp x16, x17, [%0]\n\t"
			 "stp x19, x20, [%0, #16]\n\t"
			 "stp x21, x22, [%0, #32]\n\t"
			 "stp x23, x24, [%0, #48]\n\t"
			 "stp x25, x26, [%0, #64]\n\t"
			 "stp x27, x28, [%0, #80]\n\t"
			 "stp x29, x30, [%0, #96]"
			 :
			 : "r"(ret)
			 : "x16", "x17", "memory");
#endif
	ret->exact = false;
}

/*
 * Walks from `registers` to the root and writes one frame word (log_format.h) per native frame,
 * leaf first, without frames of this library.  `registers` is advanced to the frame at which
 * the walk ended, which was not written if the end is CODE or FULL.  Returns the number of
 * frames written, at most `capacity`.  New modules are registered with module.h; a pc in none
 * is written as module 0.  Registers may be constructed by the caller; garbage in them or on
 * the stack only ends the walk early.  Preserves errno.  `limits` may be NULL. [in-malloc]
 */
size_t th_unwind(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret);

/* A function with the interface of th_unwind(). */
typedef size_t
th_unwind_function(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret);

/* Total number of frames stepped by frame pointer in all walks. [any] */
uint64_t th_unwind_frame_pointer_steps(void);

#endif
