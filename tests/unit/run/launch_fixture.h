/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `run`, called as the tool calls it, in a process and a directory of its own.  The
 * preloaded library is the C library, which has no effect.
 */
#ifndef TH_TESTS_LAUNCH_FIXTURE_H
#define TH_TESTS_LAUNCH_FIXTURE_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#define LAUNCH_TEXT_MAX 8192

/* The test's directory; this executable; the preloaded library. */
extern char launch_directory[];
extern char launch_self[PATH_MAX];
extern char launch_library[PATH_MAX];

/* How the launcher is started: with SIGCHLD ignored; as user nobody. */
extern bool launch_ignores_children;
extern bool launch_is_unprivileged;

/* The result of a run. */
extern struct launched {
	int status;
	char out[LAUNCH_TEXT_MAX];
	char err[LAUNCH_TEXT_MAX];
} launched;

/* Group fixtures: create and remove the directory. */
int launch_set_up(void **state);
int launch_tear_down(void **state);

/*
 * Whether this program and the commands around it are for the same processor; not so under an
 * emulator.
 */
bool launch_can_start_commands(void);

/* Replaces the tests that start commands, where none can be started: it is skipped. */
void test_everything_that_starts_a_command(void **state);

/* Starts `run` with these arguments; the first is its name, the last NULL. */
pid_t launch_start(char **arguments);

/* Waits for it and fills `launched`. */
void launch_finish(pid_t child);

#define RUN(...) launch_finish(launch_start((char *[]){(char *)"run", __VA_ARGS__, NULL}))

void assert_contains(const char *text, const char *part);
unsigned count_lines(const char *text);

/* Asserts that the command was not started and that one line gives the reason. */
void assert_launch_refused(int status, const char *why);

/* Creates an executable file with that name and text. */
void write_script(const char *path, const char *text);

#endif
