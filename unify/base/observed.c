/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/base/observed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unify/base/memory.h"

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

bool
th_observed_copy_chunks(uintptr_t from, void *ours, uint32_t count, size_t bytes, size_t used)
{
	uintptr_t theirs[TH_OBSERVED_CHUNKS_MAX];
	void **chunks = ours;

	if (!th_observed_copy(from, theirs, count * sizeof(theirs[0])))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (theirs[i] && (!th_memory_map_once(&chunks[i], bytes) ||
					 !th_observed_copy(theirs[i], chunks[i], used)))
			return false;
		if (!theirs[i] && chunks[i])
			memset(chunks[i], 0, bytes);
	}
	return true;
}
