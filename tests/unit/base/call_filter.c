/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/base/call_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include <linux/filter.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_FILTERS 77

static bool
install(long call, uint32_t answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int
call_filter_run(long call, uint32_t answer, void (*run)(void *data), void *data)
{
	int status;
	pid_t child = fork();

	assert_int_not_equal(child, -1);
	if (child == 0) {
		if (!install(call, answer))
			_exit(NO_FILTERS);
		run(data);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTERS)
		skip();
	return status;
}
