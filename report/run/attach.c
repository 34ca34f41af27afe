/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach: finds out whether the process can be attached to, has its VM load the library with the
 * options (virtual_machine.h), and names the log that the process then has.  detach: asks for the
 * end of the recording through the control page of the log.
 */
#include "report/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/end_signals.h"
#include "report/control/request.h"
#include "report/control/running.h"
#include "report/profile/values.h"
#include "unify/shared/clock.h"
#include "unify/shared/late_status.h"

/* The first release that warns of agents loaded into a running VM (JEP 451). */
#define FIRST_WARNING 21
/* Precedes the result of the library in the answer of the VM. */
#define RETURN_CODE "return code: "
/* After the answer of the VM, the log is there; it is complete soon after the request to end. */
#define STEP_MS 20
#define LOG_WAIT_MS 10000
#define END_WAIT_MS 30000

struct attach {
	struct th_options options;
	struct th_java_process process;
	bool has_our_root; /* paths mean the same to the process as to the tool */
	char *pattern;     /* of the log's name, absolute; NULL: the library decides */
	bool is_chosen;    /* the log's name was given */
	char text[TH_VIRTUAL_MACHINE_ARGUMENT_MAX];
	char *log;
};

/* Processes */

static struct th_error *
read_pid(const char *command, const char *text, pid_t *pid_ret)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*end || number <= 0 || number > INT_MAX)
		return th_error_create(
			TH_ERROR_USAGE, "%s: %s: expected the id of a process", command, text);
	*pid_ret = (pid_t)number;
	return NULL;
}

static struct th_error *
read_process(struct attach *attach, const char *text)
{
	char path[64];
	pid_t pid = 0;
	struct th_error *error = read_pid("attach", text, &pid);

	if (error)
		return error;
	if (!th_java_process_read(pid, &attach->process))
		return th_error_create(TH_ERROR_UNREADABLE, "process %s: does not exist", text);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	attach->has_our_root = th_running_is_same_file("/proc/self/ns/mnt", path);
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	attach->has_our_root = attach->has_our_root && th_running_is_same_file("/", path);
	return NULL;
}

/* Options */

/*
 * The log's name, where it means the same to the process.  Another user's process may not be able
 * to write to the tool's directory, so its log is by default in its own.
 */
static struct th_error *
prepare_output(struct attach *attach)
{
	struct th_options *options = &attach->options;

	attach->is_chosen = th_launch_options_is_given(options, TH_SETTING_NAME_OUTPUT);
	if (!attach->has_our_root || (!attach->is_chosen && attach->process.uid != geteuid()))
		return NULL;
	return th_launch_logs_prepare(options, &attach->pattern);
}

static struct th_error *
prepare_text(struct attach *attach)
{
	struct th_error *error = prepare_output(attach);

	if (error ||
		th_launch_options_format(&attach->options, attach->text, sizeof(attach->text)))
		return error;
	return th_error_create(TH_ERROR_USAGE,
		"attach: the options together exceed the %d bytes that a VM accepts",
		TH_VIRTUAL_MACHINE_ARGUMENT_MAX - 1);
}

/* Attach */

static struct th_error *
explain_status(const struct attach *attach, int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
#define X(NAME, number, reason) {number, reason},
		TH_LATE_STATUSES(X)
#undef X
	};
	int pid = (int)attach->process.pid;
	/* A name that cannot be written is refused in the same way as by `run`. */
	bool is_usage = status == TH_LATE_NO_LOG && attach->is_chosen;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].status == status)
			return status ? th_error_create(
						is_usage ? TH_ERROR_USAGE : TH_ERROR_REFUSED,
						"process %d: %s", pid, reasons[i].reason)
				      : NULL;
	return th_error_create(TH_ERROR_NOT_LOADED,
		"process %d: the library answers %d, which this version does not know", pid,
		status);
}

/* What follows the number in the first line. */
static const char *
message_of(const char *answer)
{
	const char *line = strchr(answer, '\n');

	return line && line[1] ? line + 1 : answer;
}

