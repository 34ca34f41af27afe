/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line for each thing that recording depends on: the system, limits, where logs go, the Java
 * found; then a trial with a command.  Nothing is changed, and nothing is left behind.
 */
#include "report/run/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/error.h"
#include "report/base/log_text.h"
#include "report/run/doctor_trial.h"
#include "report/run/launch.h"
#include "report/run/launch_logs.h"
#include "report/run/launch_target.h"

#define STATUS_BAD 1

static const char help[] =
	"usage: twinheap doctor [-- COMMAND...]\n"
	"\n"
	"Prints what works on this machine and what does not, and what is lost: the\n"
	"system, limits, where logs go, the Java VM. Records COMMAND for it, or\n"
	"java -version, or true if there is no java, and removes that log.\n"
	"\n"
	"Lines begin with ok, LOST (something is missing from recordings), BAD (nothing\n"
	"can be recorded) or nothing (for information).\n"
	"\n"
	"Exit status: 0 if COMMAND was recorded, 1 if not, 2 on a usage error.\n";

/* The system */

/* The first line of a file; "" = unreadable. */
static const char *
read_line(const char *path, char text[256])
{
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (file && !fgets(text, 256, file))
		text[0] = '\0';
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void
look_at_system(void)
{
	struct utsname name;
	char text[256];

	if (!uname(&name))
		th_doctor_print(TH_FINDING_NOTE, "system", "Linux %s, %s, user %u, process %d",
			name.release, name.machine, (unsigned)getuid(), (int)getpid());
	if (access("/proc/self/maps", R_OK))
		th_doctor_print(TH_FINDING_LOSS, "/proc",
			"not readable: no breakdown of resident memory, no list, attach or ctl "
			"by process id");
	else
		th_doctor_print(TH_FINDING_GOOD, "/proc", "readable");
	if (!*read_line("/proc/sys/kernel/yama/ptrace_scope", text) || *text == '0')
		th_doctor_print(
			TH_FINDING_GOOD, "ptrace", "scope %s", *text ? text : "not set");
	else
		th_doctor_print(TH_FINDING_NOTE, "ptrace",
			"scope %s: the tool reads the memory of processes without a Java VM "
			"(rss PID) only as root or as their parent",
			text);
}

/* Whether the kernel, or a filter, lets a process read its own memory by system call. */
static void
look_at_reading(void)
{
	int from = 1, to = 0;
	struct iovec local = {&to, sizeof(to)}, remote = {&from, sizeof(from)};

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(to))
		th_doctor_print(TH_FINDING_GOOD, "reading", "process_vm_readv is allowed");
	else
		th_doctor_print(TH_FINDING_LOSS, "reading",
			"process_vm_readv: %s: totals of threads are as of their last sample",
			strerror(errno));
}

static void
look_at_seccomp(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	int mode = -1;

	while (file && fgets(line, sizeof(line), file) &&
		sscanf(line, "Seccomp: %d", &mode) != 1)
		continue;
	if (file)
		fclose(file);
	th_doctor_print(TH_FINDING_NOTE, "seccomp", "%s",
		mode == 2   ? "a filter is active; the lines below show whether it matters"
		: mode == 0 ? "no filter"
			    : "unknown");
}

/* Limits */

static void
look_at_limit(int resource, const char *name, const char *loss)
{
	struct rlimit limit;

	if (!getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY)
		th_doctor_print(TH_FINDING_NOTE, "limit", "%s %llu KiB: %s", name,
			(unsigned long long)limit.rlim_cur >> 10, loss);
}

static void
look_at_limits(void)
{
	char text[256];

	look_at_limit(RLIMIT_AS, "address space", "the library maps a few MiB");
	look_at_limit(RLIMIT_FSIZE, "size of files", "the log is limited to that");
	if (!*read_line("/sys/fs/cgroup/memory.max", text))
		read_line("/sys/fs/cgroup/memory/memory.limit_in_bytes", text);
	if (*text && strcmp(text, "max") != 0 && strlen(text) < 16)
		th_doctor_print(TH_FINDING_NOTE, "limit",
			"memory of the container %llu MiB; the library takes 3 to 10, a log in "
			"/dev/shm or another tmpfs its size",
			strtoull(text, NULL, 10) >> 20);
}

