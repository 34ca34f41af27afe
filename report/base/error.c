/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error objects (a code and one heap-allocated message) and the messages of the tool on stderr. Quoted text (paths, words of the
 * command line) is made printable when a message is created.
 */
#include "report/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"

struct th_error {
	enum th_error_code code;
	char *message;
};

/* Takes over `message`, which may quote a path or a word of the command line. */
static struct th_error *
create(enum th_error_code code, char *message)
{
	struct th_error *error = th_allocate(1, sizeof(*error));

	error->code = code;
	error->message = th_text_clean(th_text_of(message));
	free(message);
	return error;
}

struct th_error *
th_error_create(enum th_error_code code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *message = th_format_new_va(format, arguments);
	va_end(arguments);
	return create(code, message);
}

struct th_error *
th_error_create_errno(enum th_error_code code, const char *format, ...)
{
	int number = errno;
	va_list arguments;

	va_start(arguments, format);
	char *context = th_format_new_va(format, arguments);
	va_end(arguments);
	char *message = th_format_new("%s: %s", context, strerror(number));
	free(context);
	return create(code, message);
}

const char *
th_error_message(const struct th_error *error)
{
	return error->message;
}

enum th_error_code
th_error_code(const struct th_error *error)
{
	return error->code;
}

void
th_error_destroy(struct th_error *error)
{
	if (!error)
		return;
	free(error->message);
	free(error);
}

int
th_error_report(struct th_error *error)
{
	if (!error)
		return 0;
	static const int statuses[] = {
		[TH_ERROR_USAGE] = 2,
		[TH_ERROR_UNREADABLE] = 3,
		[TH_ERROR_OUTPUT] = 2,
		[TH_ERROR_REFUSED] = 4,
		[TH_ERROR_NOTHING] = 8,
		[TH_ERROR_OTHER_USER] = 10,
		[TH_ERROR_NO_VM] = 11,
		[TH_ERROR_ATTACH_DISABLED] = 12,
		[TH_ERROR_NO_SIGNAL] = 13,
		[TH_ERROR_AGENTS_DISABLED] = 14,
		[TH_ERROR_NOT_LOADED] = 15,
		[TH_ERROR_NOT_EXECUTABLE] = 126,
		[TH_ERROR_NOT_FOUND] = 127,
	};
	int status = statuses[error->code];

	fflush(stdout);
	fprintf(stderr, "twinheap: %s\n", error->message);
	th_error_destroy(error);
	return status;
}

void
th_notice(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *message = th_format_new_va(format, arguments);
	va_end(arguments);
	fputs("twinheap: ", stderr);
	th_text_print(stderr, message);
	fputc('\n', stderr);
	free(message);
}
