/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pattern is expanded once, with everything known inserted except "%p"; then the names in the
 * directory are matched against it. glob(3) is unsuitable: directory names may contain its
 * special characters.
 */
#include "report/run/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "report/control/running.h"
#include "unify/shared/log_name.h"

/* Patterns */

struct th_error *
th_launch_logs_absolute(const char *pattern, char **absolute_ret)
{
	char directory[PATH_MAX];
	char escaped[2 * PATH_MAX];
	char *end = escaped;

	if (pattern[0] != '/' && !getcwd(directory, sizeof(directory)))
		return th_error_create_errno(TH_ERROR_USAGE, "%s", pattern);
	for (const char *c = directory; pattern[0] != '/' && *c; c++) {
		*end++ = *c;
		if (*c == '%')
			*end++ = '%';
	}
	/* The root directory already ends in a slash. */
	if (end > escaped + 1)
		*end++ = '/';
	*end = '\0';
	if ((size_t)(end - escaped) + strlen(pattern) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return th_error_create_errno(TH_ERROR_USAGE, "%s", pattern);
	}
	*absolute_ret = th_format_new("%s%s", escaped, pattern);
	return NULL;
}

/* The expansion of `pattern`, in which `pid` replaces %p; NULL: %p and %% stay. */
static void
expand(const char *pattern, const char *pid, char ret[PATH_MAX])
{
	*ret = '\0';
	th_log_name_expand(pattern, pid, ret, PATH_MAX);
}

/* Splits an absolute pattern without %h at its last slash; the directory is expanded. */
static const char *
split(const char *pattern, char directory_ret[PATH_MAX])
{
	const char *name = strrchr(pattern, '/') + 1;
	char directory[PATH_MAX];

	snprintf(directory, sizeof(directory), "%.*s", (int)(name - pattern), pattern);
	expand(directory, "%p", directory_ret);
	return name;
}

/* The length of the process id at `name`, in digits. */
static size_t
digits(const char *name)
{
	return strspn(name, "0123456789");
}

/* Whether `name` matches the pattern of a file name. */
static bool
matches(const char *pattern, const char *name)
{
	for (; *pattern != '\0'; pattern++, name++) {
		if (pattern[0] == '%' && pattern[1] == 'p') {
			for (size_t length = digits(name); length > 0; length--) {
				if (matches(pattern + 2, name + length))
					return true;
			}
			return false;
		}
		pattern += pattern[0] == '%' && pattern[1] == '%';
		if (*pattern != *name)
			return false;
	}
	return *name == '\0';
}

/*
 * Whether a log can be written at the absolute `pattern`: not if the directory is missing or
 * not writable, or if the name contains no %p and already exists.
 */
static struct th_error *
check(const char *pattern)
{
	char expanded[PATH_MAX], directory[PATH_MAX], path[PATH_MAX];
	const char *problem = NULL;
	struct stat status;
	const char *name;

	expand(pattern, NULL, expanded);
	name = split(expanded, directory);
	expand(expanded, "%p", path);
	if (stat(directory, &status) != 0)
		problem = errno == ENOENT ? "the directory of the log does not exist"
					  : strerror(errno);
	else if (!S_ISDIR(status.st_mode))
		problem = "the parent of the log is not a directory";
	else if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) != 0)
		problem = errno == EROFS
				  ? "the directory of the log is on a read-only file system"
				  : "the directory of the log is not writable";
	else if (*name == '\0' || (stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
		problem = "a directory, not a name for a log";
	else if (!th_log_name_has_pid(name) && lstat(path, &status) == 0)
		problem = "already exists and is not overwritten";
	return problem ? th_error_create(TH_ERROR_USAGE, "%s: %s", path, problem) : NULL;
}

/*
 * Replaces *absolute, which is freed, by the file name `pattern` in TMPDIR, /tmp or /dev/shm, the
 * first where a log can be written.  False: none.
 */
static bool
go_elsewhere(const char *pattern, char **absolute)
{
	const char *temporary = getenv("TMPDIR");
	const char *const directories[] = {
		temporary && *temporary == '/' && !strchr(temporary, '%') ? temporary : "/tmp",
		"/tmp", "/dev/shm"};

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		char *path = th_format_new("%s/%s", directories[i], pattern);
		struct th_error *error = check(path);

		if (!error) {
			free(*absolute);
			*absolute = path;
			return true;
		}
		th_error_destroy(error);
		free(path);
	}
	return false;
}

