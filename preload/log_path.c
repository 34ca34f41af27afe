/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/log_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char start_directory[PATH_MAX] = "/";

void
th_log_path_init(void)
{
	if (!getcwd(start_directory, sizeof(start_directory)))
		strcpy(start_directory, ".");
}

/* Returns where the text ends; capacity - 1 also when it was cut. */
static size_t
append(char *path, size_t at, size_t capacity, const char *text)
{
	int length = snprintf(path + at, capacity - at, "%s", text);

	at += length > 0 ? (size_t)length : 0;
	return at < capacity ? at : capacity - 1;
}

/*
 * %p: process id, %h: host name, %%: a percent sign; anything else stands for itself.  False:
 * too long, what is there is cut.
 */
static bool
expand(const char *pattern, char *path, size_t capacity)
{
	char number[16];
	char host[256] = "host";
	size_t at = 0;

	snprintf(number, sizeof(number), "%d", (int)getpid());
	gethostname(host, sizeof(host) - 1);
	if (*pattern != '/') {
		at = append(path, at, capacity, start_directory);
		at = append(path, at, capacity, "/");
	}
	for (; *pattern; pattern++) {
		const char literal[2] = {*pattern, '\0'};
		const char *text = literal;

		if (*pattern == '%' && pattern[1] && strchr("ph%", pattern[1])) {
			pattern++;
			text = *pattern == 'p' ? number : *pattern == 'h' ? host : "%";
		}
		at = append(path, at, capacity, text);
	}
	return at < capacity - 1;
}

/* The extension is what follows the last dot of the last component. */
static void
insert_pid(char *path, size_t capacity)
{
	char *slash = strrchr(path, '/');
	char *dot = strrchr(slash ? slash : path, '.');
	char extension[NAME_MAX + 1] = "";
	size_t length = strlen(path);

	if (dot) {
		snprintf(extension, sizeof(extension), "%s", dot);
		length = (size_t)(dot - path);
	}
	snprintf(path + length, capacity - length, ".%d%s", (int)getpid(), extension);
}

enum th_log_status
th_log_path_create(const char *pattern, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes)
{
	enum th_log_status status;

	if (!expand(pattern, path_ret, path_bytes)) {
		errno = ENAMETOOLONG;
		return TH_LOG_FAILED;
	}
	status = th_log_create(path_ret, max_bytes, identity);
	if (status != TH_LOG_EXISTS)
		return status;
	insert_pid(path_ret, path_bytes);
	return th_log_create(path_ret, max_bytes, identity);
}
