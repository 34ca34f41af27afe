/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk on which this process may have QUOTA_BYTES (of the environment) and no more: what the
 * system calls fallocate and pwrite, made through syscall(2), answer there.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS 6

static int
is_allowed(long end)
{
	const char *quota = getenv("QUOTA_BYTES");

	return !quota || end <= atoll(quota);
}

/* Where the call ends in its file; 0: it takes no space. */
static long
end_of(long number, const long *arguments)
{
	if (number == SYS_fallocate)
		return arguments[2] + arguments[3];
	return number == SYS_pwrite64 ? arguments[2] + arguments[3] : 0;
}

long
syscall(long number, ...)
{
	static long (*next)(long, ...);
	long given[ARGUMENTS];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < ARGUMENTS; i++)
		given[i] = va_arg(list, long);
	va_end(list);
	if (!is_allowed(end_of(number, given))) {
		errno = EDQUOT;
		return -1;
	}
	if (!next) {
		void *found = dlsym(RTLD_NEXT, "syscall");

		memcpy(&next, &found, sizeof(next));
	}
	return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
