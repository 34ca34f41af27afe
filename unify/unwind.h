/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking native frames.
 *
 * One step asks, in this order: the step cache (keyed by pc), the module's own .eh_frame
 * through its PT_GNU_EH_FRAME search table, libunwind, the frame pointer.  No step takes a lock
 * in the usual case, allocates, or reads memory that was not checked to be readable.
 */
#ifndef TH_UNIFY_UNWIND_H
#define TH_UNIFY_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers that a caller may need to go on: pc, sp, and what the ABI calls callee-saved. */
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
#error "unknown processor"
#endif

struct th_registers {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t saved[TH_REGISTER_COUNT];
	bool exact; /* pc is the next instruction itself (a signal frame), not a return address */
};

/* Where a walk stops before its natural end. */
struct th_unwind_limits {
	uintptr_t code_low; /* stop at a pc in [code_low, code_high): the JVM's code cache */
	uintptr_t code_high;
};

enum th_unwind_end {
	TH_UNWIND_BASE,      /* reached the first frame of the thread */
	TH_UNWIND_CODE,      /* reached the code cache; *registers is the frame in it */
	TH_UNWIND_FULL,      /* `capacity` frames were written and there are more */
	TH_UNWIND_STOPPED,   /* no unwind information, or memory that cannot be read */
};

/*
 * Prepares the unwinder: opens libunwind if it is there (never linked: see DESIGN notes in the
 * .c file).  Call once, outside the malloc path.  False: no libunwind; walking still works.
 */
bool th_unwind_init(void);

/* The registers of the calling function, exact = false.  Inline, so no frame of its own. [any] */
static inline void th_registers_here(struct th_registers *ret);

/*
 * Walks from `registers` to the root and writes one frame word (log_format.h) per native frame,
 * leaf first; frames of this library itself are left out.  `registers` is advanced to the frame
 * at which the walk ended.  Returns the number of frames written, at most `capacity`. Modules
 * met for the first time are registered with module.h.  Preserves errno. [in-malloc]
 */
size_t th_unwind(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret);

#endif
