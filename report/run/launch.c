/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems that can be detected in advance are reported before the command starts.  While it
 * runs, the launcher waits, forwards signals and takes breakdowns of the processes' memory; at the
 * end it lists the logs.  The variables are set in the child only: a process
 * whose parent has the library preloaded is treated as a child of the recorded process.
 */
#include "report/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/base/sort.h"
#include "report/control/running.h"
#include "unify/shared/clock.h"
#include "unify/shared/log_format.h"
#include "unify/shared/outside.h"

#define LIBRARY "libtwinheap.so"
/* Logs listed after a run; more would scroll the summary off the screen. */
#define LOGS_NAMED 8

const char th_launch_details[] =
	"Records allocations in the Java heap and the C heap of the command, and memory\n"
	"mappings.\n"
	"\n"
	"Each option has an environment variable, such as TWINHEAP_OUTPUT for --output,\n"
	"which is used if the option is not given.\n"
	"\n"
	"The exit status is that of the command; 2 if it was not started because it\n"
	"cannot be recorded, 126 if it cannot be executed, 127 if it was not found.\n";

struct launch {
	struct th_options options;
	char *pattern; /* of the log's name, absolute */
	char library[PATH_MAX];
	char allocator[PATH_MAX]; /* "" = none was requested */
	struct th_launch_program program;
	const char *preload;     /* value for LD_PRELOAD */
	uint64_t start_realtime; /* nanoseconds */
	int unrecorded;          /* file of TH_UNRECORDED_VARIABLE; -1: none */
	int *problem; /* shared with the child: errno of its exec, 0 = the command was started */
};

/* The library */

static bool
is_readable(const char *path)
{
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

/* Searches the directories used by the build and by the installation, relative to the tool. */
static bool
find_beside_tool(char path_ret[PATH_MAX])
{
	static const char *const directories[] = {"", "../lib/twinheap/",
		"../lib/" TH_LAUNCH_MULTIARCH "/", "../lib/", "../lib64/"};
	char tool[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", tool, sizeof(tool) - 1);

	if (length <= 0)
		return false;
	tool[length] = '\0';
	*(strrchr(tool, '/') + 1) = '\0';
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		char path[2 * PATH_MAX];

		snprintf(path, sizeof(path), "%s%s" LIBRARY, tool, directories[i]);
		if (is_readable(path) && realpath(path, path_ret) != NULL)
			return true;
	}
	return false;
}

static struct th_error *
check_preloadable(const char *path)
{
	if (path[strcspn(path, " :")] == '\0')
		return NULL;
	return th_error_create(TH_ERROR_USAGE,
		"%s: LD_PRELOAD cannot name a path with a space or a colon", path);
}

struct th_error *
th_launch_library(char path_ret[PATH_MAX])
{
	const char *named = getenv(TH_LIBRARY_VARIABLE);

	if (named && *named) {
		if (!is_readable(named) || !realpath(named, path_ret))
			return th_error_create_errno(
				TH_ERROR_USAGE, TH_LIBRARY_VARIABLE "=%s", named);
	} else if (!find_beside_tool(path_ret)) {
		return th_error_create(TH_ERROR_USAGE,
			LIBRARY " is neither in the directory of the tool nor in its "
				"../lib; set " TH_LIBRARY_VARIABLE " to its path");
	}
	return NULL;
}

static struct th_error *
prepare_allocator(struct launch *launch)
{
	const char *name = th_launch_options_value(&launch->options, TH_SETTING_NAME_ALLOCATOR);

	if (!*name)
		return NULL;
	struct th_error *error = th_launch_allocator_find(name, launch->allocator);
	return error ? error : check_preloadable(launch->allocator);
}

static struct th_error *
prepare(struct launch *launch)
{
	struct th_error *error = th_launch_options_check(&launch->options);

	if (!error)
		error = th_launch_logs_prepare(&launch->options, &launch->pattern);
	if (!error)
		error = th_launch_library(launch->library);
	if (!error)
		error = check_preloadable(launch->library);
	if (!error)
		error = prepare_allocator(launch);
	if (!error)
		error = th_launch_target_check(launch->options.command[0], &launch->program);
	if (error)
		return error;
	if (*launch->program.path && th_java_process_is_native_image(launch->program.path))
		th_notice("%s is a GraalVM native image: its Java heap is recorded as mapped "
			  "memory, without classes and Java frames",
			launch->options.command[0]);
	const char *before = getenv("LD_PRELOAD");
	launch->preload = th_launch_allocator_preload(
		&launch->program, launch->library, launch->allocator, before ? before : "");
	return NULL;
}

/* The child */

/*
 * A program built with AddressSanitizer ends at once when any library precedes its runtime.
 * With this option the check is skipped, and it works with ours preloaded.
 */
static bool
set_sanitizer_options(void)
{
	const char *before = getenv("ASAN_OPTIONS");
	const char *value = th_text_format("%s%sverify_asan_link_order=0", before ? before : "",
		before && *before ? ":" : "");

	return setenv("ASAN_OPTIONS", value, 1) == 0;
}

/* The process id stays the same from here to the command, and across any exec of the command. */
static bool
set_environment(const struct launch *launch)
{
	char number[16], unrecorded[64];

	snprintf(number, sizeof(number), "%d", (int)getpid());
	snprintf(unrecorded, sizeof(unrecorded), "/proc/%d/fd/%d", (int)getppid(),
		launch->unrecorded);
	return th_launch_options_export(&launch->options) &&
	       setenv("LD_PRELOAD", launch->preload, 1) == 0 &&
	       setenv(TH_ROOT_VARIABLE, number, 1) == 0 &&
	       setenv(TH_UNRECORDED_VARIABLE, unrecorded, 1) == 0 && set_sanitizer_options();
}

/* Signal state that the parent changes for itself and the child restores. */
struct signals {
	sigset_t awaited;
	sigset_t mask_before;
	struct sigaction child_before;
};

/* Executes the command. */
__attribute__((noreturn)) static void
run_child(const struct launch *launch, const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->child_before, NULL);
	if (set_environment(launch)) {
		sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
		execvp(launch->options.command[0], launch->options.command);
	}
	*launch->problem = errno;
	_exit(EXIT_FAILURE);
}

