/* SPDX-License-Identifier: Apache-2.0 */
#include "report/running.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/allocate.h"
#include "report/text.h"

/* Longest command line shown. */
#define COMMAND_MAX 4096

bool
th_running_read(int descriptor, struct th_log_header *header_ret)
{
	return pread(descriptor, header_ret, sizeof(*header_ret), 0) ==
		       (ssize_t)sizeof(*header_ret) &&
	       !memcmp(header_ret->magic, TH_LOG_MAGIC, sizeof(header_ret->magic));
}

struct th_error *
th_running_open(
	const char *path, bool may_write, int *descriptor_ret, struct th_log_header *header_ret)
{
	int flags = (may_write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
	int descriptor = open(path, flags);

	if (descriptor < 0)
		return th_error_create_errno(TH_ERROR_UNREADABLE, "%s", path);
	if (!th_running_read(descriptor, header_ret)) {
		close(descriptor);
		return th_error_create(TH_ERROR_UNREADABLE, "%s: is not a log", path);
	}
	if (header_ret->version > TH_LOG_VERSION) {
		close(descriptor);
		return th_error_create(TH_ERROR_UNREADABLE,
			"%s: was written by a newer version of twinheap", path);
	}
	*descriptor_ret = descriptor;
	return NULL;
}

/* Whether the file at `path` is a log that its process still writes. */
static bool
is_log(const char *path)
{
	struct th_log_header header;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0)
		return false;
	bool result = th_running_read(descriptor, &header) && header.state == TH_LOG_RECORDING;
	close(descriptor);
	return result;
}

/*
 * The path in a line of /proc/PID/maps, if it is that of the start of a shared file that can be
 * written, as the log is mapped.
 */
static char *
path_of_mapping(char *line)
{
	char permissions[8];
	unsigned long offset;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%*x-%*x %7s %lx %*s %*s %n", permissions, &offset, &at) < 2 || !at ||
		strcmp(permissions, "rw-s") != 0 || offset)
		return NULL;
	return line[at] == '/' ? line + at : NULL;
}

/* The path as it is seen from here: the process may have another root directory. */
static char *
seen_from_here(pid_t pid, const char *path)
{
	char there[PATH_MAX];

	if (is_log(path))
		return th_format_new("%s", path);
	snprintf(there, sizeof(there), "/proc/%d/root%s", (int)pid, path);
	return is_log(there) ? th_format_new("%s", there) : NULL;
}

char *
th_running_log(pid_t pid)
{
	char path[64];
	char *line = NULL;
	char *found = NULL;
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return NULL;
	while (!found && getline(&line, &room, maps) > 0) {
		const char *mapped = path_of_mapping(line);

		if (mapped)
			found = seen_from_here(pid, mapped);
	}
	free(line);
	fclose(maps);
	return found;
}

static bool
is_pid(const char *text)
{
	return text[0] && strlen(text) < 10 && text[strspn(text, "0123456789")] == '\0';
}

struct th_error *
th_running_find(const char *text, char **path_ret)
{
	struct stat status;

	if (!is_pid(text) || !stat(text, &status)) {
		*path_ret = th_format_new("%s", text);
		return NULL;
	}
	*path_ret = th_running_log((pid_t)atoi(text));
	if (*path_ret)
		return NULL;
	return th_error_create(TH_ERROR_UNREADABLE,
		"process %s: is not recorded, or belongs to another user", text);
}

static int
compare_pids(const void *a, const void *b)
{
	pid_t left = *(const pid_t *)a;
	pid_t right = *(const pid_t *)b;

	return (left > right) - (left < right);
}

void
th_running_find_pids(struct th_running_pids *ret)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;

	*ret = (struct th_running_pids){0};
	while (directory && (entry = readdir(directory))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (!*end && pid > 0)
			th_array_append(ret, pids, (pid_t)pid);
	}
	if (directory)
		closedir(directory);
	if (ret->pids_count)
		qsort(ret->pids, ret->pids_count, sizeof(*ret->pids), compare_pids);
}

/* Field 22 of /proc/PID/stat; 0 without. */
static uint64_t
start_time(pid_t pid)
{
	char path[64];
	char text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	size_t length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	/* Field 2, the name in parentheses, may hold anything: count from its end. */
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

bool
th_running_is_alive(const struct th_log_header *header)
{
	return header->state == TH_LOG_RECORDING && header->process_start &&
	       start_time((pid_t)header->pid) == header->process_start;
}

char *
th_running_command(pid_t pid)
{
	char path[64];
	char text[COMMAND_MAX];
	size_t length = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	FILE *file = fopen(path, "re");
	if (file) {
		length = fread(text, 1, sizeof(text), file);
		fclose(file);
	}
	while (length && !text[length - 1])
		length--;
	return th_text_clean((struct th_text){text, (uint32_t)length});
}
