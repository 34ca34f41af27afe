/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All calls go directly to the kernel, and the text is parsed without libc's locale-dependent
 * functions: the callers run in the host's threads, some of them inside malloc.
 */
#include "unify/base/proc_file.h"

#include <errno.h>
#include <string.h>

#include "unify/base/system.h"
#include "unify/shared/size.h"

size_t
th_proc_file_read(const char *path, char *buffer, size_t capacity)
{
	int saved_errno = errno;
	int descriptor = th_system_open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t filled = 0;
	ssize_t got;

	while (descriptor >= 0 && filled < capacity - 1 &&
		(got = th_system_read(descriptor, buffer + filled, capacity - 1 - filled)) > 0)
		filled += (size_t)got;
	if (descriptor >= 0)
		th_system_close(descriptor);
	buffer[filled] = '\0';
	errno = saved_errno;
	return filled;
}

bool
th_proc_number(const char **text, unsigned base, uint64_t *ret)
{
	*text += strspn(*text, " \t");
	return th_digits_parse(text, base, ret);
}

bool
th_proc_field(const char *text, const char *key, uint64_t *ret)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length)) {
			const char *number = line + length;

			return th_proc_number(&number, 10, ret);
		}
	}
	return false;
}

uint64_t
th_proc_start_time(const char *path)
{
	uint64_t time = 0;
	char text[1024];

	th_proc_file_read(path, text, sizeof(text));
	/* Field 2, the name in parentheses, may contain anything: count from its end. */
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		th_proc_number(&at, 10, &time);
	return time;
}
