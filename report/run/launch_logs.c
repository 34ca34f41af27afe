/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pattern is read once with everything known put in, the host name, and "%p" left; then names
 * in the directory are held against it.  glob(3) is no help: directories hold its characters.
 */
#include "report/run/launch_logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unify/shared/log_format.h"

/* A VM is written down when it starts, and only a process that has one has many records. */
#define JVM_RECORDS_SEARCHED 100000

/* --- patterns ------------------------------------------------------------------------------- */

struct text {
	char *bytes; /* PATH_MAX of them */
	size_t length;
	bool is_full;
};

static void
append(struct text *text, char c)
{
	if (text->length + 1 >= PATH_MAX) {
		text->is_full = true;
		return;
	}
	text->bytes[text->length++] = c;
	text->bytes[text->length] = '\0';
}

char *
th_launch_logs_absolute(const char *pattern)
{
	char directory[PATH_MAX];
	struct text text = {.bytes = malloc(PATH_MAX)};

	if (text.bytes == NULL || (pattern[0] != '/' && getcwd(directory, PATH_MAX) == NULL)) {
		free(text.bytes);
		return NULL;
	}
	for (const char *c = directory; pattern[0] != '/' && *c != '\0'; c++) {
		append(&text, *c);
		if (*c == '%')
			append(&text, '%');
	}
	if (pattern[0] != '/' && text.length > 1)
		append(&text, '/');
	for (const char *c = pattern; *c != '\0'; c++)
		append(&text, *c);
	if (text.is_full) {
		free(text.bytes);
		errno = ENAMETOOLONG;
		return NULL;
	}
	return text.bytes;
}

/* Copies the host name, percent signs doubled if the result is still a pattern. */
static void
append_host(struct text *text, bool is_pattern)
{
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	for (const char *c = host; *c != '\0'; c++) {
		append(text, *c);
		if (*c == '%' && is_pattern)
			append(text, '%');
	}
}

/* `pattern` with the host name in it; %p and %% stay. */
static void
expand_host(const char *pattern, char ret[PATH_MAX])
{
	struct text text = {.bytes = ret};

	ret[0] = '\0';
	for (const char *c = pattern; *c != '\0'; c++) {
		if (c[0] == '%' && c[1] == 'h') {
			append_host(&text, true);
			c++;
			continue;
		}
		append(&text, *c);
		if (c[0] == '%' && c[1] != '\0')
			append(&text, *++c);
	}
}

/* What `pattern`, of which %p is no part, stands for. */
static void
expand_percent(const char *pattern, char ret[PATH_MAX])
{
	struct text text = {.bytes = ret};

	ret[0] = '\0';
	for (const char *c = pattern; *c != '\0'; c++) {
		append(&text, *c);
		c += c[0] == '%' && c[1] == '%';
	}
}

static bool
has_pid(const char *pattern)
{
	for (const char *c = pattern; *c != '\0'; c++) {
		if (c[0] == '%' && c[1] == 'p')
			return true;
		c += c[0] == '%' && c[1] == '%';
	}
	return false;
}

/* Splits an absolute pattern without %h at its last slash; the directory is expanded. */
static const char *
split(const char *pattern, char directory_ret[PATH_MAX])
{
	const char *name = strrchr(pattern, '/') + 1;
	char directory[PATH_MAX];

	snprintf(directory, sizeof(directory), "%.*s", (int)(name - pattern), pattern);
	expand_percent(directory, directory_ret);
	return name;
}

/* A process id at `name`: the number of digits. */
static size_t
digits(const char *name)
{
	return strspn(name, "0123456789");
}

/* Whether `name` is one that the pattern of a file name stands for. */
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

/* `pattern` with one number more before the extension: what is tried when a name is taken. */
static void
add_number(const char *pattern, char ret[PATH_MAX])
{
	const char *dot = strrchr(pattern, '.');
	int stem = dot != NULL ? (int)(dot - pattern) : (int)strlen(pattern);

	snprintf(ret, PATH_MAX, "%.*s.%%p%s", stem, pattern, pattern + stem);
}

