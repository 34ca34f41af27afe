/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line for each thing that recording depends on: the system, limits, where logs go, the Java
 * found; then a trial with a command.  Nothing is changed, and nothing is left behind.
 */
#include "report/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/base/log_text.h"
#include "report/control/running.h"
#include "report/log/recording.h"

#define STATUS_BAD 1

/* What is lost without a feature of the VM; docs/architecture.md has the whole table. */
static const struct {
	uint32_t feature;
	const char *name;
	const char *loss;
} features[] = {
	{TH_JVM_TABLES, "layout of the VM (gHotSpotVMStructs)",
		"stacks end where Java begins, bytes of Java threads are estimates"},
	{TH_JVM_JAVA_FRAMES, "Java frames in native stacks",
		"native stacks end where Java begins"},
	{TH_JVM_STUBS, "code cache and runtime stubs",
		"stacks below compiled code that calls the VM have no Java frames"},
	{TH_JVM_SAMPLED_ALLOC, "samples of the Java heap (SampledObjectAlloc)",
		"the Java heap is not recorded: does another agent sample it?"},
	{TH_JVM_THREAD_BYTES, "bytes allocated by each thread",
		"totals of the Java heap are estimates"},
	{TH_JVM_OWN_DRAWS, "countdown of the VM's sampler",
		"the VM draws: before JDK 25 shares of the Java heap are approximate"},
	{TH_JVM_HEAP_RANGE, "range of the Java heap",
		"the breakdown of resident memory shows it as a mapping"},
	{TH_JVM_FLAGS, "flags of the VM",
		"objects are followed by weak references under every collector"},
	{TH_JVM_COUNTERS, "performance counters (-XX:+UsePerfData)",
		"collections have no cause, metaspace is not measured"},
};

/* What a finding means. */
enum th_finding {
	TH_FINDING_GOOD,
	TH_FINDING_NOTE, /* for information */
	TH_FINDING_LOSS, /* something is lost */
	TH_FINDING_BAD,  /* nothing is recorded */
};

const char th_doctor_details[] =
	"Prints what works on this machine and what does not, and what is lost: the\n"
	"system, limits, where logs go, the Java VM. Records COMMAND for it, or\n"
	"java -version, or true if there is no java, and removes that log.\n"
	"\n"
	"Lines begin with ok, LOST (something is missing from recordings), BAD (nothing\n"
	"can be recorded) or nothing (for information).\n"
	"\n"
	"Exit status: 0 if COMMAND was recorded, 1 if not, 2 on a usage error.\n";

/* One line: the mark of the finding, what it is about, and the text. */
__attribute__((format(printf, 3, 4))) static void
print_finding(enum th_finding finding, const char *topic, const char *format, ...)
{
	static const char *const marks[] = {"ok", "", "LOST", "BAD"};
	va_list arguments;

	va_start(arguments, format);
	printf("%-5s %-10s ", marks[finding], topic);
	vprintf(format, arguments);
	putchar('\n');
	va_end(arguments);
}

/* The system */

/* What follows `before` in a line of a file below /proc/self; "" = unreadable. */
static const char *
read_word(const char *path, const char *before)
{
	char *text = th_running_proc(getpid(), path, NULL);
	const char *found = strstr(text, before);
	const char *word = found ? found + strlen(before) : "";

	word = th_text_format("%.*s", (int)strcspn(word, "\n"), word);
	free(text);
	return word;
}

static void
look_at_system(void)
{
	const char *scope = read_word("../sys/kernel/yama/ptrace_scope", "");
	struct utsname name;

	if (!uname(&name))
		print_finding(TH_FINDING_NOTE, "system", "Linux %s, %s, user %u, process %d",
			name.release, name.machine, (unsigned)getuid(), (int)getpid());
	if (access("/proc/self/maps", R_OK))
		print_finding(TH_FINDING_LOSS, "/proc",
			"not readable: no breakdown of resident memory, no list, attach or ctl "
			"by process id");
	else
		print_finding(TH_FINDING_GOOD, "/proc", "readable");
	if (!*scope || *scope == '0')
		print_finding(
			TH_FINDING_GOOD, "ptrace", "scope %s", *scope ? scope : "not set");
	else
		print_finding(TH_FINDING_NOTE, "ptrace",
			"scope %s: the tool reads the memory of processes without a Java VM "
			"(rss PID) only as root or as their parent",
			scope);
}

/* Whether the kernel, or a filter, lets a process read its own memory by system call. */
static void
look_at_reading(void)
{
	int from = 1, to = 0;
	struct iovec local = {&to, sizeof(to)}, remote = {&from, sizeof(from)};

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(to))
		print_finding(TH_FINDING_GOOD, "reading", "process_vm_readv is allowed");
	else
		print_finding(TH_FINDING_LOSS, "reading",
			"process_vm_readv: %s: totals of threads are as of their last sample",
			strerror(errno));
}