/* Breakdowns of resident memory */

/*
 * Taken while the launcher waits, for those of its processes that have no thread of the library to do
 * it.  Processes are identified by their logs, whose headers contain their id and start time.
 */

/* Maximum number of processes; others are not watched. */
#define WATCHED_MAX 64

struct watched {
	pid_t pid;
	int descriptor; /* of its log */
	struct th_outside *outside;
	enum th_observed_status status; /* not TH_OBSERVED_OK: not retried */
	uint64_t start_realtime;        /* of its log */
};

struct watch {
	const char *pattern; /* of the logs, absolute; owned by the caller */
	uint64_t since;      /* CLOCK_REALTIME: older logs belong to other runs */
	uint64_t begin;      /* CLOCK_MONOTONIC, nanoseconds, like next_scan */
	uint64_t next_scan;
	struct watched watched[WATCHED_MAX];
	size_t count;
	/* A process that could not be observed, and the reason; TH_OBSERVED_OK: none. */
	enum th_observed_status problem;
	pid_t problem_pid;
};

/* The same frequency as in the library (unify/resident/schedule.c). */
#define TURN_SHARE 16
#define TURN_LEAST_NS (TH_NS_PER_S / 10)
/* Reading the directory of the logs takes at most 1/SCAN_SPACING of the time. */
#define SCAN_SPACING 200

/* Discovery of logs */

static bool
is_watched(const struct watch *watch, const struct th_log_header *header)
{
	for (size_t i = 0; i < watch->count; i++) {
		const struct watched *watched = &watch->watched[i];

		if (watched->pid == (pid_t)header->pid &&
			watched->start_realtime == header->start_realtime)
			return true;
	}
	return false;
}

static bool
is_wanted(const struct watch *watch, const struct th_log_header *header)
{
	/*
	 * One that has not published its tables yet is wanted later.  A process id from another
	 * namespace may belong to a different process here.
	 */
	return header->state == TH_LOG_RECORDING && header->observed &&
	       header->start_realtime >= watch->since && !is_watched(watch, header) &&
	       th_running_is_writer(header, (pid_t)header->pid);
}

static void
add(const char *path, void *data)
{
	struct watch *watch = data;
	struct th_log_header header;
	int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (descriptor < 0)
		return;
	if (watch->count == WATCHED_MAX || !th_running_read(descriptor, &header) ||
		!is_wanted(watch, &header)) {
		close(descriptor);
		return;
	}
	struct th_outside *outside = th_outside_create((pid_t)header.pid, descriptor);
	if (!outside)
		th_out_of_memory();
	watch->watched[watch->count++] = (struct watched){
		.pid = (pid_t)header.pid,
		.descriptor = descriptor,
		.outside = outside,
		.start_realtime = header.start_realtime,
	};
}

