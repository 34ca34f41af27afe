/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb `run`, called as the tool calls it, in a process of its own and a directory of its own.
 * What is preloaded is the C library, which changes nothing.
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

/* Where the test runs; this very program; what is preloaded. */
extern char launch_directory[];
extern char launch_self[PATH_MAX];
extern char launch_library[PATH_MAX];

/* How the launcher is started: with SIGCHLD ignored; by nobody. */
extern bool launch_ignores_children;
extern bool launch_is_unprivileged;

/* What a run left behind. */
extern struct launched {
	int status;
	char out[LAUNCH_TEXT_MAX];
	char err[LAUNCH_TEXT_MAX];
} launched;

/* Group fixtures: a directory of its own, and away with it. */
int launch_set_up(void **state);
int launch_tear_down(void **state);

/* Whether this program and the commands around it are for one processor; not under an emulator. */
bool launch_can_start_commands(void);

/* A test to stand for those that start commands, where none can be started: it is skipped. */
void test_everything_that_starts_a_command(void **state);

/* Starts `run` with these arguments, the first its name, the last NULL. */
pid_t launch_start(char **arguments);

/* Waits for it and fills `launched`. */
void launch_finish(pid_t child);

#define RUN(...) launch_finish(launch_start((char *[]){(char *)"run", __VA_ARGS__, NULL}))

void assert_contains(const char *text, const char *part);
unsigned count_lines(const char *text);

/* The command was not started, and one line says why. */
void assert_launch_refused(int status, const char *why);

/* A file of that name with that text, which may be run. */
void write_script(const char *path, const char *text);

#endif
