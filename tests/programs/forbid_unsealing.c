/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbid_unsealing COMMAND...: executes COMMAND, a program at random addresses, under a filter that refuses
 * to make its read-only pages writable, with mprotect().  Those of libraries may be.
 */
#include "tests/programs/filter.h"

#include <stdint.h>
#include <sys/mman.h>

int
main(int argc, char **argv)
{
	/* High word of addresses above all of the program, which are 2^44 below the stack. */
	uint32_t libraries = (uint32_t)((uintptr_t)__builtin_frame_address(0) >> 32) - 0x1000;
	struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]) + 4),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, libraries, 3, 0),
		LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE, 0, 1),
		FAIL(EPERM),
		ALLOW,
	};

	(void)argc;
	return EXECUTE_FILTERED(code, argv);
}
