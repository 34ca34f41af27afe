/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk on which this process may have QUOTA_BYTES (of the environment) and no more: what
 * fallocate and pwrite answer there.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int
is_allowed(off_t end)
{
	const char *quota = getenv("QUOTA_BYTES");

	return !quota || end <= atoll(quota);
}

int
fallocate(int descriptor, int mode, off_t from, off_t bytes)
{
	int (*next)(int, int, off_t, off_t);
	void *found = dlsym(RTLD_NEXT, "fallocate");

	if (!is_allowed(from + bytes)) {
		errno = EDQUOT;
		return -1;
	}
	memcpy(&next, &found, sizeof(next));
	return next(descriptor, mode, from, bytes);
}

ssize_t
pwrite(int descriptor, const void *buffer, size_t bytes, off_t from)
{
	ssize_t (*next)(int, const void *, size_t, off_t);
	void *found = dlsym(RTLD_NEXT, "pwrite");

	if (!is_allowed(from + (off_t)bytes)) {
		errno = EDQUOT;
		return -1;
	}
	memcpy(&next, &found, sizeof(next));
	return next(descriptor, buffer, bytes, from);
}