struct th_error *
th_launch_logs_prepare(struct th_options *options, char **absolute_ret)
{
	const char *pattern = th_launch_options_value(options, TH_SETTING_NAME_OUTPUT);
	bool is_chosen = th_launch_options_is_given(options, TH_SETTING_NAME_OUTPUT);
	struct th_error *error = th_launch_logs_absolute(pattern, absolute_ret);

	if (error)
		return error;
	error = check(*absolute_ret);
	if (error && !is_chosen && go_elsewhere(pattern, absolute_ret)) {
		th_notice("%s; recording to %s", th_error_message(error), *absolute_ret);
		th_error_destroy(error);
		error = NULL;
	}
	options->settings[TH_SETTING_NAME_OUTPUT] = *absolute_ret;
	return error;
}

/* Logs */

TH_COMPARE(compare, struct th_launch_log,
	th_order(right->header.has_vm, left->header.has_vm)
		?: th_order(right->header.tail, left->header.tail) ?: strcmp(left->path, right->path))

void
th_launch_logs_directory(const char *pattern, char directory_ret[PATH_MAX])
{
	char expanded[PATH_MAX];

	expand(pattern, NULL, expanded);
	split(expanded, directory_ret);
}

void
th_launch_logs_each(const char *pattern, th_launch_logs_visit *visit, void *data)
{
	char expanded[PATH_MAX], directory[PATH_MAX], numbered[2][PATH_MAX];
	const char *name;
	struct dirent *entry;
	DIR *stream;

	expand(pattern, NULL, expanded);
	name = split(expanded, directory);
	/* The alternative names used when a name is taken. */
	snprintf(numbered[0], PATH_MAX, "%s", name);
	th_log_name_insert(numbered[0], PATH_MAX, "%p");
	snprintf(numbered[1], PATH_MAX, "%s", numbered[0]);
	th_log_name_insert(numbered[1], PATH_MAX, "%p");
	stream = opendir(directory);
	if (!stream)
		return;
	while ((entry = readdir(stream)) != NULL) {
		char path[2 * PATH_MAX];

		if (!matches(name, entry->d_name) && !matches(numbered[0], entry->d_name) &&
			!matches(numbered[1], entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s%s", directory, entry->d_name);
		visit(path, data);
	}
	closedir(stream);
}

static void
find_log(const char *path, void *data)
{
	struct th_launch_logs *logs = data;
	struct th_launch_log log;

	if (!th_running_header(path, &log.header) || log.header.start_realtime < logs->since)
		return;
	log.path = th_format_new("%s", path);
	th_array_append(logs, logs, log);
}

void
th_launch_logs_find(const char *pattern, uint64_t since, struct th_launch_logs *ret)
{
	*ret = (struct th_launch_logs){.since = since};
	th_launch_logs_each(pattern, find_log, ret);
	th_sort(ret->logs, ret->logs_count, compare);
}

void
th_launch_logs_deinit(struct th_launch_logs *logs)
{
	for (size_t i = 0; i < logs->logs_count; i++)
		free(logs->logs[i].path);
	free(logs->logs);
}

static bool
is_worth_keeping(const struct th_launch_log *log)
{
	return th_running_samples(&log->header) || log->header.has_vm;
}

void
th_launch_logs_remove_empty(struct th_launch_logs *logs)
{
	size_t kept = 0;

	for (size_t i = 0; i < logs->logs_count; i++)
		kept += is_worth_keeping(&logs->logs[i]);
	if (!kept)
		return;
	kept = 0;
	for (size_t i = 0; i < logs->logs_count; i++) {
		struct th_launch_log *log = &logs->logs[i];

		if (!is_worth_keeping(log) && !th_running_is_alive(&log->header) &&
			!unlink(log->path))
			free(log->path);
		else
			logs->logs[kept++] = *log;
	}
	logs->logs_count = kept;
}
