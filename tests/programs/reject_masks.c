/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reject_masks COMMAND...: executes COMMAND under a filter that rejects an invalid `how` of
 * rt_sigprocmask before the set is read, as sandboxes and emulators may.
 */
#include "tests/programs/filter.h"

/* SIG_BLOCK, SIG_UNBLOCK and SIG_SETMASK are 0 to 2. */
#define HOW_MAX 2

int
main(int argc, char **argv)
{
	struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, HOW_MAX, 0, 1),
		FAIL(EINVAL),
		ALLOW,
	};

	(void)argc;
	return EXECUTE_FILTERED(code, argv);
}
