/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/base/observed.h"

#include <stdio.h>
#include <unistd.h>

static pid_t other; /* 0 = this process */

void
th_observed_set(pid_t pid)
{
	other = pid;
}

bool
th_observed_is_other(void)
{
	return other != 0;
}

const char *
th_observed_path(const char *name, char path[TH_OBSERVED_PATH_MAX])
{
	if (other)
		snprintf(path, TH_OBSERVED_PATH_MAX, "/proc/%d/%s", (int)other, name);
	else
		snprintf(path, TH_OBSERVED_PATH_MAX, "/proc/self/%s", name);
	return path;
}

bool
th_observed_copy(uintptr_t from, void *ret, uint64_t bytes)
{
	struct iovec remote = {(void *)from, bytes};
	struct iovec local = {ret, bytes};

	return th_observed_copy_pieces(&remote, &local, 1, bytes);
}

bool
th_observed_copy_pieces(
	const struct iovec *from, const struct iovec *to, unsigned count, uint64_t bytes)
{
	return process_vm_readv(other ? other : getpid(), to, count, from, count, 0) ==
	       (ssize_t)bytes;
}
