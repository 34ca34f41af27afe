/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbid_reading COMMAND...: executes COMMAND under a filter that refuses process_vm_readv, as
 * in some containers.
 */
#include "tests/programs/filter.h"

int
main(int argc, char **argv)
{
	struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		FAIL(EPERM),
		ALLOW,
	};

	(void)argc;
	return EXECUTE_FILTERED(code, argv);
}
