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

/*
 * Inserts ".NUMBER" in front of the extension, which is what follows the last dot of the last
 * component.  False: there is no room, and nothing was changed.
 */
static bool
insert_number(char *path, size_t capacity, int number)
{
	char *slash = strrchr(path, '/');
	char *dot = strrchr(slash ? slash : path, '.');
	char extension[NAME_MAX + 1];
	char text[16];
	size_t length = strlen(path);
	size_t at = dot ? (size_t)(dot - path) : length;

	if (length - at >= sizeof(extension))
		return false;
	snprintf(extension, sizeof(extension), "%s", path + at);
	if (length + (size_t)snprintf(text, sizeof(text), ".%d", number) >= capacity)
		return false;
	snprintf(path + at, capacity - at, "%s%s", text, extension);
	return true;
}

/* Whether the name itself, without its directories, has the process id in it. */
static bool
has_pid(const char *pattern)
{
	const char *slash = strrchr(pattern, '/');

	for (const char *at = slash ? slash : pattern; *at; at++) {
		if (at[0] == '%' && at[1] == 'p')
			return true;
		at += at[0] == '%' && at[1] == '%';
	}
	return false;
}

/* The name at `path` with `number` in it; TH_LOG_EXISTS: it is taken too. */
static enum th_log_status
create_numbered(const char *path, int number, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes)
{
	snprintf(path_ret, path_bytes, "%s", path);
	if (!insert_number(path_ret, path_bytes, number)) {
		errno = ENAMETOOLONG;
		return TH_LOG_FAILED;
	}
	return th_log_create(path_ret, max_bytes, identity);
}

enum th_log_status
th_log_path_create(const char *pattern, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes)
{
	char taken[PATH_MAX];
	enum th_log_status status;

	if (!expand(pattern, path_ret, path_bytes)) {
		errno = ENAMETOOLONG;
		return TH_LOG_FAILED;
	}
	status = th_log_create(path_ret, max_bytes, identity);
	snprintf(taken, sizeof(taken), "%s", path_ret);
	if (status == TH_LOG_EXISTS && !has_pid(pattern)) {
		status = create_numbered(
			taken, (int)getpid(), max_bytes, identity, path_ret, path_bytes);
		snprintf(taken, sizeof(taken), "%s", path_ret);
	}
	/* A container's first process has the pid of all its predecessors. */
	for (int number = 2; status == TH_LOG_EXISTS && number <= TH_LOG_PATH_NAMES; number++)
		status = create_numbered(
			taken, number, max_bytes, identity, path_ret, path_bytes);
	return status;
}
