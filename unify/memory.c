/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/memory.h"

#include <errno.h>
#include <sys/mman.h>

void *
th_memory_map(size_t bytes)
{
	int saved_errno = errno;
	/* NORESERVE: most tables stay nearly empty, the bound is not the use. */
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = saved_errno;
	return memory == MAP_FAILED ? NULL : memory;
}
