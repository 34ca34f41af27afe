/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command runs in its own process group, so that a timeout ends its children as well.  Both
 * pipes are drained together: neither can fill up and block the command.
 */
#include "tests/e2e/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_DEFAULT 300
#define DIRECTORIES_MAX 256
/* Maximum number of descriptors used by nftw(); the directories are shallow. */
#define WALK_DESCRIPTORS 16

/*
 * With TH_TEST_ARCH a test program runs itself again by scripts/emulated, where the programs of the tests
 * are those of that processor, before it does anything else.
 */
static __attribute__((constructor)) void
emulate(int argc, char **argv)
{
	const char *arch = getenv("TH_TEST_ARCH");
	char **words = arch && !th_is_emulated() ? calloc((size_t)argc + 4, sizeof(*words))
						 : NULL;

	if (!words)
		return;
	words[0] = (char *)TH_TEST_SOURCE "/scripts/emulated";
	words[1] = (char *)arch;
	memcpy(words + 2, argv, (size_t)argc * sizeof(*words));
	execv(words[0], words);
	perror(words[0]);
	_exit(127);
}

bool
th_is_emulated(void)
{
	return getenv("TH_EMULATOR_INSIDE");
}

struct stream {
	int descriptor; /* -1: closed */
	char *text;
	size_t bytes;
	size_t capacity;
};

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* In the child: everything up to exec; reports a failure the way a shell does. */
static _Noreturn void
become(const struct th_command *command, int output, int errors)
{
	setpgid(0, 0);
	dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	if (command->directory && chdir(command->directory) != 0)
		_exit(126);
	for (const char *const *entry = command->environment; entry && *entry; entry++) {
		if (strchr(*entry, '='))
			putenv((char *)*entry);
		else
			unsetenv(*entry);
	}
	execvp(command->arguments[0], (char *const *)command->arguments);
	dprintf(STDERR_FILENO, "%s: %s\n", command->arguments[0], strerror(errno));
	_exit(127);
}

/* Reads the available data; closes the stream at its end. */
static void
drain(struct stream *stream)
{
	ssize_t count;

	if (stream->capacity - stream->bytes < 4096) {
		stream->capacity = stream->capacity * 2 + 8192;
		stream->text = realloc(stream->text, stream->capacity);
		assert_non_null(stream->text);
	}
	/* One byte stays free for the NUL at the end. */
	count = read(stream->descriptor, stream->text + stream->bytes,
		stream->capacity - stream->bytes - 1);
	if (count > 0) {
		stream->bytes += (size_t)count;
	} else if (count == 0 || errno != EINTR) {
		close(stream->descriptor);
		stream->descriptor = -1;
	}
	stream->text[stream->bytes] = '\0';
}

/* Collects both streams until they end or time is up; false in the latter case. */
static bool
collect(struct stream streams[2], double deadline)
{
	while (streams[0].descriptor >= 0 || streams[1].descriptor >= 0) {
		struct pollfd polled[2] = {
			{streams[0].descriptor, POLLIN, 0}, {streams[1].descriptor, POLLIN, 0}};
		double left = deadline - now();

		if (left <= 0)
			return false;
		poll(polled, 2, (int)(left * 1000) + 1);
		for (int i = 0; i < 2; i++) {
			if (polled[i].revents)
				drain(&streams[i]);
		}
	}
	return true;
}

static int
wait_until(pid_t child, double deadline, bool *timed_out)
{
	int status;

	for (;;) {
		pid_t ended = waitpid(child, &status, *timed_out ? 0 : WNOHANG);

		if (ended == child)
			return status;
		if (now() >= deadline) {
			*timed_out = true;
			kill(-child, SIGKILL);
		}
		usleep(1000);
	}
}

void
th_command_run(const struct th_command *command, struct th_outcome *ret)
{
	double deadline = now() + (command->timeout_seconds ? command->timeout_seconds
							    : TIMEOUT_DEFAULT);
	struct stream streams[2] = {{0}, {0}};
	int output[2];
	int errors[2];
	pid_t child;
	int status;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	assert_int_equal(pipe2(errors, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		become(command, output[1], errors[1]);
	setpgid(child, child);
	close(output[1]);
	close(errors[1]);
	streams[0].descriptor = output[0];
	streams[1].descriptor = errors[0];
	if (!collect(streams, deadline)) {
		ret->timed_out = true;
		kill(-child, SIGKILL);
		/* A process outside the group may keep the pipes open: do not wait for it. */
		collect(streams, now() + 1);
	}
	status = wait_until(child, deadline, &ret->timed_out);
	for (int i = 0; i < 2; i++) {
		if (streams[i].descriptor >= 0)
			close(streams[i].descriptor);
	}
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	ret->output = streams[0].text ? streams[0].text : calloc(1, 1);
	ret->output_bytes = streams[0].bytes;
	ret->errors = streams[1].text ? streams[1].text : calloc(1, 1);
	ret->errors_bytes = streams[1].bytes;
}

void
th_command_check(const struct th_command *command, struct th_outcome *ret)
{
	th_command_run(command, ret);
	if (ret->status == 0)
		return;
	for (const char *const *word = command->arguments; *word; word++)
		print_error("%s ", *word);
	print_error("\nended with status %d, signal %d%s\n%s%s\n", ret->status, ret->signal,
		ret->timed_out ? ", out of time" : "", ret->output, ret->errors);
	fail();
}

void
th_command_script(const char *script, struct th_outcome *ret)
{
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c", script),
			.environment = TH_WORDS("LD_PRELOAD"),
			.directory = th_temporary_directory(),
		},
		ret);
	if (getenv("TH_TEST_VERBOSE"))
		print_message("%s\n%s\n", ret->output, ret->errors);
}

char *
th_command_output(const char *const *arguments)
{
	struct th_outcome outcome;

	th_command_check(&(struct th_command){.arguments = arguments}, &outcome);
	free(outcome.errors);
	return outcome.output;
}

void
th_outcome_deinit(struct th_outcome *outcome)
{
	free(outcome->output);
	free(outcome->errors);
	memset(outcome, 0, sizeof(*outcome));
}

void
th_assert_contains(const char *text, const char *part)
{
	/* Two messages: cmocka cuts long ones. */
	if (!strstr(text, part)) {
		print_message("%s\n", text);
		print_message("has no: %s\n", part);
	}
	assert_non_null(strstr(text, part));
}

static char *directories[DIRECTORIES_MAX];
static size_t directory_count;

static int
remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	return remove(path);
}

static void
remove_directories(void)
{
	for (size_t i = 0; i < directory_count; i++) {
		if (!getenv("TH_TEST_KEEP"))
			nftw(directories[i], remove_entry, WALK_DESCRIPTORS,
				FTW_DEPTH | FTW_PHYS);
		free(directories[i]);
	}
	directory_count = 0;
}

const char *
th_temporary_directory(void)
{
	const char *parent = getenv("TMPDIR");
	char *path = th_format("%s/twinheap-test-XXXXXX", parent && *parent ? parent : "/tmp");

	assert_true(directory_count < DIRECTORIES_MAX);
	assert_non_null(mkdtemp(path));
	if (directory_count == 0)
		atexit(remove_directories);
	directories[directory_count++] = path;
	return path;
}

char *
th_format(const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	assert_true(vasprintf(&text, format, arguments) >= 0);
	va_end(arguments);
	return text;
}