bool
th_launch_logs_check(const char *pattern, char *reason_ret, size_t reason_bytes)
{
	char expanded[PATH_MAX], directory[PATH_MAX], path[PATH_MAX];
	const char *problem = NULL;
	struct stat status;
	const char *name;

	expand_host(pattern, expanded);
	name = split(expanded, directory);
	expand_percent(expanded, path);
	if (stat(directory, &status) != 0)
		problem = errno == ENOENT ? "the directory of the log does not exist"
					  : strerror(errno);
	else if (!S_ISDIR(status.st_mode))
		problem = "the directory of the log is no directory";
	else if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) != 0)
		problem = errno == EROFS
				  ? "the directory of the log is on a read-only file system"
				  : "the directory of the log is not writable";
	else if (*name == '\0' || (stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
		problem = "a directory, not a name for a log";
	else if (!has_pid(name) && lstat(path, &status) == 0)
		problem = "exists already, and a recording overwrites nothing";
	if (problem != NULL)
		snprintf(reason_ret, reason_bytes, "%s: %s", path, problem);
	return problem == NULL;
}

/* --- logs ----------------------------------------------------------------------------------- */

/* Walks the records up to the first that is not whole. */
static bool
find_jvm(const char *bytes, uint64_t end, uint64_t offset)
{
	for (unsigned i = 0; i < JVM_RECORDS_SEARCHED; i++) {
		struct th_log_record record;

		if (offset > end || end - offset < sizeof(record))
			return false;
		memcpy(&record, bytes + offset, sizeof(record));
		if (record.type == 0 || record.size < sizeof(record) || record.size % 8 != 0 ||
			record.check != th_log_check(offset, record.size, record.type))
			return false;
		if (record.type == TH_EVENT_JVM)
			return true;
		offset += record.size;
	}
	return false;
}

/* Fills everything but the path; false if the file is no log begun since then. */
static bool
read_log(int fd, uint64_t since, struct th_launch_log *ret)
{
	struct stat status;
	const struct th_log_header *header;
	bool is_ours;

	if (fstat(fd, &status) != 0 || status.st_size < TH_LOG_HEADER_BYTES)
		return false;
	header = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		return false;
	is_ours = memcmp(header->magic, TH_LOG_MAGIC, sizeof(header->magic)) == 0 &&
		  header->start_realtime >= since;
	if (is_ours) {
		uint64_t size = (uint64_t)status.st_size;

		ret->bytes = header->tail < size ? header->tail : size;
		ret->pid = header->pid;
		ret->has_jvm = find_jvm((const char *)header, ret->bytes, header->header_bytes);
	}
	munmap((void *)header, (size_t)status.st_size);
	return is_ours;
}

static void
add_log(struct th_launch_logs *logs, const char *path, uint64_t since)
{
	struct th_launch_log log = {0};
	struct th_launch_log *grown;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (read_log(fd, since, &log) && (log.path = strdup(path)) != NULL) {
		grown = reallocarray(logs->logs, logs->count + 1, sizeof(*grown));
		if (grown != NULL) {
			logs->logs = grown;
			grown[logs->count++] = log;
		} else {
			free(log.path);
		}
	}
	close(fd);
}

static int
compare(const void *left, const void *right)
{
	const struct th_launch_log *a = left, *b = right;

	if (a->has_jvm != b->has_jvm)
		return a->has_jvm ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return strcmp(a->path, b->path);
}

void
th_launch_logs_directory(const char *pattern, char directory_ret[PATH_MAX])
{
	char expanded[PATH_MAX];

	expand_host(pattern, expanded);
	split(expanded, directory_ret);
}

void
th_launch_logs_each(const char *pattern, th_launch_logs_visit *visit, void *data)
{
	char expanded[PATH_MAX], directory[PATH_MAX], second[PATH_MAX], third[PATH_MAX];
	const char *name;
	struct dirent *entry;
	DIR *stream;

	expand_host(pattern, expanded);
	name = split(expanded, directory);
	add_number(name, second);
	add_number(second, third);
	stream = opendir(directory);
	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL) {
		char path[2 * PATH_MAX];

		if (!matches(name, entry->d_name) && !matches(second, entry->d_name) &&
			!matches(third, entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s%s", directory, entry->d_name);
		visit(path, data);
	}
	closedir(stream);
}

struct finding {
	struct th_launch_logs *logs;
	uint64_t since;
};

static void
find_log(const char *path, void *data)
{
	struct finding *finding = data;

	add_log(finding->logs, path, finding->since);
}

void
th_launch_logs_find(const char *pattern, uint64_t since, struct th_launch_logs *ret)
{
	struct finding finding = {ret, since};

	*ret = (struct th_launch_logs){0};
	th_launch_logs_each(pattern, find_log, &finding);
	if (ret->count > 1)
		qsort(ret->logs, ret->count, sizeof(*ret->logs), compare);
}

void
th_launch_logs_deinit(struct th_launch_logs *logs)
{
	for (size_t i = 0; i < logs->count; i++)
		free(logs->logs[i].path);
	free(logs->logs);
}
