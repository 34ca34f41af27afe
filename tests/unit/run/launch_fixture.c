/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts `run` in a child process and collects its output and exit status.  The same executable
 * also acts as the command that is run.
 */
#include "tests/unit/run/launch_fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/run/launch.h"

#define NOBODY 65534

char launch_directory[] = "/tmp/test-launch-XXXXXX";
char launch_self[PATH_MAX];
char launch_library[PATH_MAX];
bool launch_ignores_children;
bool launch_is_unprivileged;
struct launched launched;

static void
read_text(const char *path, char text_ret[LAUNCH_TEXT_MAX])
{
	FILE *file = fopen(path, "r");
	size_t length = file != NULL ? fread(text_ret, 1, LAUNCH_TEXT_MAX - 1, file) : 0;

	text_ret[length] = '\0';
	if (file)
		fclose(file);
}

static int
launch(int argc, char **argv)
{
	struct th_options options;
	int status = 0;
	struct th_error *error = th_options_parse(&options, TH_OPTIONS_RUN, argc, argv);

	if (!error)
		error = th_launch(&options, &status);
	return error ? th_error_report(error) : status;
}

/* Output is redirected to files. */
pid_t
launch_start(char **arguments)
{
	int argc = 0;
	pid_t child;

	while (arguments[argc])
		argc++;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		dup2(open("/tmp", O_RDONLY), STDIN_FILENO);
		dup2(creat("out", 0600), STDOUT_FILENO);
		dup2(creat("err", 0600), STDERR_FILENO);
		setpgid(0, 0);
		signal(SIGCHLD, launch_ignores_children ? SIG_IGN : SIG_DFL);
		if (launch_is_unprivileged && getuid() == 0)
			assert_int_equal(setuid(NOBODY), 0);
		exit(launch(argc, arguments));
	}
	return child;
}

void
launch_finish(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	launched.status = WEXITSTATUS(status);
	read_text("out", launched.out);
	read_text("err", launched.err);
}

void
assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is not in: %s", part, text);
}

unsigned
count_lines(const char *text)
{
	unsigned count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

void
assert_launch_refused(int status, const char *why)
{
	assert_int_equal(launched.status, status);
	assert_string_equal(launched.out, "");
	assert_int_equal(count_lines(launched.err), 1);
	assert_int_equal(strncmp(launched.err, "twinheap: ", 10), 0);
	assert_contains(launched.err, why);
}

bool
launch_can_start_commands(void)
{
	struct th_launch_program program;
	struct th_error *error = th_launch_target_check("sh", &program);
	bool can_start = !error;

	th_error_destroy(error);
	return can_start;
}

int
launch_set_up(void **state)
{
	Dl_info info;

	(void)state;
	assert_non_null(mkdtemp(launch_directory));
	assert_int_equal(chmod(launch_directory, 0755), 0);
	assert_int_equal(chdir(launch_directory), 0);
	if (launch_can_start_commands()) /* not every emulator supports this path */
		assert_true(
			readlink("/proc/self/exe", launch_self, sizeof(launch_self) - 1) > 0);
	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "getppid"), &info), 0);
	assert_non_null(realpath(info.dli_fname, launch_library));
	unsetenv("LD_PRELOAD");
	/* A sanitizer requires to be the first library; here it may be the second. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0);
	return setenv("TWINHEAP_LIBRARY", launch_library, 1);
}

int
launch_tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", launch_directory);
	return system(command);
}

void
test_everything_that_starts_a_command(void **state)
{
	(void)state;
	skip(); /* under an emulator: the commands of this machine are for another processor */
}

void
write_script(const char *path, const char *text)
{
	FILE *script = fopen(path, "w");

	assert_non_null(script);
	fputs(text, script);
	fclose(script);
	assert_int_equal(chmod(path, 0755), 0);
}
