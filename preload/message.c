/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "unify/system.h"

void
th_message(const char *format, ...)
{
	char line[512] = "twinheap: ";
	const int prefix = sizeof("twinheap: ") - 1;
	int saved_errno = errno;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if (length > (int)sizeof(line) - prefix - 2)
		length = sizeof(line) - prefix - 2;
	line[prefix + length] = '\n';
	ssize_t written = th_system_write(STDERR_FILENO, line, (size_t)(prefix + length + 1));
	(void)written; /* nobody to tell */
	errno = saved_errno;
}