/*
 * A recording that was ended a moment ago still closes its log, or the VM is starting: newer ones
 * refuse agents before the live phase (attachListener.cpp), older ones leave it to the library.
 */
static bool
is_temporary(const char *answer)
{
	const char *found = strstr(answer, RETURN_CODE);
	int status = found ? atoi(found + strlen(RETURN_CODE)) : 0;

	return status == TH_LATE_BUSY || status == TH_LATE_STARTING ||
	       strstr(answer, "only permitted in the live phase");
}

/* NULL and *is_loaded_ret false: the VM could not load this file. */
static struct th_error *
load(struct attach *attach, const char *path, bool *is_loaded_ret,
	char answer[TH_VIRTUAL_MACHINE_ANSWER_MAX])
{
	struct th_error *error = NULL;
	const char *found;
	int steps = 1;
	int waited = 0;

	/* Each attempt prints the VM's warnings, so they become rarer. */
	for (; waited < LOG_WAIT_MS; steps *= 2) {
		error = th_virtual_machine_load(&attach->process, path, attach->text, answer);
		if (error || !is_temporary(answer))
			break;
		for (int i = 0; i < steps; i++)
			usleep(STEP_MS * 1000);
		waited += steps * STEP_MS;
	}
	found = error ? NULL : strstr(answer, RETURN_CODE);
	*is_loaded_ret = found != NULL;
	if (error)
		return error;
	if (found)
		return explain_status(attach, atoi(found + strlen(RETURN_CODE)));
	if (is_temporary(answer))
		return explain_status(attach, TH_LATE_STARTING);
	if (strstr(answer, "Dynamic agent loading is not enabled"))
		return th_error_create(TH_ERROR_AGENTS_DISABLED,
			"process %d: its VM does not load agents "
			"(-XX:-EnableDynamicAgentLoading)",
			(int)attach->process.pid);
	return NULL;
}

/* Copies of the library */

/*
 * Below the root directory of a process that cannot open the original: in another container, or where
 * the original's directory is closed to its user.
 */
struct library_copy {
	int directory;
	char name[64];
	char path_inside[PATH_MAX]; /* as the process sees it */
};

/* Directories to be tried: TMPDIR of the process, these, then its current directory. */
static const char *const fixed[] = {"/tmp", "/dev/shm", "/var/tmp", "/run"};
#define COPY_DIRECTORIES (2 + (int)(sizeof(fixed) / sizeof(fixed[0])))

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

	if (number == COPY_DIRECTORIES - 1)
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
create_file(struct library_copy *copy)
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
fill(struct library_copy *copy, const char *library)
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

/* False: there is no such directory, or it is not writable. */
static bool
create_copy(const struct th_java_process *process, const char *library, int number,
	struct library_copy *ret)
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

/* Once the file is loaded, it is no longer needed. */
static void
remove_copy(struct library_copy *copy)
{
	unlinkat(copy->directory, copy->name, 0);
	close(copy->directory);
}

/* Attempts in one directory after the other. */
static struct th_error *
load_copy(struct attach *attach, const char *library, bool *is_loaded_ret,
	char answer[TH_VIRTUAL_MACHINE_ANSWER_MAX])
{
	struct th_error *error = NULL;

	for (int i = 0; i < COPY_DIRECTORIES && !error && !*is_loaded_ret; i++) {
		struct library_copy copy;

		if (!create_copy(&attach->process, library, i, &copy))
			continue;
		error = load(attach, copy.path_inside, is_loaded_ret, answer);
		remove_copy(&copy);
	}
	return error;
}

/*
 * A library that is loaded already is named as the loader knows it, so that it is not loaded a
 * second time.
 */
