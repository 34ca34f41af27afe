/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All calls go directly to the kernel, and the text is parsed without libc's locale-dependent
 * functions: the callers run in the host's threads, some of them inside malloc.
 */
#include "unify/base/proc_file.h"

#include <errno.h>
#include <string.h>

#include "unify/base/system.h"

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

static int
digit_of(char c, unsigned base)
{
	int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;

	return digit < (int)base ? digit : -1;
}

static bool
parse(const char **text, unsigned base, uint64_t *ret)
{
	const char *at = *text;
	uint64_t value = 0;
	int digit;

	while (*at == ' ' || *at == '\t')
		at++;
	if (digit_of(*at, base) < 0)
		return false;
	for (; (digit = digit_of(*at, base)) >= 0; at++) {
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, (unsigned)digit, &value))
			return false;
	}
	*text = at;
	*ret = value;
	return true;
}

bool
th_proc_number(const char **text, uint64_t *ret)
{
	return parse(text, 10, ret);
}

bool
th_proc_hexadecimal(const char **text, uint64_t *ret)
{
	return parse(text, 16, ret);
}

bool
th_proc_field(const char *text, const char *key, uint64_t *ret)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length)) {
			const char *number = line + length;

			return th_proc_number(&number, ret);
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
		th_proc_number(&at, &time);
	return time;
}