static void
look_at_seccomp(void)
{
	char mode = *read_word("status", "\nSeccomp:\t");

	print_finding(TH_FINDING_NOTE, "seccomp", "%s",
		mode == '2'   ? "a filter is active; the lines below show whether it matters"
		: mode == '0' ? "no filter"
			      : "unknown");
}

/* Limits */

static void
look_at_limit(int resource, const char *name, const char *loss)
{
	struct rlimit limit;

	if (!getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY)
		print_finding(TH_FINDING_NOTE, "limit", "%s %llu KiB: %s", name,
			(unsigned long long)limit.rlim_cur >> 10, loss);
}

static void
look_at_limits(void)
{
	const char *most = read_word("../../sys/fs/cgroup/memory.max", "");

	if (!*most)
		most = read_word("../../sys/fs/cgroup/memory/memory.limit_in_bytes", "");
	look_at_limit(RLIMIT_AS, "address space", "the library maps a few MiB");
	look_at_limit(RLIMIT_FSIZE, "size of files", "the log is limited to that");
	if (*most && strcmp(most, "max") != 0 && strlen(most) < 16)
		print_finding(TH_FINDING_NOTE, "limit",
			"memory of the container %llu MiB; the library takes 3 to 10, a log in "
			"/dev/shm or another tmpfs its size",
			strtoull(most, NULL, 10) >> 20);
}

/* Where logs go; the directory, to be freed, NULL: nowhere. */
static const char *
look_at_logs(void)
{
	struct th_options options;
	char directory[PATH_MAX];
	struct statvfs space;
	char *path = NULL;

	th_options_set_defaults(&options);
	struct th_error *error = th_launch_logs_prepare(&options, &path);
	if (error) {
		print_finding(TH_FINDING_BAD, "logs", "%s", th_error_message(error));
		th_error_destroy(error);
		free(path);
		return NULL;
	}
	th_launch_logs_directory(path, directory);
	free(path);
	if (!statvfs(directory, &space))
		print_finding(TH_FINDING_GOOD, "logs", "in %s, %llu MiB free", directory,
			(unsigned long long)space.f_bavail * space.f_frsize >> 20);
	return th_text_format("%s", directory);
}

/* The library and the command */

static bool
look_at_library(void)
{
	char path[PATH_MAX];
	struct th_error *error = th_launch_library(path);

	if (error)
		print_finding(TH_FINDING_BAD, "library", "%s", th_error_message(error));
	else
		print_finding(TH_FINDING_GOOD, "library", "%s, version %s", path, TH_VERSION);
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
			print_finding(TH_FINDING_NOTE, "variable", "%s=%s", names[i], value);
		if (value && (strstr(value, "-agent") || strstr(value, "-javaagent")))
			print_finding(TH_FINDING_NOTE, "agent",
				"another agent is loaded by %s: only one can sample the Java "
				"heap",
				names[i]);
	}
}

/* java of JAVA_HOME or PATH; else true. */
static const char *
find_java(void)
{
	const char *home = getenv("JAVA_HOME");
	const char *java = home && *home ? th_text_format("%s/bin/java", home) : "java";
	struct th_launch_program program;
	struct th_error *error = th_launch_target_check(java, &program);

	if (error) {
		print_finding(TH_FINDING_NOTE, "java", "%s", th_error_message(error));
		th_error_destroy(error);
		return NULL;
	}
	return java;
}

static bool
look_at_command(const char *command)
{
	struct th_launch_program program;
	struct th_error *error = th_launch_target_check(command, &program);

	if (error) {
		print_finding(TH_FINDING_BAD, "command", "%s", th_error_message(error));
		th_error_destroy(error);
		return false;
	}
	if (*program.linker)
		print_finding(TH_FINDING_GOOD, "command", "%s, of %s", program.path,
			strstr(program.linker, "musl") ? "musl" : "glibc");
	return true;
}

/* The trial: the command is run as `twinheap run` does it; the largest log, which is that of a Java VM if
 * there is one, says which parts of the VM the library uses. */

/* Redirects stdout and stderr; the old ones, to be given back. */
static void
silence(const char *path, int saved_ret[2])
{
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved_ret[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3);
		if (file >= 0)
			dup2(file, STDOUT_FILENO + i);
	}
	if (file >= 0)
		close(file);
}

static void
give_back(const int saved[2])
{
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], STDOUT_FILENO + i);
		close(saved[i]);
	}
}

static int
record(char *const *command, const char *pattern, const char *said, bool is_silent)
{
	struct th_options options;
	int saved[2], status = 0;

