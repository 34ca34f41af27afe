/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota BYTES COMMAND...: executes COMMAND with a simulated quota, under which no file may be
 * longer than BYTES: a filter of system calls returns EDQUOT from fallocate and pwrite beyond
 * it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The low half of an argument; the machine is little-endian, and files are small. */
#define LOAD(argument) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[argument]))
/* Fails one system call if the sum of two arguments exceeds `bytes`. */
#define REFUSE(system_call, from, count, bytes)                                     \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),      \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, system_call, 0, 6), LOAD(from), \
		BPF_STMT(BPF_MISC | BPF_TAX, 0), LOAD(count),                       \
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),                             \
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, bytes, 0, 1),                   \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDQUOT)

static int
limit(unsigned bytes)
{
	struct sock_filter code[] = {
		REFUSE(SYS_fallocate, 2, 3, bytes),
		REFUSE(SYS_pwrite64, 3, 2, bytes),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int
main(int argc, char **argv)
{
	if (argc < 3 || limit((unsigned)atoi(argv[1]))) {
		perror("quota");
		return 77;
	}
	execvp(argv[2], argv + 2);
	return 127;
}
