/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/standard_input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct th_error *
fail(void)
{
	return th_error_create_errno(TH_ERROR_UNREADABLE, "standard input");
}

static bool
write_all(int descriptor, const char *bytes, size_t count)
{
	while (count) {
		ssize_t written = write(descriptor, bytes, count);

		if (written < 0 && errno != EINTR)
			return false;
		bytes += written > 0 ? written : 0;
		count -= written > 0 ? (size_t)written : 0;
	}
	return true;
}

static bool
copy(int to)
{
	static char buffer[1 << 16];
	ssize_t count;

	while ((count = read(STDIN_FILENO, buffer, sizeof(buffer))) != 0) {
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 || !write_all(to, buffer, (size_t)count))
			return false;
	}
	return true;
}

struct th_error *
th_standard_input_path(const char **path_ret)
{
	static char path[32];
	int descriptor = STDIN_FILENO;
	struct stat status;

	*path_ret = path;
	if (path[0])
		return NULL;
	if (fstat(STDIN_FILENO, &status))
		return fail();
	if (!S_ISREG(status.st_mode)) {
		descriptor = memfd_create("twinheap-log", MFD_CLOEXEC);
		if (descriptor < 0 || !copy(descriptor))
			return fail();
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	return NULL;
}