/* Where logs go; the directory, to be freed, NULL: nowhere. */
static char *
look_at_logs(void)
{
	static const char pattern[] = "twinheap.%p.thl";
	const char *named = getenv("TWINHEAP_OUTPUT");
	char directory[PATH_MAX];
	struct statvfs space;
	char *path = NULL;
	struct th_error *error = th_launch_logs_absolute(
		named && *named ? named : pattern, &path);

	if (!error)
		error = th_launch_logs_check(path);
	if (error && path && th_launch_logs_elsewhere(pattern, &path)) {
		th_doctor_print(
			TH_FINDING_NOTE, "logs", "%s; elsewhere:", th_error_message(error));
	} else if (error) {
		th_doctor_print(TH_FINDING_BAD, "logs", "%s", th_error_message(error));
		th_error_destroy(error);
		free(path);
		return NULL;
	}
	th_error_destroy(error);
	th_launch_logs_directory(path, directory);
	free(path);
	if (!statvfs(directory, &space))
		th_doctor_print(TH_FINDING_GOOD, "logs", "in %s, %llu MiB free", directory,
			(unsigned long long)space.f_bavail * space.f_frsize >> 20);
	return th_format_new("%s", directory);
}

/* The library and the command */

static bool
look_at_library(void)
{
	char path[PATH_MAX];
	struct th_error *error = th_launch_library(path);

	if (error)
		th_doctor_print(TH_FINDING_BAD, "library", "%s", th_error_message(error));
	else
		th_doctor_print(TH_FINDING_GOOD, "library", "%s, version %s", path, TH_VERSION);
	th_error_destroy(error);
	return !error;
}

static void
look_at_variables(void)
{
	static const char *const names[] = {
		"LD_PRELOAD", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			th_doctor_print(TH_FINDING_NOTE, "variable", "%s=%s", names[i], value);
		if (value && (strstr(value, "-agent") || strstr(value, "-javaagent")))
			th_doctor_print(TH_FINDING_NOTE, "agent",
				"another agent is loaded by %s: only one can sample the Java "
				"heap",
				names[i]);
	}
}

/* java of JAVA_HOME or PATH; else true. */
static char *
find_java(void)
{
	const char *home = getenv("JAVA_HOME");
	char *java = home && *home ? th_format_new("%s/bin/java", home) : th_format_new("java");
	char program[PATH_MAX];
	struct th_error *error = th_launch_target_check(java, program);

	if (error) {
		th_doctor_print(TH_FINDING_NOTE, "java", "%s", th_error_message(error));
		th_error_destroy(error);
		free(java);
		return NULL;
	}
	return java;
}

static bool
look_at_command(const char *command)
{
	char program[PATH_MAX], linker[PATH_MAX];
	struct th_error *error = th_launch_target_check(command, program);

	if (error) {
		th_doctor_print(TH_FINDING_BAD, "command", "%s", th_error_message(error));
		th_error_destroy(error);
		return false;
	}
	if (*program && th_launch_target_linker(program, linker))
		th_doctor_print(TH_FINDING_GOOD, "command", "%s, of %s", program,
			strstr(linker, "musl") ? "musl" : "glibc");
	return true;
}

static bool
try(char *const *given, const char *directory)
{
	char *java = *given ? NULL : find_java();
	char *standard[] = {java ? java : "true", java ? "-version" : NULL, NULL};
	char *const *command = *given ? given : standard;
	bool is_good = look_at_command(command[0]) &&
		       th_doctor_try(command, directory, !*given);

	free(java);
	return is_good;
}

int
th_doctor_main(int argc, char **argv)
{
	bool is_good;
	char *directory;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "--") != 0)
		return th_error_report(th_error_create(TH_ERROR_USAGE,
			"%s: unknown operand; the command follows --", argv[1]));
	look_at_system();
	look_at_reading();
	look_at_seccomp();
	look_at_limits();
	look_at_variables();
	directory = look_at_logs();
	is_good = look_at_library() && directory && try(argv + (argc > 1 ? 2 : 1), directory);
	free(directory);
	return is_good ? 0 : STATUS_BAD;
}
