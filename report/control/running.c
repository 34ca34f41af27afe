/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the processes behind logs and the logs of processes, through /proc.  Processes may be
 * in other pid namespaces and below other root directories than the tool.
 */
#include "report/control/running.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/base/log_text.h"

/* Longest command line shown. */
#define COMMAND_MAX 4095
#define FILE_MAX (1 << 20)

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

bool
th_running_header(const char *path, struct th_log_header *ret)
{
	int descriptor;
	struct th_error *error = th_running_open(path, false, &descriptor, ret);

	if (!error)
		close(descriptor);
	th_error_destroy(error);
	return !error;
}

uint64_t
th_running_samples(const struct th_log_header *header)
{
	return header->counters[TH_COUNTER_NATIVE_SAMPLES] +
	       header->counters[TH_COUNTER_JAVA_SAMPLES] +
	       header->counters[TH_COUNTER_MAPPED_SAMPLES];
}

/* The writer of a log */

char *
th_running_proc(pid_t pid, const char *name, size_t *bytes_ret)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	FILE *file = fopen(path, "re");
	char *text = th_allocate(FILE_MAX + 1, 1);
	size_t bytes = file ? fread(text, 1, FILE_MAX, file) : 0;

	if (bytes_ret)
		*bytes_ret = bytes;
	if (file)
		fclose(file);
	return text;
}

/*
 * Field 22 of /proc/PID/stat; 0 if there is none, or if the process has ended and its parent has not
 * waited for it: a zombie without further threads, whose number is field 20.
 */
static uint64_t
start_time(pid_t pid)
{
	char *text = th_running_proc(pid, "stat", NULL);
	/* Field 2, the name in parentheses, may contain any character: count from its end. */
	const char *at = strrchr(text, ')');
	unsigned long threads = 0, start = 0;
	char state = 0;

	if (at)
		sscanf(at,
			") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			"%lu %*s %lu",
			&state, &threads, &start);
	free(text);
	return state == 'Z' && threads <= 1 ? 0 : start;
}

uint32_t
th_running_pid_inside(pid_t pid)
{
	char *text = th_running_proc(pid, "status", NULL);
	const char *line = strstr(text, "\nNSpid:");
	const char *last = line ? memrchr(line, '\t', 1 + strcspn(line + 1, "\n")) : NULL;
	uint32_t inside = last ? (uint32_t)strtoul(last, NULL, 10) : (uint32_t)pid;

	free(text);
	return inside;
}

/* The th_process_space() of a process; 0 if unreadable, as for another user's process. */
static uint64_t
process_space(pid_t pid)
{
	char path[64];
	size_t length;
	struct stat status;
	char *boot = th_running_proc(pid, "../sys/kernel/random/boot_id", &length);

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	uint64_t space = length && !stat(path, &status)
				 ? th_log_process_space(boot, (uint32_t)length, status.st_ino)
				 : 0;
	free(boot);
	return space;
}

bool
th_running_is_writer(const struct th_log_header *header, pid_t pid)
{
	if (!header->process_start || start_time(pid) != header->process_start ||
		th_running_pid_inside(pid) != header->pid)
		return false;
	uint64_t space = process_space(pid);
	return !space || !header->process_space || space == header->process_space;
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
}

pid_t
th_running_writer(const struct th_log_header *header)
{
	struct th_running_pids all;
	pid_t found = 0;

	if (!header->process_start)
		return 0;
	if (th_running_is_writer(header, (pid_t)header->pid))
		return (pid_t)header->pid;
	/* It may have a different id here. */
	th_running_find_pids(&all);
	for (size_t i = 0; i < all.pids_count && !found; i++) {
		if (th_running_is_writer(header, all.pids[i]))
			found = all.pids[i];
	}
	free(all.pids);
	return found;
}

bool
th_running_is_alive(const struct th_log_header *header)
{
	return header->state == TH_LOG_RECORDING && th_running_writer(header);
}

/* The log of a process */

bool
th_running_is_same_file(const char *a, const char *b)
{
	struct stat left, right;

	return !stat(a, &left) && !stat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/*
 * The path in a line of /proc/PID/maps if that is the start of a writable shared file mapping, like
 * that of a log; else NULL.
 */
static const char *
mapped_path(char *line)
{
	char permissions[8];
	unsigned long offset;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%*x-%*x %7s %lx %*s %*u %n", permissions, &offset, &at) < 2 ||
		strcmp(permissions, "rw-s") != 0 || offset || !at || line[at] != '/')
		return NULL;
	return line + at;
}

/*
 * Whether the file at `path` is the log that process `pid` writes, by its header: device and inode of
 * a mapping differ from those of the file on some file systems (overlayfs, btrfs).
 */
static bool
is_log_of(const char *path, pid_t pid)
{
	struct th_log_header header;
	struct stat status;
	int descriptor = -1;

	/* Opening some devices has side effects. */
	if (!stat(path, &status) && S_ISREG(status.st_mode))
		descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (descriptor < 0)
		return false;
	bool is_log = th_running_read(descriptor, &header) && header.state == TH_LOG_RECORDING;
	close(descriptor);
	return is_log && th_running_is_writer(&header, pid);
}

/*
 * The path of the log as seen by the tool, to be freed; NULL if the file is not a log.  The
 * process may have a different root directory and other mounts, so its path is resolved there.
 * The same path here is shorter and remains valid after the process ends, but may refer to a
 * different file.
 */
static char *
seen_from_here(pid_t pid, const char *path)
{
	char there[PATH_MAX];

	snprintf(there, sizeof(there), "/proc/%d/root%s", (int)pid, path);
	if (is_log_of(there, pid))
		return th_format_new("%s", th_running_is_same_file(path, there) ? path : there);
	/* Below a root directory of the process that is a directory here. */
	return is_log_of(path, pid) ? th_format_new("%s", path) : NULL;
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
		const char *mapped = mapped_path(line);

		if (mapped)
			found = seen_from_here(pid, mapped);
	}
	free(line);
	fclose(maps);
	return found;
}

struct th_error *
th_running_find(const char *text, char **path_ret)
{
	struct stat status;

	if (!th_text_is_number(text) || !stat(text, &status)) {
		*path_ret = th_format_new("%s", text);
		return NULL;
	}
	*path_ret = th_running_log((pid_t)atoi(text));
	if (*path_ret)
		return NULL;
	return th_error_create(TH_ERROR_UNREADABLE,
		"process %s: is not recorded, or belongs to another user", text);
}

const char *
th_running_variable(pid_t pid, const char *name)
{
	size_t bytes;
	size_t length = strlen(name);
	char *texts = th_running_proc(pid, "environ", &bytes);
	const char *value = NULL;

	for (size_t at = 0; at < bytes && !value; at += strlen(texts + at) + 1) {
		if (!strncmp(texts + at, name, length) && texts[at + length] == '=')
			value = th_text_format("%s", texts + at + length + 1);
	}
	free(texts);
	return value;
}

const char *
th_running_command(pid_t pid)
{
	size_t length;
	char *text = th_running_proc(pid, "cmdline", &length);

	if (length > COMMAND_MAX)
		length = COMMAND_MAX;
	while (length && !text[length - 1])
		length--;
	const char *clean = th_text_printable((struct th_text){text, (uint32_t)length});
	free(text);
	return clean;
}
