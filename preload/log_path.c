/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/log_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unify/shared/log_name.h"

static char start_directory[PATH_MAX]; /* "": the root */

void
th_log_path_init(void)
{
	if (!getcwd(start_directory, sizeof(start_directory)))
		strcpy(start_directory, ".");
}

/* The path that `pattern` yields for this process.  False: too long; the path is truncated. */
static bool
expand(const char *pattern, char *path, size_t capacity)
{
	char number[16];

	*path = '\0';
	if (*pattern != '/')
		snprintf(path, capacity, "%s/", start_directory);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	return th_log_name_expand(pattern, number, path, capacity);
}

/* Creates the log at `path` with `number` inserted; TH_LOG_EXISTS: that name is taken too. */
static enum th_log_status
create_numbered(const char *path, int number, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	snprintf(path_ret, path_bytes, "%s", path);
	if (!th_log_name_insert(path_ret, path_bytes, text)) {
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
	if (status == TH_LOG_EXISTS && !th_log_name_has_pid(pattern)) {
		status = create_numbered(
			taken, (int)getpid(), max_bytes, identity, path_ret, path_bytes);
		snprintf(taken, sizeof(taken), "%s", path_ret);
	}
	/* The first process of a container has the same pid as those of earlier containers. */
	for (int number = 2; status == TH_LOG_EXISTS && number <= TH_LOG_PATH_NAMES; number++)
		status = create_numbered(
			taken, number, max_bytes, identity, path_ret, path_bytes);
	return status;
}
