/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unify/base/proc_file.h"
#include "unify/base/system.h"
#include "unify/shared/log_format.h"
#include "unify/shared/settings_table.h"
#include "unify/shared/size.h"

/* Matches any path of libtwinheap.so or libtwinheap.so.1. */
#define LIBRARY "libtwinheap"
/* Longest environment variable examined; LD_PRELOAD lists are far shorter. */
#define VARIABLE_MAX 4096

uint64_t
th_process_space(void)
{
	char boot[64];
	size_t length = th_proc_file_read(
		"/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	struct stat status;

	if (!length || stat("/proc/self/ns/pid", &status))
		return 0;
	return th_log_process_space(boot, (uint32_t)length, status.st_ino);
}

static bool
is_preload_of_ours(const char *variable)
{
	static const char name[] = "LD_PRELOAD=";

	return !strncmp(variable, name, sizeof(name) - 1) && strstr(variable, LIBRARY);
}

/* Variables end with NUL; longer ones are truncated to VARIABLE_MAX. */
static bool
has_preload(int descriptor)
{
	char variable[VARIABLE_MAX];
	char chunk[4096];
	size_t length = 0;
	ssize_t got;

	while ((got = th_system_read(descriptor, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			variable[length] = chunk[i];
			if (!chunk[i] && is_preload_of_ours(variable))
				return true;
			length = !chunk[i] ? 0 : length + (length < VARIABLE_MAX - 2);
		}
	}
	return false;
}

/*
 * By the variable that `twinheap run` sets: it names the process that was started, whatever the
 * parents are now.
 */
static bool
is_other_than(const char *root)
{
	uint64_t pid;

	return !th_number_parse(root, &pid) || pid != (uint64_t)getpid();
}

bool
th_process_is_followed_child(void)
{
	const char *root = getenv(TH_ROOT_VARIABLE);
	char path[64];
	int descriptor;
	bool found;

	if (root && *root)
		return is_other_than(root);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	descriptor = th_system_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (descriptor < 0)
		return false;
	found = has_preload(descriptor);
	th_system_close(descriptor);
	return found;
}
