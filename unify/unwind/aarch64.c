/* SPDX-License-Identifier: Apache-2.0 */
/* The aarch64 part of arch.h. */
#if defined(__aarch64__)
#	include "unify/unwind/arch.h"

#	include "unify/base/return_address.h"

bool
th_cpu_is_signal_return(uintptr_t pc, struct th_safe_read *code)
{
	/* mov x8, #139 (SYS_rt_sigreturn); svc #0 */
	static const uint32_t expected[] = {0xd2801168, 0xd4000001};
	uint32_t found[2];

	return th_read_bytes(code, pc, found, sizeof(found)) && found[0] == expected[0] &&
	       found[1] == expected[1];
}

bool
th_cpu_leave_signal(struct th_cpu *cpu, struct th_safe_read *memory)
{
	/* sp -> siginfo, ucontext; in it uc_mcontext with fault_address, x0-x30, sp, pc. */
	enum { SIGINFO = 128, MACHINE_CONTEXT = 176, REGISTERS = 8, SAVED_COUNT = 33 };
	uintptr_t context = cpu->value[TH_DWARF_SP] + SIGINFO + MACHINE_CONTEXT;
	uintptr_t saved[SAVED_COUNT];

	/* In the order of the DWARF numbers. */
	if (!th_read_bytes(memory, context + REGISTERS, saved, sizeof(saved)))
		return false;
	for (unsigned i = 0; i < SAVED_COUNT; i++)
		th_cpu_set(cpu, i, saved[i]);
	cpu->exact = true;
	return true;
}

bool
th_cpu_follows_call(uintptr_t pc, struct th_safe_read *code)
{
	uint32_t before;

	if (pc % TH_CODE_ALIGNMENT ||
		!th_read_bytes(code, pc - sizeof(before), &before, sizeof(before)))
		return false;
	/* bl; blr and its authenticating forms blraa, blrab, blraaz, blrabz */
	return (before & 0xfc000000) == 0x94000000 || (before & 0xfffffc1f) == 0xd63f0000 ||
	       (before & 0xfefff800) == 0xd63f0800;
}

bool
th_cpu_leave_leaf(struct th_cpu *cpu, struct th_safe_read *memory, struct th_safe_read *code)
{
	uintptr_t pc = th_return_address_strip(cpu->value[TH_DWARF_RETURN]);

	(void)memory;
	if (!th_cpu_knows(cpu, TH_DWARF_RETURN) || !th_cpu_follows_call(pc, code))
		return false;
	th_cpu_set(cpu, TH_DWARF_PC, pc);
	return true;
}

uintptr_t
th_cpu_sp_of_caller(uintptr_t fp, uintptr_t caller_fp)
{
	/*
	 * The record is at the low end of a frame, so its own end is no indication; compilers
	 * set x29 to sp, and the caller's x29 is the best estimate.
	 */
	return caller_fp > fp ? caller_fp : fp + 2 * sizeof(uintptr_t);
}

#endif
