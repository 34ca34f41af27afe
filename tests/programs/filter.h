/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that execute another one under a filter of its system calls. */
#ifndef TH_TESTS_PROGRAMS_FILTER_H
#define TH_TESTS_PROGRAMS_FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Executes argv[1]; returns only if that fails: 77, there are no filters, or 127. */
static inline int
execute_filtered(struct sock_filter *code, unsigned short length, char **argv)
{
	struct sock_fprog program = {length, code};

	if (!argv[1] || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror(argv[0]);
		return 77;
	}
	execvp(argv[1], argv + 1);
	return 127;
}

#define EXECUTE_FILTERED(code, argv) \
	execute_filtered(code, sizeof(code) / sizeof((code)[0]), argv)

#endif