static void
scan(struct watch *watch)
{
	uint64_t begin = th_clock_now();

	if (begin < watch->next_scan)
		return;
	th_launch_logs_each(watch->pattern, add, watch);
	watch->next_scan = begin + (th_clock_now() - begin) * SCAN_SPACING;
}

/* Breakdowns */

/* Frees the slots of processes that have ended. */
static void
forget(struct watch *watch, size_t i)
{
	th_outside_destroy(watch->watched[i].outside);
	close(watch->watched[i].descriptor);
	watch->watched[i] = watch->watched[--watch->count];
}

static void
look(struct watch *watch)
{
	for (size_t i = watch->count; i-- > 0;) {
		struct watched *watched = &watch->watched[i];

		if (watched->status == TH_OBSERVED_OK)
			watched->status = th_outside_look(watched->outside, false);
		if (watched->status == TH_OBSERVED_DENIED ||
			watched->status == TH_OBSERVED_UNKNOWN) {
			watch->problem = watched->status;
			watch->problem_pid = watched->pid;
		}
		if (watched->status == TH_OBSERVED_GONE ||
			(kill(watched->pid, 0) && errno == ESRCH))
			forget(watch, i);
	}
}

/*
 * Examines all processes; returns the time until the next call is due. A process that grows fast is to
 * be read sooner than the others.
 */
static struct timespec
watch_turn(struct watch *watch)
{
	scan(watch);
	look(watch);
	uint64_t now = th_clock_now();
	uint64_t pause = (now - watch->begin) / TURN_SHARE;
	if (pause > TH_NS_PER_S)
		pause = TH_NS_PER_S;
	for (size_t i = 0; i < watch->count; i++) {
		uint64_t next = th_outside_next(watch->watched[i].outside);

		if (next > now && next - now < pause)
			pause = next - now;
	}
	if (pause < TURN_LEAST_NS)
		pause = TURN_LEAST_NS;
	return (struct timespec){(time_t)(pause / TH_NS_PER_S), (long)(pause % TH_NS_PER_S)};
}

/* The parent */

/*
 * Signals are received with sigtimedwait(), so there is no handler and no race between a signal
 * and the end of the child.
 */