static struct th_error *
load_library(struct attach *attach)
{
	char answer[TH_VIRTUAL_MACHINE_ANSWER_MAX] = "no directory for a copy is writable";
	char library[PATH_MAX];
	bool is_loaded = false;
	struct th_error *error;

	if (attach->process.library[0]) {
		error = load(attach, attach->process.library, &is_loaded, answer);
	} else {
		error = th_launch_library(library);
		if (!error && attach->has_our_root)
			error = load(attach, library, &is_loaded, answer);
		if (!error && !is_loaded)
			error = load_copy(attach, library, &is_loaded, answer);
	}
	if (error || is_loaded)
		return error;
	return th_error_create(TH_ERROR_NOT_LOADED,
		"process %d: the library was not loaded: %.*s", (int)attach->process.pid,
		(int)strcspn(message_of(answer), "\n") + 200, message_of(answer));
}

static void
warn(const struct attach *attach)
{
	if (attach->process.release >= FIRST_WARNING && !attach->process.library[0] &&
		!attach->options.is_quiet)
		th_notice("the VM of process %d (JDK %u) will print lines of WARNING on its "
			  "stderr, as for every agent that is loaded into a running VM",
			(int)attach->process.pid, attach->process.release);
}

/* What asks the process next, such as twinheap rss, then has an answer. */
static bool
has_server(const char *log)
{
	struct th_log_header header;

	return !th_running_header(log, &header) || header.has_server ||
	       !th_running_is_alive(&header);
}

static struct th_error *
find_log(struct attach *attach)
{
	for (int waited = 0; waited < LOG_WAIT_MS; waited += STEP_MS) {
		if (!attach->log)
			attach->log = th_running_log(attach->process.pid);
		if (attach->log && has_server(attach->log))
			return NULL;
		usleep(STEP_MS * 1000);
	}
	return attach->log ? NULL
			   : th_error_create(TH_ERROR_UNREADABLE,
				     "process %d: was recorded, but its log is not found among "
				     "its mappings",
				     (int)attach->process.pid);
}

/* A preloaded library that is paused. */
static struct th_error *
resume(struct attach *attach, bool *is_done_ret)
{
	const struct th_request request = {.verb = TH_CONTROL_RESUME};
	struct th_target target;

	attach->log = th_running_log(attach->process.pid);
	*is_done_ret = attach->log;
	if (!attach->log)
		return NULL;
	struct th_error *error = th_target_open(attach->log, true, &target);
	if (!error && !target.header.paused)
		error = th_error_create(TH_ERROR_REFUSED,
			"process %d: is already recorded in %s", (int)attach->process.pid,
			attach->log);
	if (!error)
		error = th_request_ask(&target, &request);
	th_target_close(&target);
	return error;
}

static void
print_log(const struct attach *attach)
{
	struct th_text log = th_text_of(attach->log);

	if (attach->options.is_quiet)
		return;
	th_print(stdout,
		"process {} is recorded in {}\nnext:  twinheap leaks {}    twinheap detach "
		"{}\n",
		attach->process.pid, log, log, attach->process.pid);
	fflush(stdout);
}

static struct th_error *
start(struct attach *attach)
{
	bool is_resumed;
	struct th_error *error = resume(attach, &is_resumed);

	if (!error && !is_resumed)
		error = th_virtual_machine_check(&attach->process);
	if (!error && !is_resumed && th_java_process_is_preloaded(attach->process.pid) &&
		attach->process.library[0])
		error = th_error_create(TH_ERROR_REFUSED,
			"process %d: was started with the library, which records nothing in it "
			"and cannot be switched on",
			(int)attach->process.pid);
	if (!error && !is_resumed)
		error = prepare_text(attach);
	if (error || is_resumed)
		return error;
	warn(attach);
	error = load_library(attach);
	return error ? error : find_log(attach);
}

/* Detach */

static struct th_error *
wait_until_complete(struct th_target *target)
{
	for (int waited = 0; waited < END_WAIT_MS; waited += STEP_MS) {
		if (!th_running_read(target->descriptor, &target->header) ||
			target->header.state != TH_LOG_RECORDING ||
			!th_running_is_alive(&target->header))
			return NULL;
		usleep(STEP_MS * 1000);
	}
	return th_error_create(TH_ERROR_REFUSED, "%s: the recording has not ended after %d s",
		target->path, END_WAIT_MS / 1000);
}

