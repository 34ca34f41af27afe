/* SPDX-License-Identifier: Apache-2.0 */
/* The x86-64 part of arch.h. */
#if defined(__x86_64__)
#	include "unify/unwind/arch.h"

#	include <string.h>

bool
th_cpu_is_signal_return(uintptr_t pc, struct th_safe_read *code)
{
	/* mov $15 (SYS_rt_sigreturn), %rax or %eax; syscall */
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint8_t bytes[sizeof(wide)];

	if (!th_read_bytes(code, pc, bytes, sizeof(bytes)))
		return false;
	return !memcmp(bytes, wide, sizeof(wide)) || !memcmp(bytes, narrow, sizeof(narrow));
}

bool
th_cpu_leave_signal(struct th_cpu *cpu, struct th_safe_read *memory)
{
	/* sp points at the ucontext (the handler's `ret` has popped the return address). */
	enum { GENERAL_REGISTERS = 40, SAVED_COUNT = 17 };
	/* The order of struct sigcontext: r8-r15 rdi rsi rbp rbx rdx rax rcx rsp rip. */
	static const uint8_t order[SAVED_COUNT] = {
		8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
	uintptr_t saved[SAVED_COUNT];
	uintptr_t context = cpu->value[TH_DWARF_SP];

	if (!th_read_bytes(memory, context + GENERAL_REGISTERS, saved, sizeof(saved)))
		return false;
	for (unsigned i = 0; i < SAVED_COUNT; i++)
		th_cpu_set(cpu, order[i], saved[i]);
	cpu->exact = true;
	return true;
}

bool
th_cpu_follows_call(uintptr_t pc, struct th_safe_read *code)
{
	enum { LONGEST = 8, REG_FIELD = 7, CALL_INDIRECT = 2 };
	uint8_t before[LONGEST];

	if (!th_read_bytes(code, pc - LONGEST, before, LONGEST))
		return false;
	if (before[LONGEST - 5] == 0xe8)
		return true;
	/* ff /2 with its addressing bytes: two to seven bytes, eight with a REX prefix. */
	for (unsigned i = 1; i <= LONGEST - 2; i++)
		if (before[i] == 0xff && (before[i + 1] >> 3 & REG_FIELD) == CALL_INDIRECT)
			return true;
	return false;
}

bool
th_cpu_leave_leaf(struct th_cpu *cpu, struct th_safe_read *memory, struct th_safe_read *code)
{
	uintptr_t sp = cpu->value[TH_DWARF_SP];
	uintptr_t pc;

	if (!th_read_word(memory, sp, &pc) || !th_cpu_follows_call(pc, code))
		return false;
	th_cpu_set(cpu, TH_DWARF_PC, pc);
	th_cpu_set(cpu, TH_DWARF_SP, sp + sizeof(pc));
	return true;
}

uintptr_t
th_cpu_sp_of_caller(uintptr_t fp, uintptr_t caller_fp)
{
	(void)caller_fp;
	return fp + 2 * sizeof(uintptr_t);
}

#endif