static void
take_signals(struct signals *signals)
{
	static const int awaited[] = {
		SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	sigemptyset(&signals->awaited);
	for (size_t i = 0; i < sizeof(awaited) / sizeof(*awaited); i++)
		sigaddset(&signals->awaited, awaited[i]);
	sigprocmask(SIG_BLOCK, &signals->awaited, &signals->mask_before);
	sigaction(SIGCHLD, &standard, &signals->child_before);
}

static void
give_signals_back(const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->child_before, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

/*
 * Waits for the child and forwards signals that were sent to the launcher only.  Signals from
 * the terminal (Ctrl-C, Ctrl-\, hang-up) reach the whole process group without it.
 */
static int
wait_for(pid_t child, const struct signals *signals, struct watch *watch)
{
	for (;;) {
		struct timespec pause = watch_turn(watch);
		siginfo_t info;
		int number = sigtimedwait(&signals->awaited, &info, &pause);
		int status;

		if (number == SIGCHLD) {
			if (waitpid(child, &status, WNOHANG) == child)
				return status;
		} else if (number > 0 && info.si_code <= 0 && info.si_pid != child) {
			kill(child, number);
		}
	}
}

static int
exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
					: WEXITSTATUS(wait_status);
}

/* After the run */

/* `path` relative to the current directory, if that is shorter. */
static const char *
short_path(const char *path)
{
	char directory[PATH_MAX];
	size_t length;

	if (getcwd(directory, sizeof(directory)) == NULL)
		return path;
	length = strlen(directory);
	if (strncmp(path, directory, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

void
th_launch_summary(char *path)
{
	char *arguments[] = {"twinheap", "summary", "--brief", path, NULL};
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execv("/proc/self/exe", arguments);
		_exit(EXIT_FAILURE);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static bool
has_log(const struct th_launch_logs *logs, uint32_t pid)
{
	for (size_t i = 0; i < logs->logs_count; i++) {
		if (logs->logs[i].header.pid == pid)
			return true;
	}
	return false;
}

/* Processes that noted themselves and have no log. */
static void
print_unrecorded(int descriptor, const struct th_launch_logs *logs)
{
	struct th_unrecorded list;
	size_t most = sizeof(list.pids) / sizeof(list.pids[0]);
	size_t count = 0;

	if (pread(descriptor, &list, sizeof(list), 0) != sizeof(list))
		return;
	size_t noted = list.count < most ? list.count : most;
	th_sort_numbers(list.pids, noted);
	for (size_t i = 0; i < noted; i++)
		count += (!i || list.pids[i] != list.pids[i - 1]) &&
			 !has_log(logs, list.pids[i]);
	if (count)
		th_notice("%zu more process%s of the command allocated some MiB and %s not "
			  "recorded: --follow all",
			count, count == 1 ? "" : "es", count == 1 ? "was" : "were");
}

static void
print_logs(const struct launch *launch, const struct th_launch_logs *logs)
{
	for (size_t i = 0; i < logs->logs_count && i < LOGS_NAMED; i++) {
		const struct th_launch_log *log = &logs->logs[i];

		th_notice("process %u%s recorded in %s", log->header.pid,
			log->header.has_vm ? " (Java)" : "", short_path(log->path));
	}
	if (logs->logs_count > LOGS_NAMED)
		th_notice("and %zu more logs in the same directory",
			logs->logs_count - LOGS_NAMED);
	print_unrecorded(launch->unrecorded, logs);
	if (logs->logs_count > 0)
		th_launch_summary((char *)short_path(logs->logs[0].path));
	else
		th_notice("no log was written: see the library's message above, or the command "
			  "ended before "
			  "it allocated anything, or cleared LD_PRELOAD, or delegated the work "
			  "to "
			  "a process that was already running");
}

/* Only --follow all keeps the logs of processes without a sample. */
static void
finish_logs(const struct launch *launch)
{
	const char *follow = th_launch_options_value(&launch->options, TH_SETTING_NAME_FOLLOW);
	struct th_launch_logs logs;

	th_launch_logs_find(launch->pattern, launch->start_realtime, &logs);
	if (strcmp(follow, "all") != 0)
		th_launch_logs_remove_empty(&logs);
	if (!launch->options.is_quiet)
		print_logs(launch, &logs);
	th_launch_logs_deinit(&logs);
}

static int
finish(const struct launch *launch, const struct watch *watch, int wait_status)
{
	if (WIFSIGNALED(wait_status) && !launch->options.is_quiet)
		th_notice("%s was killed by signal %d (%s)", launch->options.command[0],
			WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	if (watch->problem != TH_OBSERVED_OK && !launch->options.is_quiet)
		th_notice("process %d: no breakdown of its resident memory: %s",
			(int)watch->problem_pid, th_outside_problem(watch->problem));
	finish_logs(launch);
	return exit_status(wait_status);
}

/* -1: there is none, and nothing is said of unrecorded processes. */
static int
create_unrecorded(void)
{
	const struct th_unrecorded list = {.magic = TH_UNRECORDED_MAGIC};
	int descriptor = memfd_create("twinheap-unrecorded", MFD_CLOEXEC);

	if (descriptor >= 0 && pwrite(descriptor, &list, sizeof(list), 0) != sizeof(list)) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

/* Starts the command and waits for it. */
static struct th_error *
run(struct launch *launch, int *status_ret)
{
	struct watch watch = {.pattern = launch->pattern, .begin = th_clock_now()};
	struct signals signals;
	int error, status = 0;
	pid_t child;

	launch->problem = mmap(NULL, sizeof(*launch->problem), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (launch->problem == MAP_FAILED)
		return th_error_create_errno(TH_ERROR_USAGE, "cannot start a process");
	fflush(NULL);
	launch->start_realtime = watch.since = th_clock_read(CLOCK_REALTIME);
	launch->unrecorded = create_unrecorded();
	take_signals(&signals);
	child = fork();
	if (child == 0)
		run_child(launch, &signals);
	if (child < 0)
		*launch->problem = errno;
	if (child > 0) {
		status = wait_for(child, &signals, &watch);
		while (watch.count)
			forget(&watch, watch.count - 1);
	}
	give_signals_back(&signals);
	error = *launch->problem;
	munmap(launch->problem, sizeof(*launch->problem));
	if (error)
		return th_error_create(
			error == ENOENT ? TH_ERROR_NOT_FOUND : TH_ERROR_NOT_EXECUTABLE,
			"%s: %s", launch->options.command[0], strerror(error));
	*status_ret = finish(launch, &watch, status);
	return NULL;
}

struct th_error *
th_launch(const struct th_options *options, int *status_ret)
{
	struct launch launch = {.options = *options};
	struct th_error *error = prepare(&launch);

	if (!error)
		error = run(&launch, status_ret);
	free(launch.pattern);
	return error;
}
