/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/log_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unify/shared/log_name.h"

/*
 * Size of a log in /dev/shm, which is memory of the process's control group: the size of that file
 * system in a container by default.
 */
#define SHARED_MEMORY_BYTES (UINT64_C(64) << 20)

static char start_directory[PATH_MAX];     /* "": the root */
static char temporary_directory[PATH_MAX]; /* TMPDIR at the start; "": none */

void
th_log_path_init(const char *pattern)
{
	if (*pattern != '/' && !getcwd(start_directory, sizeof(start_directory)))
		strcpy(start_directory, ".");
	const char *temporary = getenv("TMPDIR");
	if (temporary && *temporary == '/' && strlen(temporary) < PATH_MAX)
		strcpy(temporary_directory, temporary);
}

/*
 * The path that `pattern` yields for this process, in `directory` unless it is absolute.  False:
 * too long; the path is truncated.
 */
static bool
expand(const char *directory, const char *pattern, char *path, size_t capacity)
{
	char number[16];

	*path = '\0';
	if (*pattern != '/')
		snprintf(path, capacity, "%s/", strcmp(directory, "/") ? directory : "");
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

static enum th_log_status
create_in(const char *directory, const char *pattern, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes)
{
	char taken[PATH_MAX];
	enum th_log_status status;

	if (!expand(directory, pattern, path_ret, path_bytes)) {
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

enum th_log_status
th_log_path_create(const char *pattern, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes)
{
	return create_in(start_directory, pattern, max_bytes, identity, path_ret, path_bytes);
}

bool
th_log_path_create_elsewhere(const char *pattern, uint64_t max_bytes,
	const struct th_log_identity *identity, char *path_ret, size_t path_bytes)
{
	const char *const directories[] = {temporary_directory, "/tmp", "/dev/shm"};
	const char *slash = strrchr(pattern, '/');
	int reason = errno;
	bool is_done = false;

	/* Read-only, or another user's. */
	if (reason != EROFS && reason != EACCES && reason != EPERM)
		return false;
	for (size_t i = 0; i < 3 && !is_done; i++) {
		if (i == 2 && max_bytes > SHARED_MEMORY_BYTES)
			max_bytes = SHARED_MEMORY_BYTES;
		is_done = *directories[i] &&
			  create_in(directories[i], slash ? slash + 1 : pattern, max_bytes,
				  identity, path_ret, path_bytes) == TH_LOG_OK;
	}
	errno = reason;
	return is_done;
}
