/* SPDX-License-Identifier: Apache-2.0 */
#include "report/run/launch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/control/running.h"

/* TMPDIR of the process and its current directory, then these. */
static const char *const fixed[] = {"/tmp", "/dev/shm", "/var/tmp", "/run"};

/* The current directory of the process, as it sees it. */
static bool
read_current(pid_t pid, char *ret, size_t capacity)
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	length = readlink(path, ret, capacity - 1);
	if (length <= 0)
		return false;
	ret[length] = '\0';
	return ret[0] == '/';
}

static bool
directory_name(pid_t pid, int number, char *ret, size_t capacity)
{
	const char *name;

	if (number == TH_LIBRARY_COPY_DIRECTORIES - 1)
		return read_current(pid, ret, capacity);
	name = number ? fixed[number - 1] : th_running_variable(pid, "TMPDIR");
	return name && *name == '/' && snprintf(ret, capacity, "%s", name) < (int)capacity;
}

static bool
copy_bytes(int from, int to)
{
	ssize_t sent;

	do
		sent = sendfile(to, from, NULL, 1 << 20);
	while (sent > 0);
	return !sent;
}

static int
create_file(struct th_library_copy *copy)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -1;
	snprintf(copy->name, sizeof(copy->name), "libtwinheap.%08x.so", number);
	return openat(
		copy->directory, copy->name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
}

/* Readable for the process whatever the tool's mask is. */
static bool
fill(struct th_library_copy *copy, const char *library)
{
	int from = open(library, O_RDONLY | O_CLOEXEC);
	int to = from < 0 ? -1 : create_file(copy);
	bool is_filled = to >= 0 && copy_bytes(from, to) && !fchmod(to, 0755);

	if (to >= 0) {
		close(to);
		if (!is_filled)
			unlinkat(copy->directory, copy->name, 0);
	}
	if (from >= 0)
		close(from);
	return is_filled;
}

bool
th_library_copy_create(const struct th_java_process *process, const char *library, int number,
	struct th_library_copy *ret)
{
	char inside[PATH_MAX - 128];

	if (!directory_name(process->pid, number, inside, sizeof(inside)))
		return false;
	ret->directory = th_java_process_open(process, inside);
	if (ret->directory < 0)
		return false;
	if (!fill(ret, library)) {
		close(ret->directory);
		return false;
	}
	snprintf(ret->path_inside, sizeof(ret->path_inside), "%s/%s", inside, ret->name);
	return true;
}

void
th_library_copy_remove(struct th_library_copy *copy)
{
	unlinkat(copy->directory, copy->name, 0);
	close(copy->directory);
}