/* A preloaded library stays, and its recording is paused, so that it can be resumed. */
static struct th_error *
end(pid_t pid, char **log_ret, bool *is_paused_ret)
{
	struct th_request request = {.verb = TH_CONTROL_STOP};
	struct th_target target;
	char text[16];
	struct th_error *error;

	*is_paused_ret = th_java_process_is_preloaded(pid);
	if (*is_paused_ret)
		request.verb = TH_CONTROL_PAUSE;
	snprintf(text, sizeof(text), "%d", (int)pid);
	error = th_target_open(text, true, &target);
	if (!error)
		error = th_request_ask(&target, &request);
	if (!error && !*is_paused_ret)
		error = wait_until_complete(&target);
	if (!error)
		*log_ret = th_format_new("%s", target.path);
	th_target_close(&target);
	return error;
}

static bool
is_alive(const struct attach *attach)
{
	return !kill(attach->process.pid, 0) || errno == EPERM;
}

/* Ctrl-C ends the time early. */
static struct th_error *
record_for(struct attach *attach)
{
	uint64_t begin = th_clock_now();
	struct th_error *error = NULL;
	char *log = NULL;
	bool is_paused;

	th_end_signals_catch("twinheap: attach: the log was truncated\n", NULL);
	do {
		usleep(STEP_MS * 1000);
	} while (!th_end_signals_came() && is_alive(attach) &&
		 (th_clock_now() - begin) / TH_NS_PER_S < attach->options.duration);
	if (is_alive(attach))
		error = end(attach->process.pid, &log, &is_paused);
	free(log);
	if (!error && !attach->options.is_quiet)
		th_launch_summary(attach->log);
	return error;
}

/* Commands */

const char th_attach_details[] =
	"Starts recording in a running Java VM: its Java heap, its C heap, and memory\n"
	"mappings, from now on. Returns when it records; twinheap detach PID ends it. A\n"
	"process whose recording is paused, started by twinheap run, is resumed instead.\n"
	"\n"
	"The same environment variables as for run apply, those of twinheap attach, not\n"
	"those of the process. A relative name of the log refers to the current\n"
	"directory, but for a process below another root directory to its own.\n"
	"\n"
	"The VM is asked through its attach mechanism, as by jcmd, without ptrace. From\n"
	"JDK 21 on it prints three or four lines of WARNING on its stderr.\n"
	"Exit status: 4 refused or already recorded, 10 another user's process, 11 no\n"
	"Java VM, 12 -XX:+DisableAttachMechanism, 13 -Xrs, 14 agents are disabled\n"
	"(-XX:-EnableDynamicAgentLoading), 15 the library could not be loaded.\n";

struct th_error *
th_attach(const struct th_options *options)
{
	struct attach attach = {.options = *options};
	struct th_error *error = th_launch_options_check(options);

	if (!error)
		error = read_process(&attach, options->log);
	if (!error)
		error = start(&attach);
	if (!error && attach.log)
		print_log(&attach);
	if (!error && options->duration)
		error = record_for(&attach);
	free(attach.log);
	free(attach.pattern);
	return error;
}

const char th_detach_details[] =
	"The import slots of the process are restored, and the capabilities and events of\n"
	"the VM given back. The library stays loaded and does nothing; twinheap attach\n"
	"begins another recording. Where the library was preloaded, the recording is\n"
	"paused, and attach resumes it.\n";

struct th_error *
th_detach(const struct th_options *options)
{
	pid_t pid = 0;
	char *log = NULL;
	bool is_paused;
	struct th_error *error = read_pid("detach", options->log, &pid);

	if (!error)
		error = end(pid, &log, &is_paused);
	if (error)
		return error;
	th_print(stdout, "{}; the log is {}\nnext:  twinheap summary {}\n",
		is_paused ? "paused" : "detached", th_text_of(log), th_text_of(log));
	free(log);
	return NULL;
}
