/* SPDX-License-Identifier: Apache-2.0 */
#include "report/control/java_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A VM in a safepoint, or on a busy machine, takes a while to create its socket. */
#define WAIT_MS 10000
#define STEP_MS 10
/* The socket is created before it listens. */
#define CONNECT_TRIES 100

static bool
is_native_image(const struct th_java_process *process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process->pid);
	return th_java_process_is_native_image(path);
}

struct th_error *
th_virtual_machine_check(const struct th_java_process *process)
{
	const struct {
		bool applies;
		enum th_error_code code;
		const char *reason;
	} reasons[] = {
		{geteuid() != 0 && geteuid() != process->uid, TH_ERROR_OTHER_USER,
			"belongs to another user: only that user or root can attach"},
		{!process->is_readable, TH_ERROR_OTHER_USER,
			"its memory map is not readable for this user"},
		{process->is_openj9, TH_ERROR_NO_VM,
			"its VM is OpenJ9, not HotSpot: start it with twinheap run"},
		{is_native_image(process), TH_ERROR_NO_VM,
			"is a GraalVM native image, which loads no agents: start it with "
			"twinheap run"},
		{!process->has_vm, TH_ERROR_NO_VM,
			"has no Java VM (HotSpot): start it with twinheap run"},
		{process->refuses_attach, TH_ERROR_ATTACH_DISABLED,
			"its VM does not allow to attach (-XX:+DisableAttachMechanism)"},
		{process->forbids_agents, TH_ERROR_AGENTS_DISABLED,
			"its VM does not load agents (-XX:-EnableDynamicAgentLoading)"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].applies)
			return th_error_create(reasons[i].code, "process %d: %s",
				(int)process->pid, reasons[i].reason);
	return NULL;
}

/*
 * The /tmp of the process is opened with the tool's rights.  Then the tool takes the user of
 * the process, because the VM checks the owner of files and of the socket's peer.
 */

struct visit {
	const struct th_java_process *process;
	int tmp;   /* -1: not accessible */
	uid_t uid; /* before */
	gid_t gid;
};

static bool
enter(const struct th_java_process *process, struct visit *ret)
{
	*ret = (struct visit){
		.process = process,
		.tmp = th_java_process_open(process, "/tmp"),
		.uid = geteuid(),
		.gid = getegid(),
	};
	return ret->uid || (!setegid(process->gid) && !seteuid(process->uid));
}

static void
leave(const struct visit *visit)
{
	if (visit->tmp >= 0)
		close(visit->tmp);
	if (seteuid(visit->uid) || setegid(visit->gid))
		th_notice("cannot take back the former user id");
}

/* The socket */

static bool
has_socket(const struct visit *visit)
{
	char name[64];
	struct stat status;

	snprintf(name, sizeof(name), ".java_pid%d", (int)visit->process->inside);
	return visit->tmp >= 0 && !fstatat(visit->tmp, name, &status, AT_SYMLINK_NOFOLLOW) &&
	       S_ISSOCK(status.st_mode);
}

static bool
create_in(int directory, const char *name)
{
	int descriptor = directory < 0
				 ? -1
				 : openat(directory, name,
					   O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0660);

	if (descriptor >= 0)
		close(descriptor);
	return descriptor >= 0;
}

static bool
wait_for_socket(const struct visit *visit)
{
	for (int waited = 0; waited < WAIT_MS && !kill(visit->process->pid, 0);
		waited += STEP_MS) {
		if (has_socket(visit))
			return true;
		usleep(STEP_MS * 1000);
	}
	return has_socket(visit);
}