	th_options_set_defaults(&options);
	options.is_quiet = true;
	options.settings[TH_SETTING_NAME_FOLLOW] = "all";
	options.settings[TH_SETTING_NAME_INTERVAL] = "64k";
	options.settings[TH_SETTING_NAME_OUTPUT] = pattern;
	options.command = (char **)(uintptr_t)command;
	if (is_silent)
		silence(said, saved);
	struct th_error *error = th_launch(&options, &status);
	if (error)
		status = th_error_report(error);
	if (is_silent)
		give_back(saved);
	return status;
}

/* Messages of the library and of `run`. */
static void
print_said(const char *path)
{
	static const char prefix[] = "twinheap: ";
	FILE *file = fopen(path, "re");
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (th_text_begins(line, prefix))
			print_finding(
				TH_FINDING_LOSS, "message", "%s", line + sizeof(prefix) - 1);
	}
	if (file)
		fclose(file);
}

/* The log */

static void
print_vm(const struct th_recording *recording)
{
	const struct th_decoded_jvm *jvm = &recording->jvm;
	bool is_hotspot = jvm->features & TH_JVM_TABLES;

	print_finding(TH_FINDING_GOOD, "Java VM", "%s %s", th_text_printable(jvm->name),
		th_text_printable(jvm->version));
	if (!is_hotspot)
		print_finding(TH_FINDING_LOSS, "Java VM",
			"not HotSpot, or without its tables: Java frames and exact totals are "
			"missing; the C heap is recorded");
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		if (jvm->features & features[i].feature)
			print_finding(TH_FINDING_GOOD, "HotSpot", "%s", features[i].name);
		else
			print_finding(TH_FINDING_LOSS, "HotSpot", "%s: %s", features[i].name,
				features[i].loss);
	}
}

static void
print_notes(const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->notes_count; i++)
		print_finding(recording->notes[i].severity ? TH_FINDING_LOSS : TH_FINDING_NOTE,
			"note", "%s", th_text_printable(recording->notes[i].text));
}

static bool
print_log(const struct th_launch_log *log)
{
	struct th_recording *recording;
	struct th_error *error = th_recording_load(log->path, &recording);

	if (error) {
		print_finding(TH_FINDING_BAD, "log", "%s", th_error_message(error));
		th_error_destroy(error);
		return false;
	}
	print_finding(TH_FINDING_GOOD, "recording", "%s",
		recording->has_jvm ? "the C heap, mapped memory and a Java VM"
				   : "the C heap and mapped memory; no Java VM was started");
	if (recording->has_jvm)
		print_vm(recording);
	print_notes(recording);
	th_recording_destroy(recording);
	return true;
}

static void
remove_log(const char *path, void *data)
{
	(void)data;
	unlink(path);
}

/*
 * Records `command` into a directory of its own below `directory`, which is removed, and prints
 * what was found.  With `is_silent` the output of the command is not shown.  False: nothing was
 * recorded.
 */
static bool
try_command(char *const *command, const char *directory, bool is_silent)
{
	char *own = th_format_new("%s/twinheap-doctor-XXXXXX", directory);
	bool is_recorded = false;
	struct th_launch_logs logs;

	if (!mkdtemp(own)) {
		print_finding(TH_FINDING_BAD, "trial", "cannot write to %s", directory);
		free(own);
		return false;
	}
	const char *pattern = th_text_format("%s/%%p.thl", own);
	const char *said = th_text_format("%s/said", own);
	int status = record(command, pattern, said, is_silent);
	if (status)
		print_finding(
			TH_FINDING_NOTE, "trial", "%s ended with status %d", *command, status);
	print_said(said);
	th_launch_logs_find(pattern, 0, &logs);
	if (logs.logs_count)
		is_recorded = print_log(&logs.logs[0]);
	else
		print_finding(TH_FINDING_BAD, "trial",
			"no log was written: LD_PRELOAD was not honored");
	th_launch_logs_deinit(&logs);
	th_launch_logs_each(pattern, remove_log, NULL);
	unlink(said);
	rmdir(own);
	free(own);
	return is_recorded;
}

static bool
try(char *const *given, const char *directory)
{
	const char *java = *given ? NULL : find_java();
	char *standard[] = {
		java ? (char *)(uintptr_t)java : "true", java ? "-version" : NULL, NULL};
	char *const *command = *given ? given : standard;

	return look_at_command(command[0]) && try_command(command, directory, !*given);
}

struct th_error *
th_doctor(const struct th_options *options, int *status_ret)
{
	look_at_system();
	look_at_reading();
	look_at_seccomp();
	look_at_limits();
	look_at_variables();
	const char *directory = look_at_logs();
	bool is_recorded = look_at_library() && directory && try(options->command, directory);
	*status_ret = is_recorded ? 0 : STATUS_BAD;
	return NULL;
}
