/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor-specific parts of stack walking: the registers, the signal frame, the encoding
 * of calls.  One .c file for each processor.
 */
#ifndef TH_UNIFY_UNWIND_ARCH_H
#define TH_UNIFY_UNWIND_ARCH_H

#include "unify/base/safe_read.h"
#include "unify/unwind/unwind.h"

/* Registers by DWARF number; psABI x86-64 figure 3.36, DWARF for AArch64 table 1. */
#if defined(__x86_64__)
enum {
	TH_DWARF_FRAME_POINTER = 6,
	TH_DWARF_SP = 7,
	TH_DWARF_RETURN = 16, /* column of the return address */
	TH_DWARF_PC = 16,
	TH_DWARF_COUNT = 17,
	TH_CODE_ALIGNMENT = 1,
};
/* rbx rbp rsp r12-r15 and the return address: preserved across calls. */
#	define TH_DWARF_PRESERVED 0x1f0c8u
/* All of these but sp, numbered from 0; first those of enum th_register, in that order. */
#	define TH_PRESERVED_COUNT 7
static const uint8_t th_preserved_dwarf[TH_PRESERVED_COUNT] = {3, 6, 12, 13, 14, 15, 16};
#elif defined(__aarch64__)
enum {
	TH_DWARF_FRAME_POINTER = 29,
	TH_DWARF_SP = 31,
	TH_DWARF_RETURN = 30,
	TH_DWARF_PC = 32,
	TH_DWARF_COUNT = 33,
	TH_CODE_ALIGNMENT = 4,
};
/* x19-x30, sp, pc */
#	define TH_DWARF_PRESERVED 0x1fff80000u
/* x19-x30, numbered from 0, as in enum th_register. */
#	define TH_PRESERVED_COUNT 12
static const uint8_t th_preserved_dwarf[TH_PRESERVED_COUNT] = {
	19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
#endif

/* The registers of one frame.  A value is valid only if its bit in `known` is set. */
struct th_cpu {
	uintptr_t value[TH_DWARF_COUNT];
	uint64_t known;
	bool exact; /* as in struct th_registers */
};

static inline bool
th_cpu_knows(const struct th_cpu *cpu, unsigned dwarf_register)
{
	return cpu->known >> dwarf_register & 1;
}

static inline void
th_cpu_set(struct th_cpu *cpu, unsigned dwarf_register, uintptr_t value)
{
	cpu->value[dwarf_register] = value;
	cpu->known |= UINT64_C(1) << dwarf_register;
}

/*
 * Whether the instructions at `pc` are the return from a signal handler, in the encoding of the
 * C library or the kernel; needed if they have no unwind information.  `code`: the checked
 * range of instructions. [in-malloc]
 */
bool th_cpu_is_signal_return(uintptr_t pc, struct th_safe_read *code);

/*
 * Restores all registers of the interrupted code from the signal frame on the stack of `cpu`,
 * which is at a signal return; false: memory cannot be read. [in-malloc]
 */
bool th_cpu_leave_signal(struct th_cpu *cpu, struct th_safe_read *memory);

/*
 * Whether the instruction before `pc` is a call, as it is before every return address.
 * [in-malloc]
 */
bool th_cpu_follows_call(uintptr_t pc, struct th_safe_read *code);

/*
 * Leaves a function that has called and stored nothing yet, such as a PLT entry: the return
 * address is where the call put it.  Correct only if th_cpu_follows_call() is true for the new
 * pc; false: it is not, or memory cannot be read, and `cpu` is unchanged. [in-malloc]
 */
bool
th_cpu_leave_leaf(struct th_cpu *cpu, struct th_safe_read *memory, struct th_safe_read *code);

/* The caller's sp, given a frame record at `fp` that holds `caller_fp`. [in-malloc] */
uintptr_t th_cpu_sp_of_caller(uintptr_t fp, uintptr_t caller_fp);

#endif