static struct th_error *
wake(const struct visit *visit)
{
	const struct th_java_process *process = visit->process;
	int pid = (int)process->pid;
	char name[64];
	bool is_awake;

	/* -Xrs has its socket from the start, and no handler: SIGQUIT would end the process. */
	if (!process->handles_quit)
		return th_error_create(TH_ERROR_NO_SIGNAL,
			"process %d: SIGQUIT has no handler: its VM runs with -Xrs, or is "
			"still "
			"starting",
			pid);
	/* The file tells the VM what SIGQUIT means.  Its socket will be beside it. */
	snprintf(name, sizeof(name), ".attach_pid%d", (int)process->inside);
	if (!create_in(visit->tmp, name))
		return th_error_create_errno(TH_ERROR_REFUSED,
			"process %d: its VM needs a socket in its /tmp, which is not writable",
			pid);
	is_awake = !kill(process->pid, SIGQUIT) && wait_for_socket(visit);
	unlinkat(visit->tmp, name, 0);
	if (is_awake)
		return NULL;
	return th_error_create(TH_ERROR_REFUSED,
		"process %d: its VM does not answer: no socket in its /tmp after %d s", pid,
		WAIT_MS / 1000);
}

static int
connect_once(const struct sockaddr_un *address)
{
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (descriptor >= 0 &&
		connect(descriptor, (const struct sockaddr *)address, sizeof(*address))) {
		int error = errno;

		close(descriptor);
		errno = error;
		return -1;
	}
	return descriptor;
}

/* -1: see errno. */
static int
connect_to(const struct visit *visit)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int descriptor = -1;

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/.java_pid%d",
		visit->tmp, (int)visit->process->inside);
	for (int i = 0; i < CONNECT_TRIES && descriptor < 0; i++) {
		descriptor = connect_once(&address);
		if (descriptor >= 0 || (errno != ECONNREFUSED && errno != ENOENT))
			break;
		usleep(STEP_MS * 1000);
	}
	return descriptor;
}

/* Requests */

/* Version of the protocol, command, three arguments, each with its NUL: the path is absolute. */
static bool
send_request(int descriptor, const char *path, const char *options)
{
	char text[2 * TH_VIRTUAL_MACHINE_ARGUMENT_MAX + 32];
	int bytes = snprintf(
		text, sizeof(text), "1%cload%c%s%ctrue%c%s", 0, 0, path, 0, 0, options);

	return send(descriptor, text, (size_t)bytes + 1, MSG_NOSIGNAL) == bytes + 1;
}

/* Reads to the end, so that the VM can write all of it. */
static bool
receive(FILE *stream, char *answer, size_t capacity)
{
	size_t used = fread(answer, 1, capacity - 1, stream);
	char rest[256];

	answer[used] = '\0';
	while (fread(rest, 1, sizeof(rest), stream) == sizeof(rest))
		continue;
	return used && !ferror(stream);
}

static struct th_error *
ask(const struct visit *visit, const char *path, const char *options,
	char answer_ret[TH_VIRTUAL_MACHINE_ANSWER_MAX])
{
	int pid = (int)visit->process->pid;
	int descriptor = connect_to(visit);
	FILE *stream = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;

	if (!stream)
		return th_error_create_errno(
			TH_ERROR_REFUSED, "process %d: the socket of its VM", pid);
	bool is_done = send_request(descriptor, path, options) &&
		       receive(stream, answer_ret, TH_VIRTUAL_MACHINE_ANSWER_MAX);
	fclose(stream);
	return is_done ? NULL
		       : th_error_create(TH_ERROR_REFUSED,
				 "process %d: its VM did not answer the request", pid);
}

struct th_error *
th_virtual_machine_load(const struct th_java_process *process, const char *path,
	const char *options, char answer_ret[TH_VIRTUAL_MACHINE_ANSWER_MAX])
{
	struct visit visit;
	struct th_error *error = NULL;

	if (strlen(path) >= TH_VIRTUAL_MACHINE_ARGUMENT_MAX ||
		strlen(options) >= TH_VIRTUAL_MACHINE_ARGUMENT_MAX)
		return th_error_create(TH_ERROR_USAGE,
			"the path of the library, or all options together, exceed the %d bytes "
			"that a VM accepts",
			TH_VIRTUAL_MACHINE_ARGUMENT_MAX - 1);
	if (!enter(process, &visit))
		error = th_error_create_errno(TH_ERROR_OTHER_USER,
			"process %d: cannot take the id of its user", (int)process->pid);
	if (!error && !has_socket(&visit))
		error = wake(&visit);
	if (!error)
		error = ask(&visit, path, options, answer_ret);
	leave(&visit);
	return error;
}
